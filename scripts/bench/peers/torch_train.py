#!/usr/bin/env python3
"""One training step of PyTorch: forward, backward and AdamW over `samples` sequences (8 x 256 = 2,048 tokens)."""

import measure


def main() -> None:
    parser = measure.arguments(__doc__)
    parser.add_argument("--dtype", choices=("f32", "bf16"), default="f32", help="bf16: autocast over f32 weights")
    parser.add_argument("--mode", choices=("eager", "compile"), default="eager")
    parser.add_argument("--logits", choices=("response", "all"), default="response", help="where the head runs")
    options = parser.parse_args()
    with measure.workload(options) as work:
        import torch

        import torch_model

        model = torch_model.load(work, torch.float32)
        optimizer = torch_model.adamw(model)
        prompts = torch_model.random_prompts(work, work.samples, model.config.vocab_size)
        responses = torch.randint(3, model.config.vocab_size, (work.samples, work.response_length))
        tokens = torch.cat([prompts, responses], dim=1)

        def loss_of(tokens: torch.Tensor) -> torch.Tensor:
            return -torch_model.response_log_probs(model, tokens, work.prompt_length,
                                                   options.logits == "response").mean()

        if options.mode == "compile":
            loss_of = torch.compile(loss_of)

        def step() -> measure.Phases:
            timer = measure.Phases()
            with timer.phase("forward"), torch_model.autocast(options.dtype):
                loss = loss_of(tokens)
            with timer.phase("backward"):
                loss.backward()
            with timer.phase("optimizer"):
                optimizer.step()
                optimizer.zero_grad(set_to_none=True)
            return timer

        for _ in range(work.warmups):
            step()
        repeats = [step() for _ in range(work.repeats)]
        measure.report(work, program="torch_train", peer=torch_model.peer_name(), bench="train", dtype=options.dtype,
                       mode=f"{options.mode}, {options.logits} logits", batch=work.samples, tokens=tokens.numel(),
                       repeats=repeats)


if __name__ == "__main__":
    main()
