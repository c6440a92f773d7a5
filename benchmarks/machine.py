"""The row that says which machine a table was made on, and when."""

from __future__ import annotations

import datetime
import os
import platform
from pathlib import Path


def cpu_name() -> str:
    """The processor's name as the system gives it, with family and model where it has no number."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    # Of the first processor: all are alike on the machines that tables are made on.
    parts = (line.partition(":") for line in reversed(lines))
    said = {key.strip(): value.strip() for key, _, value in parts}
    name = said.get("model name", "")
    # Guests are told "AMD EPYC" of every generation.
    if name and not any(letter.isdigit() for letter in name) and "cpu family" in said:
        return f"{name} (family {said['cpu family']}, model {said['model']})"
    return name or platform.processor() or platform.machine()


def machine_row() -> dict[str, object]:
    """The `{"case": "machine", ...}` row of a benchmark's JSON."""
    return {
        "case": "machine",
        "metric": "name",
        "value": cpu_name(),
        "unit": "",
        "provenance": "measured",
        "note": f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}, "
        f"Python {platform.python_version()}, {datetime.date.today().isoformat()}",
    }
