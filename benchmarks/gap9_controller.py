"""What GAP9's controller does in an emitted network, counted.

    python benchmarks/gap9_controller.py [--networks FILE ...] [--json FILE]

A network's C with the binding to PMSIS is compiled for rv32imc (GCC, -O3, as for the
chip) and run on an emulated core: instructions, loads and stores of L2, and of the cluster's
registers, are counted for every walk, transfer, wait, job and call of a kernel. PMSIS itself is a
stub of eight registers for the DMA; kernels and NE16 do nothing. The parts are fields of `Code`
(`targets/gap9/timing/controller.py`). Errors of the rows of
`gvsoc_gap9.csv` are printed after them.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from gap9_count import COUNTED, Counted, Layer, count, count_project
from generated import DATA, network
from machine import machine_row

from match_aie.simulating import steps
from match_aie.simulation import ScratchpadSimulator
from match_aie.targets.gap9 import GAP9
from match_aie.targets.gap9.timing.controller import COMMIT_2AA2A23, Access, Code, Work
from match_aie.targets.gap9.timing.network import Gap9Timing
from match_aie.toolchain.record import parse

#: What is counted where nothing else is named, and the bytes of L1 that tiles may take.
NETWORKS = ("resnet8_u8.onnx", "mobilenetv1_025_u8.onnx", "dscnn_u8.onnx", "dae_u8.onnx")
#: Registers of a command for lines, and of one for a block.
LINES = 8
#: Those whose layers side by side are counted; the last two are for that.
BESIDE = ("resnet8_u8.onnx", "dscnn_u8.onnx", "branches_u8.onnx", "filters_u8.onnx")
LITTLE = ((16 << 10, 2), (8 << 10, 2), (6 << 10, 1))

PARTS = ("transfer", "wait", "first", "second", "later", "part")
#: The project that was timed with the layer's structure on the stack, where the compiler calls
#: `ma_ne16_tile`, as it does while several callers share it.
CALLED = replace(
    COMMIT_2AA2A23,
    first=Work(734, 46, 26, 317, 88),
    second=Work(457, 4, 26, 282, 10),
    later=Work(179, 4, 8, 165, 0.2),
    part=Work(600, 8, 26, 359, 8),
)
#: The same where the compiler puts `ma_ne16_tile` in line, as in a start of the layer's own: two
#: of a job's four divisions are gone. Counted of a stride of 2 (its fourth layer on NE16).
IN_LINE = replace(
    CALLED,
    first=Work(719, 41, 26, 317, 106),
    second=Work(377, 4, 26, 219, 4),
    later=Work(149.5, 4, 8, 113.3, 0.2),
)
#: In line, with the layer's structure and the tile's sizes known to the compiler, as in a harness
#: of one call: it knows that a job has two rows and columns at most, and divides nothing.
KNOWN = replace(
    IN_LINE,
    first=Work(446, 20, 26, 81, 54),
    second=Work(298, 4, 26, 66, 4),
    later=Work(104.2, 4, 8, 25.6, 0.1),
)

Array = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True)
class Walks:
    """Least squares of the walks: `Code.one_tile`, `few`, `many`, and the share of a transfer."""

    one_tile: Work
    few: tuple[Work, Work]
    many: tuple[Work, Work]
    move: Work


def everything(models: Sequence[Path]) -> list[Layer]:
    """Layers of all networks as they are compiled; of the first ones also with little L1.

    Lists that do not fit into L1 are left out; `distant` has them.
    """
    found = [layer for model in models for layer in count(model, GAP9(beside=False)).layers]
    found += count(models[0], GAP9(beside=False), integer_io=False).layers
    for nbytes, some in LITTLE:
        for model in models[:some]:
            found += count(model, GAP9(l1_bytes=nbytes, beside=False)).layers
    return [layer for layer in found if layer.near or not layer.listed]


def distant(models: Sequence[Path]) -> Work:
    """What a list in L2 takes more than one in L1, of each tile.

    Of the same layers, by least squares of all their accesses, transfers and starts included. Most
    layers have one tile, so what entering one takes more cannot be told apart.
    """
    near, far = ([], [])
    for model in models:
        near += count(model, GAP9(beside=False)).layers
        target = GAP9(beside=False)
        target.list_bytes = 0
        far += count(model, target).layers
    both = [(a, b) for a, b in zip(near, far, strict=True) if a.near and not b.near]
    more = [_accesses(b) - _accesses(a) for a, b in both]
    factors = np.array([[float(a.visits)] for a, _ in both])
    (visit,) = np.linalg.lstsq(factors, np.array(more), rcond=None)[0]
    return Work(0.0, float(visit))


def _accesses(layer: Layer) -> float:
    parts = [work for found in layer.parts.values() for work in found]
    return layer.walk.l2 + sum(work.l2 for work in parts)


def works(layers: Iterable[Layer], part: str) -> Array:
    """All that is counted (`_array`), of all occurrences of a part."""
    found = [work for layer in layers for work in layer.parts.get(part, ())]
    return np.array([_array(work) for work in found], float).reshape(-1, COUNTED)


def mean(layers: Iterable[Layer], part: str) -> Work:
    """Of a part."""
    return _work(works(layers, part).mean(axis=0))


def solved(factors: Sequence[Sequence[float]], sides: Array) -> Array:
    """What rows of factors have of all that is counted, by least squares of relative errors."""
    rows = np.array(factors, float)
    found = []
    for side in sides.T:
        each = 1.0 / np.maximum(side, 1.0)
        found.append(np.linalg.lstsq(rows * each[:, None], side * each, rcond=None)[0])
    return np.stack(found, axis=1)


def walked(layers: Sequence[Layer]) -> Array:
    """All that is counted, of every walk."""
    return np.array([_array(layer.walk) for layer in layers], float)


def walks(layers: Sequence[Layer]) -> Walks:
    """What entering a layer takes, a tile, and a transfer, in the walk.

    What kernels see and transfers move lies on the stack in loops, in L2 in lists. Both are priced
    as they are in lists, so a tile of loops is cheaper by the difference.
    """
    several = [layer for layer in layers if layer.listed and layer.visits > 1]
    factors = [[1.0, layer.visits, layer.moves] for layer in several]
    enter, visit, move = solved(factors, walked(several))
    one = [layer for layer in layers if layer.visits == 1 and layer.linked]
    single = np.mean([side - move * o.moves for side, o in zip(walked(one), one, strict=True)], 0)
    loops = [layer for layer in layers if not layer.listed]
    first, start = (_nearer(layers, part) for part in ("first", "transfer"))
    rest = [
        side - move * o.moves - first * o.visits - start * o.moves
        for side, o in zip(walked(loops), loops, strict=True)
    ]
    # Entering cannot be told apart from so many tiles: it is that of a list.
    each = np.mean([(side - enter) / o.visits for side, o in zip(rest, loops, strict=True)], 0)
    few = _work(enter), _work(visit)
    return Walks(_work(single), few, (few[0], _work(each)), _work(move))


def _nearer(layers: Sequence[Layer], part: str) -> Array:
    """Accesses to L2, and nothing else, that a part has more in lists than in loops."""
    found = [
        mean([layer for layer in layers if layer.listed == listed], part).l2
        for listed in (True, False)
    ]
    return np.array([0.0, found[0] - found[1], *[0.0] * (COUNTED - 2)])


def _work(found: Array) -> Work:
    return Work(*(float(value) for value in found))


def plane(layers: Sequence[Layer]) -> Work:
    """What one more plane of a transfer takes: of those with several, lines being 8 registers."""
    starts = works(layers, "transfer")
    more = starts[starts[:, 2] > LINES]
    one = starts[starts[:, 2] == LINES].mean(axis=0)
    return _work(((more - one) / (more[:, 2:3] / LINES - 1)).mean(axis=0))


def lane(pairs: Sequence[Layer], move: Work) -> tuple[Work, Work]:
    """Of each layer beside others, what entering it takes, and a tile of it."""
    factors = [[float(pair.count), pair.visits] for pair in pairs]
    share = _array(move)[None]
    moved = np.array([[pair.moves] for pair in pairs]) * share
    enter, visit = solved(factors, walked(pairs) - moved)
    return _work(enter), _work(visit)


def fork(pairs: Sequence[Layer], wait: Work) -> tuple[Work, Work]:
    """To start a kernel on workers that stand by, and wait for it; and a word of its argument.

    The end is simulated as `wait`. Lines do not depend on words: copying is a loop.
    """
    starts, ends = works(pairs, "fork"), works(pairs, "join")
    words = np.array([count for pair in pairs for count in pair.words], float)
    factors = np.stack([np.ones(len(words)), words], axis=1)
    begin, word = np.linalg.lstsq(factors, starts, rcond=None)[0]
    begin[-1], word[-1] = starts[:, -1].mean(), 0.0
    return _work(begin + ends.mean(axis=0) - _array(wait)), _work(word)


def place(networks: Sequence[Counted]) -> Work:
    """To copy a word of a list to L1: of all lists, calls included."""
    placed = [both for network in networks for both in network.placed]
    words = sum(nbytes for nbytes, _ in placed) / 4
    return _work(np.sum([_array(work) for _, work in placed], axis=0) / words)


def _array(work: Work) -> Array:
    return np.array([work.instructions, work.l2, work.registers, work.stalls, work.lines])


def counted(layers: Sequence[Layer], far: Work, both: Sequence[Counted]) -> Code:
    """All fields of `Code`. Starts of kernels and jobs are those in lists.

    Args:
        layers: each by itself, their lists in L1.
        far: `distant`.
        both: networks with layers side by side.
    """
    pairs = [layer for network in both for layer in network.layers if layer.count > 1]
    walk, listed = walks(layers), [layer for layer in layers if layer.listed]
    starts = works(listed, "transfer")
    start = _work(starts[starts[:, 2] <= LINES].mean(axis=0))
    calls = {
        kind: mean([layer for layer in listed if layer.kind == kind], "call")
        for kind in sorted({layer.kind for layer in listed if "call" in layer.parts})
    }
    start_fork, word = fork(pairs, mean(layers, "wait"))
    return Code(
        one_tile=walk.one_tile,
        few=walk.few,
        many=walk.many,
        far=far,
        lane=lane(pairs, walk.move),
        fork=start_fork,
        word=word,
        place=place(both),
        transfer=_work(_array(start) + _array(walk.move)),
        plane=plane(layers),
        wait=mean(layers, "wait"),
        first=mean(listed, "first"),
        second=mean(layers, "second"),
        later=mean(layers, "later"),
        part=mean(layers, "part"),
        calls=calls,
        call=calls["add"],
    )


def measured(use: str) -> dict[str, float]:
    """GVSoC's cycles of NE16's steps of ResNet8, by the step's number and variant."""
    lines = (DATA / "gvsoc_gap9.csv").read_text().splitlines()
    rows = csv.DictReader(line for line in lines if not line.startswith("#"))
    name = "ne16 step "
    return {
        row["what"].removeprefix(name): float(row["gvsoc_cycles"])
        for row in rows
        if row["use"] == use and row["what"].startswith(name)
    }


def simulated(
    code: Code, access: Access, manifest: str = "resnet8_2aa2a23.json.gz"
) -> dict[int, float]:
    """Cycles of NE16's steps of an emitted project, by their number in its program.

    Args:
        code: the controller's.
        access: what it takes.
        manifest: a file of `tests/data`.
    """
    record = parse(json.loads(gzip.decompress((DATA / manifest).read_bytes())), DATA)
    simulator = ScratchpadSimulator(Gap9Timing(260e6, code=code, access=access))
    run = simulator.run(steps(record, GAP9()), record=False)
    return {n: step.cycles for n, step in enumerate(run.steps) if step.module == "ne16"}


def errors(access: Access, use: str) -> dict[str, float]:
    """Relative errors of the rows of whole steps for `use`."""
    found = {}
    cycles = [[*simulated(code, access).values()] for code in (COMMIT_2AA2A23, IN_LINE)]
    for step, wanted in measured(use).items():
        number, _, variant = step.partition(" ")
        found[step] = cycles[bool(variant)][int(number) - 1] / wanted - 1
    return found


def named(code: Code) -> dict[str, Work]:
    """The parts of `Code` by name."""
    found: dict[str, Work] = {}
    for entry in fields(code):
        value = getattr(code, entry.name)
        if isinstance(value, Work):
            found[entry.name] = value
        elif entry.name == "entered":
            continue
        elif isinstance(value, tuple):
            found |= {
                f"{entry.name} {of}": w for of, w in zip(("layer", "tile"), value, strict=True)
            }
        else:
            found |= {f"{entry.name} {kind}": work for kind, work in value.items()}
    return found


def code_rows(code: Code) -> list[dict[str, Any]]:
    """What was counted, beside what `Code` has."""
    held, found = named(Code()), []
    for name, work in named(code).items():
        for metric in ("instructions", "l2", "registers", "stalls", "lines"):
            has = f"{getattr(held[name], metric):g}" if name in held else "nothing"
            value = round(getattr(work, metric), 1)
            entry = {"case": name, "metric": metric, "value": value, "unit": ""}
            found.append({**entry, "provenance": "simulated", "note": f"Code has {has}"})
    return found


def error_rows(access: Access) -> list[dict[str, Any]]:
    """How far every row of GVSoC's is off."""
    found = []
    for use in ("fit", "report"):
        for step, error in errors(access, use).items():
            entry = {"case": f"ne16 step {step}", "metric": "error", "unit": "%"}
            found.append({**entry, "value": round(100 * error, 1), "note": use})
    return [{**entry, "provenance": "simulated"} for entry in found]


def main() -> None:
    """Print the table; write it where asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--networks", nargs="*", default=NETWORKS, help="generated ones")
    parser.add_argument("--project", type=Path, help="count an emitted folder instead: its means")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if options.project is not None:
        layers = count_project(options.project).layers
        for part in PARTS:
            print(f"{part:10} {mean(layers, part)}")
        return
    models = [network(file) for file in options.networks]
    both = [count(network(file), GAP9()) for file in BESIDE]
    code = counted(everything(models), distant(models[:1]), both)
    rows = [*code_rows(code), *error_rows(Access())]
    for entry in rows:
        print(f"{entry['case']:62} {entry['metric']:12} {entry['value']:8} {entry.get('note', '')}")
    if options.json:
        options.json.write_text(json.dumps([machine_row(), *rows], indent=1) + "\n")


if __name__ == "__main__":
    main()
