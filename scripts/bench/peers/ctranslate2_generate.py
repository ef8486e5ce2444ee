#!/usr/bin/env python3
"""Batched sampling by CTranslate2, from the whole distribution at temperature 1, to the full response length.

Phase prefill is a generation of one token, phase decode the rest of the whole generation. CTranslate2 has no bf16
arithmetic on CPUs; int8 is its fast type there.
"""

import json
import pathlib
import random
import subprocess
import sys
import tempfile

import measure

WARMUP_TOKENS = 4


def convert(work: measure.Workload, folder: pathlib.Path) -> pathlib.Path:
    """Converts in a process of its own, so that PyTorch's threads and memory are gone before the measurement."""
    target = folder / "ctranslate2"
    command = [sys.executable, "-m", "ctranslate2.converters.transformers", "--model", str(work.model), "--output_dir",
               str(target)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"the converter of CTranslate2 failed:\n{done.stderr}")
    return target


def random_prompts(work: measure.Workload, vocabulary: pathlib.Path) -> list[list[str]]:
    """Tokens of every sequence's prompt; the samples of a prompt stand together."""
    tokens = json.loads(vocabulary.read_text(encoding="utf-8"))[3:]
    source = random.Random(work.seed)
    prompts = [source.choices(tokens, k=work.prompt_length) for _ in range(work.prompts)]
    return [prompt for prompt in prompts for _ in range(work.samples)]


def main() -> None:
    parser = measure.arguments(__doc__.splitlines()[0])
    parser.add_argument("--dtype", choices=("f32", "int8"), default="f32")
    options = parser.parse_args()
    with measure.workload(options) as work, tempfile.TemporaryDirectory() as folder:
        import ctranslate2

        generator = ctranslate2.Generator(
            str(convert(work, pathlib.Path(folder))), device="cpu", inter_threads=1, intra_threads=work.threads,
            compute_type={"f32": "float32", "int8": "int8"}[options.dtype])
        prompts = random_prompts(work, pathlib.Path(folder) / "ctranslate2" / "vocabulary.json")

        def generate(length: int) -> tuple[measure.Moment, measure.Moment]:
            start = measure.now()
            results = generator.generate_batch(
                prompts, max_length=length, min_length=length, sampling_topk=0, sampling_temperature=1.0,
                include_prompt_in_result=False, end_token=[], max_batch_size=0)
            end = measure.now()
            lengths = {len(result.sequences_ids[0]) for result in results}
            if lengths != {length}:
                raise SystemExit(f"CTranslate2 made {sorted(lengths)} tokens instead of {length}")
            return start, end

        def once() -> measure.Phases:
            timer = measure.Phases()
            timer.add("prefill", *generate(1))
            timer.add("decode", *generate(work.response_length))
            timer.subtract("decode", "prefill")
            return timer

        for _ in range(work.warmups):
            generate(WARMUP_TOKENS)
        repeats = [once() for _ in range(work.repeats)]
        measure.report(work, program="ctranslate2_generate", peer=f"ctranslate2 {ctranslate2.__version__}",
                       bench="decode", dtype=options.dtype, mode="", batch=work.sequences,
                       tokens=work.response_tokens, decode_tokens=work.sequences * (work.response_length - 1),
                       repeats=repeats)


if __name__ == "__main__":
    main()
