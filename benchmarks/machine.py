"""The row that says which machine a table was made on, and when."""

from __future__ import annotations

import datetime
import os
import platform
from pathlib import Path


def cpu_name() -> str:
    """The processor's name as the operating system gives it."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


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
