"""What the controller's own code takes on GAP9: counted work, and cycles of what it touches.

Counted (`benchmarks/gap9_controller.py`): instructions, accesses to L2 and accesses to registers of
the cluster's units, of the C of emitted networks (the walk over tiles, `ma_ne16_tile`, the binding
to PMSIS), compiled for rv32imc (GCC 12, -O3) and run on an emulated core (Unicorn), as they are and
with 16, 8 and 6 KiB of L1. The stack lies in L1, so do lists of tiles (`ma_near.h`) and what the
binding changes (`PI_L1`); constants and loops lie in L2. PMSIS is a stub with the DMA's registers.

Fitted: `Access`, by least squares of relative errors to the steps of `gvsoc_gap9.csv` that are
marked so, which time the C of commit 2aa2a23 (its counts: `COMMIT_2AA2A23`). No cycle was measured
on silicon, and none with Xpulp: no compiler for it was at hand.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType


@dataclass(frozen=True)
class Access:
    """Cycles of an instruction, and what an access takes beyond it.

    Attributes:
        instruction: branches, caches and L1 included.
        l2: a load or a store of L2 by a core of the cluster.
        register: the same of a unit's register in the cluster.
    """

    instruction: float = 1.0
    l2: float = 27.8
    register: float = 6.4


@dataclass(frozen=True)
class Work:
    """Counted code: instructions, and of these accesses to L2 and to registers."""

    instructions: float
    l2: float = 0
    registers: float = 0

    def cycles(self, access: Access) -> float:
        """What it takes."""
        return (
            self.instructions * access.instruction
            + self.l2 * access.l2
            + self.registers * access.register
        )


def _distant() -> Mapping[str, Work]:
    """The same of commit 2aa2a23."""
    return MappingProxyType(
        {
            "conv2d": Work(717, 42),
            "dense": Work(679, 22),
            "avg_pool2d": Work(713, 40),
            "max_pool2d": Work(713, 40),
            "permute": Work(73, 28),
            "quantize": Work(462, 15),
            "softmax": Work(366, 20),
        }
    )


def _calls() -> Mapping[str, Work]:
    """By kind of layer; what has not been counted is taken as an addition."""
    return MappingProxyType(
        {
            "conv2d": Work(147, 2),
            "dense": Work(107, 2),
            "avg_pool2d": Work(141, 2),
            "max_pool2d": Work(141, 2),
            "permute": Work(73),
            "quantize": Work(198, 1),
            "softmax": Work(86, 2),
        }
    )


@dataclass(frozen=True)
class Code:
    """Work of the controller's code, part by part.

    Attributes:
        one_tile: `ma_run_table` in a layer of one tile.
        few: the same of several tiles: of the layer, and around each kernel call.
        many: `ma_run_tiles`, of more than 32 tiles, less what starts have in L1 there; the second
            varies by a fifth with the loops.
        far: more of each tile in a layer whose list lies in L2, with transfers and starts.
        lane: the same as `few` of each of two layers side by side.
        fork: more there of a kernel on the cluster: its argument is copied, workers that stand by
            are started and waited for; less a `wait`, as which the simulator has its end (so its
            registers are below 0).
        place: to copy a word of a list to L1, before the first run.
        transfer: to start a transfer, with the table's line that says where from and where to.
        plane: more, of each further plane of it.
        wait: for a transfer that is over.
        first: NE16's first job of a tile, from the tile's views to the trigger.
        second: the second job: all registers.
        later: every further job: six registers.
        part: a job of a part of an image whose padding is not 0.
        calls: to fill a cluster kernel's argument, by kind.
        call: the same of all other kinds.
    """

    one_tile: Work = Work(214, 6)
    few: tuple[Work, Work] = (Work(118, 2), Work(49))
    many: tuple[Work, Work] = (Work(118, 2), Work(628, 110))
    far: Work = Work(0, 84)
    lane: tuple[Work, Work] = (Work(222, 4), Work(92))
    fork: Work = Work(413, 0, -3)
    place: Work = Work(5.3, 1)
    transfer: Work = Work(134, 0, 7)
    plane: Work = Work(47, 15, 8)
    wait: Work = Work(38, 0, 3)
    first: Work = Work(493, 1, 26)
    second: Work = Work(265, 1, 26)
    later: Work = Work(137, 1, 8)
    part: Work = Work(393, 1, 26)
    calls: Mapping[str, Work] = field(default_factory=_calls)
    call: Work = Work(308, 2)


#: What the C of commit 2aa2a23 did: lists, the structure of a layer, transfers and job numbers in
#: L2; `far` is in all its parts.
COMMIT_2AA2A23 = Code(
    one_tile=Work(288, 22),
    few=(Work(118, 11), Work(53, 8)),
    many=(Work(118, 11), Work(642, 46)),
    far=Work(0),
    plane=Work(51, 9, 8),
    calls=_distant(),
    call=Work(587, 32),
    transfer=Work(103, 21, 6),
    wait=Work(30, 3, 3),
    first=Work(722, 54, 26),
    second=Work(457, 17, 26),
    later=Work(179, 6, 8),
    part=Work(602, 23, 26),
)
