"""What dense layers of the encoder take where a core's calls take longer than they are modelled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import ceil

from rows import figure
from xdna_gemm import Body
from xdna_whisper import Timed

from match_aie.targets.aie_ml.array import ArrayProgram
from match_aie.targets.aie_ml.array.program import Core, Work
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.schedule import CallSchedule

#: Multiply-accumulates a cycle of the vendor's kernel of block floating point in a whole product,
#: the slower one of two that were measured (arXiv:2512.13282; `tests/data/xdna_gemm.csv`).
PUBLISHED = 137.2


def slower(program: ArrayProgram, rate: float) -> ArrayProgram:
    """The program with calls of at most so many multiply-accumulates a cycle."""

    def work(one: Work) -> Work:
        call = one.schedule
        if not isinstance(call, CallSchedule):
            return one
        body = max(call.body, ceil(call.macs / rate))
        return replace(one, schedule=Body(body, call.program_bytes, call.reads, call.writes))

    def core(one: Core) -> Core:
        return replace(one, work=tuple(work(each) for each in one.work))

    return replace(program, cores=tuple(core(each) for each in program.cores))


def dense_layers(case: str, found: Sequence[Timed], array: Device) -> list[dict[str, object]]:
    """Milliseconds of all dense layers, each of its shape's best program; and with slower calls.

    Args:
        case: name of the rows.
        found: all layers.
        array: where.
    """
    ours, theirs = 0.0, 0.0
    for each in found:
        if each.best.made.workload.kind == "dense":
            program = each.best.program(array, real=False)[1]
            ours += each.kind.many * each.cycles[0]
            theirs += each.kind.many * each.best.cycles(slower(program, PUBLISHED), array)
    notes = {
        "own_dense_milliseconds": (
            ours,
            "dense layers and convolutions, each shape's best program",
        ),
        "own_dense_milliseconds_published_kernel": (
            theirs,
            f"the same, a call of at most {PUBLISHED:g} multiply-accumulates a cycle (published)",
        ),
    }
    return [
        figure(case, metric, cycles / array.clock_ghz / 1e6, "ms", "simulated", note)
        for metric, (cycles, note) in notes.items()
    ]
