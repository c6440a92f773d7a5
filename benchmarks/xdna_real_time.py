"""How many times faster than real time Whisper-base's encoder is, by strategy.

Strategies are those of `xdna_strategies.py`. A time is the sum over layers, one after the other:
the array and a dispatch for each (simulated), what the processor computes (modelled at an assumed
clock) and moves (at an assumed rate), and configuring the array for each program that follows
another one (a third party's time for all of it).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rows import figure
from xdna_encoder import LAYERS, SECONDS
from xdna_whisper import Timed

from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.versal.module import COPIED_PER_NS

Row = dict[str, object]

#: Windows of 30 seconds that a program takes before the next one is configured, in some rows.
WINDOWS = 16

#: Configuring the array by writes in the host's sequence (`aiecc --expand-load-pdis`) instead of a
#: context of its own for each program. Programs of 120 to 440 KB took 0.30 to 0.8 ms on an HX 370,
#: whose array is twice as large (README of a public probe of ways to configure, September 2026);
#: another context 2.0 to 2.4 ms there. That is npu2. ASSUMPTION: the longest of these times
#: holds for npu1, too, whose firmware nobody has shown to take such sequences.
WRITTEN_MS = 0.8


#: Names of figures, and of what is assumed how much.
VARIED = {"": 1.0, "_x0.5": 0.5, "_x2": 2.0}

EMPTY: Mapping[str, float] = {}


@dataclass(frozen=True)
class Encoder:
    """An encoder's times in milliseconds, beside configuring.

    Attributes:
        array: and dispatches.
        computed: by the processor.
        moved: by it.
    """

    array: float
    computed: float
    moved: float

    @property
    def whole(self) -> float:
        """One after the other."""
        return self.array + self.computed + self.moved

    @property
    def note(self) -> str:
        """What it is made of."""
        return (
            f"array and dispatches {self.array:.1f} ms, processor {self.computed:.1f} + "
            f"{self.moved:.1f} of copies"
        )


def _encoder(
    found: Sequence[Timed], at: int, factor: float, array: Device, rows: dict[str, float]
) -> Encoder:
    """With layers of `rows` on the processor.

    Args:
        found: all layers.
        at: which of their times.
        factor: of what is assumed of the processor.
        array: where.
        rows: milliseconds of what the processor computes.
    """
    mine = [each for each in found if each.kind.name not in rows]
    own = sum(each.kind.many * each.cycles[at] for each in mine)
    others = [each.kind for each in found if each.kind.name in rows]
    computed = factor * sum(kind.many * rows[kind.name] for kind in others)
    moved = factor * sum(each.kind.many * each.copied for each in mine) / COPIED_PER_NS / 1e6
    return Encoder(milliseconds(own, array), computed, moved)


def _computed(strategy: str, rows: dict[str, float]) -> dict[str, float]:
    """Of layers of rows those that a strategy leaves to the processor."""
    return {} if strategy == "all_on_array" else rows


def milliseconds(cycles: float, array: Device) -> float:
    """At the array's clock."""
    return cycles / array.clock_ghz / 1e6


@dataclass(frozen=True)
class Times:
    """A row: how many times faster than real time."""

    metric: str
    milliseconds: float
    note: str

    def of(self, case: str) -> Iterator[Row]:
        """The figure."""
        value = 1e3 * SECONDS / self.milliseconds
        yield figure(case, f"times_real_time{self.metric}", value, "x", "simulated", self.note)


def every_time(
    array: Device,
    found: Sequence[Timed],
    shifts: Timed | None,
    rows: dict[str, float],
    switches: dict[str, int],
    beside: Mapping[str, float] = EMPTY,
    apart: Sequence[Timed] = (),
) -> Iterator[Times]:
    """Both strategies, the fastest one first, and what the array alone takes.

    Args:
        array: where.
        found: all layers.
        shifts: attention in another arithmetic, if there is such a row.
        rows: milliseconds of what the processor computes.
        switches: programs that follow another one, by strategy.
        beside: milliseconds of a window by one configuration, by how much of what is assumed.
        apart: layers where all are configured anew; `found` where there are none.
    """
    one = array.need(array.reconfiguration_ms, "configuring the array")
    own = next(each for each in found if each.kind.name == "attention")
    for at, (what, factor) in enumerate(VARIED.items()):
        varied = f"what is assumed times {factor:g}: " if what else ""
        made = {
            name: _encoder(
                apart if apart and name == "all_on_array" else found,
                at,
                factor,
                array,
                _computed(name, rows),
            )
            for name in switches
        }
        total = {name: each.whole + switches[name] * one for name, each in made.items()}
        every = total | ({"one_configuration": beside[what]} if what in beside else {})
        best = min(every, key=lambda name: every[name])
        note = f"{varied}the fastest strategy, {best.replace('_', ' ')}"
        yield Times(what, every[best], note)
        for name, each in made.items():
            written = factor * WRITTEN_MS
            for tag, each_ms, note in _configured(each, switches[name], one, written):
                yield Times(f"_{name}{tag}{what}", each_ms, f"{varied}{note}")
        alone = made["all_on_array"].array
        note = f"{varied}all layers on the array and dispatches: no processor, no configuring"
        yield Times(f"_array_alone{what}", alone, note)
        if shifts is None:
            continue
        saved = LAYERS * milliseconds(own.cycles[at] - shifts.cycles[at], array)
        narrow = shifts.kind.shared is None and apart
        tag, how = (
            ("shifted", "a softmax of scores less their row's largest one")
            if narrow
            else ("shifts", "attention requantises by shifts")
        )
        yield Times(f"_array_alone_{tag}{what}", alone - saved, f"{varied}likewise, {how}")


def _configured(
    each: Encoder, times: int, one: float, written: float
) -> Iterator[tuple[str, float, str]]:
    """A strategy in three ways to configure: tag, milliseconds, note.

    Args:
        each: the strategy.
        times: that a program follows another one.
        one: milliseconds of configuring the array.
        written: likewise by writes.
    """
    note = f"{each.note}, configuring {times} times {times * one:.0f}"
    yield "", each.whole + times * one, note
    note = f"{each.note}, configuring {times} times by writes {times * written:.0f}"
    yield "_written", each.whole + times * written, note
    note = f"each of {WINDOWS} windows that a program takes before the next one"
    yield f"_{WINDOWS}_windows", each.whole + times * one / WINDOWS, note
