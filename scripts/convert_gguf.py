#!/usr/bin/env python3
"""Writes a Hugging Face model folder from a GGUF file of the llama architecture.

    convert_gguf.py MODEL.gguf DEST [--dtype bfloat16|float32] [--force]

DEST gets config.json, generation_config.json, model.safetensors, tokenizer.json and tokenizer_config.json (with the
chat template). Quantised tensors are dequantised by the gguf package; what the file's quantisation lost stays lost.
The folder is built aside and renamed, so DEST is either absent or complete.
"""

import argparse
import collections
import json
import os
import pathlib
import shutil
import sys
import tempfile

import gguf
import numpy as np
import torch
from safetensors.torch import save_file

# GGUF token types (ggml's llama_token_type).
TOKEN_CONTROL = 3
TOKEN_USER_DEFINED = 4

BLOCK_NAMES = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
TOP_NAMES = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}

# Pre-tokenizers by GGUF's `tokenizer.ggml.pre`: the splits that the published tokenizer.json of the family has.
BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
PRE_TOKENIZERS = {
    "smollm": {"type": "Sequence", "pretokenizers": [{"type": "Digits", "individual_digits": True}, BYTE_LEVEL]},
    "gpt-2": BYTE_LEVEL,
}


def fail(message):
    sys.exit(f"convert_gguf: {message}")


class Fields:
    """Key-value part of a GGUF file, with defaults."""

    def __init__(self, reader):
        self.values = {name: field.contents() for name, field in reader.fields.items()}

    def get(self, name, default=None):
        return self.values.get(name, default)

    def need(self, name):
        if name not in self.values:
            fail(f"the GGUF file has no key {name}")
        return self.values[name]


def hf_name(name):
    """Hugging Face name of the GGUF tensor `name`."""
    stem, suffix = name.rsplit(".", 1)
    if stem.startswith("blk."):
        _, layer, part = stem.split(".")
        if part in BLOCK_NAMES:
            return f"model.layers.{layer}.{BLOCK_NAMES[part]}.{suffix}"
    elif stem in TOP_NAMES:
        return f"{TOP_NAMES[stem]}.{suffix}"
    fail(f"no Hugging Face name is known for the GGUF tensor {name}")


def unpermute(weight, num_heads):
    """Rows of a q or k projection from ggml's interleaved rotary order back to the half-split order.

    ggml stores row pairs (2i, 2i+1) of a head where Hugging Face has (i, i + head_dim/2).
    """
    rows = weight.shape[0]
    return weight.reshape(num_heads, rows // num_heads // 2, 2, *weight.shape[1:]).swapaxes(1, 2).reshape(weight.shape)


def read_tensors(reader, num_heads, num_kv_heads, dtype):
    """All tensors under Hugging Face names, dequantised to f32 and rounded to `dtype`; and the types counted."""
    tensors, types = {}, collections.Counter()
    for tensor in reader.tensors:
        types[tensor.tensor_type.name] += 1
        values = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
        values = values.reshape([int(n) for n in reversed(tensor.shape)]).astype(np.float32)
        name = hf_name(tensor.name)
        if ".q_proj." in name:
            values = unpermute(values, num_heads)
        elif ".k_proj." in name:
            values = unpermute(values, num_kv_heads)
        tensors[name] = torch.from_numpy(np.array(values, order="C")).to(dtype)
    return tensors, types


def build_config(fields, tensors, dtype):
    hidden = fields.need("llama.embedding_length")
    num_heads = fields.need("llama.attention.head_count")
    return {
        "architectures": ["LlamaForCausalLM"],
        "attention_bias": False,
        "attention_dropout": 0.0,
        "bos_token_id": fields.get("tokenizer.ggml.bos_token_id"),
        "eos_token_id": fields.need("tokenizer.ggml.eos_token_id"),
        "hidden_act": "silu",
        "hidden_size": hidden,
        "initializer_range": 0.041666666666666664,
        "intermediate_size": fields.need("llama.feed_forward_length"),
        "max_position_embeddings": fields.need("llama.context_length"),
        "mlp_bias": False,
        "model_type": "llama",
        "num_attention_heads": num_heads,
        "num_hidden_layers": fields.need("llama.block_count"),
        "num_key_value_heads": fields.get("llama.attention.head_count_kv", num_heads),
        "pad_token_id": fields.get("tokenizer.ggml.padding_token_id"),
        # GGUF keeps the f32 nearest to the published decimal.
        "rms_norm_eps": float(f"{fields.need('llama.attention.layer_norm_rms_epsilon'):.6g}"),
        "rope_scaling": None,
        "rope_theta": int(fields.get("llama.rope.freq_base", 10000.0)),
        "tie_word_embeddings": "lm_head.weight" not in tensors,
        "torch_dtype": str(dtype).removeprefix("torch."),
        "use_cache": True,
        "vocab_size": len(fields.need("tokenizer.ggml.tokens")),
    }


def build_tokenizer(fields):
    """tokenizer.json of a byte-level BPE tokenizer, and the strings of its special ids."""
    if fields.need("tokenizer.ggml.model") != "gpt2":
        fail("only byte-level BPE tokenizers (tokenizer.ggml.model = gpt2) can be converted")
    pre = fields.need("tokenizer.ggml.pre")
    if pre not in PRE_TOKENIZERS:
        fail(f"unknown pre-tokenizer {pre}; known: {', '.join(sorted(PRE_TOKENIZERS))}")
    tokens = fields.need("tokenizer.ggml.tokens")
    types = fields.need("tokenizer.ggml.token_type")
    added = [
        {"id": i, "content": tokens[i], "single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
         "special": types[i] == TOKEN_CONTROL}
        for i in range(len(tokens)) if types[i] in (TOKEN_CONTROL, TOKEN_USER_DEFINED)
    ]
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added,
        "normalizer": None,
        "pre_tokenizer": PRE_TOKENIZERS[pre],
        "post_processor": None,
        "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
        "model": {
            "type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
            "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
            "vocab": {token: i for i, token in enumerate(tokens)},
            "merges": fields.need("tokenizer.ggml.merges"),
        },
    }


def build_tokenizer_config(fields, tokenizer):
    tokens = fields.need("tokenizer.ggml.tokens")

    def token(key):
        index = fields.get(f"tokenizer.ggml.{key}_token_id")
        return None if index is None else tokens[index]

    flags = ("content", "lstrip", "normalized", "rstrip", "single_word", "special")
    return {
        "add_prefix_space": False,
        "added_tokens_decoder": {str(t["id"]): {f: t[f] for f in flags} for t in tokenizer["added_tokens"]},
        "additional_special_tokens": [token("bos"), token("eos")],
        "bos_token": token("bos"),
        "chat_template": fields.need("tokenizer.chat_template"),
        "clean_up_tokenization_spaces": False,
        "eos_token": token("eos"),
        "model_max_length": fields.need("llama.context_length"),
        "pad_token": token("padding"),
        # The generic class takes tokenizer.json as it is; GPT2Tokenizer would replace its pre-tokenizer.
        "tokenizer_class": "PreTrainedTokenizerFast",
        "unk_token": token("unknown"),
        "vocab_size": len(tokens),
    }


def write_json(path, value):
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def write_folder(folder, reader, dtype):
    fields = Fields(reader)
    if fields.need("general.architecture") != "llama":
        fail(f"architecture {fields.need('general.architecture')} is not supported, only llama")
    num_heads = fields.need("llama.attention.head_count")
    tensors, types = read_tensors(reader, num_heads, fields.get("llama.attention.head_count_kv", num_heads), dtype)
    config = build_config(fields, tensors, dtype)
    tokenizer = build_tokenizer(fields)
    write_json(folder / "config.json", config)
    write_json(folder / "generation_config.json",
               {"_from_model_config": True, **{k: config[k] for k in ("bos_token_id", "eos_token_id", "pad_token_id")}})
    write_json(folder / "tokenizer.json", tokenizer)
    write_json(folder / "tokenizer_config.json", build_tokenizer_config(fields, tokenizer))
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    os.chmod(folder / "model.safetensors", 0o644)
    count = sum(t.numel() for t in tensors.values())
    kinds = ", ".join(f"{n} x {kind}" for kind, n in types.most_common())
    print(f"convert_gguf: {len(tensors)} tensors, {count / 1e6:.1f} M parameters ({kinds}), "
          f"dequantised and stored as {config['torch_dtype']}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("gguf", type=pathlib.Path)
    parser.add_argument("dest", type=pathlib.Path)
    parser.add_argument("--dtype", choices=("bfloat16", "float32"), default="bfloat16")
    parser.add_argument("--force", action="store_true", help="replace DEST if it exists")
    args = parser.parse_args()
    if args.dest.exists() and not args.force:
        fail(f"{args.dest} exists; remove it or pass --force")
    args.dest.parent.mkdir(parents=True, exist_ok=True)
    aside = pathlib.Path(tempfile.mkdtemp(prefix=f".{args.dest.name}.", dir=args.dest.parent))
    try:
        write_folder(aside, gguf.GGUFReader(args.gguf), getattr(torch, args.dtype))
        os.chmod(aside, 0o755)
        if args.dest.exists():
            shutil.rmtree(args.dest)
        aside.rename(args.dest)
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    print(f"convert_gguf: wrote {args.dest}")


if __name__ == "__main__":
    main()
