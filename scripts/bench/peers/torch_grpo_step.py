#!/usr/bin/env python3
"""One GRPO step of PyTorch and transformers, written for speed: generate, old and reference log-probs, update.

f32: one model samples and learns. bf16: sampling and the reference run on bf16 weights (the sampler's are copied from
the f32 master weights in each step), old log-probs and the update under autocast. Sequences have equal lengths, so no
batch holds padding. `--old reuse` takes the old log-probs of the first (and only) update from the update's own forward.
The warm-up is the same step with one micro-batch.
"""

import measure

KL_COEFFICIENT, MICRO_SEQUENCES = 0.001, 8


def main() -> None:
    parser = measure.arguments(__doc__.splitlines()[0])
    parser.add_argument("--dtype", choices=("f32", "bf16"), default="f32")
    parser.add_argument("--logits", choices=("response", "all"), default="response", help="where the head runs")
    parser.add_argument("--old", choices=("recompute", "reuse"), default="recompute", help="old log-probs")
    parser.add_argument("--beta", type=float, default=KL_COEFFICIENT, help="KL coefficient; 0 skips the reference")
    parser.add_argument("--micro", type=int, default=MICRO_SEQUENCES, help="sequences of a micro-batch")
    options = parser.parse_args()
    with measure.workload(options) as work:
        import torch_model
        from grpo_step import GrpoStep

        step = GrpoStep(work, options)
        for _ in range(work.warmups):
            step.run(options.micro)
        repeats = [step.run(work.sequences) for _ in range(work.repeats)]
        measure.report(work, program="torch_grpo_step", peer=torch_model.peer_name(), bench="step",
                       dtype=options.dtype, mode=f"{options.logits} logits, old {options.old}, beta {options.beta:g}",
                       batch=work.sequences, tokens=work.sequences * work.length, repeats=repeats)


if __name__ == "__main__":
    main()
