"""Many windows of Whisper's encoder whose programs take turns on the whole array.

Between two configurations a program takes all windows one after the other, each layer behind a
dispatch of its own, and the processor has the layers of rows of one window while the array has
another window. So of many windows a configuration costs each little, and what the processor does is
hidden as long as it is less.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from xdna_encoder import LAYERS
from xdna_whisper import Timed

from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.versal.module import COPIED_PER_NS

#: Who does a step.
HOST = ""

#: Windows that programs take in turn.
WINDOWS = (16, 64)

#: Dense layers of one size, which are one program where each shape has its own.
ALIKE = ("dense, into heads", "dense, of heads", "dense, wide")

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
        rows: of each layer of rows on the processor.
        copies: of the processor, before each convolution.
        program: configuration of each layer on the array.
    """

    def on_array(name: str) -> Step:
        return Step(array[name], program[name])

    found = [Step(copies[0]), on_array("convolution 1"), Step(rows["GELU 1"] + copies[1])]
    found += [on_array("convolution 2"), Step(rows["GELU 2"] + rows["sum"] + rows["norm"])]
    between = Step(rows["sum"] + rows["norm"])
    for _ in range(LAYERS):
        found += map(on_array, ("dense, into heads", "attention", "dense, of heads"))
        found += [between, on_array("dense, wide"), Step(rows["GELU"]), on_array("dense, back")]
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


def in_turn(
    array: Device,
    layers: Mapping[str, Sequence[Timed]],
    rows: Mapping[str, float],
    written: float,
) -> Iterator[tuple[str, float, str]]:
    """Figures' names, milliseconds for each of many windows, and what that is.

    Args:
        array: where.
        layers: all of them, by the tag of their rows: "" where dense ones are one configuration;
            else each shape has its own program, which layers of one size share.
        rows: milliseconds of what the processor computes.
        written: milliseconds of configuring the array by writes.
    """
    one = array.need(array.reconfiguration_ms, "configuring the array")
    for (tag, found), (at, (what, factor)) in product(layers.items(), enumerate(VARIED)):
        steps = _steps(array, found, rows, at, factor, apart=bool(tag))
        own = sum(step.takes for step in steps if step.program != HOST)
        host = sum(step.takes for step in steps) - own
        varied = f"what is assumed times {factor:g}: " if what else ""
        for many, (how, takes) in product(WINDOWS, (("", one), ("_written", factor * written))):
            note = (
                f"{varied}each of {many} windows; array and dispatches {own:.1f} ms beside the "
                f"processor {host:.1f}; configured {switches(steps)} times"
                f"{' by writes' if how else ''} for all of them"
            )
            metric = f"_in_turn{tag}{how}_{many}_windows{what}"
            yield metric, took(steps, many, takes) / many, note


def _steps(
    array: Device,
    found: Sequence[Timed],
    rows: Mapping[str, float],
    at: int,
    factor: float,
    *,
    apart: bool,
) -> tuple[Step, ...]:
    """Those of a window.

    Args:
        array: where.
        found: all layers.
        rows: milliseconds of what the processor computes.
        at: which of the layers' times.
        factor: of what is assumed of the processor.
        apart: whether each shape of dense layers has its own program.
    """
    each = {t.kind.name: t.cycles[at] / array.clock_ghz / 1e6 for t in found}
    alike = dict.fromkeys(ALIKE if apart else [name for name in each if name != "attention"], "")
    moved = {t.kind.name: factor * t.copied / COPIED_PER_NS / 1e6 for t in found}
    return window(
        each,
        {name: factor * value for name, value in rows.items()},
        (moved["convolution 1"], moved["convolution 2"]),
        {name: "dense" if name in alike else name for name in each},
    )
