#!/usr/bin/env python3
"""Measures verlc and its peers in turn (ours, peer, ours, peer, ...) and prints the medians of the pairwise ratios.

    scripts/bench/peers/run.py MODEL                     every case, 3 rounds: hours
    scripts/bench/peers/run.py MODEL --cases 'decode-64-*' 'step-f32-torch-*' --rounds 5
    scripts/bench/peers/run.py MODEL --peers-only        the peers' own numbers, without verlc
    scripts/bench/peers/run.py --tiny                    a smoke test of every peer program
    scripts/bench/peers/run.py --list                    names of the cases

install.sh makes the environments; build verlc first (build/release). Results: JSON and Markdown in build/peers/results.
"""

import argparse
import fnmatch
import json
import os
import pathlib
import subprocess
import sys

import machine
import results
from cases import Case, all_cases
from verlc_bench import Unavailable, VerlcBench

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]


def main() -> None:
    options = parse()
    chosen = [case for case in all_cases() if any(fnmatch.fnmatch(case.name, glob) for glob in options.cases)]
    if options.list:
        print("\n".join(case.name for case in chosen))
        return
    if not chosen:
        sys.exit(f"run.py: no case matches {' '.join(options.cases)}; --list shows their names")
    if not options.tiny and options.model is None:
        sys.exit("run.py: name the model folder; scripts/get_smollm2.sh makes one")
    ours = None
    if not options.tiny and not options.peers_only:
        if not options.verlc.is_file():
            sys.exit(f"run.py: there is no {options.verlc}; build verlc, or pass --verlc or --peers-only")
        ours = VerlcBench(options.verlc, options.model, options.threads)
    table = results.Results(machine.describe(options.verlc if ours else None), options.note)
    for case in chosen:
        for round_number in range(1 if options.tiny else options.rounds):
            measure_pair(case, ours, options, table, round_number)
        print(table.line(case), flush=True)
        # Written after every case, so that a stopped run keeps what it has.
        table.write(options.out)
    sys.exit(1 if table.failures else 0)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=pathlib.Path, nargs="?")
    parser.add_argument("--cases", nargs="+", default=["*"], metavar="GLOB")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--verlc", type=pathlib.Path, default=ROOT / "build" / "release" / "bin" / "verlc")
    parser.add_argument("--environments", type=pathlib.Path,
                        default=pathlib.Path(os.environ.get("VERLC_PEERS", ROOT / "build" / "peers")))
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build" / "peers" / "results")
    parser.add_argument("--note", default="", help="a remark for the results, such as 'busy machine'")
    parser.add_argument("--peers-only", action="store_true")
    parser.add_argument("--tiny", action="store_true")
    parser.add_argument("--list", action="store_true")
    return parser.parse_args()


def measure_pair(case: Case, ours: VerlcBench | None, options: argparse.Namespace, table: results.Results,
                 round_number: int) -> None:
    """One round of a case: ours, then the peer. A failure is kept in the table and the run goes on."""
    print(f"{case.name}, round {round_number + 1}", file=sys.stderr, flush=True)
    our_value = None
    if ours is not None and case.ours is not None:
        try:
            our_value = ours.measure(case.ours)
        except Unavailable as problem:
            table.fail(case, str(problem))
            return
    try:
        table.add(case, our_value, run_peer(case, options))
    except RuntimeError as problem:
        table.fail(case, str(problem))


def run_peer(case: Case, options: argparse.Namespace) -> dict:
    """The JSON line of the peer program, run in its own process."""
    python = options.environments / case.environment / "bin" / "python"
    if not python.is_file():
        raise RuntimeError(f"there is no {python}; run {HERE / 'install.sh'} {case.environment}")
    where = ["--tiny"] if options.tiny else ["--model", str(options.model)]
    command = [str(python), str(HERE / case.program), *where, "--threads", str(options.threads), *case.options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    # Libraries print tables of their own, some in braces.
    lines = [line for line in done.stdout.splitlines() if line.startswith('{"program"')]
    if done.returncode != 0 or len(lines) != 1:
        raise RuntimeError(f"{' '.join(command)} exited {done.returncode} with {len(lines)} results: "
                           f"{done.stderr.strip()[-2000:]}")
    return json.loads(lines[0])


if __name__ == "__main__":
    main()
