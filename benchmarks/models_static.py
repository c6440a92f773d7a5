"""Networks as programs of their own, without libraries: memory and first result.

    python benchmarks/models_static.py [--json FILE] [--only NAME ...]

Each network is built by `project.build(static=True)`: one executable, weights inside, that reads
its inputs from files and writes its outputs to others. Beside it a Python process runs the same
network in onnxruntime with one thread. Both are started seven times in turn, and the least of each
figure is kept: the memory that a process has had at most, and the time to the first result; for
the program from its start to its end, files read and written. For onnxruntime the interpreter's
own start and imports are not counted in the time, nor, in the second ratio of memory, what the
process held before the session was made. Rows of other networks in FILE are kept.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
from generated import ROOT, network
from machine import machine_row
from models import feeds_of
from rows import figure, report

CASES = (
    *("bert_tiny", "minilm6", "distilbert_stack", "albert_stack", "bert_base_stack"),
    *("deberta_layers", "gpt_block", "nsnet2"),
)

#: onnxruntime's first result: (network, inputs) to seconds, kilobytes at most and before.
FIRST = """
import sys, time
import numpy as np
import cpu_engines, onnxruntime
from pathlib import Path
path, inputs = sys.argv[1:]
feeds = dict(np.load(inputs))
def held(name):
    return next(l for l in open("/proc/self/status") if l.startswith(name)).split()[1]
before, began = held("VmRSS"), time.perf_counter()
cpu_engines.onnxruntime(Path(path), feeds)()
print(time.perf_counter() - began, held("VmHWM"), before)
"""


def static_rows(name: str) -> list[dict[str, object]]:
    """One network as a program of its own: memory and first result, the best of seven runs."""
    import match_aie as match

    path = network(f"{name}.onnx")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        net = match.compile(path, "CPU")
    feeds = feeds_of(net.inputs)
    here = str(Path(__file__).resolve().parent)
    start = f"import sys; sys.path[:0] = [{here!r}, {str(ROOT)!r}]\n"
    own, other = [], []
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        program = net.write(folder / "net").build(static=True).path
        np.savez(folder / "inputs.npz", **feeds)
        sent = [folder / f"input_{at}" for at in range(len(feeds))]
        for file, array in zip(sent, feeds.values(), strict=True):
            array.tofile(file)
        received = [folder / f"output_{at}" for at in range(len(net.outputs))]
        for _ in range(7):
            own.append(_started([program, *sent, *received]))
            words = [sys.executable, "-c", start + FIRST, path, folder / "inputs.npz"]
            said = subprocess.run(words, capture_output=True, text=True, check=True).stdout
            other.append([float(word) for word in said.split()])
        size = program.stat().st_size
    (seconds, peak), (session, most, before) = (
        [min(column) for column in zip(*each, strict=True)] for each in (own, other)
    )
    return [
        figure(name, "peak_memory_ratio", peak / most, "x", "measured",
               f"{peak / 1e3:.0f} MB to {most / 1e3:.0f} MB, a Python process; a program of "
               f"{size / 1e6:.0f} MB"),
        figure(name, "peak_memory_ratio_session", peak / (most - before), "x", "measured",
               f"to {(most - before) / 1e3:.0f} MB that the session added to the process"),
        figure(name, "first_result_ratio", seconds / session, "x", "measured",
               f"{1e3 * seconds:.1f} ms from the program's start to its end, to "
               f"{1e3 * session:.1f} ms for the session and its first run, imports not counted"),
    ]  # fmt: skip


#: Starts a program and says (seconds, kilobytes at most): a process begins with the most memory
#: that its parent ever had, so a small one starts it. What is less than this one's is not seen.
LAUNCHER = """
import os, sys, time
began = time.perf_counter()
child = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
_, status, used = os.wait4(child, 0)
print(time.perf_counter() - began, used.ru_maxrss)
sys.exit(os.waitstatus_to_exitcode(status))
"""


def _started(words: list[Path]) -> tuple[float, float]:
    """(seconds, kilobytes at most) of a process from its start to its end."""
    command = [sys.executable, "-I", "-S", "-c", LAUNCHER, *words]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    seconds, peak = (float(word) for word in said.split())
    return seconds, peak


def main() -> None:
    """Print the rows, and write them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--only", nargs="*", default=list(CASES), choices=CASES)
    options = parser.parse_args()
    before = json.loads(options.json.read_text()) if options.json and options.json.exists() else []
    found = {row["case"]: [r for r in before if r["case"] == row["case"]] for row in before}
    for name in options.only:
        found[name] = static_rows(name)
        found["machine"] = [machine_row()]
        rows = [row for case in ("machine", *CASES) for row in found.get(case, ())]
        if options.json:
            options.json.write_text(json.dumps(rows, indent=1) + "\n")
    report(rows, options.json)


if __name__ == "__main__":
    main()
