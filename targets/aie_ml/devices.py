"""The arrays that are described: shapes, memories, rates and limits, each from the facts file.

Numbers are bytes, bits or AI Engine cycles, as the names say. A value that the facts do not hold is
None; whoever needs it calls `Device.need`, which refuses and names it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import ceil
from typing import Literal, TypeVar

from match_aie.errors import TargetError
from match_aie.targets.aie_ml.facts_reader import Provenance
from match_aie.targets.aie_ml.tilings import LANES
from match_aie.targets.aie_ml.tilings import Tiling as Tiling

T = TypeVar("T")
Generation = Literal["AIE", "AIE-ML", "AIE-MLv2", "XDNA1", "XDNA2"]

#: Least bits of a sum of products of wide types: 48 are AIE's. For others 32 do.
LEAST_LANE_BITS = {"int16xint16": 48, "int32xint16": 48, "int16xint32": 48, "int32xint32": 48}


@dataclass(frozen=True)
class Banks:
    """Memory banks of a tile.

    Attributes:
        count: physical banks.
        bytes: of one physical bank.
        width_bits: of one access; None where it is not known.
        logical: banks as a programmer places buffers in them, each `count / logical` physical
            ones interleaved; None where it is not known.
    """

    count: int
    bytes: int
    width_bits: int | None
    logical: int | None


@dataclass(frozen=True)
class Port:
    """So many accesses of `bits` in a cycle."""

    count: int
    bits: int


@dataclass(frozen=True)
class Dma:
    """Channels of a tile's DMA.

    Attributes:
        s2mm: channels from streams into memory.
        mm2s: channels from memory to streams.
        bytes_per_cycle: of one channel.
        queue_depth: tasks that a channel can hold; None where it is not known.
    """

    s2mm: int
    mm2s: int
    bytes_per_cycle: int
    queue_depth: int | None


@dataclass(frozen=True)
class Addressing:
    """What one buffer descriptor can address; steps and lengths count 32-bit words.

    Attributes:
        dims: nested dimensions, the iteration not counted.
        step_bits: of a step; None where it is not known.
        wrap_bits: of a wrap.
        length_bits: of the transfer's length.
        iteration_wrap_bits: of the iteration's wrap.
        pad: most words of zero padding before and after in dimensions 0, 1, 2; empty where
            the DMA cannot pad.
    """

    dims: int
    step_bits: int | None
    wrap_bits: int | None
    length_bits: int | None
    iteration_wrap_bits: int | None
    pad: tuple[int, ...]


@dataclass(frozen=True)
class Locks:
    """Locks of a tile; `value_bits` of a semaphore, None for binary ones."""

    count: int
    semaphore: bool
    value_bits: int | None


@dataclass(frozen=True)
class CoreTile:
    """A tile with a core.

    Attributes:
        data_memory_bytes: its own data memory.
        program_memory_bytes: instructions.
        stack_default_bytes: what the vendor's tools reserve; None where it is not known.
        banks: of the data memory.
        loads: per cycle.
        stores: per cycle.
        accumulators: registers; None where their number is not known.
        vector_registers: of `vector_bits`; None where it is not known.
        vector_bits: of one vector register.
        cascade_bits: of one transfer to the next core.
        cascade_fifo: transfers that wait at each end.
        cascade_directions: such as "W->E".
        macs: dense multiply-accumulates per cycle by "int8xint8" and so on; None where the pair
            is not supported or its rate not known.
        tilings: legal `mmul` shapes by the same names, native ones first.
        reach: whose memories the core can address: "own", "N", "S", "E", "W"; "E|W" for one of
            the two by the row's parity.
        dma: of the tile.
        locks: of the tile.
        table_bytes: that a table which four lanes read at once repeats; None where no public
            header or test says so.
    """

    data_memory_bytes: int
    program_memory_bytes: int
    stack_default_bytes: int | None
    banks: Banks
    loads: Port
    stores: Port
    accumulators: Port | None
    vector_registers: int | None
    vector_bits: int | None
    cascade_bits: int
    cascade_fifo: int
    cascade_directions: tuple[str, ...]
    macs: Mapping[str, int | None]
    tilings: Mapping[str, tuple[Tiling, ...]]
    reach: tuple[str, ...]
    dma: Dma
    locks: Locks
    table_bytes: int | None = None

    def tilings_of(self, a: str, b: str) -> tuple[Tiling, ...]:
        """Legal `mmul` shapes of element types `a` x `b` that keep their sums, native ones first.

        Unsigned types use the shapes of the signed ones of their width: the sign is an operand
        of the instruction (aie_api, `mmul`: "8b x 8b"). Shapes whose accumulators are narrower
        than two products of the types (int16 by int16 in 32 bits) are left out.
        """
        pair = pair_name(a, b)
        shapes = self.tilings.get(pair, ())
        return tuple(t for t in shapes if t.lane_bits >= LEAST_LANE_BITS.get(pair, 32))

    def instructions(self, a: str, b: str, tiling: Tiling) -> int | None:
        """Vector instructions of one `mmul`: the fewest native shapes that cover it.

        A measured 8x8x4 of int8 takes two (facts, calibration row "two VMAC per mmul"). None
        where neither a native shape nor the rate is known.
        """
        native = [t for t in self.tilings.get(pair_name(a, b), ()) if t.native]
        if tiling.lanes:
            return tiling.macs // LANES
        if native:
            return min(
                -(-tiling.m // t.m) * -(-tiling.k // t.k) * -(-tiling.n // t.n) for t in native
            )
        rate = self.macs_of(a, b)
        return None if rate is None else -(-tiling.macs // rate)

    def macs_of(self, a: str, b: str) -> int | None:
        """Dense multiply-accumulates per cycle of element types `a` x `b`."""
        return self.macs.get(pair_name(a, b))


@dataclass(frozen=True)
class MemTile:
    """A memory tile: shared memory with DMA channels and no core.

    Attributes:
        bytes: its memory.
        banks: of it.
        dma: its channels.
        locks: of it.
    """

    bytes: int
    banks: Banks
    dma: Dma
    locks: Locks


@dataclass(frozen=True)
class Architecture:
    """What every tile of a generation is.

    Attributes:
        name: the generation.
        core: its tiles with cores.
        mem: its memory tiles; None where it has none.
        shim_dma: of a tile between the array and the chip's memory.
        descriptors: buffer descriptors by "core", "mem", "shim".
        addressing: what a descriptor can do, by the same names.
        hop_cycles: of a stream through one switch.
        switch_ports: ports by (tile kind, "master" or "slave", direction or unit).
        latencies: cycles by name, those of the stand-in included.
        inherited_latencies: names in `latencies` that come from another generation.
    """

    name: Generation
    core: CoreTile
    mem: MemTile | None
    shim_dma: Dma
    descriptors: Mapping[str, int]
    addressing: Mapping[str, Addressing]
    hop_cycles: int
    switch_ports: Mapping[tuple[str, str, str], int]
    latencies: Mapping[str, int]
    inherited_latencies: frozenset[str]

    def latency(self, name: str) -> int:
        """Cycles called `name` in the facts.

        Raises:
            TargetError: nothing is known of it.
        """
        found = self.latencies.get(name)
        if found is None:
            raise TargetError(f"latency {name!r} of {self.name} is not known")
        return found


@dataclass(frozen=True)
class Device:
    """A whole array.

    Attributes:
        name: as users say it, such as "vek280".
        part: the facts file's name.
        architecture: of its tiles.
        columns: usable ones.
        core_rows: rows of tiles with cores.
        mem_rows: rows of memory tiles.
        shim_rows: rows of interface tiles.
        clock_ghz: of the array; the lowest documented grade where grades differ by assumption.
        pl_clock_mhz: of programmable logic by default; None where there is none.
        plio_in: 128-bit inputs from programmable logic; None where not known.
        plio_out: 128-bit outputs.
        shim_noc_columns: columns with a DMA to the chip's memory; None where not known.
        gmio_in: DMA channels from the chip's memory; None where not known.
        gmio_out: to the chip's memory.
        if_to_array_gbps: GB/s from interface into array, all columns together; None likewise.
        array_to_if_gbps: the other way.
        dram_gbps: effective bandwidth of the chip's memory; None where not known.
        dram_duplex: whether reading and writing get that much each; else they share it.
        provenance: of every fact of the device and of its architecture, by dotted path.
        documented_only: whether graphs may hold only what public examples show.
        dispatch_us: from the host's call until a configured array begins and is done again, without
            its work, where calls follow each other; None where not known.
        first_dispatch_us: likewise of a single call.
        reconfiguration_ms: to configure the whole array anew; None where not known.
    """

    name: str
    part: str
    architecture: Architecture
    columns: int
    core_rows: int
    mem_rows: int
    shim_rows: int
    clock_ghz: float
    pl_clock_mhz: float | None
    plio_in: int | None
    plio_out: int | None
    shim_noc_columns: tuple[int, ...] | None
    gmio_in: int | None
    gmio_out: int | None
    if_to_array_gbps: float | None
    array_to_if_gbps: float | None
    dram_gbps: float | None
    provenance: Mapping[str, Provenance]
    documented_only: bool = False
    dram_duplex: bool = False
    dispatch_us: float | None = None
    first_dispatch_us: float | None = None
    reconfiguration_ms: float | None = None

    def __post_init__(self) -> None:
        """Refuse an array whose parts contradict each other."""
        if min(self.columns, self.core_rows, self.shim_rows) < 1:
            raise TargetError(f"{self.name}: an array without columns or cores")
        if (self.mem_rows > 0) != (self.architecture.mem is not None):
            raise TargetError(f"{self.name}: {self.mem_rows} rows of memory tiles, not described")
        if any(not 0 <= column < self.columns for column in self.shim_noc_columns or ()):
            raise TargetError(f"{self.name}: interface columns outside the array")

    @property
    def dram_way_gbps(self) -> float | None:
        """Of reading, or of writing, while both are at work; None where not known."""
        if self.dram_gbps is None:
            return None
        return self.dram_gbps if self.dram_duplex else self.dram_gbps / 2

    def memory_cycles(self, read: float, written: float, otherwise: float) -> float:
        """Least cycles of the array in which the chip's memory moves so many bytes each way.

        Where its rate is not known, `otherwise` (GB/s) is.
        """
        moved = max(read, written) if self.dram_duplex else read + written
        return moved * self.clock_ghz / (self.dram_gbps or otherwise)

    @property
    def named_calls(self) -> bool:
        """Whether cores call functions by name, one for each kind of call, as texts for them do.

        Else a function that walks its tiles makes all of its calls itself.
        """
        return self.dispatch_us is not None

    @property
    def call_cycles(self) -> int:
        """Of calling a function for a turn: measured, for an empty one; 0 where turns are no calls.

        Raises:
            TargetError: cores call functions by name, and the fact is not known.
        """
        latency = self.architecture.latency
        return latency("l1_kernel_call_loop_overhead") if self.named_calls else 0

    def lost_cycles(self, met: int) -> int:
        """That a core loses to so many bytes moved in banks that it loads from.

        A cycle for each word of a bank that meets a load: the facts' penalty.

        Raises:
            TargetError: the width of a bank is not known.
        """
        width = self.need(self.architecture.core.banks.width_bits, "width of a memory bank") // 8
        return ceil(met / width) * self.architecture.latency("bank_conflict_penalty") if met else 0

    @property
    def handing(self) -> float:
        """Time of a way from one memory tile to another, by that of one from outside the array."""
        mem, shim = self.architecture.mem, self.architecture.shim_dma
        return 1.0 if mem is None else min(1.0, shim.bytes_per_cycle / mem.dma.bytes_per_cycle)

    @property
    def core_tiles(self) -> int:
        """Tiles with cores."""
        return self.columns * self.core_rows

    def need(self, value: T | None, what: str) -> T:
        """`value`, where it is known.

        Raises:
            TargetError: it is None; names the device and `what`.
        """
        if value is None:
            raise TargetError(
                f"{what} of {self.name} is not known",
                hint="use a device of which it is known, or a mapping that does not depend on it",
            )
        return value


@lru_cache(maxsize=256)
def pair_name(a: str, b: str) -> str:
    """The facts' name of an element type pair: "uint8", "bfloat16" become "int8", "bf16".

    >>> pair_name("uint8", "int8")
    'int8xint8'
    """
    return "x".join(
        t.removeprefix("u").replace("bfloat", "bf").replace("float", "fp") for t in (a, b)
    )
