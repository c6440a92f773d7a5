"""Simulated cycles of NE16's jobs, phase by phase, from their registers.

The phases are those of GVSoC's model of the accelerator (pulp/ne16/src/ne16_fsm.cpp, which the
hardware's authors wrote): of every tile of 3x3 pixels and 32 (depthwise 16) channels

    load      a word of 16 input channels per pixel of the tile's input, for every 16 channels
    multiply  a weight word per output channel and bit (1x1: all bits at once)
    scale     words of 32 bits of the scales, then words of 256 bits of the biases
    store     a word per pixel and 32 bytes, three columns to a row but for the last

A word takes a cycle. What the pipeline takes to fill and drain is `Latencies`, fitted to half of
the cases that GVSoC timed (`benchmarks/gap9_timing.py`). These are that model's too, so
agreement with them says nothing of silicon. Jobs that store corners (stride 2) follow the same
phases: a pixel that is dropped takes its cycle of storing there too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from match_aie.targets.gap9.ne16.job import Ne16Layer, Ne16Tile, tile_registers

#: Modes of register 23.
_DEPTHWISE, _CONV1X1 = 1, 2


#: Cycles of the core to acquire a slot, write 24 registers and trigger: on GVSoC, for a plain loop
#: that reads the words from L2. Writing fewer registers is taken to cost in proportion (modelled).
PROGRAM_CYCLES = 578.0
REGISTERS = 24


@dataclass(frozen=True)
class Latencies:
    """Cycles beyond a word per cycle; fitted to the even rows of `ne16_cycles.csv`.

    Attributes:
        job: from the trigger to the end that the core sees, beside the tiles. One cycle of it is
            NE16's; a job that follows another one there begins that much after its end.
        conv3x3: of every pass over 16 input channels: FIFOs before loading, before and after
            multiplying.
        depthwise: likewise, of every tile.
        conv1x1: likewise, of every pass over 16 input channels.
    """

    job: float = 7.9
    conv3x3: float = 18.2
    depthwise: float = 28.1
    conv1x1: float = 22.0


@dataclass(frozen=True)
class Ne16Job:
    """What of a job's registers decides how long it takes.

    Attributes:
        mode: 0 3x3, 1 depthwise, 2 1x1.
        bits: of a weight.
        rows: of the output that are computed (with stride 2, three for two that are stored).
        columns: likewise.
        inputs: channels.
        outputs: channels.
        bottom: rows that the last tiles' inputs lack, since they are zeros.
        right: columns, likewise.
        scale_bits: of a scale; 0 without.
        bias: whether there are biases.
        wide: whether outputs are 32 bits.
    """

    mode: int
    bits: int
    rows: int
    columns: int
    inputs: int
    outputs: int
    bottom: int
    right: int
    scale_bits: int
    bias: bool
    wide: bool


@dataclass(frozen=True)
class Phases:
    """Words moved and passes made: what a job's cycles are the weighted sum of."""

    tiles: int
    passes: int
    load: int
    multiply: int
    scale: int
    store: int

    @property
    def words(self) -> int:
        """All words; a cycle each."""
        return self.load + self.multiply + self.scale + self.store


def decode(registers: Sequence[int]) -> Ne16Job:
    """What `registers` (24 words) say, as far as time depends on it."""
    r = registers
    configuration = r[23]
    mode = configuration >> 5 & 3
    around = 0 if mode == _CONV1X1 else 2
    last_rows, last_columns = r[16] >> 16, r[16] & 0xFFFF
    per_block = 16 if mode == _DEPTHWISE else 32
    scaled = bool(configuration >> 4 & 1)
    return Ne16Job(
        mode=mode,
        bits=(configuration & 7) + 1,
        rows=((r[19] >> 16) - 1) * 3 + last_rows,
        columns=((r[19] & 0xFFFF) - 1) * 3 + last_columns,
        inputs=((r[18] & 0xFFFF) - 1) * 16 + (r[15] & 0xFFFF),
        outputs=((r[18] >> 16) - 1) * per_block + (r[15] >> 16),
        bottom=last_rows + around - (r[17] >> 16),
        right=last_columns + around - (r[17] & 0xFFFF),
        scale_bits=8 << (configuration >> 12 & 3) if scaled else 0,
        bias=scaled and bool(configuration >> 25 & 1),
        wide=(configuration >> 21 & 3) == 2,
    )


def _pieces(size: int, step: int) -> Iterator[tuple[int, int, bool]]:
    """(size, how many, whether it is the last) of the pieces that cover `size`."""
    full = (size - 1) // step
    if full:
        yield step, full, False
    yield size - full * step, 1, True


def _tile(job: Ne16Job, rows: int, columns: int, channels: int, edge: tuple[bool, ...]) -> Phases:
    """One tile; `edge` says whether it is in the last row, the last column, the last channels."""
    last_row, last_column, last_channels = edge
    depthwise = job.mode == _DEPTHWISE
    passes = 1 if depthwise else -(-job.inputs // 16)
    if job.mode == _CONV1X1:
        load, multiply = 9, channels
    else:
        seen = rows + 2 - job.bottom if last_row else 5
        load = seen * (columns + 2 - job.right if last_column else 5)
        multiply = channels * job.bits
    scale = 0
    if job.scale_bits:
        # Only the last channels stop early; 16 depthwise channels before them take 32's time.
        scaled = channels if last_channels else 32
        scale = -(-scaled * job.scale_bits // 32) + (4 if job.bias else 0)
    beats = -(-channels * 4 // 32) if job.wide else 1
    pixels = 9 if job.mode == _CONV1X1 and not job.wide else (rows - 1) * 3 + columns
    store = max(9, pixels * beats) if job.mode == _CONV1X1 else pixels * beats
    return Phases(1, passes, passes * load, passes * multiply, scale, store)


@lru_cache(maxsize=4096)
def phases(job: Ne16Job) -> Phases:
    """Sums over all tiles of a job."""
    total = [0] * 6
    per_block = 16 if job.mode == _DEPTHWISE else 32
    for rows, down, last_row in _pieces(job.rows, 3):
        for columns, across, last_column in _pieces(job.columns, 3):
            for channels, deep, last in _pieces(job.outputs, per_block):
                one = _tile(job, rows, columns, channels, (last_row, last_column, last))
                count = down * across * deep
                parts = (one.tiles, one.passes, one.load, one.multiply, one.scale, one.store)
                total = [t + count * p for t, p in zip(total, parts, strict=True)]
    return Phases(*total)


def job_cycles(job: Ne16Job, latencies: Latencies = Latencies()) -> float:
    """Cycles from the trigger to the end of a job that finds the accelerator idle."""
    found = phases(job)
    fill = (latencies.conv3x3, latencies.depthwise, latencies.conv1x1)[job.mode]
    return latencies.job + found.words + fill * found.passes


def program_cycles(writes: int = REGISTERS) -> float:
    """Cycles of the core to acquire a slot, write `writes` registers, and trigger the job."""
    return PROGRAM_CYCLES * (writes + 2) / (REGISTERS + 2)


@dataclass(frozen=True)
class Turn:
    """A job of a tile: cycles of the core to program it, and of the accelerator to run it."""

    program: float
    run: float


@lru_cache(maxsize=4096)
def tile_turns(layer: Ne16Layer, tile: Ne16Tile) -> tuple[Turn, ...]:
    """The jobs of a tile in order: what `ma_ne16_tile` starts.

    From the third job on it writes six registers (`ma_ne16.h`).

    Raises:
        ModelError: see `tile_registers`.
    """
    return tuple(
        Turn(program_cycles(REGISTERS if number < 2 else 6), job_cycles(decode(registers)))
        for number, registers in enumerate(tile_registers(layer, tile))
    )


@dataclass(frozen=True)
class Queue:
    """The accelerator with its two slots: when the last job, and the one before it, end."""

    before: float = 0.0
    last: float = 0.0


def run_turns(turns: Sequence[Turn], core: float, queue: Queue = Queue()) -> tuple[float, Queue]:
    """When the core has started all of `turns`, and the accelerator's queue then.

    Args:
        turns: jobs, in order.
        core: when the core starts on the first.
        queue: of the jobs before them.

    Returns:
        When the core is free again; and the queue, whose `last` is when all jobs have ended.
    """
    for turn in turns:
        core = max(core, queue.before) + turn.program
        queue = Queue(queue.last, max(core, queue.last) + turn.run)
    return core, queue
