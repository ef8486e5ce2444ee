"""verlc's own side of a comparison: runs `verlc bench` and reads its JSON."""

import dataclasses
import json
import pathlib
import subprocess
import tempfile


class Unavailable(Exception):
    """verlc can't make the measurement; the message says why."""


@dataclasses.dataclass
class VerlcBench:
    binary: pathlib.Path
    model: pathlib.Path
    threads: int

    def measure(self, ours: dict[str, str | int], field: str) -> float:
        """The value of `field` for one measurement. `ours` holds "bench" and the options of that bench."""
        options = [word for name, value in ours.items() if name != "bench" for word in (f"--{name}", str(value))]
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "bench.json"
            command = [str(self.binary), "bench", str(ours["bench"]), "--model", str(self.model), "--threads",
                       str(self.threads), *options, "--json", str(path)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode != 0 or not path.is_file():
                raise Unavailable(f"{' '.join(command)} exited {done.returncode}: {done.stderr.strip()}")
            found = json.loads(path.read_text(encoding="utf-8"))
        if field not in found:
            raise Unavailable(f"{' '.join(command)} wrote no field {field}; it has {', '.join(found)}")
        return float(found[field])
