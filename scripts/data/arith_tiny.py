#!/usr/bin/env python3
"""Writes the quickstart's rows, recipes/data/arith_{sft,train,heldout}.jsonl: two-operand additions and subtractions.

    scripts/data/arith_tiny.py [--max-left 99] [--max-right 9] [--sft 600] [--heldout 200] [--train 1155] [--seed 1]
                               [--operators +-] [--out recipes/data]

Every problem LEFT+RIGHT or LEFT-RIGHT with 0 <= LEFT <= max-left, 0 <= RIGHT <= max-right and an answer >= 0 is drawn
at most once, so no problem of one file is in another. Rows of `sft` are a user's "17+5=" and an assistant's "22";
rows of the others are in verl's schema and are read by the exact scorer. The same arguments give the same bytes.
"""

import argparse
import json
import pathlib
import random
import sys


def all_problems(max_left, max_right, operators):
    """Every (text, answer), in one fixed order."""
    problems = []
    for operator in operators:
        for left in range(max_left + 1):
            for right in range(max_right + 1):
                value = left + right if operator == "+" else left - right
                if value >= 0:
                    problems.append((f"{left}{operator}{right}=", str(value)))
    return problems


def sft_row(problem):
    text, answer = problem
    return {"messages": [{"role": "user", "content": text}, {"role": "assistant", "content": answer}]}


def rl_row(split, index, problem):
    text, answer = problem
    return {
        "data_source": "arith_tiny",
        "prompt": [{"role": "user", "content": text}],
        "ability": "math",
        "reward_model": {"style": "rule", "ground_truth": answer},
        "extra_info": {"split": split, "index": index},
    }


def write_jsonl(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    print(f"arith_tiny: wrote {len(rows)} rows to {path} ({path.stat().st_size / 1024:.0f} KB)")


def main():
    root = pathlib.Path(__file__).resolve().parents[2]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--max-left", type=int, default=99)
    parser.add_argument("--max-right", type=int, default=9)
    parser.add_argument("--operators", default="+-", choices=("+-", "+", "-"))
    parser.add_argument("--sft", type=int, default=600)
    parser.add_argument("--heldout", type=int, default=200)
    parser.add_argument("--train", type=int, default=1155)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=pathlib.Path, default=root / "recipes/data")
    args = parser.parse_args()
    problems = all_problems(args.max_left, args.max_right, args.operators)
    asked = args.sft + args.heldout + args.train
    if asked > len(problems):
        sys.exit(f"arith_tiny: {asked} rows asked, but these ranges have only {len(problems)} problems")
    random.Random(args.seed).shuffle(problems)
    heldout, rest = problems[:args.heldout], problems[args.heldout:]
    sft, train = rest[:args.sft], rest[args.sft:args.sft + args.train]
    args.out.mkdir(parents=True, exist_ok=True)
    write_jsonl(args.out / "arith_sft.jsonl", [sft_row(p) for p in sft])
    for split, part in (("train", train), ("heldout", heldout)):
        write_jsonl(args.out / f"arith_{split}.jsonl", [rl_row(split, i, p) for i, p in enumerate(part)])


if __name__ == "__main__":
    main()
