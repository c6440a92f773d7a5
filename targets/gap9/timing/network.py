"""What things take on GAP9, as `ScratchpadSimulator` asks: NE16, cluster, DMA, controller.

Simulated: NE16's and the DMA's cycles are fitted to GVSoC's cycles (`timing/ne16.py`,
`timing/dma.py`), the cluster's are counted from its kernels (`timing/cluster.py`), the controller's
are counted from its code, with what accesses and instruction caches take in GVSoC's public model
(`timing/controller.py`). No layer was measured on silicon.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod

from match_aie.cost_models.pulp_accesses import access_rate
from match_aie.cost_models.pulp_plain import InstructionSet
from match_aie.hardware import Region, TileProgram, Visit, is_listed
from match_aie.simulation import Jobs, KernelTime, TransferTime
from match_aie.targets.gap9.cluster.arguments import argument_words, starts
from match_aie.targets.gap9.facts import facts
from match_aie.targets.gap9.ne16.layer import ne16_layer, ne16_tiles
from match_aie.targets.gap9.timing.banks import Banks, mode_of, slowed
from match_aie.targets.gap9.timing.cluster import call_cycles
from match_aie.targets.gap9.timing.controller import Access, Code, Work
from match_aie.targets.gap9.timing.dma import Transfer, engine_cycles
from match_aie.targets.gap9.timing.fetches import SIZES, first_lines, missed
from match_aie.targets.gap9.timing.ne16 import tile_turns
from match_aie.targets.gap9.timing.workers import BARRIER, FORK
from match_aie.workload import RECURRENT, Workload

#: Jobs that NE16 holds, the running one included.
QUEUE = 2


@lru_cache(maxsize=256)
def _access_rate(workload: Workload, instructions: InstructionSet) -> float:
    """Accesses to L1 that each worker makes a cycle in a layer's kernel, all of it in one call."""
    whole = {dim: (0, size) for dim, size in workload.dims}
    cycles = call_cycles(workload, whole, instructions) - FORK - BARRIER
    return access_rate(workload, cycles, instructions)


@dataclass(frozen=True)
class Gap9Timing:
    """Cycles of the cluster's clock; the control core runs at the same.

    Attributes:
        frequency_hz: of all clocks.
        code: what the controller does around jobs, transfers and kernels.
        access: what its instructions and accesses take.
        offload: control core to controller and back: 312 cycles with warm caches (GVSoC, of the
            half that is fitted); 714 with cold ones.
        banks: who gets a bank of L1 that NE16 and the cluster both ask for.
        worker_cache: bytes of a worker's own cache of code, with Xpulp; all code is there where
            None, since GAP9's is not published. Plain rv32imc has GVSoC's 512 bytes.
        instruction_set: of the cluster's cores.
        cores: of the cluster: 9 on GAP9, whose controller is one of its own; with 8, as GVSoC's
            pulp_open has, it is the first of the workers, and beside NE16's layers seven work.
        dma_channels: one transfer moves at a time: the port to L2 has 8 bytes a cycle.
    """

    frequency_hz: float
    code: Code = Code()
    access: Access = Access()
    offload: float = 312.0
    dma_channels: int = 1
    banks: Banks = "priority"
    worker_cache: int | None = None
    instruction_set: InstructionSet = "xpulp"
    cores: int = 9

    def __post_init__(self) -> None:
        """Check the cache.

        Raises:
            ValueError: lines were not counted for one of that size.
        """
        if self.worker_cache not in (None, *SIZES):
            raise ValueError(f"a worker's cache of {self.worker_cache} bytes: one of {SIZES}")

    def slowed(self, module: str, workload: Workload, other: Workload) -> float:
        """What they wait for each other at the banks of L1."""
        ne16, cluster = (other, workload) if module == "cluster" else (workload, other)
        rate = _access_rate(cluster, self.instruction_set)
        found = slowed(self.banks, self._workers_beside, mode_of(ne16), rate)
        return found.cluster if module == "cluster" else found.ne16

    @property
    def _workers_beside(self) -> int:
        return min(facts().cores.workers, self.cores - 1)

    def _cycles(self, work: Work) -> float:
        return work.cycles(self.access)

    @property
    def wait(self) -> float:
        """A wait for a transfer that is over."""
        return self._cycles(self.code.wait)

    def walk(self, tiles: TileProgram) -> tuple[float, float]:
        """By the form that the layer's tiles have in C."""
        if not is_listed(tiles):
            enter, visit = self.code.many
            return self._cycles(enter), self._cycles(visit)
        far = 0.0 if tiles.near else self._cycles(self.code.far)
        if not tiles.loops:
            return self._cycles(self.code.one_tile) + far, 0.0
        enter, visit = self.code.few
        return self._cycles(enter), self._cycles(visit) + far

    def lane(self, module: str, workload: Workload, tiles: TileProgram) -> tuple[float, float]:
        """The same of one of two layers side by side; the cluster's workers stand by."""
        enter, visit = map(self._cycles, self.code.lane)
        far = 0.0 if tiles.near else self._cycles(self.code.far)
        fork = 0.0
        if module == "cluster":
            copied = argument_words(workload) * self._cycles(self.code.word)
            _, first = next(iter(tiles.positions()))
            seen = tiles.ranges(first, len(first))
            lengths = {dim: length for dim, (_, length) in seen.items()}
            fork = (self._cycles(self.code.fork) + copied) * starts(workload, lengths)
        return enter, visit + far + fork

    def entering(self, module: str, before: Sequence[str]) -> float:
        """Lines that a layer has from L2; later ones stay in the controller's cache or are near."""
        entered = self.code.entered.get(module)
        if entered is None:
            return 0.0
        lines = entered.first
        if module in before:
            lines = entered.same if before[-1] == module else entered.other
        return lines * self.access.far

    def first_call(self, module: str, workload: Workload) -> float:
        """Lines of a kernel's code that come from L2 for all workers of the cluster at once."""
        plain = self.instruction_set == "rv32imc"
        if module != "cluster" or (self.worker_cache is None and not plain):
            return 0.0
        return first_lines(workload, self.instruction_set) * self.access.far

    def place(self, nbytes: int) -> float:
        """What the first run takes more: to copy so many bytes of lists to L1, in an offload."""
        return self.offload + nbytes / 4 * self._cycles(self.code.place)

    def kernel(self, module: str, workload: Workload, visit: Visit) -> KernelTime:
        """Jobs of NE16, queued; or one call of a cluster kernel, waited for.

        Steps of a recurrent layer are jobs that wait for the one before.
        """
        return self._kernel(module, workload, visit, facts().cores.workers)

    def kernel_beside(self, module: str, workload: Workload, visit: Visit) -> KernelTime:
        """The same of one of two layers side by side, where the controller does not compute."""
        return self._kernel(module, workload, visit, self._workers_beside)

    def _kernel(self, module: str, workload: Workload, visit: Visit, workers: int) -> KernelTime:
        """What a call takes.

        Args:
            module: that runs the layer.
            workload: the layer.
            visit: the call.
            workers: that share it on the cluster.
        """
        if module == "ne16":
            return KernelTime("NE16", self._jobs(workload, visit), QUEUE)
        start = self._cycles(self.code.calls.get(workload.kind, self.code.call))
        cycles = call_cycles(workload, visit.ranges, self.instruction_set, workers)
        if self.worker_cache is not None and self.instruction_set == "xpulp":
            found = missed(workload, visit.ranges, self.worker_cache, workers)
            cycles += found * self.access.near
        steps = visit.ranges["OY"][1] if workload.kind in RECURRENT else 1
        later = (Jobs(0.0, cycles / steps, steps - 1),) if steps > 1 else ()
        return KernelTime("cluster", (Jobs(start, cycles / steps), *later))

    def _jobs(self, workload: Workload, visit: Visit) -> tuple[Jobs, ...]:
        images = 1 if workload.kind == "dense" else visit.ranges["B"][1]
        layer, parts = ne16_layer(workload), ne16_tiles(workload, visit.ranges)
        jobs: list[Jobs] = []
        for part in parts:
            for number, turn in enumerate(tile_turns(layer, part)):
                work = self.code.later if number > 1 else self.code.second
                if not number:
                    work = self.code.part if jobs else self.code.first
                jobs.append(Jobs(self._cycles(work), turn.run))
        return tuple(jobs) * images

    def transfer(self, region: Region, *, store: bool) -> TransferTime:
        """A block through MCHAN: a command for every plane."""
        nbytes, counts = region.lines
        lines = counts[0] if counts else 1
        block = Transfer("store" if store else "load", nbytes, lines, prod(counts[1:]))
        start = self._cycles(self.code.transfer)
        more = (block.planes - 1) * self._cycles(self.code.plane)
        return TransferTime(start + more, engine_cycles(block))

    def fetch(self, nbytes: int) -> TransferTime:
        """Constants from L3, behind the micro-DMA.

        No figure is published: ASSUMPTIONS, 200 cycles to start, and a byte a cycle.
        """
        return TransferTime(200.0, float(nbytes))
