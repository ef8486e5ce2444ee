"""Which measurement of verlc stands beside which peer program, and what is compared."""

import dataclasses
from collections.abc import Iterator

# (prompts, samples) by batch size of a generation.
BATCHES = {64: (8, 8), 8: (8, 1), 1: (1, 1)}


@dataclasses.dataclass(frozen=True)
class Case:
    """`ours` are arguments of verlc_bench.measure; `field` is the JSON field compared: a rate, or "seconds"."""

    name: str
    ours: dict[str, str | int]
    environment: str
    program: str
    options: tuple[str, ...]
    field: str

    def ratio(self, ours: float, peer: float) -> float:
        """How many times faster we are."""
        return peer / ours if self.field == "seconds" else ours / peer


def all_cases() -> list[Case]:
    return [*decode_cases(), *train_cases(), *step_cases()]


def decode_cases() -> Iterator[Case]:
    """The decode phase, all sequences in step."""
    peers = {
        "llama": ("llama", "llama_decode.py", ("f32", "bf16")),
        "transformers": ("torch", "torch_generate.py", ("f32", "bf16")),
        "ctranslate2": ("torch", "ctranslate2_generate.py", ("f32", "int8")),
    }
    for batch, (prompts, samples) in BATCHES.items():
        for peer, (environment, program, dtypes) in peers.items():
            for dtype in dtypes:
                shape = ("--prompts", str(prompts), "--samples", str(samples))
                # Our nearest to another engine's int8 is bf16.
                ours = "bf16" if dtype == "int8" else dtype
                yield Case(f"decode-{batch}-{dtype}-{peer}", {"bench": "decode", "dtype": ours, "batch": batch},
                           environment, program, (*shape, "--dtype", dtype), "decode_tokens_per_second")


def train_cases() -> Iterator[Case]:
    """A training step of 2,048 tokens."""
    for dtype in ("f32", "bf16"):
        for mode in ("eager", "compile"):
            for logits in ("response", "all"):
                yield Case(f"train-{dtype}-{mode}-{logits}", {"bench": "train", "dtype": dtype, "logits": logits},
                           "torch", "torch_train.py",
                           ("--dtype", dtype, "--mode", mode, "--logits", logits, "--repeats", "3"),
                           "tokens_per_second")


def step_cases() -> Iterator[Case]:
    """A whole GRPO step: the same work (no sharing, old log-probs recomputed), and with our exact savings."""
    for dtype in ("f32", "bf16"):
        for savings in ("off", "on"):
            yield Case(f"step-{dtype}-torch-savings-{savings}", {"bench": "step", "dtype": dtype, "savings": savings},
                       "torch", "torch_grpo_step.py", ("--dtype", dtype), "seconds")
        # The shortest way that PyTorch itself has: no old log-probs for a single update.
        yield Case(f"step-{dtype}-torch-reuse", {"bench": "step", "dtype": dtype, "savings": "on"},
                   "torch", "torch_grpo_step.py", ("--dtype", dtype, "--old", "reuse"), "seconds")
    for dtype, ours in (("f32", "f32"), ("default", "bf16")):
        for beta in ("0.001", "0"):
            yield Case(f"step-{dtype}-trl-beta-{beta}",
                       {"bench": "step", "dtype": ours, "savings": "on", "beta": beta},
                       "torch", "trl_step.py", ("--dtype", dtype, "--beta", beta), "seconds")
