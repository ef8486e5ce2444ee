"""verlc's own side of a comparison: runs `verlc bench` and reads its JSON."""

import dataclasses
import json
import pathlib
import subprocess
import tempfile


class Unavailable(Exception):
    """verlc can't make the measurement; the message says why."""


@dataclasses.dataclass(frozen=True)
class Measurement:
    """Arguments of `verlc bench`, and the row (its median rate is meant) or the value of its JSON that is wanted."""

    arguments: tuple[str, ...]
    row: str = ""
    value: str = ""


@dataclasses.dataclass
class VerlcBench:
    binary: pathlib.Path
    model: pathlib.Path
    threads: int

    def measure(self, wanted: Measurement) -> float:
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "bench.json"
            command = [str(self.binary), "bench", *wanted.arguments, "--model", str(self.model), "--threads",
                       str(self.threads), "--json", str(path)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode != 0 or not path.is_file():
                raise Unavailable(f"{' '.join(command)} exited {done.returncode}: {done.stderr.strip()}")
            found = json.loads(path.read_text(encoding="utf-8"))
        values = {row["name"]: row["median"] for row in found["rows"]}
        values |= {name: entry["value"] for name, entry in found["values"].items()}
        name = wanted.row or wanted.value
        if name not in values:
            raise Unavailable(f"{' '.join(command)} has no value {name}, but {', '.join(values)}")
        return float(values[name])
