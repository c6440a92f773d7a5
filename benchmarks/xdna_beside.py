"""Whisper's encoder on an array with one configuration: dense layers beside attention.

Half of the columns have the overlay of all dense layers (`xdna_overlay.py`), half attention, in one
program of one context (`graph.together`): nothing is configured again, and nothing is assumed of
partitions. A sequence of the host moves a dense layer's data, a piece of attention's, or both; the
next one begins when it has ended (`xdna_context.py`). In a dispatch of both each group is simulated
with its share of the memory's rate, and the longer one counts; the program of both, simulated as it
is, takes about as long, which is a row. Tasks of several windows may share a dispatch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np
from rows import figure
from xdna_context import Takes
from xdna_encoder import FRAMES, SECONDS, WIDTH
from xdna_halves import SHARES, VARIED, chunked, half, scores_of
from xdna_overlay import WRITE_NS, beside
from xdna_own import run_of
from xdna_pieces import MANY, Pieces
from xdna_whisper import Parted, best_of, example, gathered

from match_aie.errors import Infeasible, MatchError, TargetError
from match_aie.targets.aie_ml.array import ArrayProgram
from match_aie.targets.aie_ml.array.check import check
from match_aie.targets.aie_ml.array.layout import lay_out
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.execute import execute
from match_aie.targets.aie_ml.graph.overlay import Overlay
from match_aie.targets.aie_ml.graph.together import together
from match_aie.targets.versal.module import COPIED_PER_NS
from match_aie.targets.xdna.mlir import read
from match_aie.targets.xdna.mlir.host import host_arguments
from match_aie.targets.xdna.mlir.overlay import More, kernels_of_overlay, overlay, single
from match_aie.targets.xdna.mlir.sequence import Round

Row = dict[str, object]

#: Pieces of a window's attention: a block of queries for each core; others of 2 to 8 were slower.
PIECES = (4,)

#: Chunks of a window's dense layers, and windows in a task that are tried.
CHUNKS, WINDOWS = (1, 2), (1, 2)

#: Milliseconds that a dispatch waits for its other group, of which the best is taken.
PATIENCE = (0.0, 0.1, 0.2, 0.4, 0.8, 1.6)

#: How long more tasks of a program make the group that is done first, by the other one's time.
FILL = (0.0, 1.0, 1.5, 2.0, 2.5)


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
            AssertionError: they do not fit, or one goes through the other's columns.
        """
        groups = {"dense": self.dense[name], "attention": self.attention}
        graphs = {each: one.graph(array, each, real=real) for each, one in groups.items()}
        program = lay_out(together("encoder", graphs), array)
        assert not isinstance(program, Infeasible), program
        west, east = sides(array)
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
        groups = {"dense": self.dense[name], "attention": self.attention}
        for seed, (each, one) in enumerate(groups.items()):
            inputs, wanted[each] = example(one, seed)
            given |= {f"{each}_{operand}": tensor for operand, tensor in inputs.items()}
        done = execute(program, array, given)
        for each, values in wanted.items():
            assert np.unique(values).size > 20
            np.testing.assert_array_equal(done.tensor(values, f"{each}_y"), values)

    def takes(self, array: Device, factor: float, windows: int) -> tuple[dict[str, Takes], Takes]:
        """Milliseconds of dense layers and of a piece of attention.

        Args:
            array: with all columns.
            factor: of what is assumed.
            windows: one behind the other in a dispatch.
        """
        # The sequence writes numbers of turns whatever it moves.
        writes = factor * len(sides(array)[0]) * array.core_rows * WRITE_NS / 1e6
        west, east = SHARES
        dense = {
            name: _takes(one, array, west, factor, windows) for name, one in self.dense.items()
        }
        own = _takes(self.attention, array, east, factor, windows)
        return dense, replace(own, alone=own.alone + writes, beside=own.beside + writes)

    def pieces_of(
        self, array: Device, rows: Mapping[str, float], factor: float = 1.0, windows: int = 1
    ) -> Pieces:
        """A window's times, with what is assumed times `factor`.

        Args:
            array: with all columns.
            rows: milliseconds of layers of rows on the processor.
            factor: of what is assumed.
            windows: in each task.
        """
        dense, attention = self.takes(array, factor, windows)
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
            windows,
        )


def _takes(one: Parted, array: Device, share: float, factor: float, windows: int) -> Takes:
    """Of so many windows' runs behind a dispatch: with the memory alone, and with a share of it."""
    found = []
    for device, many in (
        (half(array, 1.0), windows),
        (half(array, share), windows),
        (half(array, share), 2 * windows),
    ):
        program = one.program(device, real=False)[1]
        cycles = replace(one, runs=one.runs * many).cycles(program, device, factor)
        found.append(cycles / array.clock_ghz / 1e6)
    alone, both, twice = found
    return Takes(alone, both, twice - both, _shape(one))


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


def _waiting(one: Pieces, *, many: bool) -> tuple[float, Pieces]:
    """Milliseconds for a window with the patience that is best, and that."""
    tried = [replace(one, patience=patience, fill=fill) for fill in FILL for patience in PATIENCE]
    found = [(each.each() if many else each.alone(), at) for at, each in enumerate(tried)]
    took, at = min(found)
    return took, tried[at]


@dataclass(frozen=True)
class Chosen:
    """What is published.

    Attributes:
        tag: of the rows.
        programs: of both groups.
        windows: in each task.
        patience: of dispatches, as `Plan.run`.
        fill: likewise.
        many: whether it is of `MANY` windows.
    """

    tag: str
    programs: Beside
    windows: int
    patience: float
    fill: float
    many: bool

    @property
    def together(self) -> list[list[str]]:
        """Dense layers, and those that may follow each other in a dispatch, all of them."""
        every = [[name] for name in self.programs.dense]
        alike: dict[str, list[str]] = {}
        for name, one in self.programs.dense.items():
            alike.setdefault(_shape(one), []).append(name)
        return every + [names for names in alike.values() if len(names) > 1 and self.fill]


def _chosen(array: Device, rows: Mapping[str, float]) -> tuple[Chosen, Chosen]:
    """The fastest for a window alone, and for many: one configuration for both.

    Raises:
        TargetError: half of the columns have no overlay.
    """
    tried = list(every(array))
    alone = []
    for number, (_, _, one) in enumerate(tried):
        took, best = _waiting(one.pieces_of(array, rows), many=False)
        alone.append((took, number, best.patience, best.fill))
    if not alone:
        raise TargetError(f"half of the columns of {array.name} have no overlay")
    _, number, *waits = min(alone)
    shared, pieces, first = tried[number]
    found = []
    for at, (other, also, one) in enumerate(tried):
        if (other, also) == (shared, pieces):
            for windows in WINDOWS:
                times = one.pieces_of(array, rows, windows=windows)
                took, best = _waiting(times, many=True)
                found.append((took, at, windows, best.patience, best.fill))
    _, at, windows, *others = min(found)
    return (
        Chosen("", first, 1, *waits, many=False),
        Chosen("_many", tried[at][2], windows, *others, many=True),
    )


def configured_once(every: Sequence[Chosen], array: Device) -> str:
    """The text of all dense layers, each alone and beside attention, and of attention alone.

    Layers of several runs, and of several windows, have sequences that move the data of all of
    them, and of a piece of attention in as many windows.

    Args:
        every: what is published.
        array: with all columns.

    Raises:
        AssertionError: one is read as another program.
        TargetError: they are not one configuration, or a sequence moves too much at once.
    """
    programs: dict[str, ArrayProgram] = {}
    more: dict[str, More] = {}
    for one in every:
        tag = f"of_{one.windows}_windows_in_{one.programs.chunks}"
        for name in one.programs.dense:
            once = f"{name}_{one.programs.chunks}_once"
            programs.setdefault(once, one.programs.program(name, array, real=True))
        for names in one.together:
            once = f"{names[0]}_{one.programs.chunks}_once"
            runs = [one.programs.dense[name].runs for name in names]
            west, east = _rounds(programs[once], runs, one.windows, sides(array))
            what = "_".join(names)
            more[f"{what}_{tag}"] = once, west
            more[f"{what}_and_attention_{tag}"] = once, (*east, *west)
            more[f"attention_{tag}"] = once, east
    module = overlay(programs, array, more=more)
    kernels = kernels_of_overlay(programs)
    of = {name: name for name in programs} | {name: whose for name, (whose, _) in more.items()}
    for name, whose in of.items():
        assert read(single(module, name), array, kernels[whose]) == programs[whose], name
    return module


def _rounds(
    program: ArrayProgram,
    runs: Sequence[int],
    windows: int,
    columns: tuple[tuple[int, ...], tuple[int, ...]],
) -> tuple[tuple[Round, ...], tuple[Round, ...]]:
    """What sequences move of dense layers, and of a piece of attention, in so many windows.

    Arguments lie one behind the other, of windows in those of layers; a layer's runs read the same
    inputs, other constants, and write a tensor each.

    Args:
        program: of the first layer beside attention.
        runs: of each layer.
        windows: in each task.
        columns: of dense layers, and of attention.
    """
    words = {arg.name: arg.words for arg in host_arguments(program)}

    def further(mine: tuple[int, ...], inputs: int, constants: int, outputs: int) -> Round:
        many = {"inputs": inputs, "constants": constants, "outputs": outputs}
        offsets = tuple((name, number * words[name]) for name, number in many.items() if number)
        return Round(frozenset(mine), offsets)

    west, weights, results = [], 0, 0
    for layer, mine in enumerate(runs):
        for window in range(windows):
            for run in range(mine):
                west.append(further(columns[0], layer * windows + window, weights + run, results))
                results += 1
        weights += mine
    return tuple(west), tuple(further(columns[1], n, 0, n) for n in range(windows))


def _held(one: Beside, array: Device) -> float:
    """How long dispatches of both take by the longest that schedules have; the worst of them."""
    worst = 0.0
    for name, dense in one.dense.items():
        once = replace(one, dense={name: replace(dense, runs=1)})
        found, attention = once.takes(array, 1.0, 1)
        cycles, _ = run_of(one.program(name, array, real=False), array)
        writes = len(sides(array)[0]) * array.core_rows * WRITE_NS / 1e6
        both = cycles / array.clock_ghz / 1e6 + writes
        worst = max(worst, both / max(found[name].beside, attention.beside))
    return worst


def one_configuration(
    case: str, array: Device, rows: Mapping[str, float], *, executes: bool
) -> Iterator[Row]:
    """Times real time of a window alone, and of many that follow each other.

    Args:
        case: name of the rows.
        array: with all columns.
        rows: milliseconds of layers of rows on the processor.
        executes: whether each program of both groups is held to its references.

    Raises:
        TargetError: there is no such configuration.
    """
    chosen = _chosen(array, rows)
    programs = {each.programs.chunks: each.programs for each in chosen}
    if executes:
        for one in programs.values():
            for name in one.dense:
                one.proven(name, array)
    for each in chosen:
        for what, factor in VARIED:
            times = each.programs.pieces_of(array, rows, factor, each.windows)
            times = replace(times, patience=each.patience, fill=each.fill)
            took = times.each() if each.many else times.alone()
            varied = f"what is assumed times {factor:g}: " if what else ""
            note = f"{varied}{_note(each, times)}"
            metric, value = f"times_real_time_beside{each.tag}{what}", 1e3 * SECONDS / took
            yield figure(case, metric, value, "x", "simulated", note)
    text = configured_once(chosen, array)
    note = "dense layers alone and beside attention, attention alone: a sequence each, read back"
    yield figure(case, "beside_text_kilobytes", len(text) / 1024, "KB", "measured", note)
    worst = max(_held(one, array) for one in programs.values())
    note = "a program of both, simulated, by the longer one with its share of the memory's rate"
    yield figure(case, "beside_ratio", worst, "", "simulated", note)


def _note(each: Chosen, times: Pieces) -> str:
    """What a row is made of."""
    many = MANY if each.many else 1
    done = times.done(many // each.windows)
    shared = f", {each.windows} windows in a dispatch" if each.windows > 1 else ""
    return (
        f"{times.note}; attention of a window in {times.chunks * times.pieces} pieces{shared}; "
        f"{done.dispatches / many:.0f} dispatches a window, {done.both / many:.0f} of both groups; "
        "nothing is configured again"
    )
