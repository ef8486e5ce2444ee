"""Writes the table of sizes and offsets of every struct of plugin.h, as the compiler of this host lays them out.

usage: abi_table.py engines/include/verlc/plugin.h tests/unit/abi/layout_1_0.inc

Run it when a minor version appends members, with a new output name; the table of a released minor never changes.
"""
import pathlib
import re
import subprocess
import sys
import tempfile


def structs_of(text):
    """Names of the structs with a body, and their members in order."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    for name, body in re.findall(r"typedef struct (verlc_\w+) \{(.*?)\n\} \1;", text, flags=re.S):
        members = []
        for declaration in body.split(";"):
            declaration = " ".join(declaration.split())
            if not declaration:
                continue
            function = re.search(r"\(\*(\w+)\)", declaration)
            plain = re.search(r"(\w+)(\[\w+\])?( VERLC_NOEXCEPT)?$", declaration)
            members.append((function or plain).group(1))
        yield name, members


def main():
    header, output = map(pathlib.Path, sys.argv[1:3])
    lines = ['#include "verlc/plugin.h"', "#include <stdio.h>", "int main(void) {"]
    for name, members in structs_of(header.read_text()):
        lines.append(f'printf("VERLC_SIZE({name}, %zu)\\n", sizeof({name}));')
        for member in members:
            lines.append(f'printf("VERLC_OFFSET({name}, {member}, %zu)\\n", offsetof({name}, {member}));')
    lines.append("return 0; }")
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder, "table.c")
        source.write_text("\n".join(lines))
        program = pathlib.Path(folder, "table")
        subprocess.run(["cc", "-std=c11", "-I", header.parent.parent, source, "-o", program], check=True)
        table = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    output.write_text("/* Layout of plugin ABI 1.0; written by scripts/abi_table.py. */\n" + table)


if __name__ == "__main__":
    main()
