"""A sum of two images on one unit, row by row behind the layer on another unit that makes one.

The layer before is two layers of some rows each, on its own unit, and so is the sum: the first rows
are summed while the layer before makes the others. Where the layer after the sum is a convolution
on another unit, too, its first rows are made while the last rows are summed. All of it is in the
order of the schedule, each half in the arithmetic of its layer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from match_aie.hardware import ExecModule, SequenceCostModel, activations
from match_aie.hardware.move import unit
from match_aie.lowering.company import MARGIN
from match_aie.lowering.division import (
    HALVES,
    TRIED,
    Division,
    Half,
    Way,
    half_on,
    together,
    whole_on,
)
from match_aie.lowering.program import LayerProgram, Schedule
from match_aie.workload.rows import has_rows, is_sum_of_images, rows_of


@dataclass(frozen=True, eq=False)
class Following:
    """Layers in halves, one after the other on their units, and which of these run side by side.

    `pairs` are functions of halves, first the one that is started first; `gain` is modelled.
    """

    splits: tuple[Division, ...]
    pairs: tuple[tuple[str, str], ...]
    gain: float

    @property
    def wholes(self) -> frozenset[str]:
        """Functions of the layers while they were whole."""
        return frozenset(split.symbol for split in self.splits)


@dataclass(frozen=True, eq=False)
class _Layer:
    """A step that may be split, by index, and all of it in one call of its kernel."""

    step: int
    layer: LayerProgram
    way: Way
    whole: Half

    @property
    def rows(self) -> int:
        return self.layer.workload.sizes["OY"]

    def halves(self, rows: int) -> tuple[Half, Half] | None:
        """The first rows, and the others."""
        one, two = half_on(self.way, 0, rows), half_on(self.way, rows, self.rows - rows)
        return None if one is None or two is None else (one, two)

    def split(self, halves: tuple[Half, Half], gain: float) -> Division:
        """The step in these halves."""
        return Division(self.step, self.layer.symbol, halves, gain, beside=False)


def followings(schedule: Schedule, modules: Mapping[str, ExecModule]) -> list[Following]:
    """The best way for each sum that is modelled faster so, by itself; none share a layer."""
    taken: set[int] = set()
    found = []
    for step in range(1, len(schedule.steps)):
        best = max(_of_sum(schedule, modules, step), key=lambda one: one.gain, default=None)
        if best is not None and not taken & {split.step for split in best.splits}:
            taken |= {split.step for split in best.splits}
            found.append(best)
    return found


def _of_sum(
    schedule: Schedule, modules: Mapping[str, ExecModule], step: int
) -> Iterator[Following]:
    """Ways in which step `step` follows the one before; none where it is no such sum."""
    made, total = _splittable(schedule, modules, step - 1), _splittable(schedule, modules, step)
    if made is None or total is None or not is_sum_of_images(total.layer.workload):
        return
    if not _feeds(schedule, made, total) or made.rows != total.rows:
        return
    last = _splittable(schedule, modules, step + 1)
    if last is None or not _feeds(schedule, total, last) or len(last.layer.workload.inputs) > 1:
        last = None
    for rows in _balanced(made, total):
        halves = made.halves(rows), total.halves(rows)
        if halves[0] is None or halves[1] is None:
            continue
        yield from _without_last((made, total), halves[0], halves[1])
        if last is not None:
            yield from _with_last((made, total, last), halves[0], halves[1])


def _splittable(schedule: Schedule, modules: Mapping[str, ExecModule], step: int) -> _Layer | None:
    """The step, if it is a layer whose rows can be layers of their own."""
    layer = schedule.steps[step].layer if step < len(schedule.steps) else None
    if layer is None or layer.pinned or layer.module not in modules:
        return None
    if layer.workload.run_time or activations(layer.workload, modules[layer.module]):
        return None  # sizes that a run gives, or an order that rows do not keep
    module, images = modules[layer.module], set(schedule.steps[step].reads())
    # A sum of a tensor and itself would need two views of one name.
    if not has_rows(layer.workload) or len(images) != len(layer.workload.inputs):
        return None
    if not isinstance(module.cost_model(layer.workload), SequenceCostModel):
        return None
    way = Way(module, layer.pattern, layer.workload, dict(layer.constants), layer.original)
    whole = whole_on(way)
    return None if whole is None else _Layer(step, layer, way, whole)


def _feeds(schedule: Schedule, one: _Layer, other: _Layer) -> bool:
    """Whether `other` reads what `one` makes, as it lies, on another unit."""
    written = schedule.steps[one.step].writes()
    read = schedule.steps[other.step].reads()
    return unit(one.way.module) != unit(other.way.module) and set(written) <= set(read)


def _balanced(made: _Layer, total: _Layer) -> Iterator[int]:
    """Numbers of first rows, of those that balance best what is made and summed meanwhile."""
    each, sums = made.whole.cost.cycles / made.rows, total.whole.cost.cycles / total.rows
    counts = sorted(range(1, made.rows), key=lambda n: abs((made.rows - n) * each - n * sums))
    return islice(counts, TRIED)


def _without_last(
    layers: tuple[_Layer, _Layer], made: tuple[Half, Half], sums: tuple[Half, Half]
) -> Iterator[Following]:
    """Without a layer after the sum."""
    taken = made[0].cost.cycles + sums[1].cost.cycles
    cycles, pair = _pair(layers[0], layers[1], made[1], sums[0])
    yield from _following(layers, (made, sums), taken + cycles, (pair,))


def _with_last(
    layers: tuple[_Layer, _Layer, _Layer], made: tuple[Half, Half], sums: tuple[Half, Half]
) -> Iterator[Following]:
    """The same, and the first rows of the layer after the sum beside the last rows of this one."""
    last, ready = layers[2], sums[0].rows.workload.sizes["OY"]
    most = _most_rows(last, ready)
    each = last.whole.cost.cycles / last.rows
    wanted = min(most, round(sums[1].cost.cycles / each))
    for rows in sorted({most, wanted, wanted - 1} - {0, -1, last.rows}):
        halves = last.halves(rows)
        if halves is None:
            continue
        first, pair = _pair(layers[0], layers[1], made[1], sums[0])
        second, other = _pair(last, layers[1], halves[0], sums[1], late=True)
        taken = made[0].cost.cycles + first + second + halves[1].cost.cycles
        yield from _following(layers, (made, sums, halves), taken, (pair, other))


def _most_rows(layer: _Layer, ready: int) -> int:
    """First output rows that see no more than `ready` rows of the image."""
    for rows in range(layer.rows - 1, 0, -1):
        part = rows_of(layer.layer.workload, 0, rows)
        if part is not None and part.workload.operand("x").shape[1] <= ready:
            return rows
    return 0


def _pair(
    layer: _Layer, total: _Layer, half: Half, sums: Half, *, late: bool = False
) -> tuple[float, tuple[str, str]]:
    """Cycles of a layer's half and one of the sum's at the same time, and who is started first."""
    own, others = HALVES if not late else HALVES[::-1]
    names = layer.layer.symbol + others, total.layer.symbol + own
    orders = {names: (half, sums), names[::-1]: (sums, half)}
    taken = {order: together(halves) for order, halves in orders.items()}
    best = min(taken, key=lambda order: taken[order])
    return taken[best], best


def _following(
    layers: Sequence[_Layer],
    halves: Sequence[tuple[Half, Half]],
    taken: float,
    pairs: tuple[tuple[str, str], ...],
) -> Iterator[Following]:
    """The layers in these halves, if that gains more than the model may be off.

    Args:
        layers: in order.
        halves: of each.
        taken: modelled cycles of all halves.
        pairs: functions of those that run side by side.
    """
    alone = sum(layer.whole.cost.cycles for layer in layers)
    gain = alone - taken
    if gain > MARGIN * alone:
        splits = (layer.split(made, gain) for layer, made in zip(layers, halves, strict=True))
        yield Following(tuple(splits), pairs, gain)
