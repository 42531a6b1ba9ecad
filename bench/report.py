"""What every report shares: the machine it hangs on, figures people can read, aligned tables."""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
from collections.abc import Collection, Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any


def machine(work: Path) -> str:
    """Processor, cores, memory, kernel and the disk's file system: what the absolute numbers hang on."""
    cpu = read_field(Path("/proc/cpuinfo"), "model name") or platform.processor()
    memory = int((read_field(Path("/proc/meminfo"), "MemTotal") or "0 kB").split()[0]) / 1024**2
    df = subprocess.run(["df", "--output=fstype", str(work)], capture_output=True, text=True, check=False)
    disk = (df.stdout.split() or ["unknown"])[-1]
    system = f"{platform.system()} {platform.release()}"
    return f"{cpu}, {os.cpu_count()} cores, {memory:.0f} GiB, {system}, stores on {disk}"


def read_field(path: Path, name: str) -> str:
    lines = path.read_text().splitlines() if path.exists() else []
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith(name)), "")


def python() -> str:
    return f"{platform.python_implementation()} {platform.python_version()}"


def header(lines: dict[str, str]) -> list[str]:
    width = max(map(len, lines))
    return [f"{name:{width}} {value}" for name, value in lines.items()]


def middle(samples: list[float]) -> float:
    return statistics.median(samples)


def spread(samples: list[float]) -> tuple[float, float]:
    """The 10th and 90th percentile: wide on a busy machine, and worth seeing."""
    if len(samples) < 2:
        return samples[0], samples[0]
    tenths = statistics.quantiles(samples, n=10, method="inclusive")
    return tenths[0], tenths[-1]


def number(value: float) -> str:
    """Three figures are what these measurements can carry."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def align(titles: list[str], cells: list[str], widths: list[int], words: Collection[str]) -> Iterator[str]:
    """Words to the left, numbers to the right."""
    for title, text, width in zip(titles, cells, widths, strict=False):
        left = title in words or (len(cells) < len(titles) and text is cells[-1])
        yield text.ljust(width) if left else text.rjust(width)


def table(titles: list[str], rows: list[list[str]], words: Collection[str]) -> str:
    """Aligned columns, those in `words` to the left; a short row ends in a reason, which widens nothing."""
    everything = [titles, *rows]
    kept = [each if len(each) == len(titles) else each[:-1] for each in everything]
    widths = [max(map(len, column)) for column in zip_longest(*kept, fillvalue="")]
    return "\n".join("  ".join(align(titles, each, widths, words)).rstrip() for each in everything)


def write_json(path: Path, whole: dict[str, Any]) -> None:
    path.write_text(json.dumps(whole, ensure_ascii=False, indent=1), encoding="utf-8")
