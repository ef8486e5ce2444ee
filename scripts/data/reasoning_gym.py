#!/usr/bin/env python3
"""Writes rows in verl's schema from the PyPI package reasoning-gym, train and held-out apart.

    scripts/data/reasoning_gym.py [--task chain_sum] [--train 2000] [--heldout 200] [--seed 1] [--set KEY=VALUE ...]
                                  [--style work|answer|instruct] [--examples 3]
                                  [--out data/reasoning_gym]

Tasks: chain_sum, basic_arithmetic, gsm_symbolic. `--set` gives a parameter of the task's own configuration
(min_terms, max_digits, difficulty, ...). Train and held-out never share a question. The same arguments give the same
bytes. Writes OUT/train.jsonl and OUT/heldout.jsonl.

Every prompt asks for a last line "#### NUMBER", which the gsm8k scorer reads. Styles:
    work      worked examples as earlier turns of the conversation, each restating the problem before its answer
    answer    the same examples with the answer line alone
    instruct  one instruction, no example

First accuracy of SmolLM2-135M-Instruct (from scripts/get_smollm2.sh; f32, temperature 1, one sample of each of 48
prompts, so +-0.06), chain_sum with 2 terms, gsm8k scorer; at most 32 new tokens with examples, 64 without:

    digits  prompt                                                        accuracy  ended  new tokens
    1-2     work: examples "36 + 41 = 77", then "#### 77" (the default)     0.25     0.98     13
    1-2     work, with a system message that asks for the answer alone      0.21     0.98     13
    1-2     answer: examples "#### 77"                                      0.08     0.98      5
    1-2     answer, without a system message                                0.06     1.00      4
    1-2     three examples inside one user message, "#### 77"               0.02     0.69     32
    1-2     'Write the final answer after "####"', no example               0.00     0.88     28
    1-2     "Put your final answer within \\boxed{}" (math scorer)           0.00     0.71     32
    1-2     "Answer with only the number" (exact scorer)                    0.00     0.83     25
    2-2     answer: examples "#### 77"                                      0.02     1.00      4
    2-2     work, with a system message that asks for the answer alone      0.17     0.98     15

So only `work` starts where GRPO finds a signal; a prompt then has about 175 tokens, nearly all shared by all rows.
"""

import argparse
import ast
import json
import os
import pathlib
import re
import sys

# This file has the package's own name: without this, `import reasoning_gym` could find the file itself.
sys.path = [p for p in sys.path if pathlib.Path(p or ".").resolve() != pathlib.Path(__file__).resolve().parent]
import reasoning_gym  # noqa: E402

# Parameters over the package's defaults, for each task.
TASKS = {
    "chain_sum": {"min_terms": 2, "max_terms": 2, "min_digits": 1, "max_digits": 2},
    "basic_arithmetic": {"min_terms": 2, "max_terms": 2, "min_digits": 1, "max_digits": 2, "operators": ("+", "-")},
    "gsm_symbolic": {},
}
SYSTEM = 'You solve arithmetic problems. The last line of your answer has the form "#### NUMBER".'
EXAMPLES = (("4 + 3", 7), ("25 - 12", 13), ("36 + 41", 77))
QUESTION_FORMS = {
    "chain_sum": "State the final answer to the following arithmetic problem: {} =",
    "basic_arithmetic": "Calculate {}.",
    "gsm_symbolic": "Calculate {}. Give the result as your final answer. Do not include units.",
}
STYLES = {"work": "{0} = {1}\n#### {1}", "answer": "#### {1}", "instruct": None}
INSTRUCTION = '{}\nWrite the final answer on the last line, in the form "#### NUMBER".'
NUMBER = re.compile(r"-?\d+(\.\d+)?")


def fail(message):
    sys.exit(f"reasoning_gym: {message}")


def make_prompt(task, style, question, examples):
    if style == "instruct":
        return [{"role": "user", "content": INSTRUCTION.format(question)}]
    messages = [{"role": "system", "content": SYSTEM}]
    for expression, answer in EXAMPLES[:examples]:
        messages.append({"role": "user", "content": QUESTION_FORMS[task].format(expression)})
        messages.append({"role": "assistant", "content": STYLES[style].format(expression, answer)})
    return [*messages, {"role": "user", "content": question}]


def questions(task, parameters, seed):
    """Distinct (question, answer) pairs of the task, without end; only those whose answer is a number."""
    # A worked example must not give an answer away.
    seen = {QUESTION_FORMS[task].format(expression) for expression, _ in EXAMPLES}
    block = 1000
    for part in range(1, 1000):
        # One seed for each block: the package derives its rows from seed + index, so blocks must not overlap.
        found = len(seen)
        for row in reasoning_gym.create_dataset(task, size=block, seed=seed * 1_000_003 + part * block, **parameters):
            question, answer = row["question"].strip(), str(row["answer"]).strip()
            if question not in seen and NUMBER.fullmatch(answer):
                seen.add(question)
                yield question, answer
        if len(seen) == found:
            break
    fail(f"{task} with {parameters} has only {len(seen)} distinct questions; ask for fewer rows or widen it")


def row(task, style, examples, split, index, question, answer):
    return {
        "data_source": f"reasoning_gym/{task}",
        "prompt": make_prompt(task, style, question, examples),
        "ability": "math",
        "reward_model": {"style": "rule", "ground_truth": answer},
        "extra_info": {"split": split, "index": index, "question": question, "answer": answer},
    }


def write_jsonl(path, rows):
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    aside.write_text("".join(json.dumps(r, ensure_ascii=False) + "\n" for r in rows), encoding="utf-8")
    aside.rename(path)
    print(f"reasoning_gym: wrote {len(rows)} rows to {path}")


def parse_parameters(pairs):
    parameters = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals:
            fail(f"--set {pair}: expected KEY=VALUE")
        try:
            parameters[key] = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            parameters[key] = value
    return parameters


def main():
    root = pathlib.Path(__file__).resolve().parents[2]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", choices=sorted(TASKS), default="chain_sum")
    parser.add_argument("--train", type=int, default=2000, help="train rows")
    parser.add_argument("--heldout", type=int, default=200, help="held-out rows")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="parameter of the task")
    parser.add_argument("--style", choices=sorted(STYLES), default="work")
    parser.add_argument("--examples", type=int, default=len(EXAMPLES), choices=range(1, len(EXAMPLES) + 1),
                        help="worked examples in the prompt")
    parser.add_argument("--out", type=pathlib.Path, default=root / "data/reasoning_gym")
    args = parser.parse_args()
    source = questions(args.task, {**TASKS[args.task], **parse_parameters(args.set)}, args.seed)
    args.out.mkdir(parents=True, exist_ok=True)
    # Held-out first, so that a larger train set keeps the same held-out rows.
    for split, count in (("heldout", args.heldout), ("train", args.train)):
        rows = [row(args.task, args.style, args.examples, split, i, *next(source)) for i in range(count)]
        write_jsonl(args.out / f"{split}.jsonl", rows)


if __name__ == "__main__":
    main()
