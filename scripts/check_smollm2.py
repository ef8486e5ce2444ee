#!/usr/bin/env python3
"""Checks that a converted SmolLM2 folder is sound: transformers loads it and answers a question greedily.

    check_smollm2.py FOLDER
"""

import sys

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

QUESTION = "What is the capital of France?"
EXPECTED = "Paris"


def main():
    folder = sys.argv[1]
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    inputs = tokenizer.apply_chat_template([{"role": "user", "content": QUESTION}], add_generation_prompt=True,
                                           return_tensors="pt", return_dict=True)
    output = model.generate(**inputs, max_new_tokens=32, do_sample=False)
    answer = tokenizer.decode(output[0, inputs["input_ids"].shape[1]:], skip_special_tokens=True).strip()
    print(f"check_smollm2: {QUESTION} -> {answer}")
    if EXPECTED not in answer:
        sys.exit(f"check_smollm2: the answer lacks {EXPECTED}: the conversion is wrong")


if __name__ == "__main__":
    main()
