"""Writes a Hugging Face folder of the llama family as a GGUF file without a vocabulary, for llama.cpp."""

import json
import pathlib

import gguf
import numpy

from measure import Workload

TYPES = {
    "f32": (gguf.GGMLQuantizationType.F32, gguf.LlamaFileType.ALL_F32),
    "f16": (gguf.GGMLQuantizationType.F16, gguf.LlamaFileType.MOSTLY_F16),
    "bf16": (gguf.GGMLQuantizationType.BF16, gguf.LlamaFileType.MOSTLY_BF16),
    "q8_0": (gguf.GGMLQuantizationType.Q8_0, gguf.LlamaFileType.MOSTLY_Q8_0),
}
BLOCK_NAMES = {
    "input_layernorm": "attn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}
OTHER_NAMES = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output"}


def write(work: Workload, dtype: str, path: pathlib.Path) -> None:
    """Matrices in `dtype`, norms in f32."""
    config = json.loads((work.model / "config.json").read_text(encoding="utf-8"))
    heads, kv_heads = config["num_attention_heads"], config["num_key_value_heads"]
    head_dim = config.get("head_dim") or config["hidden_size"] // heads
    tensor_type, file_type = TYPES[dtype]

    writer = gguf.GGUFWriter(path, "llama")
    writer.add_file_type(file_type)
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(heads)
    writer.add_head_count_kv(kv_heads)
    writer.add_key_length(head_dim)
    writer.add_value_length(head_dim)
    writer.add_rope_dimension_count(head_dim)
    writer.add_rope_freq_base(config["rope_theta"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_vocab_size(config["vocab_size"])
    writer.add_tokenizer_model("no_vocab")
    for name, weight in read_safetensors(work.model / "model.safetensors"):
        if name.endswith(("q_proj.weight", "k_proj.weight")):
            weight = interleave_rotary(weight, heads if "q_proj" in name else kv_heads)
        stored = gguf.GGMLQuantizationType.F32 if weight.ndim == 1 else tensor_type
        writer.add_tensor(gguf_name(name), gguf.quants.quantize(weight, stored), raw_dtype=stored)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def gguf_name(name: str) -> str:
    stem = name.removesuffix(".weight")
    if stem in OTHER_NAMES:
        return f"{OTHER_NAMES[stem]}.weight"
    _, _, layer, part = stem.split(".", 3)
    return f"blk.{layer}.{BLOCK_NAMES[part]}.weight"


def interleave_rotary(weight: numpy.ndarray, heads: int) -> numpy.ndarray:
    """Rows of each head from (first half, second half) to pairs, as llama.cpp rotates neighbours."""
    rows, columns = weight.shape
    return weight.reshape(heads, 2, rows // heads // 2, columns).swapaxes(1, 2).reshape(rows, columns)


def read_safetensors(path: pathlib.Path):
    """Yields (name, f32 array) of a file with F32 or BF16 tensors."""
    data = numpy.memmap(path, numpy.uint8, "r")
    header_size = int.from_bytes(data[:8].tobytes(), "little")
    header = json.loads(data[8:8 + header_size].tobytes())
    header.pop("__metadata__", None)
    for name, entry in header.items():
        begin, end = (8 + header_size + offset for offset in entry["data_offsets"])
        raw = data[begin:end].tobytes()
        if entry["dtype"] == "BF16":
            values = (numpy.frombuffer(raw, numpy.uint16).astype(numpy.uint32) << 16).view(numpy.float32)
        elif entry["dtype"] == "F32":
            values = numpy.frombuffer(raw, numpy.float32)
        else:
            raise SystemExit(f"{path}: tensor {name} has dtype {entry['dtype']}; only F32 and BF16 are read")
        yield name, values.reshape(entry["shape"])
