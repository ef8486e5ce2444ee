"""Which measurement of verlc stands beside which peer program, and what is compared."""

import dataclasses
from collections.abc import Iterator

from verlc_bench import Measurement

# (prompts, samples) by batch size of a generation.
BATCHES = {64: (8, 8), 8: (8, 1), 1: (1, 1)}
OUR_DTYPES = {"f32": "float32", "bf16": "bfloat16"}


@dataclasses.dataclass(frozen=True)
class Case:
    """`ours` is None where `verlc bench` has no equal; `field` of the peer's JSON is compared: a rate, or "seconds"."""

    name: str
    ours: Measurement | None
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
    """The decode phase: prompts of 128 tokens, so 192 tokens of context on average."""
    peers = {
        "llama": ("llama", "llama_decode.py", ("f32", "bf16")),
        "transformers": ("torch", "torch_generate.py", ("f32", "bf16")),
        "ctranslate2": ("torch", "ctranslate2_generate.py", ("f32", "int8")),
    }
    for batch, (prompts, samples) in BATCHES.items():
        for peer, (environment, program, dtypes) in peers.items():
            for dtype in dtypes:
                # Our nearest to another engine's int8 is bf16.
                own = OUR_DTYPES["bf16" if dtype == "int8" else dtype]
                ours = Measurement(("decode", "--dtype", own), row=f"decode M={batch} context 192 {own}")
                shape = ("--prompts", str(prompts), "--samples", str(samples))
                yield Case(f"decode-{batch}-{dtype}-{peer}", ours, environment, program, (*shape, "--dtype", dtype),
                           "decode_tokens_per_second")


def train_cases() -> Iterator[Case]:
    """A training step of 2,048 tokens; ours is f32 with the head at all positions."""
    for dtype in ("f32", "bf16"):
        for mode in ("eager", "compile"):
            for logits in ("response", "all"):
                same = dtype == "f32" and logits == "all"
                ours = Measurement(("train",), row="training step 8 x 256 tokens") if same else None
                yield Case(f"train-{dtype}-{mode}-{logits}", ours, "torch", "torch_train.py",
                           ("--dtype", dtype, "--mode", mode, "--logits", logits, "--repeats", "3"),
                           "tokens_per_second")


def our_step(dtype: str, *options: str) -> Measurement:
    """The second, warm step of `verlc bench step`."""
    own = OUR_DTYPES[dtype]
    return Measurement(("step", "--steps", "2", "--set", f"actor.fsdp_config.dtype={own}", "--set",
                        f"rollout.dtype={own}", *options), value="whole step (step 2)")


def torch_step(name: str, dtype: str, ours: Measurement, *options: str) -> Case:
    return Case(f"step-{dtype}-torch-{name}", ours, "torch", "torch_grpo_step.py", ("--dtype", dtype, *options),
                "seconds")


def step_cases() -> Iterator[Case]:
    """A whole GRPO step: the same work (no sharing, old log-probs recomputed), and with our exact savings."""
    for dtype in ("f32", "bf16"):
        yield torch_step("same-work", dtype, our_step(dtype, "--no-sharing"))
        yield torch_step("savings", dtype, our_step(dtype))
        # The shortest way that PyTorch itself has: no old log-probs for a single update.
        yield torch_step("reuse-savings", dtype, our_step(dtype), "--old", "reuse")
    for dtype, own in (("f32", "f32"), ("default", "bf16")):
        for beta, options in (("0.001", ()), ("0", ("--no-reference",))):
            yield Case(f"step-{dtype}-trl-beta-{beta}", our_step(own, *options), "torch", "trl_step.py",
                       ("--dtype", dtype, "--beta", beta), "seconds")
