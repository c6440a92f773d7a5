"""Whisper's encoder on an array in two partitions, which stay configured as they are.

Half of the columns have the overlay of all dense layers (`xdna_overlay.py`), half attention.
Linux's driver says that the array can be partitioned at columns, each partition bound to a
workload's context (docs.kernel.org, accel/amdxdna). ASSUMPTION: both contexts' dispatches, which
take the facts' time each, run beside each other, and beside the processor's work. In the simulation
of each partition it has its share of the memory's rate (`SHARES`), whatever the other one does.

A window's frames go in chunks: while attention has one chunk of queries, dense layers and the
processor have the chunk before (`xdna_context.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from rows import figure
from xdna_context import Takes
from xdna_encoder import FRAMES, LAYERS, SECONDS, WIDTH
from xdna_layers import Kind, attention
from xdna_overlay import SIZES, Size, beside, configured_once, made
from xdna_pieces import MANY, Pieces
from xdna_whisper import Timed, best_of, timed

from match_aie.errors import MatchError, TargetError
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.graph.overlay import Overlay
from match_aie.targets.versal.module import COPIED_PER_NS
from match_aie.workload import Converted

Row = dict[str, object]

#: Chunks of a window that are tried.
CHUNKS = (1, 2)

#: Of the memory's rate, for dense layers and for attention, which needs little of it.
SHARES = 0.85, 0.15

#: Names of the figures, and of what is assumed how much.
VARIED = (("", 1.0), ("_x0.5", 0.5), ("_x2", 2.0))


def half(array: Device, share: float) -> Device:
    """The first half of an array's columns, with a share of the memory's rate."""
    columns = array.columns // 2
    ways = 2 * columns
    return replace(
        array,
        columns=columns,
        shim_noc_columns=tuple(range(columns)),
        gmio_in=ways,
        gmio_out=ways,
        dram_gbps=share * array.need(array.dram_gbps, "the memory's rate"),
    )


def chunked(shared: Overlay, chunks: int) -> dict[str, Kind]:
    """Dense layers of a chunk, and both convolutions."""
    found = {}
    for name, size in SIZES.items():
        rows = size.rows if name.startswith("convolution") else -(-FRAMES // chunks)
        mine = replace(size, rows=rows)
        padded = mine.padded(shared)
        found[name] = Kind(
            name,
            size.many,
            _maker(mine, shared),
            padded[0] * padded[1] if name.startswith("convolution") else 0,
            runs=(size.runs,),
            shared=shared,
            sequence=name,
        )
    return found


def _maker(size: Size, shared: Overlay) -> Callable[[int], Converted | str]:
    return lambda _: made(size, shared)


@dataclass(frozen=True)
class Halves:
    """Programs of both partitions, and their times.

    Attributes:
        chunks: of a window.
        dense: by the names of sequences.
        attention: of a chunk.
    """

    chunks: int
    dense: Mapping[str, Timed]
    attention: Timed

    def pieces(self, at: int, factor: float, array: Device, rows: Mapping[str, float]) -> Pieces:
        """Milliseconds with all that is assumed times `factor`.

        Args:
            at: which of the times.
            factor: of what is assumed of the processor.
            array: with these partitions.
            rows: milliseconds of layers of rows on the processor.
        """
        ms = 1e6 * array.clock_ghz
        first, second = (self.dense[f"convolution_{one}"].kind.moved for one in (1, 2))
        copies = tuple(
            factor * moved / COPIED_PER_NS / 1e6 for moved in (first, second, FRAMES * WIDTH)
        )
        return Pieces(
            self.chunks,
            {name: _takes(each, at, ms) for name, each in self.dense.items()},
            _takes(self.attention, at, ms),
            {name: factor * value for name, value in rows.items()},
            (copies[0], copies[1], copies[2]),
            factor * self.attention.gathered / COPIED_PER_NS / 1e6,
            apart=True,
        )


def _takes(one: Timed, at: int, ms: float) -> Takes:
    """Milliseconds of so many cycles, whatever the other partition does."""
    return Takes(one.cycles[at] / ms, one.cycles[at] / ms)


def _found(array: Device, rows: Mapping[str, float]) -> tuple[Halves, Overlay]:
    """The chunks and the overlay with which a window is done first.

    Raises:
        TargetError: there are none.
    """
    (device, other), every = (half(array, share) for share in SHARES), []
    for chunks in CHUNKS:
        scores = timed(scores_of(chunks), other, executes=False)
        for number, shared in enumerate(beside(array)):
            try:
                kinds = chunked(shared, chunks)
                dense = {name: timed(kind, device, executes=False) for name, kind in kinds.items()}
            except MatchError:
                continue
            one = Halves(chunks, dense, scores)
            window = one.pieces(0, 1.0, array, rows).each()
            every.append((window, chunks, number, one, shared))
    if not every:
        raise TargetError(f"half of the columns of {array.name} have no overlay")
    *_, best, shared = min(every, key=lambda each: each[:3])
    return best, shared


def scores_of(chunks: int) -> Kind:
    """Attention of one of so many chunks of a window's frames."""
    queries = -(-FRAMES // chunks)
    return Kind("attention", LAYERS * chunks, lambda _: attention(1.3, queries), heads=True)


def halves(case: str, array: Device, rows: Mapping[str, float], *, executes: bool) -> Iterator[Row]:
    """Times real time of a window alone, and of many that follow each other.

    Args:
        case: name of the rows.
        array: whose partitions.
        rows: milliseconds of layers of rows on the processor.
        executes: whether each program is held to its reference.

    Raises:
        TargetError: partitions have no plan, or dense layers are several configurations.
    """
    device, other = (half(array, share) for share in SHARES)
    best, shared = _found(array, rows)
    kinds = chunked(shared, best.chunks)
    configured_once(
        {name: best_of(kind, device).program(device, real=True)[1] for name, kind in kinds.items()},
        device,
    )
    if executes:
        for kind in kinds.values():
            timed(kind, device, executes=True)
        timed(scores_of(best.chunks), other, executes=True)
    for at, (what, factor) in enumerate(VARIED):
        one = best.pieces(at, factor, array, rows)
        varied = f"what is assumed times {factor:g}: " if what else ""
        note = f"{varied}{one.note}; nothing is configured again"
        for tag, took in (("halves", one.each()), ("halves_many", one.each(MANY))):
            value = 1e3 * SECONDS / took
            yield figure(case, f"times_real_time_{tag}{what}", value, "x", "simulated", note)
