#!/usr/bin/env python3
"""Writes recipes/models/arith-tiny/: a small llama without weights, and its character-level tokenizer.

    scripts/make_tiny_model.py [DEST]

verlc initialises the weights at random from config.json (1.2 M parameters). Every character of the alphabet is one
token, by a BPE without merges; a text with any other character encodes to <unk>, which no row here needs.
Needs no package; with tokenizers and transformers installed it also checks the result.
"""

import json
import pathlib
import sys

SPECIAL = ("<pad>", "<bos>", "<eos>", "<unk>")
ALPHABET = "0123456789+-*=?# \nabdefinorstuw"

CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "attention_bias": False,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "head_dim": 32,
    "hidden_act": "silu",
    "hidden_size": 192,
    "initializer_range": 0.02,
    "intermediate_size": 512,
    "max_position_embeddings": 128,
    "mlp_bias": False,
    "model_type": "llama",
    "num_attention_heads": 6,
    "num_hidden_layers": 3,
    "num_key_value_heads": 3,
    "pad_token_id": 0,
    "rms_norm_eps": 1e-5,
    "rope_scaling": None,
    "rope_theta": 10000.0,
    "tie_word_embeddings": True,
    "torch_dtype": "float32",
    "vocab_size": len(SPECIAL) + len(ALPHABET),
}

# The user's text is the problem itself and the assistant's is the answer; no role words, no separators.
CHAT_TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}{{ message['content'] }}"
    "{% if message['role'] == 'assistant' %}{{ eos_token }}{% endif %}{% endfor %}"
)


def tokenizer():
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [{"id": i, "content": token, **flags} for i, token in enumerate(SPECIAL)],
        "normalizer": None,
        "pre_tokenizer": None,
        "post_processor": None,
        "decoder": {"type": "Fuse"},
        "model": {
            "type": "BPE", "dropout": None, "unk_token": "<unk>", "continuing_subword_prefix": None,
            "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
            "vocab": {token: i for i, token in enumerate([*SPECIAL, *ALPHABET])},
            "merges": [],
        },
    }


def tokenizer_config():
    return {
        "bos_token": "<bos>",
        "chat_template": CHAT_TEMPLATE,
        "clean_up_tokenization_spaces": False,
        "eos_token": "<eos>",
        "model_max_length": CONFIG["max_position_embeddings"],
        "pad_token": "<pad>",
        "tokenizer_class": "PreTrainedTokenizerFast",
        "unk_token": "<unk>",
    }


def check(folder):
    """Encodes, renders and counts with the reference packages, where they are installed."""
    try:
        from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer
    except ImportError:
        return "not checked: transformers is not installed"
    tokens = AutoTokenizer.from_pretrained(folder)
    messages = [{"role": "user", "content": "17+5="}, {"role": "assistant", "content": "22"}]
    text = tokens.apply_chat_template(messages, tokenize=False)
    assert text == "<bos>17+5=22<eos>", text
    ids = tokens(text)["input_ids"]
    assert len(ids) == 9 and ids[0] == 1 and ids[-1] == 2, ids
    assert tokens.decode(tokens(ALPHABET)["input_ids"]) == ALPHABET
    model = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(folder))
    return f"{sum(p.numel() for p in model.parameters())} parameters; tokenizer and template checked"


def main():
    root = pathlib.Path(__file__).resolve().parents[1]
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else root / "recipes/models/arith-tiny"
    folder.mkdir(parents=True, exist_ok=True)
    files = {
        "config.json": CONFIG,
        "generation_config.json": {key: CONFIG[key] for key in ("bos_token_id", "eos_token_id", "pad_token_id")},
        "tokenizer.json": tokenizer(),
        "tokenizer_config.json": tokenizer_config(),
    }
    for name, value in files.items():
        (folder / name).write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")
    print(f"make_tiny_model: wrote {folder}: {check(folder)}")


if __name__ == "__main__":
    main()
