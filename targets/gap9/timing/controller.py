"""What the controller's own code takes on GAP9: counted work, and cycles of what it touches.

Counted (`benchmarks/gap9_controller.py`): instructions, what they stall, accesses to L2 and to
registers of the cluster's units, lines that a first instruction cache lacks, of the C of emitted
networks (the walk over tiles, `ma_ne16_tile`, the binding to PMSIS), compiled for rv32imc (GCC 12,
-O3) and run on an emulated core (Unicorn), as they are and with 16, 8 and 6 KiB of L1. The stack
lies in L1, so do lists of tiles (`ma_near.h`) and what the binding changes (`PI_L1`); constants and
loops lie in L2. PMSIS is a stub with the DMA's registers.

Nothing is fitted: `Access` is what GVSoC's public model says. Caches are its too, with the 2 KiB
that it gives a ninth core and the 4 KiB of all cores; GAP9's are not published. Rows of
`gvsoc_gap9.csv`, which time the C of commit 2aa2a23 (its counts: `COMMIT_2AA2A23`), are only held
against it. No cycle was measured on silicon, and none with Xpulp: no compiler for it was at hand.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType


@dataclass(frozen=True)
class Access:
    """Cycles of an instruction, and what it takes beyond its own in GVSoC's public pulp_open.

    Files are of gvsoc/gvsoc-core@0148c68 and gvsoc/gvsoc-pulp@a92764c (pulp/chips/pulp_open).

    Attributes:
        instruction: L1 included.
        l2: a load or a store of L2 by a core of the cluster: 2 by `cluster_ico` (cluster.py), 12 by
            `axi_ico` (soc.py).
        register: of a unit of the cluster: `cluster_ico`. The DMA's, which lie beside L1 there, are
            taken as NE16's.
        near: a line of code that the controller's own cache lacks (`refill_latency`, cluster.json).
        far: more, of one that the cores' shared cache lacks too: `refill_latency`, and the way to
            L2 with a cycle for its data (models/cache/cache_impl.cpp).
    """

    instruction: float = 1.0
    l2: float = 14.0
    register: float = 2.0
    near: float = 2.0
    far: float = 17.0


@dataclass(frozen=True)
class Work:
    """Counted code.

    Attributes:
        instructions: of rv32imc.
        l2: of these, accesses to L2.
        registers: of these, accesses to units' registers.
        stalls: cycles of branches, jumps, values used at once, products' upper halves, divisions
            (timing_implem.hpp and rv32m.hpp of gvsoc-core, models/cpu/iss/include).
        lines: of 16 bytes that 2 KiB of a first cache lack, on average of all times it runs.
    """

    instructions: float
    l2: float = 0
    registers: float = 0
    stalls: float = 0
    lines: float = 0

    def cycles(self, access: Access) -> float:
        """What it takes, but for lines that come from L2."""
        return (
            self.instructions * access.instruction
            + self.l2 * access.l2
            + self.registers * access.register
            + self.stalls
            + self.lines * access.near
        )


@dataclass(frozen=True)
class Entered:
    """Lines of code that the controller has from L2 in a layer, on average of counted networks.

    Attributes:
        first: of the first layer of its module in a run.
        other: of a later one after a layer of another module, whose kernels took the cores' cache.
        same: of one after a layer of its own module.
        mean: of all, for who does not know what ran before.
    """

    first: float
    other: float
    same: float
    mean: float


def _distant() -> Mapping[str, Work]:
    """The same of commit 2aa2a23."""
    return MappingProxyType(
        {
            "conv2d": Work(717, 42, 0, 332, 17),
            "dense": Work(679, 22, 0, 312, 14),
            "avg_pool2d": Work(713, 40, 0, 332, 17),
            "max_pool2d": Work(713, 40, 0, 332, 17),
            "permute": Work(73, 28, 0, 30, 6),
            "quantize": Work(462, 15),
            "softmax": Work(366, 20, 0, 164, 9),
        }
    )


def _calls() -> Mapping[str, Work]:
    """By kind of layer; what has not been counted is taken as an addition."""
    return MappingProxyType(
        {
            "conv2d": Work(147, 2, 0, 35, 5),
            "dense": Work(106, 2, 0, 15, 10.6),
            "avg_pool2d": Work(140, 2, 0, 35, 19.3),
            "max_pool2d": Work(140, 2, 0, 35, 19.3),
            "permute": Work(72, 0, 0, 29, 3.7),
            "quantize": Work(196, 1, 0, 9, 18.5),
            "softmax": Work(92, 2, 0, 21, 12),
        }
    )


def _entered() -> Mapping[str, Entered]:
    """Of ResNet8, DS-CNN and the autoencoder, second runs (`benchmarks/gap9_fetches.py`)."""
    return MappingProxyType({"ne16": Entered(193, 89, 35, 60), "cluster": Entered(83, 67, 34, 47)})


@dataclass(frozen=True)
class Code:
    """Work of the controller's code, part by part.

    Attributes:
        one_tile: `ma_run_table` in a layer of one tile.
        few: the same of several tiles: of the layer, and around each kernel call.
        many: `ma_run_tiles`, of more than 32 tiles, less what starts have in L1 there; the second
            varies by a fifth with the loops.
        far: more of each tile in a layer whose list lies in L2, with transfers and starts.
        lane: the same as `few` of each layer beside others.
        fork: more there of a kernel on the cluster: workers that stand by are started and waited
            for; less a `wait`, as which the simulator has its end (so its registers are below 0).
        word: to copy a word of that kernel's argument for them.
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
        entered: by module, lines of code that a layer finds in L2 only.
    """

    one_tile: Work = Work(207, 6, 0, 43, 38)
    few: tuple[Work, Work] = (Work(133.1, 2.2, 0, 43.3, 46.8), Work(48.5, 0, 0, 7.8, 1.7))
    many: tuple[Work, Work] = (Work(133.1, 2.2, 0, 43.3, 46.8), Work(627.4, 110.4, 0, 82.4, 82.4))
    far: Work = Work(0, 92)
    lane: tuple[Work, Work] = (Work(246.2, 1, 0, 62.6, 47.5), Work(91.3, 0, 0, 16.7, 10))
    fork: Work = Work(228, 0, -3.2, 83.8, 6.2)
    word: Work = Work(5, 0, 0, 2)
    place: Work = Work(5.3, 1, 0, 1.9)
    transfer: Work = Work(136.6, 0, 7.1, 13.8, 7.9)
    plane: Work = Work(47, 15.4, 8, 4.2, 3.4)
    wait: Work = Work(38.3, 0, 3.2, 5.2, 3.7)
    first: Work = Work(517, 1, 26, 56, 53)
    second: Work = Work(273, 1, 26, 37, 13.3)
    later: Work = Work(141.6, 1, 8, 24.8, 0.5)
    part: Work = Work(420, 1, 26, 59, 9.2)
    calls: Mapping[str, Work] = field(default_factory=_calls)
    call: Work = Work(306, 2, 0, 39, 24.6)
    entered: Mapping[str, Entered] = field(default_factory=_entered)


#: What the C of commit 2aa2a23 did: lists, the structure of a layer, transfers and job numbers in
#: L2; `far` is in all its parts.
COMMIT_2AA2A23 = Code(
    one_tile=Work(275, 20, 0, 72, 37),
    few=(Work(118, 11), Work(53, 8)),
    many=(Work(118, 11), Work(642, 46)),
    far=Work(0),
    plane=Work(51, 9, 8),
    calls=_distant(),
    call=Work(587, 32, 0, 182, 59),
    transfer=Work(103.5, 21, 6, 14, 5),
    wait=Work(30, 2.6, 3.5, 2, 1.6),
    first=Work(722, 54, 26, 317, 86),
    second=Work(457, 17, 26, 282, 22),
    later=Work(179, 6, 8, 165, 0.2),
    part=Work(602, 23, 26, 358, 11),
    entered=MappingProxyType(
        {"ne16": Entered(184, 91, 41, 68), "cluster": Entered(71, 74, 42, 60)}
    ),
)
