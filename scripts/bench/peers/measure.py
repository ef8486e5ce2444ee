"""What every peer program shares: arguments, pinned threads, timing, and the one JSON line that it prints."""

import argparse
import contextlib
import dataclasses
import json
import os
import pathlib
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence

import tiny_model

THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS",
                    "NUMEXPR_NUM_THREADS", "RAYON_NUM_THREADS")


@dataclasses.dataclass
class Workload:
    """The shape of one step: prompts x samples sequences of prompt_length + response_length tokens."""

    model: pathlib.Path
    prompts: int
    samples: int
    prompt_length: int
    response_length: int
    threads: int
    repeats: int
    warmups: int
    seed: int
    tiny: bool

    @property
    def sequences(self) -> int:
        return self.prompts * self.samples

    @property
    def length(self) -> int:
        return self.prompt_length + self.response_length

    @property
    def response_tokens(self) -> int:
        return self.sequences * self.response_length


def arguments(description: str) -> argparse.ArgumentParser:
    """A parser with the options that all peers have; a program adds its own before `workload`."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--model", type=pathlib.Path, help="Hugging Face folder; needed unless --tiny")
    parser.add_argument("--prompts", type=int, default=8)
    parser.add_argument("--samples", type=int, default=8, help="samples of each prompt")
    parser.add_argument("--prompt-length", type=int, default=128)
    parser.add_argument("--response-length", type=int, default=128)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=1, help="timed repeats; the median is reported")
    parser.add_argument("--warmups", type=int, default=1, help="repeats before the timed ones")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tiny", action="store_true", help="smoke test: random 2-layer model, 2 x 2 x (8 + 8) tokens")
    return parser


@contextlib.contextmanager
def workload(options: argparse.Namespace) -> Iterator[Workload]:
    """The workload of the options. Pins thread counts, so enter it before a numeric library is imported."""
    for name in THREAD_VARIABLES:
        os.environ[name] = str(options.threads)
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    shared = {name: getattr(options, name) for name in ("threads", "repeats", "warmups", "seed", "tiny")}
    if options.tiny:
        with tempfile.TemporaryDirectory() as folder:
            model = tiny_model.write(pathlib.Path(folder))
            yield Workload(model, prompts=2, samples=2, prompt_length=8, response_length=8, **shared)
        return
    if options.model is None or not (options.model / "config.json").is_file():
        sys.exit(f"{sys.argv[0]}: --model must name a Hugging Face folder with config.json, not {options.model}")
    yield Workload(options.model, options.prompts, options.samples, options.prompt_length, options.response_length,
                   **shared)


@dataclasses.dataclass(frozen=True)
class Moment:
    """A reading of the wall clock and of this process's CPU time, in seconds."""

    wall: float
    cpu: float


def now() -> Moment:
    return Moment(time.perf_counter(), time.process_time())


class Phases:
    """Wall and CPU seconds by phase name; one object per repeat."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.cpu_seconds: dict[str, float] = {}

    @contextlib.contextmanager
    def phase(self, name: str) -> Iterator[None]:
        start = now()
        yield
        self.add(name, start, now())

    def add(self, name: str, start: Moment, end: Moment) -> None:
        self.seconds[name] = self.seconds.get(name, 0.0) + end.wall - start.wall
        self.cpu_seconds[name] = self.cpu_seconds.get(name, 0.0) + end.cpu - start.cpu

    def subtract(self, name: str, part: str) -> None:
        """Takes phase `part` out of phase `name`, which held it."""
        self.seconds[name] -= self.seconds[part]
        self.cpu_seconds[name] -= self.cpu_seconds[part]

    @property
    def total(self) -> float:
        return sum(self.seconds.values())


def median_phases(repeats: Sequence[Phases]) -> Phases:
    """The repeat whose total is the (lower) median, so that its phases add up to its total."""
    return sorted(repeats, key=lambda repeat: repeat.total)[(len(repeats) - 1) // 2]


def report(work: Workload, *, program: str, peer: str, bench: str, dtype: str, mode: str, batch: int, tokens: int,
           repeats: Sequence[Phases], decode_tokens: int | None = None) -> None:
    """Prints the JSON line. `tokens` of one repeat give tokens_per_second; `decode_tokens` those of phase decode."""
    middle = median_phases(repeats)
    totals = [repeat.total for repeat in repeats]
    line = {
        "program": program,
        "peer": peer,
        "bench": bench,
        "dtype": dtype,
        "mode": mode,
        "model": "tiny" if work.tiny else work.model.name,
        "threads": work.threads,
        "batch": batch,
        "prompt_length": work.prompt_length,
        "response_length": work.response_length,
        "tokens": tokens,
        "seconds": statistics.median(totals),
        "all_seconds": totals,
        "phases": middle.seconds,
        # On a busy machine, with one thread, nearer to the seconds of a quiet one.
        "cpu_phases": middle.cpu_seconds,
        "tokens_per_second": tokens / middle.total,
        "peak_rss_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }
    if decode_tokens is not None:
        line["decode_tokens_per_second"] = decode_tokens / middle.seconds["decode"]
    print(json.dumps(line), flush=True)
