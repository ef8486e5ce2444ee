"""transformers' `generate`, timed by phase: up to the first sampled token, and after it."""

import torch
import transformers

from measure import Moment, Phases, now


class FirstToken(transformers.StoppingCriteria):
    """Notes when the first token is there; never stops."""

    def __init__(self) -> None:
        self.moment: Moment | None = None

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor, **kwargs) -> torch.Tensor:
        if self.moment is None:
            self.moment = now()
        return torch.zeros(input_ids.shape[0], dtype=torch.bool)


class Sampler:
    """Samples `response_length` tokens at temperature 1 from the whole distribution, without end of sequence."""

    def __init__(self, model: transformers.PreTrainedModel, response_length: int, cache: str = "dynamic") -> None:
        self.model_ = model
        self.config_ = transformers.GenerationConfig(
            do_sample=True, temperature=1.0, top_k=0, top_p=1.0, max_new_tokens=response_length,
            cache_implementation=cache, pad_token_id=0, eos_token_id=None)

    def generate(self, prompts: torch.Tensor, timer: Phases) -> torch.Tensor:
        """[B, P] -> [B, P + R]; adds phases prefill and decode."""
        first = FirstToken()
        start = now()
        with torch.inference_mode():
            tokens = self.model_.generate(prompts, attention_mask=torch.ones_like(prompts),
                                          generation_config=self.config_, stopping_criteria=[first])
        timer.add("prefill", start, first.moment)
        timer.add("decode", first.moment, now())
        return tokens
