#!/usr/bin/env python3
"""Sampling by transformers' `generate`: prompts x samples sequences at once, all of the full response length."""

import measure

WARMUP_TOKENS = 4


def main() -> None:
    parser = measure.arguments(__doc__)
    parser.add_argument("--dtype", choices=("f32", "bf16"), default="f32", help="dtype of the weights")
    parser.add_argument("--cache", choices=("dynamic", "static"), default="dynamic")
    options = parser.parse_args()
    with measure.workload(options) as work:
        import torch_model
        from torch_sampler import Sampler

        model = torch_model.load(work, torch_model.DTYPES[options.dtype]).eval()
        sampler = Sampler(model, work.response_length, options.cache)
        prompts = torch_model.random_prompts(work, work.prompts, model.config.vocab_size)
        prompts = prompts.repeat_interleave(work.samples, dim=0)

        def once() -> measure.Phases:
            timer = measure.Phases()
            sampler.generate(prompts, timer)
            return timer

        for _ in range(work.warmups):
            Sampler(model, WARMUP_TOKENS, options.cache).generate(prompts, measure.Phases())
        repeats = [once() for _ in range(work.repeats)]
        measure.report(work, program="torch_generate", peer=torch_model.peer_name(), bench="decode",
                       dtype=options.dtype, mode=f"{options.cache} cache", batch=work.sequences,
                       tokens=work.response_tokens, decode_tokens=work.sequences * (work.response_length - 1),
                       repeats=repeats)


if __name__ == "__main__":
    main()
