"""A random llama model of two layers as a Hugging Face folder, for smoke tests of the peers."""

import json
import pathlib
import shutil

LAYERS, HIDDEN, INTERMEDIATE, HEADS, KV_HEADS, HEAD_DIM = 2, 64, 128, 2, 1, 32
TOKENIZER = pathlib.Path(__file__).resolve().parents[3] / "recipes" / "models" / "arith-tiny"


def write(folder: pathlib.Path) -> pathlib.Path:
    """Fills `folder` with config, float32 weights and the character tokenizer of the recipes' tiny model."""
    import numpy
    import safetensors.numpy

    config = json.loads((TOKENIZER / "config.json").read_text(encoding="utf-8"))
    config.update(num_hidden_layers=LAYERS, hidden_size=HIDDEN, intermediate_size=INTERMEDIATE, head_dim=HEAD_DIM,
                  num_attention_heads=HEADS, num_key_value_heads=KV_HEADS)
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    for name in ("generation_config.json", "tokenizer.json", "tokenizer_config.json"):
        shutil.copy(TOKENIZER / name, folder / name)

    random = numpy.random.default_rng(1)
    shapes = {"model.embed_tokens.weight": (config["vocab_size"], HIDDEN), "model.norm.weight": (HIDDEN,)}
    for layer in range(LAYERS):
        block = f"model.layers.{layer}"
        shapes |= {
            f"{block}.input_layernorm.weight": (HIDDEN,),
            f"{block}.post_attention_layernorm.weight": (HIDDEN,),
            f"{block}.self_attn.q_proj.weight": (HEADS * HEAD_DIM, HIDDEN),
            f"{block}.self_attn.k_proj.weight": (KV_HEADS * HEAD_DIM, HIDDEN),
            f"{block}.self_attn.v_proj.weight": (KV_HEADS * HEAD_DIM, HIDDEN),
            f"{block}.self_attn.o_proj.weight": (HIDDEN, HEADS * HEAD_DIM),
            f"{block}.mlp.gate_proj.weight": (INTERMEDIATE, HIDDEN),
            f"{block}.mlp.up_proj.weight": (INTERMEDIATE, HIDDEN),
            f"{block}.mlp.down_proj.weight": (HIDDEN, INTERMEDIATE),
        }
    weights = {
        name: numpy.ones(shape, numpy.float32) if len(shape) == 1
        else random.normal(0, 0.05, shape).astype(numpy.float32)
        for name, shape in shapes.items()
    }
    safetensors.numpy.save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    return folder
