"""What a result says about the machine it was taken on."""

import datetime
import os
import pathlib
import platform
import re
import subprocess


def describe(verlc: pathlib.Path | None) -> dict[str, str]:
    """Processor, cores, memory, kernel, load, date; the version of verlc where there is one."""
    cpuinfo = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8")
    meminfo = pathlib.Path("/proc/meminfo").read_text(encoding="utf-8")
    kilobytes = int(re.search(r"^MemTotal:\s+(\d+)", meminfo, re.MULTILINE).group(1))
    model = re.search(r"^model name\s*:\s*(.*)$", cpuinfo, re.MULTILINE)
    flags = re.search(r"^flags\s*:\s*(.*)$", cpuinfo, re.MULTILINE)
    present = set(flags.group(1).split()) if flags else set()
    wanted = ("avx2", "avx512f", "avx512_bf16", "amx_bf16")
    found = {
        "processor": model.group(1) if model else platform.machine(),
        "instructions": " ".join(name for name in wanted if name in present),
        "cores": str(os.cpu_count()),
        "memory": f"{kilobytes / 2**20:.0f} GiB",
        "kernel": platform.release(),
        "python": platform.python_version(),
        "load_average": f"{os.getloadavg()[0]:.1f}",
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
    }
    if verlc is not None:
        done = subprocess.run([verlc, "--version"], capture_output=True, text=True, check=False)
        found["verlc"] = done.stdout.strip() or "unknown"
    return found
