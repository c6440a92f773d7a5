"""How well the CPU target's cost model predicts: its layers measured one by one.

    python benchmarks/cpu_prediction.py [--json FILE] [--rounds N] [--only NAME ...]

Layers: every distinct layer of the networks of `cpu.py`, rendered and compiled by itself.
Printed: the rank correlation (Spearman) of modelled cycles with measured seconds over all layers;
and for ten layers the chosen blocking against the best of 20 random legal ones, all in one loop.

Blockings differ by per cent, and so do calls on a machine that others use: their time is the sum of
the fewest nanoseconds of short pieces (`pieces.py`). Where operands lie in physical memory decides
which sets of the caches they share, which changes a layer by per cent too: all is repeated with
operands in other places, and averaged. The chosen blocking is there twice; how far the two
differ is what the figures are uncertain by.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import random
import shutil
import subprocess
import tempfile
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from cpu import FLOAT32, INT8
from generated import network
from machine import machine_row
from pieces import Pieces, with_clock

BLOCKINGS = 20
BLOCKED_LAYERS = 10
PLACES = 4


@dataclass(frozen=True, eq=False)
class Layer:
    """A layer as it would be emitted, and where it comes from."""

    label: str
    workload: Any
    module: Any
    mapping: Any
    cycles: float


def layers(names: Sequence[str]) -> list[Layer]:
    """The distinct layers of the networks."""
    import match_aie as match
    from match_aie.targets.cpu import CPU

    target = CPU()
    modules = {module.name: module for module in target.modules()}
    found: dict[Any, Layer] = {}
    for name in names:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            net = match.compile(network(f"{name}.onnx"), target)
        for layer in net.program.schedule.layers:
            found.setdefault(
                layer.workload,
                Layer(
                    f"{name} {layer.pattern} {layer.symbol}",
                    layer.workload,
                    modules[layer.module],
                    layer.mapping,
                    layer.cost.cycles,
                ),
            )
    return list(found.values())


def c_text(layer: Layer, mappings: Sequence[Any]) -> str:
    """The layer once for each of `mappings`, each behind an exported function."""
    from match_aie.codegen.ctype import ctype
    from match_aie.codegen.layer import render_layer
    from match_aie.hardware import Cost
    from match_aie.lowering import LayerProgram
    from match_aie.targets.cpu import CPU

    lines = ["#include <math.h>", "#include <stdint.h>", "#include <string.h>"]
    runtime = CPU().runtime()
    lines += [f'#include "{name}"' for name in (*runtime.headers, *runtime.layer_headers)]
    for number, mapping in enumerate(mappings):
        module, workload = layer.module, layer.workload
        program = LayerProgram(
            f"layer{number}",
            module.name,
            "",
            module.template(workload),
            workload,
            mapping,
            Cost(1.0),
            (),
        )
        passed = [f"({ctype(o.dtype)} *)p[{i}]" for i, o in enumerate(workload.operands)]
        if module.scratch_bytes(workload):
            passed.append(f"p[{len(passed)}]")
        lines.append(render_layer(program, module))
        head = f"void run{number}(void **p)"
        lines.append(f"{head};\n{head} {{ layer{number}({', '.join(passed)}); }}")
    return "\n".join(lines)


class Runner:
    """A layer, built with all of `mappings`, and operands to run it on."""

    def __init__(
        self, layer: Layer, mappings: Sequence[Any], folder: Path, clock: bool = False
    ) -> None:
        """Render, compile, load, and make operands; with clock reads in the layer if `clock`."""
        from match_aie.targets.cpu import CPU

        target = CPU()
        for path, data in target.runtime().files.items():
            (folder / Path(path).name).write_bytes(data)
        source, library = folder / "layer.c", folder / "layer.so"
        text = c_text(layer, mappings)
        source.write_text(with_clock(text, layer.workload.sizes["C"]) if clock else text)
        compiler = next(c for c in ("gcc", "clang") if shutil.which(c))
        flags = ["-std=c11", "-ffp-contract=off", "-fno-strict-aliasing", "-shared", "-fPIC"]
        flags += [*target.build_profile().flags, f"-I{folder}"]
        subprocess.run([compiler, *flags, str(source), "-o", str(library), "-lm"], check=True)
        self._library = ctypes.CDLL(str(library))
        self._layer = layer
        self._keep: list[np.ndarray] = []
        self.place()
        self.functions = [self._library[f"run{i}"] for i in range(len(mappings))]

    def place(self) -> None:
        """Put the operands somewhere else; where they were stays taken."""
        arrays = operands(self._layer)
        self._keep += arrays
        self._pointers = (ctypes.c_void_p * len(arrays))(*(a.ctypes.data for a in arrays))

    def pieces(self, rounds: int, places: int = PLACES) -> list[float]:
        """Seconds of each function, all in turn: pieces' fewest, averaged over places."""
        found = []
        for _ in range(places):
            self.place()
            pieces = Pieces(self._library, len(self.functions))
            for _ in range(rounds):
                for at, function in enumerate(self.functions):
                    function(self._pointers)
                    function(self._pointers)
                    pieces.note(at)
            found.append(pieces.seconds())
        return [float(x) for x in np.mean(found, axis=0)]

    def seconds(self, rounds: int, window: float = 0.02) -> list[float]:
        """Fewest CPU seconds of a call of each function, all in turn."""
        best = [float("inf")] * len(self.functions)
        for _ in range(rounds):
            for at, function in enumerate(self.functions):
                function(self._pointers)
                stop = time.perf_counter() + window
                while True:
                    start = time.process_time()
                    function(self._pointers)
                    spent = time.process_time() - start
                    if spent > 0:  # where the process changed cores the clock may stand still
                        best[at] = min(best[at], spent)
                    if time.perf_counter() > stop:
                        break
        return best


def operands(layer: Layer) -> list[np.ndarray]:
    """Random arrays for all operands, aligned, constants packed, then the scratch."""
    from match_aie.toolchain.library import aligned

    rng = np.random.default_rng(0)
    workload, module = layer.workload, layer.module

    def filled(operand: Any) -> np.ndarray:
        if operand.dtype == "float32":
            return (0.1 * rng.standard_normal(operand.shape)).astype(np.float32)
        info = np.iinfo(operand.dtype)
        low, high = max(info.min, -128), min(info.max, 127)
        return rng.integers(low, high + 1, operand.shape).astype(operand.dtype)

    packed = module.pack(workload, {o.name: filled(o) for o in workload.constants})
    arrays = [packed[o.name] if o.constant else filled(o) for o in workload.operands]
    arrays.append(np.zeros(max(1, module.scratch_bytes(workload)), np.uint8))
    result = []
    for array in arrays:
        place = aligned(array.shape, array.dtype.name, 64)
        place[...] = array
        result.append(place)
    return result


def random_mapping(layer: Layer, rng: random.Random) -> Any:
    """A legal nest: the chosen granules, random blocks of them, in a random order."""
    from match_aie.hardware import Loop, Mapping

    grain = {loop.dim: loop.size for loop in layer.module.spatial(layer.workload)}
    sizes = layer.workload.sizes
    loops = []
    for dim, unit in grain.items():
        whole = -(-sizes[dim] // unit)
        step = min(sizes[dim], unit * rng.randint(1, whole))
        loops.append(Loop(dim, -(-sizes[dim] // step), step))
    rng.shuffle(loops)
    return Mapping((), tuple(loops), len(loops))


def spearman(a: Sequence[float], b: Sequence[float]) -> float:
    """Rank correlation; ties share their mean rank."""

    def ranks(values: Sequence[float]) -> np.ndarray:
        array = np.asarray(values)
        below = (array[:, None] > array[None, :]).sum(axis=1)
        same = (array[:, None] == array[None, :]).sum(axis=1)
        return below + (same - 1) / 2

    return float(np.corrcoef(ranks(a), ranks(b))[0, 1])


def correlation(found: Sequence[Layer], rounds: int) -> list[dict[str, Any]]:
    """Rows: every layer's modelled cycles and measured microseconds, and their correlation."""
    rows, modelled, measured = [], [], []
    for layer in found:
        with tempfile.TemporaryDirectory() as folder:
            seconds = Runner(layer, [layer.mapping], Path(folder)).seconds(rounds)[0]
        modelled.append(layer.cycles)
        measured.append(seconds)
        note = f"{layer.cycles:.0f} cycles modelled"
        rows.append(row(layer.label, "microseconds", seconds * 1e6, "us", note))
        print(f"{layer.label:70} {layer.cycles:12.0f} cycles {seconds * 1e6:10.2f} us", flush=True)
    value = spearman(modelled, measured)
    print(f"rank correlation over {len(found)} layers: {value:.4f}")
    rows.append(row("layers", "rank_correlation", value, "", f"Spearman, {len(found)} layers"))
    return rows


def blockings(found: Sequence[Layer], rounds: int) -> list[dict[str, Any]]:
    """Rows: the chosen blocking's time over the best of the random ones'."""
    rng = random.Random(7)
    large = [x for x in found if x.module.name == "cpu_float" and x.workload.sizes["B"] > 1]
    large.sort(key=lambda x: -x.workload.macs)
    rows = []
    for layer in large[:BLOCKED_LAYERS]:
        mappings = [layer.mapping, *(random_mapping(layer, rng) for _ in range(BLOCKINGS))]
        with tempfile.TemporaryDirectory() as folder:
            seconds = Runner(layer, [*mappings, layer.mapping], Path(folder), True).pieces(rounds)
        best, chosen = min(seconds[1:-1]), (seconds[0] + seconds[-1]) / 2
        over, apart = chosen / best, abs(seconds[0] - seconds[-1]) / chosen
        note = f"chosen {chosen * 1e6:.1f} us, best of {BLOCKINGS} {best * 1e6:.1f} us"
        rows.append(row(layer.label, "chosen_over_best", over, "", note))
        rows.append(row(layer.label, "chosen_apart", apart, "", "the chosen blocking, twice"))
        print(f"{layer.label:70} {over:.3f} ({note}; twice {100 * apart:.1f} % apart)", flush=True)
    return rows


def row(case: str, metric: str, value: float, unit: str, note: str) -> dict[str, Any]:
    """One row, measured."""
    head = {"case": case, "metric": metric, "value": value, "unit": unit}
    return {**head, "provenance": "measured", "note": note}


def main() -> None:
    """Print, and write the rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--only", nargs="*", default=[*FLOAT32, *INT8])
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    found = layers(options.only)
    rows = [machine_row(), *correlation(found, options.rounds)]
    rows += blockings(found, options.rounds)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
