"""How long the mapping search takes, and how far from the optimum its engines end.

    python benchmarks/search.py [--json FILE] [--markdown FILE] [--l1 KB ...]
                                [--modes MODE ...] [--skip-zigzag]

The 36 different layers of ResNet8, MobileNetV1-0.25 and DS-CNN (their shapes, below, are those of
MLPerf Tiny's reference models), on a machine like GAP9's cluster. Seconds are CPU seconds of one
process for all 36 layers, measured; cycles are modelled. Gaps are against engine `exact`: with
tiles that divide the layer, unless the name says ragged.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from machine import machine_row

from match_aie.cost_models.pulp import PulpCluster
from match_aie.errors import Infeasible
from match_aie.hardware import ExecModule, Loop, Memory, Mode
from match_aie.mapping import MappedCost, SearchOptions, search
from match_aie.workload import (
    Quantized,
    Tail,
    Window,
    Workload,
    conv2d,
    dense,
    elementwise,
    output_extent,
)

U8, TAIL = Quantized("uint8", 0.5, 0), Tail(0, 0, 255)

#: TensorFlow's SAME padding of stride 2 on even sizes: nothing before, one after.
SAME1, SAME2 = (1, 1, 1, 1), (0, 0, 1, 1)

#: name: image, output channels, filter, stride, padding; depthwise where the channels are 0.
RESNET8 = {
    "r_c0": ((32, 32, 3), 16, (3, 3), 1, SAME1),
    "r_c1": ((32, 32, 16), 16, (3, 3), 1, SAME1),
    "r_c3": ((32, 32, 16), 32, (3, 3), 2, SAME2),
    "r_c4": ((16, 16, 32), 32, (3, 3), 1, SAME1),
    "r_sc1": ((32, 32, 16), 32, (1, 1), 2, (0, 0, 0, 0)),
    "r_c5": ((16, 16, 32), 64, (3, 3), 2, SAME2),
    "r_c6": ((8, 8, 64), 64, (3, 3), 1, SAME1),
    "r_sc2": ((16, 16, 32), 64, (1, 1), 2, (0, 0, 0, 0)),
}
ADDITIONS = {"r_add0": (32, 32, 16), "r_add1": (16, 16, 32), "r_add2": (8, 8, 64)}
DENSE = {"r_fc": (64, 10), "m_fc": (256, 2), "d_fc": (64, 12)}
#: Output channels and stride of MobileNetV1-0.25's thirteen depthwise-separable blocks.
BLOCKS = (
    (16, 1),
    (32, 2),
    (32, 1),
    (64, 2),
    (64, 1),
    (128, 2),
    *((128, 1),) * 5,
    (256, 2),
    (256, 1),
)
DSCNN = {
    "d_c0": ((49, 10, 1), 64, (10, 4), 2, (4, 1, 5, 1)),
    "d_dw": ((25, 5, 64), 0, (3, 3), 1, SAME1),
    "d_pw": ((25, 5, 64), 64, (1, 1), 1, (0, 0, 0, 0)),
}


def convolution(
    image: tuple[int, int, int],
    outputs: int,
    filter_: tuple[int, int],
    stride: int,
    padding: tuple[int, int, int, int],
) -> Workload:
    """A quantised convolution of one image, depthwise where `outputs` is 0."""
    channels = image[2]
    groups = 1 if outputs else channels
    weights = (outputs or channels, *filter_, channels // groups)
    return conv2d(
        U8,
        U8,
        shape=(1, *image),
        weight_shape=weights,
        groups=groups,
        window=Window((stride, stride), (1, 1), padding),
        tail=TAIL,
        scales=weights[0],
    )


def mobilenet() -> dict[str, Workload]:
    """Layers of MobileNetV1-0.25 for 96 x 96 images, the classifier left out."""
    found = {"m_c0": convolution((96, 96, 3), 8, (3, 3), 2, SAME2)}
    channels, size = 8, 48
    for at, (outputs, stride) in enumerate(BLOCKS):
        padding = SAME1 if stride == 1 else SAME2
        found[f"m_dw{at}"] = convolution((size, size, channels), 0, (3, 3), stride, padding)
        size = output_extent(size, 3, stride, 1, padding[0], padding[2])
        found[f"m_pw{at}"] = convolution((size, size, channels), outputs, (1, 1), 1, (0, 0, 0, 0))
        channels = outputs
    return found


def layers() -> dict[str, Workload]:
    """The different layers of the three networks, by the name of the first of each kind."""
    found = {name: convolution(*facts) for name, facts in (RESNET8 | DSCNN).items()}
    found |= mobilenet()
    for name, (rows, columns, channels) in ADDITIONS.items():
        shape = (1, rows, columns, channels)
        found[name] = elementwise(
            "add", U8, U8, U8, shape=shape, shape1=shape, out=shape, tail=TAIL
        )
    for name, (inputs, outputs) in DENSE.items():
        found[name] = dense(
            U8, U8, rows=1, inputs=inputs, outputs=outputs, tail=TAIL, scales=outputs
        )
    unique: dict[Workload, str] = {}
    for name, workload in found.items():
        unique.setdefault(workload, name)
    return {name: workload for workload, name in unique.items()}


class Cluster(ExecModule):
    """Like GAP9's cluster: eight cores, an L1 with double buffers, a DMA to L2 and one beyond.

    The DMA moves 8 bytes a cycle and takes 27 cycles a contiguous chunk (MATCH, arXiv:2410.08855).
    Between L2 and a memory beyond it (only with three levels) it moves 1 byte a cycle and takes
    200 cycles a transfer: assumptions.
    """

    name = "cluster"

    def __init__(self, l1: int, mode: Mode, l2: int | None = None) -> None:
        """`l1` and `l2` in bytes; without `l2` there are two levels and the outer one is large."""
        self._model = PulpCluster(mode=mode)
        inner = Memory("L1", l1, 64.0, double_buffered=None)
        if l2 is None:
            self.memories = (inner, Memory("L2", 1536 << 10, 8.0, chunk_cycles=27.0))
        else:
            middle = Memory("L2", l2, 8.0, chunk_cycles=27.0, double_buffered=None)
            far = Memory("L3", 8 << 20, 1.0, transfer_cycles=200.0)
            self.memories = (inner, middle, far)

    def patterns(self) -> tuple[()]:
        """None: workloads are given."""
        return ()

    def spatial(self, workload: Workload) -> Sequence[Loop]:
        """What the kernels unroll."""
        return self._model.spatial(workload)

    def cost_model(self, workload: Workload) -> PulpCluster:
        """PULP-NN's kernels and the DMA."""
        del workload
        return self._model

    def template(self, workload: Workload) -> str:
        """None: nothing is emitted."""
        del workload
        return ""


@dataclass(frozen=True)
class Run:
    """All layers searched by one engine.

    Attributes:
        seconds: of CPU time.
        best: by layer.
        slowest: layer, and its seconds.
    """

    seconds: float
    best: dict[str, MappedCost]
    slowest: tuple[str, float]


def run(work: dict[str, Workload], module: ExecModule, options: SearchOptions) -> Run:
    """Search every layer in turn."""
    best: dict[str, MappedCost] = {}
    taken: dict[str, float] = {}
    for name, workload in work.items():
        start = time.process_time()
        found = search(workload, module, options)
        taken[name] = time.process_time() - start
        if not isinstance(found, Infeasible):
            best[name] = found[0]
    slowest = max(taken, key=lambda name: taken[name])
    return Run(sum(taken.values()), best, (slowest, taken[slowest]))


def gaps(run_: Run, reference: Run) -> list[float]:
    """Percent by which each layer is slower than in the reference."""
    return [
        100 * (mapped.cost.cycles / reference.best[name].cost.cycles - 1)
        for name, mapped in run_.best.items()
    ]


Add = Callable[..., None]

#: What `--json` writes: case, metric, value, unit, provenance, note.
Row = dict[str, Any]


def two_levels(work: dict[str, Workload], l1: int, mode: Mode, zigzag: bool, add: Add) -> None:
    """Rows of one setting."""
    module = Cluster(l1 << 10, mode)

    def timed(engine: str, tiles: str, limit: int = 7) -> Run:
        return run(work, module, SearchOptions(engine, tiles, lpf_limit=limit, runners_up=0))  # type: ignore[arg-type]

    timed("loma", "divisor", 2)  # imports are not part of a search
    exact, ragged = timed("exact", "divisor"), timed("exact", "ragged")
    loma, both = timed("loma", "divisor"), timed("loma", "ragged")
    for name, result in (("exact", exact), ("exact_ragged", ragged), ("loma", loma)):
        add(f"{name}_seconds", result.seconds, "s", "measured", note(result, len(work)))
    add("loma_ragged_seconds", both.seconds, "s", "measured", note(both, len(work)))
    add_gaps(add, "loma_gap", gaps(loma, exact))
    add_gaps(add, "loma_ragged_gap", gaps(both, ragged))
    add_gaps(add, "divisor_ragged_gap", gaps(exact, ragged))
    if zigzag:
        stock = timed("zigzag", "divisor", 6)
        add("zigzag_seconds", stock.seconds, "s", "measured", note(stock, len(work)))
        add_gaps(add, "zigzag_gap", gaps(stock, exact))


def three_levels(work: dict[str, Workload], l1: int, l2: int, mode: Mode, add: Add) -> None:
    """Rows of one setting with a memory beyond L2."""
    module = Cluster(l1 << 10, mode, l2 << 10)
    exact = run(work, module, SearchOptions("exact", "divisor", runners_up=0))
    add("exact_seconds", exact.seconds, "s", "measured", note(exact, len(work)))
    proven = [
        100 * (m.cost.cycles / m.bound - 1) for m in exact.best.values() if m.bound is not None
    ]
    add("proven_gap_max_percent", max(0.0, *proven), "%", "modelled", "")


def note(result: Run, count: int) -> str:
    """What a row of seconds should say too."""
    name, seconds = result.slowest
    infeasible = count - len(result.best)
    return f"{count} layers, {infeasible} infeasible; slowest {name}, {seconds:.3f} s"


def add_gaps(add: Add, name: str, found: list[float]) -> None:
    """Rows of mean and worst."""
    above = sum(gap > 0.01 for gap in found)
    add(f"{name}_mean_percent", sum(found) / len(found), "%", "modelled", f"{above} layers above")
    add(f"{name}_max_percent", max(found), "%", "modelled", "")


#: Metrics of the tables, in order, and what stands above their columns.
COLUMNS = {
    "exact_seconds": "exact s",
    "exact_ragged_seconds": "exact ragged s",
    "loma_seconds": "loma s",
    "loma_gap_mean_percent": "loma gap mean %",
    "loma_gap_max_percent": "loma gap max %",
    "loma_ragged_seconds": "loma ragged s",
    "loma_ragged_gap_mean_percent": "loma ragged gap mean %",
    "loma_ragged_gap_max_percent": "loma ragged gap max %",
    "zigzag_seconds": "zigzag s",
    "zigzag_gap_mean_percent": "zigzag gap mean %",
    "zigzag_gap_max_percent": "zigzag gap max %",
    "proven_gap_max_percent": "proven gap max %",
}


def markdown(rows: Sequence[Row]) -> str:
    """The rows as a page: settings with two levels of memory, then with three."""
    machine = next(row for row in rows if row["case"] == "machine")
    cases: dict[str, dict[str, Row]] = {}
    for row in rows:
        if row is not machine:
            cases.setdefault(str(row["case"]), {})[str(row["metric"])] = row
    three = {case: found for case, found in cases.items() if "_l2_" in case}
    two = {case: found for case, found in cases.items() if case not in three}
    parts = [
        "# Mapping search: 36 layers of ResNet8, MobileNetV1-0.25 and DS-CNN",
        f"`python benchmarks/search.py` on {machine['value']} ({machine['note']}). Seconds are CPU "
        "seconds of one process for all layers, measured; gaps are modelled cycles. Stock ZigZag "
        "is limited to 6 loop prime factors.",
    ]
    if two:
        parts.append(table(two))
    if three:
        parts += ["Three levels (divisors only):", table(three)]
    missing = [
        f"{case}: {name.removesuffix('_seconds')}, {row['note'].split(';')[0]}"
        for case, found in cases.items()
        for name, row in found.items()
        if name.endswith("_seconds") and " 0 infeasible" not in str(row["note"])
    ]
    if missing:
        parts.append("Nothing found for some layers:\n\n- " + "\n- ".join(missing))
    return "\n\n".join(parts) + "\n"


def table(cases: dict[str, dict[str, Row]]) -> str:
    """A line a case, a column for every metric that some case has."""
    shown = [name for name in COLUMNS if any(name in found for found in cases.values())]
    lines = ["| case | " + " | ".join(COLUMNS[name] for name in shown) + " |"]
    lines.append("|---" * (len(shown) + 1) + "|")
    for case, found in cases.items():
        cells = [f"{found[name]['value']:.3f}" if name in found else "" for name in shown]
        lines.append(f"| {case} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    """Print a line a row, and write the rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--markdown", type=Path)
    parser.add_argument("--l1", type=int, nargs="*", default=[16, 32, 128])
    parser.add_argument("--modes", nargs="*", default=["sum", "max", "pipelined"])
    parser.add_argument("--skip-zigzag", action="store_true")
    parser.add_argument("--skip-two", action="store_true")
    options = parser.parse_args()
    rows = [machine_row()]
    work = layers()

    def adder(case: str) -> Add:
        def add(metric: str, value: float, unit: str, provenance: str, remark: str) -> None:
            row = {"case": case, "metric": metric, "value": value, "unit": unit}
            rows.append({**row, "provenance": provenance, "note": remark})
            print(f"{case:24} {metric:32} {value:10.4f} {unit:2} {remark}", flush=True)

        return add

    for l1 in options.l1 if not options.skip_two else []:
        for mode in options.modes:
            two_levels(work, l1, mode, not options.skip_zigzag, adder(f"l1_{l1}_{mode}"))
    for mode in options.modes:
        three_levels(work, 16, 64, mode, adder(f"l1_16_l2_64_{mode}"))
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")
    if options.markdown:
        options.markdown.write_text(markdown(rows))


if __name__ == "__main__":
    main()
