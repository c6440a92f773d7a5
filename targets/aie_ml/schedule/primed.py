"""The first turn of a product whose sums are primed: one kernel serves it and those behind it."""

from __future__ import annotations

from dataclasses import dataclass

from match_aie.targets.aie_ml.devices import Architecture
from match_aie.targets.aie_ml.kernels.nest import Nest
from match_aie.targets.aie_ml.schedule.attention import bundles_of, loaded, stored
from match_aie.targets.aie_ml.schedule.call import BUNDLE_BYTES, FRAME_BUNDLES, CallSchedule
from match_aie.targets.aie_ml.schedule.generated import schedule_of
from match_aie.targets.aie_ml.schedule.loops import RowSchedule, loop_schedule
from match_aie.targets.aie_ml.schedule.machine import machine
from match_aie.targets.aie_ml.schedule.operation import WORD, Operation

#: Banks of the bias, which lies behind weights, and of sums.
_BIAS, _SUMS = "W", "S"


@dataclass(frozen=True)
class PrimedSchedule(RowSchedule):
    """A call that runs a kernel of other calls, too; its program memory is what it has beside that.

    Attributes:
        turn: that kernel's.
    """

    turn: CallSchedule | None = None


def primed_schedule(nest: Nest, arch: Architecture) -> PrimedSchedule:
    """Modelled cycles of a turn that stores a row of tiles, and then runs the kernel of the others.

    Raises:
        TargetError: registers do not suffice for the product, or facts are missing.
    """
    core, s = machine(arch), nest.call.spec
    words = 4 * s.tiling.m * s.tiling.n // WORD
    body: list[Operation] = [loaded(core, "bias", _BIAS)] if s.bias else []
    body += [stored(f"y{word}", "bias" if s.bias else "", _SUMS) for word in range(words)]
    loop, tiles = loop_schedule(tuple(body), 0), s.n // s.tiling.n
    product = schedule_of(nest.kernels[0], arch)
    around = 2 * arch.latency("l1_kernel_call_loop_overhead")  # two functions instead of one
    bundles = FRAME_BUNDLES + bundles_of(((tiles, loop),))
    return PrimedSchedule(
        around + loop.body(tiles) + product.body,
        bundles * BUNDLE_BYTES,
        product.call,
        ((tiles, loop),),
        turn=product,
    )
