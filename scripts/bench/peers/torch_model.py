"""The model, its inputs and its log-probs as the PyTorch peers share them."""

import contextlib

import torch
import transformers

from measure import Workload

DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16}


def peer_name() -> str:
    return f"transformers {transformers.__version__}, torch {torch.__version__}"


def load(work: Workload, dtype: torch.dtype) -> transformers.PreTrainedModel:
    """The model in `dtype` with scaled-dot-product attention, for sequences that never end early."""
    torch.set_num_threads(work.threads)
    torch.manual_seed(work.seed)
    model = transformers.AutoModelForCausalLM.from_pretrained(work.model, dtype=dtype, attn_implementation="sdpa")
    model.generation_config = transformers.GenerationConfig(pad_token_id=0)
    return model


def autocast(dtype: str) -> contextlib.AbstractContextManager:
    """bf16 products over f32 weights for "bf16", nothing for "f32"."""
    return torch.autocast("cpu", torch.bfloat16) if dtype == "bf16" else contextlib.nullcontext()


def random_prompts(work: Workload, count: int, vocabulary: int) -> torch.Tensor:
    """[count, prompt_length] token ids."""
    source = torch.Generator().manual_seed(work.seed)
    return torch.randint(3, vocabulary, (count, work.prompt_length), generator=source)


def response_logits(model: transformers.PreTrainedModel, tokens: torch.Tensor, prompt_length: int,
                    only_response: bool) -> torch.Tensor:
    """Logits [B, response, V] that predict the response tokens; the head runs at all positions or at those only."""
    hidden = model.model(input_ids=tokens, use_cache=False).last_hidden_state
    if only_response:
        return model.lm_head(hidden[:, prompt_length - 1:-1])
    return model.lm_head(hidden)[:, prompt_length - 1:-1]


def response_log_probs(model: transformers.PreTrainedModel, tokens: torch.Tensor, prompt_length: int,
                       only_response: bool) -> torch.Tensor:
    """Log-probs [B, response] of the response tokens, in f32."""
    logits = response_logits(model, tokens, prompt_length, only_response).float()
    labels = tokens[:, prompt_length:]
    return -torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="none").view_as(labels)


def adamw(model: transformers.PreTrainedModel) -> torch.optim.AdamW:
    return torch.optim.AdamW(model.parameters(), lr=1e-6, betas=(0.9, 0.999), weight_decay=0.01, fused=True)
