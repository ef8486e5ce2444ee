#!/usr/bin/env python3
"""Golden token ids: what the Python package `tokenizers` gives for a corpus that this script makes up.

    python scripts/golden/tokenizer_ids.py --tokenizers FOLDER [--smollm2 models/SmolLM2-135M-Instruct]

FOLDER holds one folder per published tokenizer with its tokenizer.json or tokenizer.json.xz. Writes, under
tests/golden/text/data:
  corpus.json.xz  the texts, a JSON list of strings (made from SEED alone, apart from the added tokens' names)
  ids.json.xz     per tokenizer: package version, SHA-256 of its tokenizer.json, and per text the first 8 hexadecimal
                  digits of SHA-256 over (a) the ids without and with special tokens, int32 little endian, with -1
                  between, (b) the decoded text without and with skip_special_tokens, with a NUL between; and the
                  full ids without special tokens of every 40th text
"""
import argparse
import hashlib
import json
import lzma
import pathlib
import random
import struct
import unicodedata

import tokenizers

SEED = 20240711
SAMPLE_EVERY = 40
OUT = pathlib.Path(__file__).resolve().parents[2] / "tests/golden/text/data"
FOLDERS = ["qwen3", "llama3_1", "llama2", "deepseek_v3", "gemma3"]

WORDS = """the of model reward policy gradient token answer question number therefore because running quickly
Alice Bob Paris London January algorithm don't can't we'll they've I'm you're he'd it's rock'n'roll naïve café
résumé coöperate Zürich São façade über straße Ångström DON'T WE'LL I'M o'clock 's 'tis""".split()
CHINESE = ["我们", "今天", "计算", "三加五", "等于", "八", "。", "，", "模型", "强化学习", "奖励", "函数", "請問", "答案",
           "是", "多少", "？", "龍", "𠮷野家", "㐀", "《红楼梦》", "１２３", "％", "、"]
OTHER = ["こんにちは", "世界", "カタカナ", "ｶﾞｷﾞ", "日本語の文章", "안녕하세요", "세계", "한국어", "Привет", "мир", "что-то",
         "مرحبا", "بالعالم", "١٢٣", "שלום", "עולם", "नमस्ते", "दुनिया", "ภาษาไทย", "สวัสดี", "Ελληνικά", "ἀρχή", "ქართული",
         "հայերեն", "አማርኛ", "தமிழ்", "ខ្មែរ", "བོད་ཡིག", "tiếng Việt", "İstanbul", "ıI", "ﬁnd", "ﬃ", "Ⅷ", "½", "²³", "①", "ǅ"]
EMOJI = ["😀", "🤖", "👍🏽", "👩‍💻", "👨‍👩‍👧‍👦", "🏳️‍🌈", "🇩🇪", "🇨🇳🇺🇸", "❤️", "❤", "☃", "1️⃣", "#️⃣", "🧑🏿‍🚀", "🫠", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "⌚", "™", "🀄"]
SPACES = [" ", "  ", "   ", "\t", "\t\t", "\n", "\n\n", "\r\n", "\r", " \n", "\n ", "\u00a0", "\u2003", "\u3000", "\u2028",
          "\u2029", "\u0085", "\u180e", "\u200b", "\u202f", "\u205f", "\u1680", "\v", "\f", "\ufeff", " " * 17, "\n" * 9]
CODE = [
    "def f{n}(x, y={n}):\n    return x ** {n} + y[{n}:] if x != y else None\n",
    "for (int i = 0; i < {n}; ++i) {{\n\tsum += a[i] * b[i] /* {w} */;\n}}\n",
    "template <typename T>\nauto {w}(const std::vector<T>& v) -> decltype(v[0]) {{ return v.at({n}); }}",
    '{{"id": {n}, "{w}": [1, 2.5e-{n}, null, true], "s": "a\\n\\"b\\""}}',
    "SELECT {w}, COUNT(*) FROM t{n} WHERE x >= {n} AND y <> '{w}' GROUP BY 1;",
    "\\frac{{{n}}}{{x^{n}}} + \\sum_{{i=1}}^{{{n}}} \\boxed{{\\text{{{w}}}}} $$a_{{{n}}}$$",
    "<div class=\"{w}-{n}\" style='margin:{n}px'>&nbsp;{w}</div><!-- {n} -->",
    "#!/bin/sh\nexport A_{n}=$((${{B:-{n}}} + 1)); grep -E '^{w}+$' | awk '{{print $2}}' > /dev/null 2>&1 &\n",
    "https://example.org/{w}/{n}?q={w}%20{n}&r=#{w} mail: {w}.{n}@example.com",
    "        if self.{w}_{n} is not None:\n            self._{w} += 0x{n:x}  # {w}!!\n\n\n",
    "| {w} | {n} |\n|---|:-:|\n| **{w}** | `{n}` |\n\n- [ ] {w}\n1. {w}\n",
]


def assigned():
    """Code points that Unicode as known here assigns, surrogates left out."""
    return [c for c in range(0x110000) if unicodedata.category(chr(c)) not in ("Cs", "Cn")]


def sentence(rng, words, joiner=" "):
    return joiner.join(rng.choice(words) for _ in range(rng.randint(2, 14)))


def make_code(rng):
    return "".join(rng.choice(CODE).format(n=rng.randint(0, 10 ** rng.randint(1, 7)), w=rng.choice(WORDS[:24]))
                   for _ in range(rng.randint(1, 3)))


def make_marks(rng, marks):
    return "".join(rng.choice("aeionAEO가カकسก") + "".join(rng.choices(marks, k=rng.randint(0, 4))) for _ in range(9))


def make_digits(rng):
    pieces = [str(rng.randint(0, 10 ** rng.randint(1, 25))), f"{rng.random() * 1e6:.{rng.randint(0, 9)}f}",
              f"{rng.randint(0, 10**9):,}", f"-{rng.randint(1, 99)}e{rng.randint(-30, 30)}", "１２３４٤٥๕",
              f"{rng.randint(1, 28):02}/{rng.randint(1, 12):02}/{rng.randint(1900, 2100)}", "3/4+½", "v1.2.3-rc4"]
    return rng.choice([" ", "", ", ", " + "]).join(rng.choice(pieces) for _ in range(rng.randint(1, 6)))


def make_long(rng):
    kind = rng.randint(0, 4)
    size = rng.randint(50, 900)
    if kind == 0:
        return rng.choice("aA=-_ .0\n\tÄ中\u0301") * size
    if kind == 1:
        return "".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=size))
    if kind == 2:
        return "".join(rng.choices("ACGT", k=size))
    if kind == 3:
        return rng.choice(["ab", "hello", "the", "哈", "!?", "\n ", "x1"]) * (size // 4)
    return "Donaudampfschifffahrtsgesellschaftskapitän" * rng.randint(1, 8)


def make_spaces(rng):
    words = WORDS + ["", "", "中", "1", ".", "{", "👍"]
    return "".join(rng.choice(SPACES) * rng.randint(1, 3) + rng.choice(words) for _ in range(rng.randint(1, 10)))


def make_controls(rng):
    pool = [chr(c) for c in [*range(0, 32), *range(127, 160)]] + list("ab 1") + ["\u200d", "\u202e", "\ufffd", "\u00ad"]
    return "".join(rng.choices(pool, k=rng.randint(1, 30)))


def make_added(rng, tokens):
    glue = ["", "", " ", "  ", "\n", "a", "Hello", "中", ".", "\t", "_"]
    out = ""
    for _ in range(rng.randint(1, 6)):
        token = rng.choice(tokens)
        cut = rng.random()
        if cut < 0.12:
            token = token[: rng.randint(1, len(token))]
        elif cut < 0.2:
            token = token.upper() if rng.random() < 0.5 else token + token[1:]
        out += rng.choice(glue) + token + rng.choice(glue)
    return out


def make_corpus(added):
    rng = random.Random(SEED)
    code_points = assigned()
    marks = [chr(c) for c in code_points if unicodedata.category(chr(c)) == "Mn" and c < 0x10000]
    bmp = [c for c in code_points if c < 0x3000]
    everything = WORDS + CHINESE + OTHER + EMOJI + SPACES + ["don't", "I'ſ", "'S", "'LL", "K", "ÅÅ"]
    makers = [
        (300, lambda: sentence(rng, WORDS)),
        (250, lambda: make_code(rng)),
        (200, lambda: sentence(rng, CHINESE, "")),
        (200, lambda: sentence(rng, OTHER, rng.choice(["", " "]))),
        (150, lambda: sentence(rng, EMOJI, rng.choice(["", " "]))),
        (200, lambda: make_spaces(rng)),
        (100, lambda: make_controls(rng)),
        (150, lambda: make_digits(rng)),
        (80, lambda: make_long(rng)),
        (120, lambda: make_marks(rng, marks)),
        (350, lambda: make_added(rng, added)),
        (150, lambda: "".join(chr(rng.choice(code_points)) for _ in range(rng.randint(1, 24)))),
        (150, lambda: "".join(chr(rng.choice(bmp)) for _ in range(rng.randint(1, 30)))),
        (200, lambda: "".join(rng.choice(everything) for _ in range(rng.randint(1, 20)))),
    ]
    texts = ["", " ", "\n", "a", "\x00", "▁", "▁▁ ▁a", "Ġ", "Hello world", " Hello", "Hello ", "<s>", "</s>", "<unk>", "<0x41>"]
    for count, make in makers:
        texts += [make() for _ in range(count)]
    return texts


def open_json(folder):
    packed = folder / "tokenizer.json.xz"
    return lzma.decompress(packed.read_bytes()) if packed.exists() else (folder / "tokenizer.json").read_bytes()


def short_hash(data):
    return hashlib.sha256(data).hexdigest()[:8]


def golden(raw, texts):
    tokenizer = tokenizers.Tokenizer.from_str(raw.decode())
    ids_hashes, text_hashes, sample = [], [], {}
    for i, text in enumerate(texts):
        plain = tokenizer.encode(text, add_special_tokens=False).ids
        full = tokenizer.encode(text, add_special_tokens=True).ids
        row = plain + [-1] + full
        ids_hashes.append(short_hash(struct.pack(f"<{len(row)}i", *row)))
        decoded = tokenizer.decode(full, skip_special_tokens=False) + "\0" + tokenizer.decode(full)
        text_hashes.append(short_hash(decoded.encode()))
        if i % SAMPLE_EVERY == 0:
            sample[str(i)] = plain
    return {"tokenizers": tokenizers.__version__, "sha256": hashlib.sha256(raw).hexdigest(),
            "ids": "".join(ids_hashes), "texts": "".join(text_hashes), "sample": sample}


def write_xz(path, value):
    data = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    path.write_bytes(lzma.compress(data.encode("utf-8", "surrogatepass"), preset=9 | lzma.PRESET_EXTREME))
    print(path.name, path.stat().st_size, "bytes")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tokenizers", type=pathlib.Path, required=True)
    parser.add_argument("--smollm2", type=pathlib.Path)
    args = parser.parse_args()
    raws = {name: open_json(args.tokenizers / name) for name in FOLDERS}
    if args.smollm2:
        raws["smollm2"] = open_json(args.smollm2)
    added = []
    for name in FOLDERS:  # the corpus must not depend on which optional tokenizer is there
        contents = [t["content"] for t in json.loads(raws[name])["added_tokens"]]
        added += contents[:25] + contents[-25:]
    texts = make_corpus(added + ["<|im_start|>", "<|im_end|>", "<|endoftext|>", "<repo_name>"])
    OUT.mkdir(parents=True, exist_ok=True)
    write_xz(OUT / "corpus.json.xz", texts)
    write_xz(OUT / "ids.json.xz", {name: golden(raw, texts) for name, raw in raws.items()})
    print(len(texts), "texts,", sum(len(t.encode("utf-8")) for t in texts), "bytes;", ", ".join(raws))


if __name__ == "__main__":
    main()
