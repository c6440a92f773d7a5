"""Many windows of Whisper's encoder whose programs take turns on the whole array.

Between two configurations a program takes all windows one after the other, and the processor has
the layers of rows of some while the array has others. So of many windows a configuration costs each
little, and what the processor does is hidden as long as it is less. A dispatch is of a layer of
some windows, whose transfers are queued one behind the other; the best number of them is taken.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from xdna_encoder import LAYERS
from xdna_whisper import Timed

from match_aie.targets.aie_ml.array import ArrayProgram
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.versal.module import COPIED_PER_NS
from match_aie.targets.xdna.mlir import read
from match_aie.targets.xdna.mlir.host import host_arguments
from match_aie.targets.xdna.mlir.overlay import kernels_of_overlay, overlay, single
from match_aie.targets.xdna.mlir.sequence import Round

#: Who does a step.
HOST = ""

#: Windows that programs take in turn.
WINDOWS = (16, 64)

#: Dense layers of one size, which are one program where each shape has its own.
ALIKE = ("dense, into heads", "dense, of heads", "dense, wide")

#: Windows of a dispatch that are tried.
TOGETHER = (1, 2, 4, 8)

#: Names of figures, and of what is assumed how much.
VARIED = (("", 1.0), ("_x0.5", 0.5), ("_x2", 2.0))


@dataclass(frozen=True)
class Step:
    """A part of a window, behind the one before it.

    Attributes:
        takes: milliseconds.
        program: the array's configuration; `HOST` for what the processor does.
    """

    takes: float
    program: str = HOST


def window(
    array: Mapping[str, float],
    rows: Mapping[str, float],
    copies: tuple[float, float],
    program: Mapping[str, str],
) -> tuple[Step, ...]:
    """The steps of a window.

    Args:
        array: milliseconds of each layer on the array, by its kind's name.
        rows: of each layer of rows on the processor; GELU between dense layers is the array's where
            it is not among them.
        copies: of the processor, before each convolution.
        program: configuration of each layer on the array.
    """

    def on_array(name: str) -> Step:
        return Step(array[name], program[name])

    found = [Step(copies[0]), on_array("convolution 1"), Step(rows["GELU 1"] + copies[1])]
    found += [on_array("convolution 2"), Step(rows["GELU 2"] + rows["sum"] + rows["norm"])]
    between = Step(rows["sum"] + rows["norm"])
    gelu = Step(rows["GELU"]) if "GELU" in rows else on_array("GELU")
    for _ in range(LAYERS):
        found += map(on_array, ("dense, into heads", "attention", "dense, of heads"))
        found += [between, on_array("dense, wide"), gelu, on_array("dense, back")]
        found.append(between)
    return tuple(found)


def switches(steps: Sequence[Step]) -> int:
    """Configurations of a set of windows that follows another one."""
    each = [step.program for step in steps if step.program != HOST]
    return sum(one != before for before, one in zip([each[-1], *each], each, strict=False))


def took(steps: Sequence[Step], windows: int, configuring: float) -> float:
    """Milliseconds of so many windows, the array configured as the set before them left it.

    What is ready first starts first, the window that came first of several. The array is
    configured when the last window is through a program.

    Args:
        steps: of a window.
        windows: that a program takes before the next one.
        configuring: milliseconds of each time.
    """
    turns = _turns(steps)
    at, ready = [0] * windows, [0.0] * windows
    free, turn = {True: 0.0, False: 0.0}, -1  # by whether the array is meant
    before = next(step.program for step in reversed(steps) if step.program != HOST)
    while any(each < len(steps) for each in at):
        able = []
        for number, each in enumerate(at):
            if each < len(steps) and turns[each] <= max(turn, 0):
                array = steps[each].program != HOST
                able.append((max(ready[number], free[array]), number))
        if not able or turn < 0:
            turn += 1
            mine = (step for step, of in zip(steps, turns, strict=True) if of == turn)
            now = next(step.program for step in mine if step.program != HOST)
            free[True] += configuring if now != before else 0.0
            before = now
            continue
        begin, number = min(able)
        step = steps[at[number]]
        ready[number] = free[step.program != HOST] = begin + step.takes
        at[number] += 1
    return max(ready)


def _turns(steps: Sequence[Step]) -> list[int]:
    """Of each step in which turn of the programs it is; the processor's are in that before them."""
    found, turn, before = [], 0, None
    for step in steps:
        if step.program != HOST:
            turn += before is not None and step.program != before
            before = step.program
        found.append(turn)
    return found


@dataclass(frozen=True)
class InTurn:
    """All layers, and who has them.

    Attributes:
        array: where.
        layers: all that may be on the array; those of `rows` among them are the processor's.
        rows: milliseconds of these, modelled.
        apart: whether each shape of dense layers has its own program, which layers of one size
            share; else all are one configuration.
    """

    array: Device
    layers: Sequence[Timed]
    rows: Mapping[str, float]
    apart: bool

    def steps(self, at: int, together: int) -> tuple[Step, ...]:
        """Those of so many windows whose layers are a dispatch each.

        Args:
            at: which of `VARIED`.
            together: windows.
        """
        factor = VARIED[at][1]
        cycles = {t.kind.name: t.cycles[at] + (together - 1) * t.behind[at] for t in self.layers}
        moved = {t.kind.name: factor * t.copied / COPIED_PER_NS / 1e6 for t in self.layers}
        alike = [name for name in cycles if name != "attention"]
        if self.apart:
            alike = [*ALIKE]
        return window(
            {name: each / self.array.clock_ghz / 1e6 for name, each in cycles.items()},
            {name: together * factor * value for name, value in self.rows.items()},
            (together * moved["convolution 1"], together * moved["convolution 2"]),
            {name: "dense" if name in alike else name for name in cycles},
        )

    def figures(self, windows: int, written: float | None) -> Iterator[tuple[str, float, str]]:
        """What is assumed, milliseconds for each of so many windows, and what that is.

        Args:
            windows: that a program takes before the next one.
            written: milliseconds of configuring the array by writes; None for the facts' time.
        """
        best = min(TOGETHER, key=lambda many: self._took(0, windows, many, written))
        for at, (what, factor) in enumerate(VARIED):
            steps = self.steps(at, best)
            own = sum(step.takes for step in steps if step.program != HOST) / best
            host = sum(step.takes for step in steps if step.program == HOST) / best
            varied = f"what is assumed times {factor:g}: " if what else ""
            note = (
                f"{varied}each of {windows} windows, {best} of them a dispatch; array and "
                f"dispatches {own:.1f} ms beside the processor {host:.1f}; configured "
                f"{switches(steps)} times{'' if written is None else ' by writes'} for all of them"
            )
            yield what, self._took(at, windows, best, written), note

    def _took(self, at: int, windows: int, together: int, written: float | None) -> float:
        """Milliseconds for each."""
        one = self.array.need(self.array.reconfiguration_ms, "configuring the array")
        configuring = one if written is None else VARIED[at][1] * written
        return took(self.steps(at, together), windows // together, configuring) / windows


def in_turn(encoders: Mapping[str, InTurn], written: float) -> Iterator[tuple[str, float, str]]:
    """Figures' names, milliseconds for each of many windows, and what that is.

    Args:
        encoders: by the tag of their rows.
        written: milliseconds of configuring the array by writes.
    """
    for (tag, one), many in product(encoders.items(), WINDOWS):
        for how, takes in (("", None), ("_written", written)):
            for what, each, note in one.figures(many, takes):
                yield f"_in_turn{tag}{how}_{many}_windows{what}", each, note


def texts(layers: Sequence[Timed], array: Device) -> int:
    """Bytes of all texts: a program of each configuration, with dispatches of several windows.

    Args:
        layers: on the array, of which each shape has its own program.
        array: where.

    Raises:
        AssertionError: a program is read back as another one.
        TargetError: layers of one size are several configurations, or a sequence moves too much.
    """
    found = {t.kind.name.replace(", ", "_").replace(" ", "_"): t for t in layers}
    groups = [[name] for name, t in found.items() if t.kind.name not in ALIKE]
    groups.append([name for name, t in found.items() if t.kind.name in ALIKE])
    total = 0
    for group in groups:
        programs = {name: found[name].best.program(array, real=True)[1] for name in group}
        more = {
            f"{name}_{many}": (name, _rounds(programs[name], found[name].best.runs, many))
            for name, many in product(group, TOGETHER)
            if many * found[name].best.runs > 1
        }
        module = overlay(programs, array, more=more, turned=False)
        kernels = kernels_of_overlay(programs, turned=False)
        of = {name: name for name in programs} | {name: whose for name, (whose, _) in more.items()}
        for name, whose in of.items():
            assert read(single(module, name), array, kernels[whose]) == programs[whose], name
        total += len(module)
    return total


def _rounds(program: ArrayProgram, runs: int, windows: int) -> tuple[Round, ...]:
    """What the sequence of a dispatch moves: runs of a window read its inputs, other constants."""
    words = {arg.name: arg.words for arg in host_arguments(program)}
    found = []
    for at, run in product(range(windows), range(runs)):
        many = {"inputs": at, "constants": run, "outputs": at * runs + run}
        offsets = tuple((arg, by * words[arg]) for arg, by in many.items() if by and arg in words)
        found.append(Round(None, offsets))
    return tuple(found)
