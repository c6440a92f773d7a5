"""Whisper's encoder on an array with one configuration: dense layers beside attention.

Half of the columns have the overlay of all dense layers (`xdna_overlay.py`), half attention, in one
program of one context (`graph.together`): nothing is configured again, and nothing is assumed of
partitions. A sequence of the host moves a dense layer's data, a piece of attention's, or both; the
next one begins when it has ended (`xdna_context.py`). In a dispatch of both the program of both is
simulated, run after run of each, and the longer group counts. Of many windows a dispatch may run
more tasks of a program in either group, whose transfers are queued one behind the other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rows import figure
from xdna_encoder import SECONDS
from xdna_groups import SCORES, Beside, every, sides
from xdna_halves import VARIED
from xdna_pieces import MANY, Pieces

from match_aie.errors import TargetError
from match_aie.targets.aie_ml.array import ArrayProgram
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.xdna.mlir import read
from match_aie.targets.xdna.mlir.host import host_arguments
from match_aie.targets.xdna.mlir.overlay import More, kernels_of_overlay, overlay, single
from match_aie.targets.xdna.mlir.sequence import Round, through

Row = dict[str, object]

#: Milliseconds that a dispatch waits for its other group, of which the best is taken.
PATIENCE = (0.0, 0.1, 0.2, 0.4, 0.8, 1.6)

#: Milliseconds of dispatches of several tasks of a group, and how far windows are side by side
#: then, of which the best are taken; likewise of more windows, and tasks of a group in a dispatch.
LONGEST, ABREAST = (5.0, 6.0, 8.0), (0.0, 30.0, 100.0)
MORE_LONGEST, MORE_ABREAST, MORE_TASKS = (12.0, 16.0), (100.0, 400.0, 1000.0), 12

#: Dispatches of which each is followed to the end, with the last of either.
LOOKS = 6

#: Windows of a row whose dispatches have more tasks.
MORE = 64

#: Dispatches that are still to be chosen.
UNDECIDED: dict[str, Any] = {"longest": 0.0, "abreast": 0.0, "looks": 1, "order": ()}


def _best(one: Pieces, windows: int) -> tuple[float, Pieces]:
    """Milliseconds for a window of so many with the dispatches that are best, and their order."""
    if windows == MORE:
        one = replace(one, most=MORE_TASKS)
        tried = [replace(one, longest=ms, abreast=by) for ms in MORE_LONGEST for by in MORE_ABREAST]
    else:
        tried = [replace(one, patience=patience) for patience in PATIENCE]
        tried.append(replace(one, longest=LONGEST[-1], abreast=ABREAST[-1], looks=LOOKS))
    if windows == MANY:
        tried += [replace(one, longest=ms, abreast=by) for ms in LONGEST for by in ABREAST]
    found = [each.done(windows) for each in tried]
    ends = [(max(done.ends) / windows, at) for at, done in enumerate(found)]
    took, at = min(ends)
    return took, replace(tried[at], order=found[at].order)


@dataclass(frozen=True)
class Chosen:
    """What is published.

    Attributes:
        tag: of the rows.
        programs: of both groups.
        times: of a window, and how dispatches are chosen.
        windows: that follow each other.
    """

    tag: str
    programs: Beside
    times: Pieces
    windows: int

    @property
    def how(self) -> dict[str, Any]:
        """What dispatches have, as `Pieces` has it."""
        return {name: getattr(self.times, name) for name in ("longest", "order")}

    def over(self, rows: Mapping[str, float]) -> Chosen:
        """With layers of rows over several cores of the processor."""
        _, times = _best(replace(self.times, rows=rows, **UNDECIDED), self.windows)
        return replace(self, tag=f"{self.tag}_cores", times=times)

    @property
    def largest(self) -> tuple[tuple[str, ...], ...]:
        """Tasks of dispatches of several ones: the most of either group, for each program."""
        found: dict[tuple[str, int], tuple[str, ...]] = {}
        for taken in self.times.done(self.windows).taken:
            dense = [name for name in taken if name != SCORES]
            program = self.times.dense[dense[0]].program if dense else ""
            for at, much in enumerate((len(dense), len(taken) - len(dense))):
                before = found.get((program, at), ())
                scores = before.count(SCORES)
                if much > (scores if at else len(before) - scores):
                    found[program, at] = taken
        return tuple(dict.fromkeys(each for each in found.values() if len(each) > 2))


def _chosen(array: Device, rows: Mapping[str, float]) -> tuple[Chosen, ...]:
    """The fastest for a window alone, for many, and for more: one configuration for all.

    Raises:
        TargetError: half of the columns have no overlay.
    """
    tried = [(*each, each[2].pieces_of(array, rows)) for each in every(array)]
    if not tried:
        raise TargetError(f"half of the columns of {array.name} have no overlay")
    alone = [_best(times, 1) for *_, times in tried]
    number = min(range(len(tried)), key=lambda at: alone[at][0])
    alike = [at for at, each in enumerate(tried) if each[:2] == tried[number][:2]]
    # Many windows fill both groups without chunks, which are more dispatches.
    whole = min(alike, key=lambda at: tried[at][3].chunks)
    found = [Chosen("", tried[number][2], alone[number][1], 1)]
    for tag, windows in (("_many", MANY), (f"_{MORE}_windows", MORE)):
        found.append(Chosen(tag, tried[whole][2], _best(tried[whole][3], windows)[1], windows))
    return tuple(found)


def configured_once(published: Sequence[Chosen], array: Device) -> str:
    """The text of all dense layers, each alone and beside attention, and of attention alone.

    Layers of several runs have sequences that move the data of all of them, and dispatches of
    several tasks have all of theirs: of each program the largest.

    Args:
        published: what is published.
        array: with all columns.

    Raises:
        AssertionError: one is read as another program.
        TargetError: they are not one configuration, or a sequence moves too much at once.
    """
    programs: dict[str, ArrayProgram] = {}
    more: dict[str, More] = {}
    for one in published:
        chunks = one.programs.chunks
        for name in one.programs.dense:
            programs.setdefault(
                f"{name}_{chunks}_once", one.programs.program(name, array, real=True)
            )
        single_ones = [each for name in one.programs.dense for each in ((name,), (name, SCORES))]
        for taken in dict.fromkeys((*single_ones, (SCORES,), *one.largest)):
            first = next((name for name in taken if name != SCORES), next(iter(one.programs.dense)))
            once = f"{first}_{chunks}_once"
            kinds = [f"{many}_{name}" for name, many in Counter(taken).items()]
            more[f"in_{chunks}_{'_'.join(kinds)}"] = (
                once,
                rounds_of(one, taken, programs[once], _groups(programs[once], array)),
            )
    module = overlay(programs, array, more=more)
    kernels = kernels_of_overlay(programs)
    of = {name: name for name in programs} | {name: whose for name, (whose, _) in more.items()}
    for name, whose in of.items():
        assert read(single(module, name), array, kernels[whose]) == programs[whose], name
    return module


def _groups(program: ArrayProgram, array: Device) -> tuple[frozenset[str], frozenset[str]]:
    """Ways of dense layers, and of attention."""
    west, east = sides(array)
    return through(program, west), through(program, east)


def rounds_of(
    one: Chosen,
    taken: Sequence[str],
    program: ArrayProgram,
    groups: tuple[frozenset[str], frozenset[str]],
) -> tuple[Round, ...]:
    """What a dispatch's sequence moves, in the order in which it begins.

    So waiting for room behind one group's oldest round keeps nothing from the other one: that round
    ends before what comes behind it in the sequence begins. Arguments lie one behind the other, a
    task's inputs where no other task has its own (by which rounds are told apart in the text);
    a layer's runs read the same inputs, other constants, and write a tensor each.

    Args:
        one: what is published.
        taken: names of the tasks.
        program: of the first dense layer beside attention.
        groups: ways of dense layers, and of attention.
    """
    words = {arg.name: arg.words for arg in host_arguments(program)}
    found: list[tuple[float, Round]] = []
    begin, results = {True: 0.0, False: 0.0}, 0
    for at, name in enumerate(taken):
        west, takes = name != SCORES, one.times.dense.get(name, one.times.attention)
        runs = one.programs.dense[name].runs if west else 1
        for run in range(runs):
            if west:
                many = {"inputs": at, "constants": results, "outputs": results}
                results += 1
            else:
                many = {"inputs": at, "outputs": at}
            offsets = tuple((arg, by * words[arg]) for arg, by in many.items() if by)
            mine = groups[0] if west else groups[1]
            found.append((begin[west] + run * takes.behind / runs, Round(mine, offsets)))
        begin[west] += takes.behind
    return tuple(each for _, each in sorted(found, key=lambda pair: pair[0]))


def one_configuration(
    case: str,
    array: Device,
    rows: Mapping[str, float],
    divided: Mapping[str, float],
    *,
    executes: bool,
) -> Iterator[Row]:
    """Times real time of a window alone, and of many that follow each other.

    Args:
        case: name of the rows.
        array: with all columns.
        rows: milliseconds of layers of rows on the processor.
        divided: the same over several of its cores.
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
    known = {
        (chunks, factor): one.pieces_of(array, rows, factor)
        for chunks, one in programs.items()
        for _, factor in VARIED
    }
    for each in (*chosen, *(one.over(divided) for one in chosen)):
        for what, factor in VARIED:
            mine = {name: factor * value for name, value in each.times.rows.items()}
            times = replace(known[each.programs.chunks, factor], rows=mine, **each.how)
            took = times.each(each.windows)
            varied = f"what is assumed times {factor:g}: " if what else ""
            note = f"{varied}{_note(each, times)}"
            metric, value = f"times_real_time_beside{each.tag}{what}", 1e3 * SECONDS / took
            yield figure(case, metric, value, "x", "simulated", note)
    text = configured_once(chosen, array)
    note = "dense layers alone and beside attention, attention alone: a sequence each, read back"
    yield figure(case, "beside_text_kilobytes", len(text) / 1024, "KB", "measured", note)


def _note(each: Chosen, times: Pieces) -> str:
    """What a row is made of."""
    many = each.windows
    done = times.done(many)
    most = max(map(len, done.taken))
    shared = f", of up to {most} tasks" if times.longest else ""
    return (
        f"{times.note}; attention of a window in {times.chunks * times.pieces} pieces; "
        f"{done.dispatches / many:.0f} dispatches a window{shared}, {done.both / many:.0f} of both "
        "groups; nothing is configured again"
    )
