"""Turns of a product whose sums are primed: one kernel serves all but the last of them.

Numbers by column that come in halves are brought together in the first turn and in the last one.
"""

from __future__ import annotations

from dataclasses import dataclass

from match_aie.targets.aie_ml.devices import Architecture
from match_aie.targets.aie_ml.kernels.nest import Nest
from match_aie.targets.aie_ml.schedule.attention import Loops, bundles_of
from match_aie.targets.aie_ml.schedule.call import BUNDLE_BYTES, FRAME_BUNDLES, CallSchedule
from match_aie.targets.aie_ml.schedule.generated import schedule_of
from match_aie.targets.aie_ml.schedule.loops import RowSchedule, loop_schedule
from match_aie.targets.aie_ml.schedule.machine import Machine, machine
from match_aie.targets.aie_ml.schedule.operation import WORD, Operation
from match_aie.targets.aie_ml.schedule.words_moved import loaded, stored

#: Banks of what lies behind weights, and of sums and all that waits.
_BEHIND, _SUMS = "W", "S"


@dataclass(frozen=True)
class PrimedSchedule(RowSchedule):
    """A call that runs a kernel of other calls, too; its program memory is what it has beside that.

    Attributes:
        turn: that kernel's.
    """

    turn: CallSchedule | None = None


def primed_schedule(nest: Nest, arch: Architecture) -> PrimedSchedule:
    """Modelled cycles of a turn that stores a row of tiles, and then runs the kernel of the others.

    Its program memory is that of the function which does so, without the kernel's.

    Raises:
        TargetError: registers do not suffice for the product, or facts are missing.
    """
    core, s = machine(arch), nest.call.spec
    words = 4 * s.tiling.m * s.tiling.n // WORD
    bias = _SUMS if nest.halved else _BEHIND
    body: list[Operation] = [loaded(core, "bias", bias)] if s.bias else []
    body += [stored(f"y{word}", "bias" if s.bias else "", _SUMS) for word in range(words)]
    return _calling(
        nest, arch, (*_held(nest, core), (s.n // s.tiling.n, loop_schedule(tuple(body), 0)))
    )


def passing_schedule(nest: Nest, arch: Architecture) -> PrimedSchedule:
    """Likewise of a turn between, whose function does nothing but run that kernel.

    Raises:
        TargetError: as `primed_schedule`.
    """
    return _calling(nest, arch, ())


def closing_schedule(nest: Nest, arch: Architecture) -> RowSchedule:
    """Modelled cycles of a last turn that brings the second half of the numbers to the first one.

    Raises:
        TargetError: as `primed_schedule`.
    """
    loops = _held(nest, machine(arch))
    product = schedule_of(nest.kernels[-1], arch)
    body = sum(loop.body(turns) for turns, loop in loops) + product.body
    code = bundles_of(loops) * BUNDLE_BYTES + product.program_bytes
    return RowSchedule(body, code, product.call, loops)


def _calling(nest: Nest, arch: Architecture, loops: Loops) -> PrimedSchedule:
    """Of a function that runs loops and then the kernel, which is a function of its own."""
    product = schedule_of(nest.kernels[0], arch)
    around = arch.latency("l1_kernel_call_loop_overhead")
    return PrimedSchedule(
        around + sum(loop.body(turns) for turns, loop in loops) + product.body,
        (FRAME_BUNDLES + bundles_of(loops)) * BUNDLE_BYTES,
        product.call,
        loops,
        turn=product,
    )


def _held(nest: Nest, core: Machine) -> Loops:
    """The loop that copies half of the numbers, a vector a turn; none where they come whole."""
    if not nest.halved:
        return ()
    body = loaded(core, "number", _BEHIND), stored("number", "number", _SUMS)
    return ((4 * nest.half_words // WORD, loop_schedule(body, 0)),)
