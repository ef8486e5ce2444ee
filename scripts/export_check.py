#!/usr/bin/env python3
"""Checks an exported model folder against transformers, token by token.

    scripts/export_check.py FOLDER                                  loads it and prints log-probs of fixed texts
    scripts/export_check.py FOLDER --write-input rows.jsonl         writes the rows to score, {"text": ...}
    scripts/export_check.py FOLDER scores.jsonl [--tolerance 1e-4]  compares with what `verlc score` wrote

A whole check:
    scripts/export_check.py DIR --write-input rows.jsonl
    verlc score --model DIR --input rows.jsonl --output scores.jsonl
    scripts/export_check.py DIR scores.jsonl

A row of scores.jsonl has "token_ids" [T] and "logprobs" [T]: the log-prob of each token after those before it, null
for the first. A row that also has "text" must have the ids that the folder's own tokenizer gives it. The reference
runs in f32 on the weights as they are stored. Exit code 0: every token agrees; 1: not.
"""

import argparse
import json
import math
import pathlib
import sys

import torch
import transformers
from transformers import AutoModelForCausalLM, AutoTokenizer

TEXTS = (
    "The capital of France is Paris, and the capital of Italy is Rome.",
    "17 + 25 = 42, 42 - 25 = 17, and 1024 * 3 = 3072.",
    "def add(a, b):\n    \"\"\"Adds two numbers.\"\"\"\n    return a + b\n\n\nprint(add(2, 3))\n",
    "Les élèves étudient; 学生们在学习。 Ωμέγα 🙂 – “quoted”.",
    "It was the best of times, it was the worst of times, it was the age of wisdom, it was the age of foolishness, "
    "it was the epoch of belief, it was the epoch of incredulity, it was the season of Light, it was the season of "
    "Darkness, it was the spring of hope, it was the winter of despair.",
)
# A tokenizer without a letter outside arithmetic cannot read the texts above.
ARITHMETIC_TEXTS = ("17+25=42", "90-46=44", "3+4=7", "8-5=3", "50+49=99")


def fail(message):
    sys.exit(f"export_check: {message}")


def texts_for(tokenizer):
    """The fixed texts that the tokenizer can represent."""
    unknown = tokenizer.unk_token_id
    kept = [t for t in TEXTS if unknown is None or unknown not in tokenizer(t)["input_ids"]]
    return kept or list(ARITHMETIC_TEXTS)


@torch.inference_mode()
def logprobs_of(model, ids):
    """Log-prob of ids[1:], each after the ids before it, as floats."""
    if len(ids) < 2:
        return []
    tokens = torch.tensor(ids)
    log_p = torch.log_softmax(model(input_ids=tokens[None], use_cache=False).logits[0, :-1].float(), dim=-1)
    return log_p.gather(1, tokens[1:, None])[:, 0].tolist()


def read_rows(path):
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            fail(f"{path}:{number}: {error}")
        for key in ("token_ids", "logprobs"):
            if not isinstance(row.get(key), list):
                fail(f"{path}:{number}: no list {key}")
        if len(row["token_ids"]) != len(row["logprobs"]):
            fail(f"{path}:{number}: {len(row['token_ids'])} token_ids but {len(row['logprobs'])} logprobs")
        yield number, row


def compare(model, tokenizer, path, tolerance):
    """Prints the largest difference; true if every token is within `tolerance`."""
    worst, total, count, wrong_ids, where = 0.0, 0.0, 0, 0, "none"
    num_rows = 0
    for number, row in read_rows(path):
        ids, got = row["token_ids"], row["logprobs"]
        num_rows += 1
        if "text" in row and tokenizer(row["text"])["input_ids"] != ids:
            wrong_ids += 1
            print(f"{path}:{number}: token_ids differ from those of the folder's tokenizer")
        if got and got[0] is not None:
            fail(f"{path}:{number}: the first log-prob must be null, not {got[0]}")
        for position, expected in enumerate(logprobs_of(model, ids), 1):
            value = got[position]
            gap = math.inf if value is None or math.isnan(value) else abs(value - expected)
            total, count = total + gap, count + 1
            if gap > worst or count == 1:
                worst, where = gap, f"{path}:{number} token {position}: {value}, transformers {expected:.6f}"
    if not count:
        fail(f"{path} holds no token to compare")
    print(f"export_check: {num_rows} rows, {count} tokens, max difference {worst:.3e}, mean {total / count:.3e}")
    print(f"export_check: largest at {where}")
    return worst <= tolerance and not wrong_ids


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("reference", type=pathlib.Path, nargs="?", help="output of `verlc score`")
    parser.add_argument("--write-input", type=pathlib.Path, help="write the fixed texts as rows for `verlc score`")
    parser.add_argument("--tolerance", type=float, default=1e-4)
    args = parser.parse_args()
    transformers.utils.logging.disable_progress_bar()
    tokenizer = AutoTokenizer.from_pretrained(args.folder)
    texts = texts_for(tokenizer)
    if args.write_input:
        args.write_input.write_text("".join(json.dumps({"text": t}, ensure_ascii=False) + "\n" for t in texts),
                                    encoding="utf-8")
        print(f"export_check: wrote {len(texts)} rows to {args.write_input}")
        return
    model, report = AutoModelForCausalLM.from_pretrained(args.folder, dtype=torch.float32, output_loading_info=True)
    for kind in ("missing_keys", "unexpected_keys", "mismatched_keys"):
        if report[kind]:
            fail(f"{args.folder}: {kind.replace('_', ' ')}: {sorted(report[kind])}")
    model.eval()
    print(f"export_check: transformers loads {args.folder}: {sum(p.numel() for p in model.parameters())} parameters")
    if args.reference:
        if not compare(model, tokenizer, args.reference, args.tolerance):
            fail(f"not within {args.tolerance}")
        print(f"export_check: within {args.tolerance}")
        return
    for text in texts:
        ids = tokenizer(text)["input_ids"]
        print(json.dumps({"text": text, "token_ids": ids, "logprobs": [None, *logprobs_of(model, ids)]},
                         ensure_ascii=False))


if __name__ == "__main__":
    main()
