"""The best way to spread a layer over an array: an exact enumeration, cheapest bounds first.

Splits of the reduction, the columns and the rows over tiles are enumerated (only those that change
the largest part), and for each the calls in a tile: rows and columns of a call, turns of the
reduction, which of them stays while the other goes by, and where the weights live. The ideal
compute time of a split is a bound: splits are priced in its order until no other can be better.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from match_aie.errors import Infeasible, TargetError
from match_aie.targets.aie_ml.array.assumed import Assumed
from match_aie.targets.aie_ml.array.build import build
from match_aie.targets.aie_ml.array.check import violations
from match_aie.targets.aie_ml.array.fit import program_bytes, schedules
from match_aie.targets.aie_ml.array.layer import ArrayMapping, DenseLayer
from match_aie.targets.aie_ml.array.price import Priced, bound, outside, price
from match_aie.targets.aie_ml.array.shapes import (
    Split,
    blocks,
    candidates,
    native_tilings,
    splits,
)
from match_aie.targets.aie_ml.devices import Device, Tiling
from match_aie.targets.aie_ml.schedule import Variant, machine

Objective = Literal["interval", "latency"]

#: How epilogues may meet the next block; the first where the program memory holds it.
VARIANTS: tuple[Variant, ...] = ("flat", "overlapped")


@dataclass(frozen=True)
class Given:
    """Parts that the caller prescribes; None where the search chooses."""

    cas_length: int | None = None
    column_parts: int | None = None
    row_parts: int | None = None


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
) -> tuple[Priced, ...] | Infeasible:
    """The best mappings of `layer` on `device`, best first.

    Args:
        layer: what to run.
        device: the array.
        assumed: times that no document states.
        objective: cycles between runs of a repeated layer, or of a single run.
        most_tiles: cores that may be used; all of them where None.
        keep: how many mappings to return.
        given: parts that are prescribed.
        variants: epilogues that the kernels may have.

    Raises:
        TargetError: element types without a product on this array, or facts not known.
    """
    machine(device.architecture)  # refuses by name where schedules lack facts
    task = Task(layer, device, assumed or Assumed(), objective, most_tiles, keep, given, variants)
    found = _search(task, strict=False)
    if isinstance(found, Infeasible) or all(_legal(p, device) for p in found):
        return found
    return _search(task, strict=True)


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


def _search(task: Task, *, strict: bool) -> tuple[Priced, ...] | Infeasible:
    """The best mappings; `strict` where each must keep all rules before it counts.

    The reduction is walked over time where it must be, and where streams that carry something more
    than once set the pace without.
    Channels, descriptors and ports hardly ever refuse what memories accept, and checking them
    means building the program: they are looked at only where the quick answer breaks a rule.
    """
    layer, device, keep = task.layer, task.device, task.keep
    found: list[Priced] = []
    refused: Infeasible | None = None
    worst, least = float("inf"), outside(layer, device)
    for tiling, turns in itertools.product(native_tilings(layer, device), (False, True)):
        if turns and found and not _sent_again(found[0]):
            continue
        for split in sorted(_splits(task, tiling), key=lambda s: s.bound):
            if split.bound >= worst or worst <= least:
                break
            for shape in candidates(layer, device, tiling, split, turns=turns):
                priced = _better(shape, task, worst)
                if isinstance(priced, Infeasible):
                    refused = _closer(refused, priced)
                if not isinstance(priced, Priced) or (strict and not _legal(priced, device)):
                    continue
                found.append(priced)
                found.sort(key=lambda p: _key(p, task.objective))
                del found[keep:]
                if len(found) == keep:
                    worst = _key(found[-1], task.objective)[0]
    if not found:
        return refused or Infeasible("tiles", 1, 0, "tiles")
    return tuple(found)


def _better(shape: ArrayMapping, task: Task, worst: float) -> Priced | Infeasible | None:
    """`shape` with its kernel and price; None where it cannot be better than `worst`."""
    device, assumed = task.device, task.assumed
    if _floor(shape, device, assumed) >= worst:
        return None
    quick = bound(shape, device, assumed)
    if isinstance(quick, Infeasible):
        return quick
    if (quick.interval if task.objective == "interval" else quick.latency) >= worst:
        return None
    mapping = _kernel(shape, device, task.variants)
    if mapping is None:
        return None
    priced = price(mapping, device, assumed)
    if isinstance(priced, Infeasible):
        return priced
    return priced if _key(priced, task.objective)[0] < worst else None


def _floor(shape: ArrayMapping, device: Device, assumed: Assumed) -> float:
    """Cycles of all products and of starting the calls: what every mapping of that shape takes."""
    rate = device.architecture.core.macs_of(shape.layer.a, shape.layer.w) or 1
    macs = shape.call_rows * shape.part_reduction * shape.call_columns
    return shape.calls * (macs / rate + assumed.call(1))


def _sent_again(priced: Priced) -> bool:
    """Whether the streams that set the pace carry the same thing more than once."""
    m, which = priced.mapping, priced.cost.bound
    if which == "activation streams":
        return m.input_sends() > m.row_steps
    return which == "weight streams" and m.weight_sends() > m.column_steps


def _legal(priced: Priced, device: Device) -> bool:
    """Whether the whole program keeps every rule: channels, descriptors and ports too."""
    program = build(priced.mapping, device)
    return not isinstance(program, Infeasible) and not violations(program, device)


def _key(priced: Priced, objective: Objective) -> tuple[float, int, float]:
    cost = priced.cost
    value = cost.interval if objective == "interval" else cost.latency
    return value, priced.mapping.tiles, cost.latency


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
        for split in splits(layer, task.device, tiling, task.most_tiles):
            parts = (split.cas_length, split.column_parts, split.row_parts)
            if all(want is None or want == part for want, part in zip(wanted, parts, strict=True)):
                yield split
        return
    yield Split(given.cas_length or 1, given.column_parts or 1, given.row_parts or 1, 0.0)


def _kernel(
    mapping: ArrayMapping, device: Device, variants: tuple[Variant, ...]
) -> ArrayMapping | None:
    """The mapping with the block that is fastest in the last tile of a chain."""
    most = device.architecture.core.program_memory_bytes
    best: tuple[int, ArrayMapping] | None = None
    for block in blocks(mapping):
        for variant in variants:
            tried = replace(mapping, block=block, variant=variant)
            try:
                calls = schedules(tried, device)
            except TargetError:
                continue
            body = sum(turn.body for turn in calls[-1])
            if max(program_bytes(turns) for turns in calls[:2] + calls[-1:]) > most:
                continue
            if best is None or body < best[0]:
                best = body, tried
    return None if best is None else best[1]
