#!/usr/bin/env python3
"""One step of TRL's GRPOTrainer of the same size: prompts x samples, completions of the full response length.

TRL's own defaults except for what the work fixes: batch shape, lengths, beta, temperature 1, gradient clipping 1.
`--dtype default` leaves TRL's choices alone (bf16 autocast, activations recomputed); `f32` turns lower precision off,
and recomputation too, since the activations of this size fit: that makes TRL faster.
"""

import zlib

import measure


def main() -> None:
    parser = measure.arguments(__doc__.splitlines()[0])
    parser.add_argument("--dtype", choices=("f32", "default"), default="f32")
    parser.add_argument("--beta", type=float, default=0.001, help="KL coefficient; 0: no reference model")
    options = parser.parse_args()
    with measure.workload(options) as work:
        import torch
        import transformers
        import trl

        torch.set_num_threads(work.threads)
        peer = f"trl {trl.__version__}, transformers {transformers.__version__}, torch {torch.__version__}"
        repeats = train(work, options)
        measure.report(work, program="trl_step", peer=peer, bench="step", dtype=options.dtype,
                       mode=f"beta {options.beta:g}", batch=work.sequences, tokens=work.sequences * work.length,
                       repeats=repeats)


def train(work: measure.Workload, options) -> list[measure.Phases]:
    """Runs warm-up and timed steps in one trainer; returns the timed ones."""
    import tempfile

    import datasets
    import transformers
    import trl

    class StepTimes(transformers.TrainerCallback):
        """Seconds of every optimizer step, sampling included."""

        def __init__(self) -> None:
            self.start = measure.now()
            self.steps: list[measure.Phases] = []

        def on_step_begin(self, *_, **__) -> None:
            self.steps.append(measure.Phases())
            self.start = measure.now()

        def on_step_end(self, *_, **__) -> None:
            self.steps[-1].add("step", self.start, measure.now())

    steps = work.warmups + work.repeats
    tokenizer = transformers.AutoTokenizer.from_pretrained(work.model)
    prompts = prompts_of_length(tokenizer, work.prompt_length, work.prompts * steps, work.seed)
    plain = {"bf16": False, "fp16": False, "model_init_kwargs": {"dtype": "float32"}, "gradient_checkpointing": False}
    times = StepTimes()
    with tempfile.TemporaryDirectory() as folder:
        config = trl.GRPOConfig(
            output_dir=folder, use_cpu=True, seed=work.seed, max_steps=steps, report_to="none", save_strategy="no",
            logging_strategy="no", disable_tqdm=True, per_device_train_batch_size=work.samples,
            gradient_accumulation_steps=work.prompts, num_generations=work.samples,
            max_completion_length=work.response_length, generation_kwargs={"min_new_tokens": work.response_length},
            beta=options.beta, temperature=1.0, learning_rate=1e-6, max_grad_norm=1.0,
            **(plain if options.dtype == "f32" else {}))
        trainer = trl.GRPOTrainer(model=str(work.model), args=config, processing_class=tokenizer,
                                  reward_funcs=random_reward, callbacks=[times],
                                  train_dataset=datasets.Dataset.from_dict({"prompt": prompts}))
        trainer.train()
    return times.steps[work.warmups:]


def random_reward(completions: list[str], **_) -> list[float]:
    """Differs between the samples of a group, so that no advantage is zero."""
    return [zlib.crc32(text.encode()) / 2**32 for text in completions]


def prompts_of_length(tokenizer, length: int, count: int, seed: int) -> list[str]:
    """Texts that encode to exactly `length` tokens: sequences of words that are one token each."""
    import random

    words = [word for word in (tokenizer.decode([token]) for token in range(len(tokenizer)))
             if word.strip().isalnum() and word.isascii() and len(tokenizer(word)["input_ids"]) == 1]
    spaced = [word for word in words if word.startswith(" ") and word[1:].isalpha() and word.islower()] or words
    source = random.Random(seed)
    texts = ["".join(source.choices(spaced, k=length)) for _ in range(count)]
    if any(len(tokenizer(text)["input_ids"]) != length for text in texts):
        raise SystemExit("trl_step.py: the tokenizer splits a prompt otherwise than word by word")
    return texts


if __name__ == "__main__":
    main()
