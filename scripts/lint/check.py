#!/usr/bin/env python3
"""Checks of the tree that no compiler makes. Run by scripts/lint/run.sh.

    scripts/lint/check.py [FILE ...]        every file that git knows or would add by default

ladder  a C or C++ file includes only what scripts/lint/ladder.txt allows
size    .cpp, .hpp and .h: a warning above 400 lines, refused above 500; any committed file: at most 500 kB
format  .cpp and .hpp are as clang-format 14 writes them
ascii   C, C++, CMake and shell sources outside tests are ASCII
words   no notes about unfinished work, no paths of one machine
python  .py files compile
scripts/lint/exceptions.txt lists the files that a rule does not bind.
"""

import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
LINT = ROOT / "scripts" / "lint"
INCLUDE_ROOTS = ("engines", "engines/include", "cli", "tests")
CODE = (".cpp", ".hpp", ".h", ".c", ".inc")
SOURCES = (*CODE, ".cmake", ".sh", "CMakeLists.txt")
MAX_BYTES = 500_000
WARN_LINES, MAX_LINES = 400, 500
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]')
UNFINISHED = re.compile(r"\bTO[D]O\b|\bFIX[M]E\b")
MACHINE_PATH = re.compile(r"(?<![\w.$}~])/(?:(?:home|root|Users|work|workspace)/[\w.-]+|opt/[\w.-]+/[\w.-]+)")


def lines_of(path):
    """Lines without comments and blanks."""
    stripped = (line.split("#")[0].strip() for line in path.read_text(encoding="utf-8").splitlines())
    return [line for line in stripped if line]


class Ladder:
    """Which folder may include which."""

    def __init__(self, path):
        self.order, self.only, groups = [], {}, {}
        for line in lines_of(path):
            head, *rest = line.split()
            if head.startswith("@"):
                groups.setdefault(head, []).extend(rest)
                continue
            self.order.append(head)
            if rest:
                allowed = []
                for name in rest[1:]:
                    allowed += groups[name] if name.startswith("@") else [name]
                self.only[head] = allowed

    def step(self, path):
        """The longest line that holds `path`, or None."""
        return max((step for step in self.order if within(path, step)), key=len, default=None)

    def problem(self, path, included):
        own, other = self.step(path), self.step(included)
        if own is None or own == other:
            return None if own else "its folder is not in scripts/lint/ladder.txt"
        if other is None or self.order.index(other) > self.order.index(own):
            return f"{own} may not include {included}, which stands above it"
        allowed = self.only.get(own)
        if allowed is not None and not any(within(included, name) for name in allowed):
            return f"{own} may include only {' '.join(allowed)}, not {included}"
        return None


def within(path, folder):
    return path == folder or path.startswith(folder + "/")


def resolve(path, quoted, name):
    """The file of the tree that an #include means, or None."""
    folders = ([os.path.dirname(path)] if quoted else []) + list(INCLUDE_ROOTS)
    for folder in folders:
        target = os.path.normpath(os.path.join(folder, name))
        if (ROOT / target).is_file():
            return target
    return None


def check_ladder(ladder, path, text):
    for number, line in enumerate(text.splitlines(), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        target = resolve(path, match[1] == '"', match[2])
        if target is None:
            if match[1] == '"':
                yield "ladder", f"{path}:{number}: includes \"{match[2]}\", which is not in the tree"
            continue
        problem = ladder.problem(path, target)
        if problem:
            yield "ladder", f"{path}:{number}: {problem}"


def check_text(path, text):
    if path.endswith(SOURCES) and not path.startswith("tests/"):
        for number, line in enumerate(text.splitlines(), 1):
            if not line.isascii():
                yield "ascii", f"{path}:{number}: has characters beyond ASCII"
    for number, line in enumerate(text.splitlines(), 1):
        for found in UNFINISHED.findall(line):
            yield "words", f"{path}:{number}: says {found}"
        for found in MACHINE_PATH.findall(line):
            yield "words", f"{path}:{number}: names the path {found}"


def check_python(path, text):
    try:
        compile(text, path, "exec")
    except SyntaxError as problem:
        yield "python", f"{path}:{problem.lineno}: {problem.msg}"


def check_size(path, size, text):
    if size > MAX_BYTES:
        yield "size", f"{path}: {size} bytes, more than {MAX_BYTES}"
    lines = text.count("\n") if text is not None and path.endswith((".cpp", ".hpp", ".h")) else 0
    if lines > MAX_LINES:
        yield "size", f"{path}: {lines} lines, more than {MAX_LINES}: split it by noun"
    elif lines > WARN_LINES:
        yield "warning", f"{path}: {lines} lines, close to {MAX_LINES}"


def check_format(paths):
    tool = next((name for name in ("clang-format-14", "clang-format") if which(name)), None)
    if tool is None:
        yield "format", "clang-format is not installed: scripts/install.sh"
        return

    def differing(batch):
        command = [tool, "--dry-run", "-Werror"]
        if subprocess.run([*command, *batch], cwd=ROOT, capture_output=True, check=False).returncode == 0:
            return []
        return [path for path in batch
                if subprocess.run([*command, path], cwd=ROOT, capture_output=True, check=False).returncode != 0]

    batches = [paths[at:at + 16] for at in range(0, len(paths), 16)]
    with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        for batch in pool.map(differing, batches):
            for path in batch:
                yield "format", f"{path}: clang-format -i {path}"


def which(name):
    return any(os.access(os.path.join(folder, name), os.X_OK) for folder in os.environ["PATH"].split(":"))


def tree_files():
    listed = subprocess.run(["git", "ls-files", "-z", "-co", "--exclude-standard"], cwd=ROOT, check=True,
                            capture_output=True, text=True).stdout
    return sorted({name for name in listed.split("\0") if name and (ROOT / name).is_file()})


def read_text(path):
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return None


def exceptions():
    return {tuple(line.split()[:2]) for line in lines_of(LINT / "exceptions.txt")}


def main():
    files = sys.argv[1:] or tree_files()
    ladder = Ladder(LINT / "ladder.txt")
    found = []
    for path in files:
        data = ROOT / path
        text = read_text(data)
        entries = list(check_size(path, data.stat().st_size, text))
        if text is not None:
            entries += check_text(path, text)
            if path.endswith(CODE):
                entries += check_ladder(ladder, path, text)
            if path.endswith(".py"):
                entries += check_python(path, text)
        found += [(rule, path, message) for rule, message in entries]
    found += [(rule, message.split(":")[0], message)
              for rule, message in check_format([path for path in files if path.endswith((".cpp", ".hpp"))])]

    excused = exceptions()
    used = {(rule, path) for rule, path, _ in found} & excused
    problems = [(rule, message) for rule, path, message in found if (rule, path) not in excused]
    if not sys.argv[1:]:
        problems += [("exceptions", f"{' '.join(entry)}: no longer needed") for entry in sorted(excused - used)]
    for rule, message in problems:
        print(f"lint: {rule}: {message}")
    errors = sum(rule != "warning" for rule, _ in problems)
    print(f"lint: {len(files)} files, {errors} errors, {len(problems) - errors} warnings, {len(excused)} exceptions")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
