"""Published cycles of single kernels against ours, with the kernel variant that each row names.

The rows are those of `tests/data/aie_calibration.csv` (AIE4ML's paper and sources, an
AMD tutorial, arXiv:2512.13282, a third party). `LOOP_SWITCH` is fitted on three of them, and the
transfer of a cascade is bounded by one (`array.assumed`); the empty kernel's 20 cycles are a fact
of their own. Which kernel stands for a row is fixed here, before anything runs: the row's element
types and tiling, blocks of 2x2 accumulators unless the row's source has others (mlir-aie's bf16
kernel has 4x4), and the epilogue of its `variant` column. The kernels of arXiv:2512.13282 are
mlir-aie's, called for one part of the reduction after the other: they add to C, and begin with
loads of it in the type in which they store it (aie_kernels/aie2/mm.cc). AIE4ML's kernels of a chain
move all words of a block before and after its steps ("exposed").
"""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from generated import DATA

from match_aie.targets.aie_ml.array import ArrayMapping, Assumed, DenseLayer
from match_aie.targets.aie_ml.array.handing import hand
from match_aie.targets.aie_ml.devices import Device, Tiling, pair_name
from match_aie.targets.aie_ml.schedule import Kernel, schedule_call
from match_aie.targets.aie_ml.simulate import simulate

FILE = DATA / "aie_calibration.csv"
I8 = ("int8", "int8", "int8")
BF16 = ("bfloat16", "bfloat16", "bfloat16")
I8_TILING, I16_TILING = Tiling(4, 8, 8, True), Tiling(4, 4, 4, True, 64, 64)
I16I8_TILING, BF16_TILING = Tiling(4, 4, 8, True), Tiling(4, 8, 4, True)


def plain(types: tuple[str, str, str], tiling: Tiling, variant: str = "overlapped") -> Kernel:
    """A kernel without bias and ReLU."""
    return Kernel(*types, tiling, bias=False, relu=False, variant=variant)


def added(out: str) -> Kernel:
    """mlir-aie's kernel of 8-bit operands: sums start from the results that C holds so far."""
    kernel = replace(plain(("int8", "int8", out), I8_TILING, "exposed"), adds=True)
    return replace(kernel, requantise="none") if out == "int32" else kernel


BF16_ADDED = replace(plain(BF16, BF16_TILING, "exposed").block(4, 4), adds=True)

#: Rows that constants are fitted on or taken from entirely.
FITTED = ("one cascade hop", "empty external kernel in a loop")

#: Rows (beginnings of workload and config) that `LOOP_SWITCH`, two cycles a block, is fitted on.
LOOPS = (
    ("dense 64x64x64", "i8xi8 <4,8,8>"),
    ("dense 128x128", "i8xi8, no bias"),
    ("dense 128x128", "i16xi8"),
)


@dataclass(frozen=True)
class Case:
    """A row that names a variant: its kernel and the sizes of the call."""

    workload: str
    config: str
    kernel: Kernel
    size: tuple[int, int, int]


CASES = (
    Case("dense 128x128, one tile", "i8xi8, no bias", plain(I8, I8_TILING), (128, 128, 128)),
    Case(
        "dense 128x128, one tile",
        "i8xi8, bias + ReLU",
        Kernel(*I8, I8_TILING, variant="exposed"),
        (128, 128, 128),
    ),
    Case(
        "dense 128x128, one tile",
        "i16xi8, no bias",
        plain(("int16", "int8", "int8"), I16I8_TILING),
        (128, 128, 128),
    ),
    Case(
        "dense 64x64, one tile",
        "i16xi16, no bias",
        plain(("int16", "int16", "int16"), I16_TILING, "exposed"),
        (128, 64, 64),
    ),
    Case("dense 16x16x16", "i8xi8 <4,8,8>", plain(I8, I8_TILING), (16, 16, 16)),
    Case("dense 64x64x64", "i8xi8 <4,8,8>", plain(I8, I8_TILING), (64, 64, 64)),
    Case("dense 64x64x64", "i8xi8 <8,8,4>", plain(I8, Tiling(8, 8, 4, False)), (64, 64, 64)),
    # 32 KB of weights: the row does not say which sides; 256 x 128 here.
    Case("dense batch 1", "i8xi8", plain(I8, I8_TILING).block(1, 4), (1, 256, 128)),
    Case(
        "matmul 64x64x64, one acc",
        "int8 -> int32, <4,16,8>",
        Kernel(
            "int8", "int8", "int32", Tiling(4, 16, 8, False), 1, 1,
            bias=False, relu=False, requantise="none", variant="flat",
        ),
        (64, 64, 64),
    ),
    Case("single-core GEMM 64x232x64", "int8", added("int8"), (64, 232, 64)),
    Case("single-core GEMM 64x104x64", "bf16", BF16_ADDED, (64, 104, 64)),
    Case("kernel 112x112x112", "int8 -> int8", added("int8"), (112, 112, 112)),
    Case("kernel 96x112x96", "int8 -> int16", added("int16"), (96, 112, 96)),
    Case("kernel 80x88x96", "int8 -> int32", added("int32"), (80, 88, 96)),
    Case("kernel 96x56x96", "bf16", BF16_ADDED, (96, 56, 96)),
)  # fmt: skip


def reproduced(entry: dict[str, str], vek280: Device) -> float:
    """Our value of a row of the file, in the row's unit.

    Raises:
        KeyError: nothing here stands for the row.
    """
    for case in CASES:
        if _begins(entry, case.workload, case.config):
            call = schedule_call(case.kernel, vek280.architecture, *case.size)
            return {
                "GOPS": call.gops(1.25),
                "cycles": float(call.cycles),
                "MAC/cycle": call.macs / call.cycles,
            }[entry["unit"]]
    if entry["workload"] == "mmul ceiling":
        pair = entry["config"].split()[0].replace("i", "int").split("x")
        return float(vek280.architecture.core.macs[pair_name(*pair)] or 0)
    if entry["workload"].startswith("one linear layer grown"):
        return 100 * _scaling(vek280)
    if entry["workload"] == "one cascade hop":
        return _hop(vek280)
    if entry["workload"].startswith("empty external kernel"):
        return float(vek280.architecture.latency("l1_kernel_call_loop_overhead"))
    raise KeyError(entry["workload"])


def _begins(entry: dict[str, str], workload: str, config: str) -> bool:
    return entry["workload"].startswith(workload) and entry["config"].startswith(config)


def _hop(vek280: Device) -> float:
    """By how much a chain of the lightest kernels, a block of one step, ends later a tile.

    The source says that a light convolution took so much longer with every stage added.
    """
    first, middle, last = (
        schedule_call(
            Kernel(*I8, I8_TILING, variant="exposed", position=position, bias=position == "first"),
            vek280.architecture,
            *(8, 8, 16),
        )
        for position in ("first", "middle", "last")
    )
    room, assumed = 2 * vek280.architecture.core.cascade_fifo, Assumed()
    two, three = (
        hand(chain, room, assumed.cascade, assumed.call(2)).behind
        for chain in ((first, last), (first, middle, last))
    )
    return three - two


def _scaling(vek280: Device) -> float:
    """AIE4ML's own kernels (words and epilogue exposed) on 37 x 8 tiles against one."""
    tops = []
    for length, above in ((1, 1), (37, 8)):
        layer = DenseLayer(1024, 128 * length, 128 * above)
        mapping = ArrayMapping(layer, I8_TILING, (2, 2), "exposed", length, above, 1, 32, 128)
        tops.append(simulate(mapping, vek280).tops / (length * above))
    return tops[1] / tops[0]


def calibration(
    vek280: Device, row: Callable[..., dict[str, object]], path: Path = FILE
) -> list[dict[str, object]]:
    """Every row of the file, hit or miss, and the errors of those that name a variant."""
    rows, errors, free = [], [], []
    with path.open() as handle:
        for entry in csv.DictReader(handle):
            ours, theirs = reproduced(entry, vek280), float(entry["value"])
            error = 100 * (ours / theirs - 1)
            if entry["variant"]:
                errors.append(abs(error))
                if not any(_begins(entry, *names) for names in LOOPS):
                    free.append(abs(error))
            verdict = "hit" if abs(error) <= 5 else "miss"
            if entry["workload"] in FITTED:
                verdict = "fitted,"
            name = f"{entry['workload']}; {entry['config']}; {entry['variant'] or 'no variant'}"
            note = f"{verdict} {error:+.1f} %, published {theirs:g}: {name}"
            metric = f"row_{len(rows)}_{entry['metric']}"
            how = "simulated" if entry["metric"] == "scaling_efficiency" else "modelled"
            rows.append(row("calibration", metric, ours, entry["unit"], how, note))
    count = f"{len(errors)} rows with a variant"
    mean = sum(errors) / len(errors)
    rows.append(row("calibration", "mean_error_percent", mean, "%", "modelled", count))
    rows.append(row("calibration", "max_error_percent", max(errors), "%", "modelled", count))
    count = f"{len(free)} of them, on which nothing is fitted"
    mean = sum(free) / len(free)
    rows.append(row("calibration", "mean_error_percent_unfitted", mean, "%", "modelled", count))
    return rows
