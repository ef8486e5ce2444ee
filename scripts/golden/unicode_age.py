#!/usr/bin/env python3
"""Writes engines/core/text/unicode_age.cpp: the code points that the Python package `tokenizers` normalizes by an
older Unicode than ours, so that normal forms (and with them token ids) come out equal.

    pip install tokenizers unicodedata2; python scripts/golden/unicode_age.py
"""
import pathlib

import unicodedata2 as ucd
from tokenizers import normalizers

OUT = pathlib.Path(__file__).resolve().parents[2] / "engines/core/text/unicode_age.cpp"
FORMS = {name: getattr(normalizers, name)() for name in ("NFC", "NFD", "NFKC", "NFKD")}


def differs(character):
    """True when `character` reorders or decomposes otherwise in the package than in Unicode's own tables."""
    probes = [character, "a\u0345" + character, "a" + character + "\u0334"]
    return any(form.normalize_str(p) != ucd.normalize(name, p) for name, form in FORMS.items() for p in probes)


def main():
    ranges = []
    for code in range(0x300, 0x110000):
        if 0xD800 <= code <= 0xDFFF or not differs(chr(code)):
            continue
        if ranges and ranges[-1][1] == code - 1:
            ranges[-1][1] = code
        else:
            ranges.append([code, code])
    rows = "\n".join(f"    {{0x{low:X}, 0x{high:X}}}," for low, high in ranges)
    OUT.write_text(f"""// Written by scripts/golden/unicode_age.py from Unicode {ucd.unidata_version}; do not edit.
#include "core/text/unicode_age.hpp"

#include <algorithm>
#include <iterator>

namespace verlc::text {{
namespace {{

struct CodeRange {{
  char32_t low, high;
}};

constexpr CodeRange kYounger[] = {{
{rows}
}};

}}  // namespace

bool is_younger_mark(char32_t c) {{
  if (c < kYounger[0].low) return false;
  const auto* after = std::upper_bound(std::begin(kYounger), std::end(kYounger), c,
                                       [](char32_t value, const CodeRange& range) {{ return value < range.low; }});
  return c <= std::prev(after)->high;
}}

}}  // namespace verlc::text
""")
    print(len(ranges), "ranges")


if __name__ == "__main__":
    main()
