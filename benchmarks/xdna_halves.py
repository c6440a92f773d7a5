"""Whisper's encoder on an array in two partitions, which stay configured as they are.

Two columns have the overlay of all dense layers (`xdna_overlay.py`), two have attention. Linux's
driver says that the array can be partitioned at columns, each partition bound to a workload's
context (docs.kernel.org, accel/amdxdna). ASSUMPTION: both contexts' dispatches, which take the
facts' time each, run beside each other, and beside the processor's work. In the simulation of each
partition it has its share of the memory's rate (`SHARES`), whatever the other one does.

A window's frames go in chunks: while attention has one chunk of queries, dense layers and the
processor have the chunk before. What starts when is a list schedule: the earliest possible task
first, of these the one that is first in the order of layers and chunks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from rows import figure
from xdna_encoder import FRAMES, LAYERS, SECONDS, WIDTH
from xdna_overlay import SIZES, Size, beside, configured_once, made
from xdna_whisper import Kind, Timed, attention, best_of, timed

from match_aie.errors import MatchError, TargetError
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.graph.overlay import Overlay
from match_aie.targets.versal.module import COPIED_PER_NS
from match_aie.workload import Converted

Row = dict[str, object]

#: Chunks of a window that are tried.
CHUNKS = (1, 2)

#: Windows one behind the other, in some rows.
MANY = 16

#: Which of two partitions, or the processor, does something.
DENSE, ATTENTION, PROCESSOR = range(3)

#: Of the memory's rate, for dense layers and for attention, which needs little of it.
SHARES = 0.8, 0.2

#: Names of the figures, and of what is assumed how much.
VARIED = (("", 1.0), ("_x0.5", 0.5), ("_x2", 2.0))


def half(array: Device, share: float) -> Device:
    """The first two columns of an array, with a share of the memory's rate."""
    ways = 2 * 2
    return replace(
        array,
        columns=2,
        shim_noc_columns=(0, 1),
        gmio_in=ways,
        gmio_out=ways,
        dram_gbps=share * array.need(array.dram_gbps, "the memory's rate"),
    )


@dataclass
class Schedule:
    """Tasks with what they wait for, in the order in which they are preferred.

    Attributes:
        tasks: who does it, how long, and numbers of what must have ended.
    """

    tasks: list[tuple[int, float, tuple[int, ...]]] = field(default_factory=list)

    def add(self, who: int, takes: float, *after: int) -> int:
        """Another task; its number."""
        self.tasks.append((who, takes, after))
        return len(self.tasks) - 1

    def ends(self) -> list[float]:
        """When each task has ended."""
        done = [0.0] * len(self.tasks)
        free = [0.0] * (PROCESSOR + 1)
        lacks = [len(after) for *_, after in self.tasks]
        behind: list[list[int]] = [[] for _ in self.tasks]
        for at, (*_, after) in enumerate(self.tasks):
            for one in after:
                behind[one].append(at)
        able = {at: 0.0 for at, many in enumerate(lacks) if not many}
        while able:
            at = min(able, key=lambda one: (max(able[one], free[self.tasks[one][0]]), one))
            who, takes, _ = self.tasks[at]
            done[at] = free[who] = max(able.pop(at), free[who]) + takes
            for one in behind[at]:
                lacks[one] -= 1
                if not lacks[one]:
                    able[one] = max(done[before] for before in self.tasks[one][2])
        return done


@dataclass(frozen=True)
class Pieces:
    """What a window takes, in milliseconds.

    Attributes:
        chunks: of its frames.
        dense: by the names of sequences; of a chunk, but of convolutions.
        attention: of a chunk.
        rows: of a whole layer of rows on the processor, by name.
        copies: of the processor, for each convolution and for the keys of a layer.
        gathered: by the processor, of the ways of attention for a chunk that are no piece of a
            tensor.
    """

    chunks: int
    dense: Mapping[str, float]
    attention: float
    rows: Mapping[str, float]
    copies: tuple[float, float, float]
    gathered: float = 0.0

    def window(self, plan: Schedule) -> int:
        """Add a window's tasks; the number of the last one."""
        rows = {name: value / self.chunks for name, value in self.rows.items()}
        first = plan.add(DENSE, self.dense["convolution_1"], plan.add(PROCESSOR, self.copies[0]))
        gelu = plan.add(PROCESSOR, self.rows["GELU 1"] + self.copies[1], first)
        second = plan.add(DENSE, self.dense["convolution_2"], gelu)
        last = [
            plan.add(PROCESSOR, rows["GELU 2"] + rows["sum"], second) for _ in range(self.chunks)
        ]
        for _ in range(LAYERS):
            last = self._layer(plan, rows, last)
        return plan.add(PROCESSOR, self.rows["norm"], *last)

    def _layer(self, plan: Schedule, rows: Mapping[str, float], last: Sequence[int]) -> list[int]:
        into = [
            plan.add(DENSE, self.dense["into_heads"], plan.add(PROCESSOR, rows["norm"], one))
            for one in last
        ]
        keys = plan.add(PROCESSOR, self.copies[2], *into)
        done = []
        for _ in last:
            brought = plan.add(PROCESSOR, self.gathered, keys)
            scores = plan.add(ATTENTION, self.attention, brought)
            out = plan.add(DENSE, self.dense["of_heads"], scores)
            normal = plan.add(PROCESSOR, rows["sum"] + rows["norm"], out)
            wide = plan.add(DENSE, self.dense["wide"], normal)
            gelu = plan.add(PROCESSOR, rows["GELU"], wide)
            back = plan.add(DENSE, self.dense["back"], gelu)
            done.append(plan.add(PROCESSOR, rows["sum"], back))
        return done

    @property
    def note(self) -> str:
        """What it is made of."""
        dense = sum(
            value * SIZES[name].many * (1 if name.startswith("convolution") else self.chunks)
            for name, value in self.dense.items()
        )
        norms = 1 + 2 * LAYERS
        many = {"GELU 1": 1, "GELU 2": 1, "sum": norms, "norm": norms, "GELU": LAYERS}
        computed = sum(many[name] * value for name, value in self.rows.items())
        keys = self.copies[2] + self.chunks * self.gathered
        copied = self.copies[0] + self.copies[1] + LAYERS * keys
        return (
            f"{self.chunks} chunks; dense layers {dense:.1f} ms beside attention "
            f"{LAYERS * self.chunks * self.attention:.1f} ms beside the processor "
            f"{computed:.1f} + {copied:.1f} of copies; nothing is configured again"
        )

    def alone(self) -> float:
        """Milliseconds of one window."""
        plan = Schedule()
        last = self.window(plan)
        return plan.ends()[last]

    def each(self) -> float:
        """Milliseconds for each of `MANY` windows, from the first one's begin to the last end."""
        plan = Schedule()
        for _ in range(MANY):
            self.window(plan)
        return max(plan.ends()) / MANY


def _kinds(shared: Overlay, chunks: int) -> dict[str, Kind]:
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
            {name: each.cycles[at] / ms for name, each in self.dense.items()},
            self.attention.cycles[at] / ms,
            {name: factor * value for name, value in rows.items()},
            (copies[0], copies[1], copies[2]),
            factor * self.attention.gathered / COPIED_PER_NS / 1e6,
        )


def _found(array: Device, rows: Mapping[str, float]) -> tuple[Halves, Overlay]:
    """The chunks and the overlay with which a window is done first.

    Raises:
        TargetError: there are none.
    """
    (device, other), every = (half(array, share) for share in SHARES), []
    for chunks in CHUNKS:
        scores = timed(_scores(chunks), other, executes=False)
        for number, shared in enumerate(beside(array)):
            try:
                kinds = _kinds(shared, chunks)
                dense = {name: timed(kind, device, executes=False) for name, kind in kinds.items()}
            except MatchError:
                continue
            one = Halves(chunks, dense, scores)
            window = one.pieces(0, 1.0, array, rows).alone()
            every.append((window, chunks, number, one, shared))
    if not every:
        raise TargetError(f"two columns of {array.name} have no overlay")
    *_, best, shared = min(every, key=lambda each: each[:3])
    return best, shared


def _scores(chunks: int) -> Kind:
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
    kinds = _kinds(shared, best.chunks)
    configured_once(
        {name: best_of(kind, device).program(device, real=True)[1] for name, kind in kinds.items()},
        device,
    )
    if executes:
        for kind in kinds.values():
            timed(kind, device, executes=True)
        timed(_scores(best.chunks), other, executes=True)
    for at, (what, factor) in enumerate(VARIED):
        one = best.pieces(at, factor, array, rows)
        varied = f"what is assumed times {factor:g}: " if what else ""
        note = f"{varied}{one.note}"
        for tag, took in (("halves", one.alone()), ("halves_many", one.each())):
            value = 1e3 * SECONDS / took
            yield figure(case, f"times_real_time_{tag}{what}", value, "x", "simulated", note)
