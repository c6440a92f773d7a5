"""Programs of both groups of an array with one configuration: dense layers beside attention.

Half of the columns have the overlay of all dense layers (`xdna_overlay.py`), half attention, in one
program of one context (`graph.together`). Such a program is simulated, run after run of each group;
`xdna_beside.py` makes a window of their times.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from xdna_context import Takes
from xdna_encoder import FRAMES, WIDTH
from xdna_halves import chunked, half, scores_of
from xdna_overlay import WRITE_NS, beside
from xdna_own import around_of, varied_by
from xdna_pieces import Pieces
from xdna_whisper import Parted, best_of, example, gathered

from match_aie.errors import MatchError
from match_aie.targets.aie_ml.array import ArrayProgram, Assumed
from match_aie.targets.aie_ml.array.check import check
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.execute import execute
from match_aie.targets.aie_ml.graph.overlay import Overlay
from match_aie.targets.aie_ml.simulate import ends_of_groups
from match_aie.targets.versal.module import COPIED_PER_NS
from match_aie.targets.xdna.one_text import Member, Task, programs_of

#: Pieces of a window's attention: a block of queries for each core; others of 2 to 8 were slower.
PIECES = (4,)

#: Chunks of a window's dense layers that are tried.
CHUNKS = (1, 2)

#: Runs of each group that are simulated beside each other, at first, and of each group those that
#: must end while the other one runs.
RUNS, LEAST = 6, 3

#: Milliseconds of a first run behind its dispatch, and from there to each next one.
Pace = tuple[float, float]

#: Name of a piece of attention among tasks.
SCORES = "attention"


def sides(array: Device) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Columns of each group: dense layers, attention."""
    half_of = array.columns // 2
    return tuple(range(half_of)), tuple(range(half_of, array.columns))


@dataclass(frozen=True)
class Beside:
    """Both groups' programs.

    Attributes:
        chunks: of a window's frames.
        dense: layers of a chunk, by the names of sequences.
        attention: of a piece of a chunk.
        pieces: of a chunk.
        copied: bytes that the processor moves for each convolution and for the keys of a layer.
    """

    chunks: int
    dense: Mapping[str, Parted]
    attention: Parted
    pieces: int
    copied: tuple[int, int, int]

    def program(self, name: str, array: Device, *, real: bool) -> ArrayProgram:
        """Of a dense layer and attention side by side.

        Raises:
            InfeasibleError: they do not fit.
            AssertionError: one goes through the other's columns.
        """
        west, east = sides(array)
        dense = Task(name, self.dense[name].graph(array, "dense", real=real), None, ())
        scores = Task(SCORES, self.attention.graph(array, SCORES, real=real), None, ())
        members = Member("dense", west[0], (dense,), told=True), Member(SCORES, east[0], (scores,))
        program = programs_of(members, array)[name]
        for way in program.ways:
            mine = west if way.outside.name.startswith("dense_") else east
            assert way.channel.tile[0] in mine, way.outside.name
        return program

    def proven(self, name: str, array: Device) -> None:
        """Execute a program of both.

        Raises:
            AssertionError: a result is not its reference's.
        """
        program = self.program(name, array, real=True)
        check(program, array)
        given: dict[str, np.ndarray] = {}
        wanted: dict[str, np.ndarray] = {}
        groups = {"dense": self.dense[name], SCORES: self.attention}
        for seed, (each, one) in enumerate(groups.items()):
            inputs, wanted[each] = example(one, seed)
            given |= {f"{each}_{operand}": tensor for operand, tensor in inputs.items()}
        done = execute(program, array, given)
        for each, values in wanted.items():
            assert np.unique(values).size > 20
            np.testing.assert_array_equal(done.tensor(values, f"{each}_y"), values)

    def takes(self, array: Device, factor: float) -> tuple[dict[str, Takes], Takes]:
        """Milliseconds of dense layers and of a piece of attention.

        Args:
            array: with all columns.
            factor: of what is assumed.
        """
        # The sequence writes numbers of turns whatever it moves.
        writes = factor * len(sides(array)[0]) * array.core_rows * WRITE_NS / 1e6
        paces: dict[str, tuple[Pace, Pace]] = {}
        for name, one in self.dense.items():
            if _shape(one) not in paces:
                paces[_shape(one)] = self._paces(name, array, factor)
        dense = {}
        for name, one in self.dense.items():
            first, each = paces[_shape(one)][0]
            beside = first + (one.runs - 1) * each + writes
            alone = _alone(one, array, factor)
            dense[name] = Takes(alone, beside, one.runs * each, _shape(one), name)
        # Beside the dense layer with which it takes longest.
        first, each = (max(values) for values in zip(*(p[1] for p in paces.values()), strict=True))
        alone = _alone(self.attention, array, factor) + writes
        return dense, Takes(alone, first + writes, each, _shape(self.attention), SCORES)

    def _paces(self, name: str, array: Device, factor: float) -> tuple[Pace, Pace]:
        """Of a dense layer and of attention beside each other, behind a dispatch."""
        program, beyond = varied_by(self.program(name, array, real=False), factor)
        assumed = Assumed().scaled(factor)
        runs = RUNS
        while True:
            ends = ends_of_groups(
                program, array, sides(array), runs, assumed=assumed, beyond=beyond
            )
            # What ends later than all of the other group has the memory alone.
            both = min(each[-1] for each in ends)
            west, east = ([end for end in each if end <= both] for each in ends)
            if min(len(west), len(east)) >= LEAST:
                return _pace(west, array), _pace(east, array)
            runs *= 2

    def pieces_of(self, array: Device, rows: Mapping[str, float], factor: float = 1.0) -> Pieces:
        """A window's times, with what is assumed times `factor`.

        Args:
            array: with all columns.
            rows: milliseconds of layers of rows on the processor.
            factor: of what is assumed.
        """
        dense, attention = self.takes(array, factor)
        copies = [factor * moved / COPIED_PER_NS / 1e6 for moved in self.copied]
        brought = factor * gathered(self.attention.graph(array, "own", real=False))
        return Pieces(
            self.chunks,
            dense,
            attention,
            {name: factor * value for name, value in rows.items()},
            (copies[0], copies[1], copies[2]),
            brought / COPIED_PER_NS / 1e6,
            self.pieces,
        )


def _alone(one: Parted, array: Device, factor: float) -> float:
    """Milliseconds of a task's program behind a dispatch, with the memory alone."""
    device = half(array, 1.0)
    cycles = one.cycles(one.program(device, real=False)[1], device, factor)
    return cycles / array.clock_ghz / 1e6


def _pace(ends: Sequence[float], array: Device) -> Pace:
    """Of a group whose runs end so many cycles behind the begin of all."""
    ms = array.clock_ghz * 1e6
    return (around_of(array) + ends[0]) / ms, (ends[-1] - ends[0]) / (len(ends) - 1) / ms


def _shape(one: Parted) -> str:
    """Layers of one shape are one program, so that another one's data may follow."""
    return " ".join(str(tuple(operand.shape)) for operand in one.made.workload.inputs)


def every(array: Device) -> Iterator[tuple[Overlay, int, Beside]]:
    """All that is tried: overlay, pieces of a window, programs."""
    device = half(array, 1.0)
    scores = {pieces: best_of(scores_of(pieces), device) for pieces in PIECES}
    # Of all of these the search for two partitions takes the first.
    for shared in islice(beside(array), 1):
        for chunks in CHUNKS:
            try:
                kinds = chunked(shared, chunks)
                dense = {name: best_of(kind, device) for name, kind in kinds.items()}
            except MatchError:
                continue
            moved = kinds["convolution_1"].moved, kinds["convolution_2"].moved, FRAMES * WIDTH
            for pieces in PIECES:
                if pieces % chunks == 0:
                    each = pieces // chunks
                    yield shared, pieces, Beside(chunks, dense, scores[pieces], each, moved)
