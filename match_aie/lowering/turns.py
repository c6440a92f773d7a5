"""In which order one controller goes from one of two layers to the other.

Decided by modelled cycles, when the layers' tiles are known; emitted C and simulator follow it as
it stands. While it waits for a kernel of one layer it can do nothing for the other, so a wrong
guess costs time; never results.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from match_aie.hardware import TileProgram
from match_aie.hardware.tables import is_listed
from match_aie.hardware.tiles import Region
from match_aie.lowering.program import Schedule

#: The part of a cost that two layers side by side save.
SAVED = "beside the layer before"


@dataclass(frozen=True)
class Span:
    """When one of several layers in two lanes runs, and when the controller turns to it.

    Attributes:
        entered: when it is entered.
        begin: when it would be, if the controller were never late.
        end: when it is over.
        left: when it is left; the next one of its lane is entered then.
    """

    entered: float
    begin: float
    end: float
    left: float

    def turn(self, part: float) -> float:
        """When the controller turns to it with `part` of its calls done."""
        if part == 1:
            return self.left
        return max(self.entered, self.begin + part * (self.end - self.begin))


def turns(calls: Sequence[int], cycles: Sequence[float]) -> tuple[int, ...]:
    """Whom the controller turns to: each when it would be its turn if both ran alone.

    Args:
        calls: of both kernels; a layer is left in one turn more.
        cycles: of both layers.

    >>> turns([2, 1], [10.0, 8.0])
    (0, 1, 0, 1, 0)
    """
    times = [
        (at / count * taken, lane)
        for lane, (count, taken) in enumerate(zip(calls, cycles, strict=True))
        for at in range(count + 1)
    ]
    return tuple(lane for _, lane in sorted(times))


def turns_between(calls: Sequence[int], spans: Sequence[Span]) -> tuple[int, ...]:
    """Whom the controller turns to, of several layers in two lanes: each when it would be its turn.

    Args:
        calls: of their kernels; a layer is left in one turn more.
        spans: of the layers; one is entered when the one before it in its lane is left.

    >>> first, second = Span(0.0, 0.0, 9.0, 9.0), Span(1.0, 1.0, 5.0, 5.0)
    >>> turns_between([1, 1, 1], [first, second, Span(5.0, 5.0, 8.0, 8.0)])
    (0, 1, 1, 2, 2, 0)
    """
    times = [
        (span.turn(at / count), layer)
        for layer, (count, span) in enumerate(zip(calls, spans, strict=True))
        for at in range(count + 1)
    ]
    return tuple(layer for _, layer in sorted(times))


def turns_behind(needs: Sequence[int], calls: int) -> tuple[int, ...]:
    """Whom the controller turns to, where the other layer reads what the first one makes.

    To go on with a layer, or to leave it, is to wait for its kernel on the tile before; so the
    other one is told to start on a tile once the first one is done with all that it needs.

    Args:
        needs: tiles of the first layer, by tile of the other.
        calls: of the first one's kernel.

    >>> turns_behind([1, 2], 2)
    (0, 0, 1, 0, 1, 1)
    """
    order, started = [], 0
    for done in range(calls + 1):
        order.append(0)
        while started < len(needs) and needs[started] <= done:
            order.append(1)
            started += 1
    return (*order, 1)


def needs_of(first: TileProgram, other: TileProgram, names: Sequence[str]) -> tuple[int, ...]:
    """How many tiles of `first`, in order, each tile of `other` reads; none where they lie apart.

    A tile of `other` may see nothing but padding: that one reads none.

    Args:
        first: the layer whose output is read.
        other: the layer that reads it.
        names: the operands that are this output.
    """
    made = first.operands[-1]
    read = [operand for operand in other.operands if operand.name in names]
    shapes = {tuple((axis.size, axis.stride) for axis in o.axes) for o in (made, *read)}
    if len(shapes) > 1:
        return ()
    boxes = [made.region(visit.ranges) for visit in first.visits()]
    return tuple(
        max(
            (
                1 + at
                for at, box in enumerate(boxes)
                for operand in read
                if _meet(box, operand.region(visit.ranges))
            ),
            default=0,
        )
        for visit in other.visits()
    )


def _meet(one: Region, other: Region) -> bool:
    """Whether two boxes of one tensor share an element."""
    spans = zip(one.start, one.extent, other.start, other.extent, strict=True)
    return all(a < c + d and c < a + b for a, b, c, d in spans)


def with_turns(
    schedule: Schedule,
    stretched: Mapping[int, float] = MappingProxyType({}),
    cases: Mapping[int, tuple[float, ...]] = MappingProxyType({}),
    spans: Mapping[int, Span] = MappingProxyType({}),
) -> Schedule | None:
    """`schedule` with the order of all layers side by side; None where one cannot be so.

    Its tiles must be a list, and lie where no other layer's do.

    Args:
        schedule: planned but for that.
        stretched: cycles that steps of pairs take more beside their partner than alone.
        cases: what those differ in that run together, by their first step.
        spans: of steps of which more than two run together.
    """
    found = []
    for pair in schedule.beside:
        layers = [schedule.steps[step].layer for step in pair.steps]
        tiles: list[TileProgram] = []
        cycles = []
        for step, layer in enumerate(layers, pair.step):
            if layer is None or layer.tiles is None or not layer.tiles.beside:
                return None
            tiles.append(layer.tiles)
            alone = layer.cost.cycles - dict(layer.cost.parts).get(SAVED, 0.0)
            cycles.append(alone + stretched.get(step, 0.0))
        if not all(is_listed(program) for program in tiles):
            return None
        calls = [program.calls for program in tiles]
        if not pair.is_pair:
            order = turns_between(calls, [spans[step] for step in pair.steps])
        elif not tiles[1].follows:
            order = turns(calls, cycles)
        else:
            needs = needs_of(tiles[0], tiles[1], tiles[1].follows)
            order = turns_behind(needs, tiles[0].calls)
        found.append(replace(pair, order=order, cases=cases.get(pair.step, ())))
    return replace(schedule, beside=tuple(found))
