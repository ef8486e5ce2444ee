#!/usr/bin/env python3
"""Writes tests/data/golden/NAME/: small random models of each family and what PyTorch + transformers computes on them.

    scripts/golden/models.py [--out DIR] [NAME...]

Every folder has config.json, model.safetensors (f32, Hugging Face names) and expected.safetensors:

    tokens           [T]     int32  packed ids of three sequences; each was run alone, without padding
    cu_seqlens       [4]     int32  where the sequences start
    logits           [T, V]  f32
    logprob.t1.0     [T]     f32    log-prob of token t under the logits of t-1 divided by the temperature; 0 where a
    logprob.t0.7     [T]     f32    sequence starts
    entropy.t1.0     [T]     f32    entropy of that same distribution; 0 where a sequence starts
    entropy.t0.7     [T]     f32
    grad.PARAMETER           f32    gradient of the loss: mean over all tokens but the first of each sequence of
                                    -log-prob at temperature 1
    adamw.loss       [10]    f32    loss before each of ten AdamW steps on this batch (settings in the metadata)
    adamw.grad_norm  [10]    f32    global gradient norm before clipping
    inv_freq.S       [D/2]   f32    rotary inverse frequencies used for sequence S (they differ for dynamic scaling)
    rope_scale       [1]     f32    factor on cos and sin (yarn's attention factor)

The metadata holds the seed, versions and the AdamW settings, and `adamw.f64_gap`: the largest distance of the ten
losses from the same steps in f64, which is the noise that a correct f32 program may show.

`qwen3_bf16_sharded` is qwen3 in bf16, in two indexed shards, with only tokens, cu_seqlens and logits (f32 arithmetic
on the bf16 weights).
"""

import argparse
import copy
import json
import pathlib

import torch
import transformers
from safetensors.torch import save_file
from transformers import AutoConfig, AutoModelForCausalLM

SEED = 20250117
TEMPERATURES = (1.0, 0.7)
ADAMW = {"lr": 3e-3, "beta1": 0.9, "beta2": 0.999, "eps": 1e-8, "weight_decay": 0.01, "grad_clip": 1.0, "steps": 10}

BASE = {
    "vocab_size": 112, "hidden_size": 32, "intermediate_size": 36, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "max_position_embeddings": 64, "rms_norm_eps": 1e-5, "bos_token_id": 1,
    "eos_token_id": 2, "pad_token_id": 0, "initializer_range": 0.2,
}


def rope(theta, **scaling):
    return {"rope_theta": theta, "rope_type": "default", **scaling}


# Per model: family, config keys over BASE, sequence lengths, and how config.json spells the rotary settings: "new"
# (rope_parameters, as transformers 5 writes), or the older rope_theta + rope_scaling whose kind key is "type" or
# "rope_type".
MODELS = {
    "llama_llama3": ("llama", {
        "tie_word_embeddings": True,
        "rope_parameters": rope(500.0, rope_type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
                                original_max_position_embeddings=64)}, (5, 17, 11), "new"),
    "llama_linear": ("llama", {
        "tie_word_embeddings": False,
        "rope_parameters": rope(10000.0, rope_type="linear", factor=2.5)}, (12, 1, 19), "type"),
    "llama_dynamic": ("llama", {
        "tie_word_embeddings": True, "max_position_embeddings": 16,
        "rope_parameters": rope(100.0, rope_type="dynamic", factor=2.0)}, (7, 24, 11), "rope_type"),
    "llama_yarn": ("llama", {
        "tie_word_embeddings": True, "num_key_value_heads": 1, "max_position_embeddings": 1024,
        "rope_parameters": rope(500.0, rope_type="yarn", factor=4.0, original_max_position_embeddings=256)},
        (21, 6, 9), "new"),
    "qwen2": ("qwen2", {
        "tie_word_embeddings": True, "vocab_size": 131, "rms_norm_eps": 1e-6, "use_sliding_window": False,
        "sliding_window": 8, "max_window_layers": 2, "rope_parameters": rope(1000000.0)}, (13, 4, 18), "rope_type"),
    "qwen2_yarn": ("qwen2", {
        "tie_word_embeddings": True, "max_position_embeddings": 32, "rms_norm_eps": 1e-6,
        "use_sliding_window": False, "rope_parameters": rope(
            100.0, rope_type="yarn", factor=4.0, original_max_position_embeddings=32, beta_fast=8.0, beta_slow=1.0,
            attention_factor=1.25)}, (14, 9, 16), "type"),
    "qwen3": ("qwen3", {
        "tie_word_embeddings": True, "head_dim": 16, "rms_norm_eps": 1e-6, "rope_parameters": rope(1000000.0)},
        (8, 20, 10), "new"),
    "mistral": ("mistral", {
        "tie_word_embeddings": False, "sliding_window": 8, "num_key_value_heads": 1, "rope_parameters": rope(10000.0)}, (6, 8, 23), "rope_type"),
}
SHARDED_OF, SHARDED = "qwen3", "qwen3_bf16_sharded"


def make_model(name):
    """The random model, in f32, and its packed batch."""
    family, keys, lengths, _ = MODELS[name]
    generator = torch.Generator().manual_seed(SEED + sorted(MODELS).index(name))
    settings = copy.deepcopy({**BASE, **keys})
    config = AutoConfig.for_model(family, **settings)
    config.architectures = [family.capitalize() + "ForCausalLM"]
    model = AutoModelForCausalLM.from_config(config, attn_implementation="eager", dtype=torch.float32).eval()
    with torch.no_grad():
        for key, parameter in model.named_parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            if "norm" in key:
                parameter.copy_(1 + 0.2 * noise)
            elif parameter.ndim == 1:
                parameter.copy_(0.3 * noise)
            else:
                parameter.copy_(noise * (0.5 if "embed" in key or "lm_head" in key else parameter.shape[1] ** -0.5))
    tokens = torch.randint(3, settings["vocab_size"], (sum(lengths),), generator=generator)
    return model, [part for part in tokens.split(lengths)]


def forward(model, sequences):
    """Logits of each sequence run alone, [L, V] each, and the rotary frequencies that each used."""
    logits, frequencies = [], []
    for ids in sequences:
        logits.append(model(input_ids=ids[None], use_cache=False).logits[0])
        frequencies.append(model.model.rotary_emb.inv_freq.float().clone())
    return logits, frequencies


def token_values(logits, sequences, temperature):
    """Log-prob and entropy of every token, packed [T], with 0 at the start of each sequence."""
    logprobs, entropies = [], []
    for rows, ids in zip(logits, sequences):
        log_p = torch.log_softmax(rows[:-1] / temperature, dim=-1)
        zero = log_p.new_zeros(1)
        logprobs.append(torch.cat([zero, log_p.gather(1, ids[1:, None])[:, 0]]))
        entropies.append(torch.cat([zero, -(log_p.exp() * log_p).sum(-1)]))
    return torch.cat(logprobs), torch.cat(entropies)


def loss_of(model, sequences):
    logprobs, _ = token_values(forward(model, sequences)[0], sequences, 1.0)
    return -logprobs.sum() / sum(len(ids) - 1 for ids in sequences)


def train(model, sequences):
    """Losses and gradient norms of the AdamW steps; changes the model."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=ADAMW["lr"], betas=(ADAMW["beta1"], ADAMW["beta2"]),
                                  eps=ADAMW["eps"], weight_decay=ADAMW["weight_decay"])
    losses, norms = [], []
    for _ in range(ADAMW["steps"]):
        optimizer.zero_grad()
        loss = loss_of(model, sequences)
        loss.backward()
        norms.append(torch.nn.utils.clip_grad_norm_(model.parameters(), ADAMW["grad_clip"]).item())
        optimizer.step()
        losses.append(loss.item())
    return losses, norms


def cu_seqlens(sequences):
    return torch.tensor([0] + [len(ids) for ids in sequences]).cumsum(0).int()


def write_config(model, folder, schema):
    """config.json as transformers writes it, or with the older spelling of the rotary settings."""
    model.config.save_pretrained(folder)
    if schema == "new":
        return
    path = folder / "config.json"
    config = json.loads(path.read_text())
    scaling = config.pop("rope_parameters")
    config["rope_theta"] = scaling.pop("rope_theta")
    kind = scaling.pop("rope_type")
    config["rope_scaling"] = None if kind == "default" else {schema: kind, **scaling}
    config["torch_dtype"] = config.pop("dtype", "float32")
    config.pop("layer_types", None)
    config.pop("transformers_version", None)
    path.write_text(json.dumps(config, indent=2, sort_keys=True) + "\n")


def check_reload(folder, sequences, logits):
    """The folder must give the same logits through from_pretrained: weights and rotary spelling are complete."""
    model = AutoModelForCausalLM.from_pretrained(folder, attn_implementation="eager", dtype=torch.float32).eval()
    gap = (torch.cat(forward(model, sequences)[0]) - logits).abs().max().item()
    if gap > 1e-6:
        raise SystemExit(f"{folder}: reloaded logits differ by {gap}")


def metadata(name, **more):
    return {key: str(value) for key, value in
            {"model": name, "seed": SEED, "torch": torch.__version__, "transformers": transformers.__version__,
             **{f"adamw.{k}": v for k, v in ADAMW.items()}, **more}.items()}


def write_model(name, out):
    folder = out / name
    folder.mkdir(parents=True, exist_ok=True)
    model, sequences = make_model(name)
    write_config(model, folder, MODELS[name][3])
    weights = {key: value.detach().clone() for key, value in model.named_parameters()}
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})

    logits, frequencies = forward(model, sequences)
    loss_of(model, sequences).backward()
    expected = {"tokens": torch.cat(sequences).int(), "cu_seqlens": cu_seqlens(sequences),
                "logits": torch.cat(logits).detach(),
                "rope_scale": torch.tensor([float(model.model.rotary_emb.attention_scaling)])}
    for temperature in TEMPERATURES:
        logprob, entropy = token_values(logits, sequences, temperature)
        expected[f"logprob.t{temperature}"], expected[f"entropy.t{temperature}"] = logprob.detach(), entropy.detach()
    expected.update({f"grad.{key}": value.grad.clone() for key, value in model.named_parameters()})
    expected.update({f"inv_freq.{i}": value for i, value in enumerate(frequencies)})

    exact, _ = make_model(name)
    losses, norms = train(model, sequences)
    exact_losses, _ = train(exact.double(), sequences)
    gap = max(abs(a - b) for a, b in zip(losses, exact_losses))
    expected["adamw.loss"], expected["adamw.grad_norm"] = torch.tensor(losses), torch.tensor(norms)
    save_file(expected, folder / "expected.safetensors", metadata=metadata(name, **{"adamw.f64_gap": gap}))
    check_reload(folder, sequences, expected["logits"])
    size = sum(path.stat().st_size for path in folder.iterdir())
    print(f"{name}: {sum(w.numel() for w in weights.values())} parameters, loss {losses[0]:.4f} -> {losses[-1]:.4f}, "
          f"norm {norms[0]:.3f}, f64 gap {gap:.1e}, {size / 1024:.0f} KB", flush=True)


def write_sharded(out):
    """The bf16 copy in two shards: the layers' later half and the final norm go to the second."""
    folder = out / SHARDED
    folder.mkdir(parents=True, exist_ok=True)
    model, sequences = make_model(SHARDED_OF)
    weights = {key: value.detach().to(torch.bfloat16) for key, value in model.named_parameters()}
    with torch.no_grad():
        for key, parameter in model.named_parameters():  # not Module.to(): it would round the rotary buffers too
            parameter.copy_(weights[key])
    model.config.dtype = torch.bfloat16
    write_config(model, folder, "new")
    shards = {}
    for key, value in weights.items():
        second = key.startswith("model.layers.1.") or key == "model.norm.weight"
        shards.setdefault(f"model-0000{2 if second else 1}-of-00002.safetensors", {})[key] = value
    for file, part in shards.items():
        save_file(part, folder / file, metadata={"format": "pt"})
    index = {"metadata": {"total_size": sum(w.numel() * 2 for w in weights.values())},
             "weight_map": {key: file for file, part in sorted(shards.items()) for key in sorted(part)}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index, indent=2) + "\n")
    logits = torch.cat(forward(model, sequences)[0]).detach()
    save_file({"tokens": torch.cat(sequences).int(), "cu_seqlens": cu_seqlens(sequences), "logits": logits},
              folder / "expected.safetensors", metadata=metadata(SHARDED))
    check_reload(folder, sequences, logits)
    print(f"{SHARDED}: {sum(path.stat().st_size for path in folder.iterdir()) / 1024:.0f} KB")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    root = pathlib.Path(__file__).resolve().parents[2]
    parser.add_argument("--out", type=pathlib.Path, default=root / "tests/data/golden")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join([*MODELS, SHARDED])}; default: all")
    args = parser.parse_args()
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    for name in args.names or [*MODELS, SHARDED]:
        if name == SHARDED:
            write_sharded(args.out)
        elif name in MODELS:
            write_model(name, args.out)
        else:
            parser.error(f"unknown model {name}")


if __name__ == "__main__":
    main()
