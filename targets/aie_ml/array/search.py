"""The best way to spread a layer over an array: an exact enumeration, cheapest bounds first.

Splits of the reduction, the columns and the rows over tiles are enumerated (only those that change
the largest part), and for each the calls in a tile: rows and columns of a call, turns of the
reduction, which of them stays while the other goes by, and where the weights live. The ideal
compute time of a split is a bound, and so is a mapping's cost with products at the core's full
rate: both are taken in their order until no other can be better.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from math import inf
from typing import Literal

from match_aie.cost_models.aie_array import ArrayCost
from match_aie.errors import Infeasible, TargetError
from match_aie.targets.aie_ml.array.assumed import Assumed
from match_aie.targets.aie_ml.array.fit import Fit, fit
from match_aie.targets.aie_ml.array.kernel_choice import least_cycles, with_kernel
from match_aie.targets.aie_ml.array.layer import ArrayMapping, DenseLayer
from match_aie.targets.aie_ml.array.least import floors
from match_aie.targets.aie_ml.array.price import Priced, bound_of, carried, outside, price
from match_aie.targets.aie_ml.array.shapes import (
    Split,
    TileKey,
    alone,
    native_tilings,
    orders,
    smallest,
    splits,
)
from match_aie.targets.aie_ml.devices import Device, Tiling
from match_aie.targets.aie_ml.schedule import Variant, machine

Objective = Literal["interval", "latency", "inside"]

#: A mapping as a caller can express it; None where it cannot.
Express = Callable[[ArrayMapping], ArrayMapping | None]

#: Of a shape: nothing, what it takes once it is known to fit, then that its kernels' steps count.
_Known = Fit | Literal["steps"] | None

#: Least cycles, tiles, number, a split or a shape, what is known of the shape.
_Waiting = tuple[float, int, int, Split | ArrayMapping, _Known]

#: Why a split has no mapping where all of its mappings take longer than the caller has use for.
SLOWER = Infeasible("cycles that others do not beat", 1, 1, "cycles")

#: How epilogues may meet the next block; the first where the program memory holds it.
VARIANTS: tuple[Variant, ...] = ("flat", "overlapped")


@dataclass(frozen=True)
class Given:
    """Parts that the caller prescribes; None where the search chooses."""

    cas_length: int | None = None
    column_parts: int | None = None
    row_parts: int | None = None

    @property
    def split(self) -> Split:
        """One part of what is not prescribed; without a bound."""
        return Split(self.cas_length or 1, self.column_parts or 1, self.row_parts or 1, 0.0)


def search(
    layer: DenseLayer,
    device: Device,
    *,
    assumed: Assumed | None = None,
    objective: Objective = "interval",
    most_tiles: int | None = None,
    keep: int = 1,
    given: Given | None = None,
    variants: tuple[Variant, ...] = VARIANTS,
    resident: bool = False,
    express: Express | None = None,
    enough: float = 0.0,
    most: float = inf,
) -> tuple[Priced, ...] | Infeasible:
    """The best mappings of `layer` on `device`, best first.

    Args:
        layer: what to run.
        device: the array.
        assumed: times that no document states.
        objective: cycles between runs of a repeated layer, or of a single run, or of that with ways
            in and out aside, which the caller prices.
        most_tiles: cores that may be used; all of them where None.
        keep: how many mappings to return.
        given: parts that are prescribed.
        variants: epilogues that the kernels may have.
        resident: whether only mappings count whose weights stay in the tiles, and whose calls
            take one turn.
        express: what becomes of a mapping before it is priced, or None where the caller has no
            use for it.
        enough: cycles up to which the caller has no use for a faster mapping.
        most: cycles of products and streams, ways in and out aside, that a mapping must beat.

    Raises:
        TargetError: element types without a product on this array, facts not known, or an array
            without memory tiles.
    """
    machine(device.architecture)  # refuses by name where schedules lack facts
    if device.architecture.mem is None:
        raise TargetError(
            f"{device.name} has no memory tiles, which mappings of this search read and write",
            hint="another array, or `match.compile`, which plans tiles fed from outside",
        )
    task = Task(
        layer,
        device,
        assumed or Assumed(),
        objective,
        most_tiles,
        keep,
        given,
        variants,
        resident,
        express,
        enough,
        most,
    )
    return _search(task)


@dataclass(frozen=True)
class Task:
    """The arguments of `search`."""

    layer: DenseLayer
    device: Device
    assumed: Assumed
    objective: Objective
    most_tiles: int | None
    keep: int
    given: Given | None
    variants: tuple[Variant, ...]
    resident: bool
    express: Express | None
    enough: float
    most: float


def _search(task: Task) -> tuple[Priced, ...] | Infeasible:
    """The best mappings.

    The reduction is walked over time where it must be, and where streams that carry something more
    than once set the pace without.
    """
    best = _Best(task)
    for tiling, turns in itertools.product(native_tilings(task.layer, task.device), (False, True)):
        if turns and (task.resident or (best.found and not _sent_again(best.found[0]))):
            continue
        for shape in _in_order(task, tiling, best, turns=turns):
            priced = _priced(shape, task)
            if isinstance(priced, Infeasible):
                best.refuse(priced)
            elif priced is not None:
                best.offer(priced)
    if not best.found:
        return best.slower or best.refused or Infeasible("tiles", 1, 0, "tiles")
    return tuple(best.found)


class _Best:
    """The best mappings so far, and the refusal that was closest to fitting."""

    def __init__(self, task: Task) -> None:
        """None yet."""
        self.found: list[Priced] = []
        self.refused: Infeasible | None = None
        self.slower: Infeasible | None = None
        self._task = task
        self._least = max(outside(task.layer, task.device), task.enough)

    @property
    def worst(self) -> float:
        """Cycles that a mapping must beat; 0 where none can be better than those there are."""
        if len(self.found) < self._task.keep:
            return inf
        worst = _key(self.found[-1], self._task.objective)[0]
        return worst if worst > self._least else 0.0

    def offer(self, priced: Priced) -> None:
        """Keep it if it is among the best."""
        if _key(priced, self._task.objective)[0] < self.worst:
            self.found.append(priced)
            self.found.sort(key=lambda p: _key(p, self._task.objective))
            del self.found[self._task.keep :]

    def refuse(self, reason: Infeasible) -> None:
        """Keep it if it misses its bound by less than any before, or is `SLOWER`."""
        if reason is SLOWER:
            self.slower = SLOWER
            return
        self.refused = _closer(self.refused, reason)


def _in_order(task: Task, tiling: Tiling, best: _Best, *, turns: bool) -> Iterator[ArrayMapping]:
    """Shapes in the order of their bounds, those of few tiles first, until none can be better.

    A split stands for all of its shapes until its own bound is the least; whether a shape fits is
    looked at when what any such shape takes is the least.
    """
    number = itertools.count()
    queue: list[_Waiting] = []
    for split in _splits(task, tiling):
        least = carried(smallest(task.layer, tiling, split), task.device)
        queue.append((max(split.bound, least), 0, next(number), split, None))
    heapify(queue)
    while queue and queue[0][0] < best.worst:
        _, tiles, at, item, known = heappop(queue)
        if isinstance(item, Split):
            limit = min(best.worst, task.most)
            for least, shape in _open(task, tiling, item, limit, turns=turns):
                heappush(queue, (least, shape.tiles, next(number), shape, None))
            if not queue and task.most < inf:
                best.slower = SLOWER
        elif known == "steps":
            yield item
        else:
            closer = _nearer(item, known, task)
            if isinstance(closer, Infeasible):
                best.refuse(closer)
            elif closer is not None:
                heappush(queue, (closer[0], tiles, at, *closer[1:]))


def _nearer(
    shape: ArrayMapping, known: Fit | None, task: Task
) -> tuple[float, ArrayMapping, _Known] | Infeasible | None:
    """The next closer bound of a shape, and what is known of it then; None for no use of it.

    The first is that of products at the core's full rate where the shape fits, the second that of
    its kernels' steps.
    """
    if known is None:
        expressed = shape if task.express is None else task.express(shape)
        if expressed is None:
            return None
        fitted = fit(expressed, task.device, least=True)
        if isinstance(fitted, Infeasible):
            return fitted
        call: int | None = 0
    else:
        expressed, fitted = shape, known
        call = least_cycles(shape, task.device, task.variants)
    if call is None:
        return None if task.most == inf else SLOWER
    cost = bound_of(expressed, task.device, task.assumed, fitted, call)
    if cost.inside >= task.most:
        return SLOWER
    return _value(cost, task.objective), expressed, fitted if known is None else "steps"


def _priced(shape: ArrayMapping, task: Task) -> Priced | Infeasible | None:
    """`shape` with its kernel and price; None where it has no kernel."""
    mapping = with_kernel(shape, task.device, task.variants)
    return None if mapping is None else price(mapping, task.device, task.assumed)


def _open(
    task: Task, tiling: Tiling, split: Split, limit: float, *, turns: bool
) -> Iterator[tuple[float, ArrayMapping]]:
    """Mappings of a split that may take less than `limit`, with what they take at least.

    Args:
        task: of the search.
        tiling: of its products.
        split: over tiles.
        limit: cycles.
        turns: as `candidates`.
    """
    base = smallest(task.layer, tiling, split)
    key = alone(base), TileKey(task.device), turns, task.resident
    for shape, least in floors(*key, task.assumed):
        if least < limit:
            yield from ((least, shape.of(base, order)) for order in orders(base))


def _sent_again(priced: Priced) -> bool:
    """Whether the streams that set the pace carry the same thing more than once."""
    m, which = priced.mapping, priced.cost.bound
    if which == "activation streams":
        return m.input_sends() > m.row_steps
    return which == "weight streams" and m.weight_sends() > m.column_steps


def _key(priced: Priced, objective: Objective) -> tuple[float, int, float]:
    return _value(priced.cost, objective), priced.mapping.tiles, priced.cost.latency


def _value(cost: ArrayCost, objective: Objective) -> float:
    if objective == "inside":
        return cost.latency - cost.interval + cost.inside
    return cost.interval if objective == "interval" else cost.latency


def _closer(a: Infeasible | None, b: Infeasible) -> Infeasible:
    """The refusal that misses its bound by less."""
    if a is None or b.demand * a.bound < a.demand * b.bound:
        return b
    return a


def _splits(task: Task, tiling: Tiling) -> Iterator[Split]:
    """All splits, or those that the caller prescribes."""
    given, layer = task.given or Given(), task.layer
    wanted = (given.cas_length, given.column_parts, given.row_parts)
    if None in wanted:
        coarse = given.row_parts is not None or task.express is None
        for split in splits(layer, task.device, tiling, task.most_tiles, coarse=coarse):
            parts = (split.cas_length, split.column_parts, split.row_parts)
            if all(want is None or want == part for want, part in zip(wanted, parts, strict=True)):
                yield split
        return
    yield given.split
