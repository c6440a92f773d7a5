"""How long compilation takes, stage by stage, and how much memory; each model in a fresh process.

    python benchmarks/compile_time.py [--json FILE] [MODEL ...]

By default the digits network of the demo; give paths of ONNX or TFLite files for others. Times
are wall-clock seconds of the best of `--rounds` processes; `import tvm` is a stage of its own.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

from machine import machine_row

CHILD = """
import json, resource, sys, time, warnings
warnings.simplefilter("ignore")
start = time.perf_counter()
import match_aie as match
package = time.perf_counter() - start
start = time.perf_counter()
import tvm
imported = time.perf_counter() - start
start = time.perf_counter()
net = match.compile(sys.argv[1], "CPU")
sources = net.sources()
total = time.perf_counter() - start
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
stages = {"import match_aie": package, "import tvm": imported, **net.seconds}
print(json.dumps({"stages": stages, "total": total, "peak": peak}))
"""


def measure(model: str, rounds: int) -> dict[str, object]:
    """The round with the shortest total."""
    results = []
    for _ in range(rounds):
        done = subprocess.run(
            [sys.executable, "-c", CHILD, model], capture_output=True, text=True, check=True
        )
        results.append(json.loads(done.stdout.splitlines()[-1]))
    return min(results, key=lambda r: r["total"])


def main() -> None:
    """Print a table a model, and write the rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    default = Path(__file__).parent.parent / "match_aie" / "demo" / "digits_int8.onnx"
    rows = [machine_row()]
    for model in options.models or [str(default)]:
        best = measure(model, options.rounds)
        name = Path(model).name
        print(
            f"{name}: {best['total']:.2f} s beyond import tvm, "
            f"peak {best['peak']:.0f} MB (measured)"
        )
        for stage, seconds in best["stages"].items():
            print(f"    {stage:20s} {seconds:8.3f} s")
            rows.append(_row(name, f"seconds_{stage.replace(' ', '_')}", seconds, "s"))
        rows.append(_row(name, "seconds_beyond_import_tvm", best["total"], "s"))
        rows.append(_row(name, "peak_memory", best["peak"], "MB"))
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")


def _row(case: str, metric: str, value: float, unit: str) -> dict[str, object]:
    return {
        "case": case,
        "metric": metric,
        "value": round(value, 4),
        "unit": unit,
        "provenance": "measured",
        "note": "",
    }


if __name__ == "__main__":
    main()
