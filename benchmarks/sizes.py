"""One program for a range of sizes, at several of them: the CPU target against onnxruntime.

    python benchmarks/sizes.py [--json FILE] [--lengths N ...] [--rounds N] [--small]

An encoder of MiniLM-6's sizes (random weights, 1,000 words) is compiled once, for sequences of 1 to
128 words, and run at several lengths; onnxruntime runs the same model with its dimensions open.
Both have one thread, calls are interleaved, and the ratio of the fastest calls is kept. Beside them
a program that is compiled for that length alone.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
from cpu_engines import onnxruntime
from machine import machine_row
from rows import figure, report

import match_aie

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
from tests.networks import sized  # noqa: E402

LENGTHS = (1, 8, 16, 32, 64, 100, 128)


def fastest(calls: list[Callable[[], object]], rounds: int) -> list[float]:
    """Seconds of the fastest call of each, by the wall, in turns."""
    best = [float("inf")] * len(calls)
    for _ in range(rounds):
        for index, call in enumerate(calls):
            start = time.perf_counter()
            call()
            best[index] = min(best[index], time.perf_counter() - start)
    return best


def rows_of(length: int, options: argparse.Namespace, folder: Path) -> list[dict[str, object]]:
    """One length: this program, onnxruntime, and a program of that length."""
    shape, rng = (1, length), np.random.default_rng(length)
    feeds = {
        "ids": rng.integers(0, 50, shape),
        "attention_mask": np.ones(shape, np.int64),
    }
    model = folder / "encoder.onnx"
    alone = match_aie.compile(model, "CPU", shapes=dict.fromkeys(feeds, shape))
    projects = match_aie.load(folder / "range"), alone.write(folder / f"alone_{length}")
    runners = projects[0].runner(sizes={"length": length}), projects[1].runner()
    for runner in runners:
        for name, array in feeds.items():
            runner.inputs[name][...] = array
    theirs = onnxruntime(model, feeds)
    ours, other, fixed = fastest([runners[0], theirs, runners[1]], options.rounds)
    (y,), (z,) = (list(runner.outputs.values()) for runner in runners)
    reference = np.asarray(theirs()[0])
    case = f"{length} words"
    return [
        figure(case, "milliseconds", 1e3 * ours, "ms", "measured"),
        figure(case, "milliseconds_reference", 1e3 * other, "ms", "measured", "onnxruntime"),
        figure(case, "milliseconds_alone", 1e3 * fixed, "ms", "measured", "compiled for it"),
        figure(case, "speedup_vs_reference", other / ours, "x", "measured", "onnxruntime"),
        figure(case, "max_abs", float(np.abs(y - reference).max()) * 1e6, "1e-6", "measured"),
        figure(case, "same_bytes", float(y.tobytes() == z.tobytes()), "", "measured"),
    ]


def main() -> None:
    """Compile once, run at every length."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--lengths", type=int, nargs="*", default=LENGTHS)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--small", action="store_true", help="a small encoder: no measurement")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="match_aie_") as scratch:
        folder = Path(scratch)
        sizes = sized.Sizes(places=128) if options.small else sized.MINILM6
        onnx.save(sized.encoder(sizes), folder / "encoder.onnx")
        start = time.perf_counter()
        shapes = {"ids": (1, "length:1..128"), "attention_mask": (1, "length")}
        made = match_aie.compile(folder / "encoder.onnx", "CPU", shapes=shapes)
        took = time.perf_counter() - start
        made.write(folder / "range")
        rows = [machine_row()]
        for length in options.lengths:
            rows += rows_of(length, options, folder)
        rows.append(figure("compilation", "seconds", took, "s", "measured"))
    report(rows, options.json)


if __name__ == "__main__":
    main()
