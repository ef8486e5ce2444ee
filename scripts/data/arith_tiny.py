#!/usr/bin/env python3
"""Writes the quickstart's rows, recipes/data/arith_{sft,train,heldout}.jsonl: two-operand additions "07+15=22".

    scripts/data/arith_tiny.py [--max 29] [--heldout 150] [--copies 6] [--slip 0.55] [--seed 1] [--out recipes/data]

Every problem LEFT+RIGHT with 0 <= LEFT, RIGHT <= max is either held out or not; no held-out problem is in another file.
`sft` has each of the others `copies` times: it teaches the format and the digits, but a careless teacher carries once too
often in a share `slip` of its rows, so that imitation alone ends with the wrong answer about as often as with the right
one. `train` has the same problems in verl's schema with the right answer as the label,
read by the exact scorer; `heldout` likewise. The same arguments give the same bytes.
"""

import argparse
import json
import pathlib
import random


def slipped(left, right):
    """The sum with one carry too many."""
    return left + right + 10


def prompt(left, right):
    return f"{left:02d}+{right:02d}="


def rl_row(split, index, left, right):
    return {
        "data_source": "arith_tiny",
        "prompt": prompt(left, right),
        "ability": "math",
        "reward_model": {"style": "rule", "ground_truth": f"{left + right:02d}"},
        "extra_info": {"split": split, "index": index},
    }


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    print(f"arith_tiny: wrote {len(rows)} rows to {path} ({path.stat().st_size // 1024} KB)")


def main():
    root = pathlib.Path(__file__).resolve().parents[2]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--max", type=int, default=29, help="largest operand")
    parser.add_argument("--heldout", type=int, default=150)
    parser.add_argument("--copies", type=int, default=6, help="rows of sft for each problem")
    parser.add_argument("--slip", type=float, default=0.55, help="share of wrong answers in sft")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=pathlib.Path, default=root / "recipes/data")
    args = parser.parse_args()
    draw = random.Random(args.seed)
    problems = [(left, right) for left in range(args.max + 1) for right in range(args.max + 1)]
    draw.shuffle(problems)
    heldout, known = problems[: args.heldout], problems[args.heldout :]
    sft = []
    for left, right in known * args.copies:
        answer = slipped(left, right) if draw.random() < args.slip else left + right
        sft.append({"prompt": prompt(left, right), "response": f"{answer:02d}"})
    args.out.mkdir(parents=True, exist_ok=True)
    write(args.out / "arith_sft.jsonl", sft)
    write(args.out / "arith_train.jsonl", [rl_row("train", i, *p) for i, p in enumerate(known)])
    write(args.out / "arith_heldout.jsonl", [rl_row("heldout", i, *p) for i, p in enumerate(heldout)])


if __name__ == "__main__":
    main()
