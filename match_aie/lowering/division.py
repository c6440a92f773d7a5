"""One layer on two units: some output rows by the one, the rest by the other, at the same time.

Rows of an image lie one after the other, so both halves read the tensor that the layer reads, from
some row on, and write the one that it writes. They are two layers of independent branches then,
with the stored integers of one: both compute in the arithmetic that one of the modules chose.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice

import numpy as np

from match_aie.errors import InternalError, TargetError
from match_aie.hardware import (
    Company,
    Concurrent,
    Cost,
    ExecModule,
    Original,
    SequenceCostModel,
    activations,
    convert,
    facet,
)
from match_aie.hardware import Mapping as LoopMapping
from match_aie.hardware.mapping import Cut
from match_aie.hardware.module_facets import Constants
from match_aie.hardware.move import unit
from match_aie.lowering.company import MARGIN, Lane, all_beside_cycles, in_cases, lane_of
from match_aie.lowering.constants import packed_constants
from match_aie.lowering.handover_choice import evaluation_of
from match_aie.lowering.program import (
    Alias,
    Argument,
    Constant,
    LayerProgram,
    Schedule,
    Step,
    Tensor,
)
from match_aie.lowering.tiles import ALIGNMENT, tile_program
from match_aie.mapping.nest import between
from match_aie.workload import Workload
from match_aie.workload.rows import Rows, has_rows, is_sum_of_images, rows_of

#: Numbers of rows that are priced of each layer: those that balance both units best.
TRIED = 12

#: How functions of halves end.
HALVES = ("_rows0", "_rows1")


def whole_of(symbol: str) -> str:
    """The function of the layer that `symbol` is a half of, or itself."""
    return symbol.removesuffix(HALVES[0]).removesuffix(HALVES[1])


@dataclass(frozen=True, eq=False)
class Way:
    """How one module would run a layer.

    Attributes:
        module: which.
        pattern: name of the pattern that it has for such layers.
        workload: the layer in its arithmetic.
        constants: by operand name, as the reference reads them.
        original: the layer in the model's arithmetic; None where it is that.
    """

    module: ExecModule
    pattern: str
    workload: Workload
    constants: Constants
    original: Original | None


@dataclass(frozen=True, eq=False)
class Half:
    """Some rows of a layer, or all, on one module in one call of its kernel; `cost` is modelled.

    `constants` are those of `rows`: what they hold depends on the padding that is seen.
    """

    way: Way
    rows: Rows
    constants: Constants
    original: Original | None
    mapping: LoopMapping
    cost: Cost

    @cached_property
    def lane(self) -> Lane:
        """It as one of two at the same time."""
        return lane_of(self.way.module, self.rows.workload, self.mapping, self.cost)


@dataclass(frozen=True, eq=False)
class Division:
    """A step in two halves: the first one is started first; `gain` is modelled, by itself.

    `step` is its index, `symbol` its function while it was whole.
    """

    step: int
    symbol: str
    halves: tuple[Half, Half]
    gain: float


def divisions(schedule: Schedule, modules: Mapping[str, ExecModule]) -> Iterator[Division]:
    """The best way to divide each layer that is modelled faster in two halves, by itself."""
    for index, step in enumerate(schedule.steps):
        layer = step.layer
        if layer is None or layer.module not in modules or not has_rows(layer.workload):
            continue
        if is_sum_of_images(layer.workload):  # no other unit has a kernel for it
            continue
        if layer.pinned:  # to one module, not to halves on two
            continue
        found = [
            division
            for other in modules.values()
            if unit(other) != unit(modules[layer.module])
            for pair in [on_both(layer, modules[layer.module], other)]
            if pair is not None
            for ways in (pair, pair[::-1])
            for division in [_divided(index, layer, ways)]
            if division is not None
        ]
        if found:
            yield max(found, key=lambda division: division.gain)


def on_both(layer: LayerProgram, module: ExecModule, other: ExecModule) -> tuple[Way, Way] | None:
    """The layer on both modules, in one arithmetic; None where one of them cannot.

    The difference from the model that the layer was chosen with is never a larger one after it.
    Neither of them, where tensors would lie in an order that halves of their rows do not keep.
    """
    ways = _on_both(layer, module, other)
    if ways is None or any(activations(way.workload, way.module) for way in ways):
        return None
    return ways


def _on_both(layer: LayerProgram, module: ExecModule, other: ExecModule) -> tuple[Way, Way] | None:
    meant = layer.original or Original(layer.workload, dict(layer.constants), None)
    pattern = _pattern(other, layer, meant.workload)
    if pattern is None:
        return None
    here = Way(module, layer.pattern, layer.workload, dict(layer.constants), layer.original)
    exact = convert(other, here.workload, here.constants)
    if not isinstance(exact, str) and exact.error_lsb == 0:
        return here, Way(other, pattern, exact.workload, exact.constants, layer.original)
    if layer.original is None:
        return None
    theirs = convert(other, meant.workload, meant.constants)
    if isinstance(theirs, str) or not _as_close(theirs.error_lsb, meant.error_lsb):
        return None
    exact = convert(module, theirs.workload, theirs.constants)
    if isinstance(exact, str) or exact.error_lsb != 0:
        return None
    original = replace(meant, error_lsb=theirs.error_lsb)
    there = Way(other, pattern, theirs.workload, theirs.constants, original)
    return replace(
        here, workload=exact.workload, constants=exact.constants, original=original
    ), there


def _as_close(error: float | None, other: float | None) -> bool:
    """Whether a bound is known, and no larger than the other one."""
    return error is not None and (other is None or error <= other)


def _pattern(module: ExecModule, layer: LayerProgram, meant: Workload) -> str | None:
    """Name of a pattern that takes such a layer, of the same form where there is one."""
    taken = [p.name for p in module.patterns() if p.kind == meant.kind and not p.refuses(meant)]
    return layer.pattern if layer.pattern in taken else next(iter(taken), None)


def _divided(step: int, layer: LayerProgram, ways: tuple[Way, Way]) -> Division | None:
    """The layer with the number of rows that is modelled best; `ways[0]` is started first.

    None where that saves no more than `MARGIN` of the layer.
    All is priced as if the image stayed in the inner memory, before and after.
    """
    height = layer.workload.sizes["OY"]
    rows = np.arange(1, height)
    if not all(isinstance(w.module.cost_model(w.workload), SequenceCostModel) for w in ways):
        return None
    taken = (rows, height - rows)
    works = [_work(way, part) for way, part in zip(ways, taken, strict=True)]
    companies = (facet(way.module, Concurrent).beside or Company() for way in ways)
    longest = [_longest(ways, works, both) for both in in_cases(*companies)]
    order = np.argsort(np.max(longest, axis=0), kind="stable")
    counts = (int(rows[at]) for at in order)
    tried = islice((count for count in counts if _aligned(ways[1].workload, count)), TRIED)
    found = (_halves(ways, count, height) for count in tried)
    halves = min((pair for pair in found if pair), key=together, default=None)
    whole = next(way for way in ways if way.module.name == layer.module)
    alone = _alone(whole, whole.workload)
    if halves is None or alone is None:
        return None
    gain = alone[1].cycles - together(halves)
    return None if gain <= MARGIN * alone[1].cycles else Division(step, layer.symbol, halves, gain)


def _longest(
    ways: Sequence[Way], works: Sequence[np.ndarray], companies: Sequence[Company]
) -> np.ndarray:
    """Cycles of the slower half, by how the layer is divided.

    Args:
        ways: both.
        works: cycles of both units, each for itself.
        companies: what they are beside each other.
    """
    one, other = (way.workload for way in ways)
    longer = [c.longer(w) * work for c, w, work in zip(companies, (one, other), works, strict=True)]
    slowed = companies[0].slowed_by(one, other), companies[1].slowed_by(other, one)
    # The controller has been with the first one for about as long as with the other.
    both = np.minimum(*longer)
    return np.maximum(*(work + part * both for work, part in zip(longer, slowed, strict=True)))


def whole_on(way: Way) -> Half | None:
    """All of a layer on one module; None where that does not fit."""
    found = _alone(way, way.workload)
    if found is None:
        return None
    return Half(way, Rows(way.workload, 0, 0), way.constants, way.original, *found)


def _aligned(workload: Workload, first: int) -> bool:
    """Whether rows from `first` on could stay: they begin where tiles may."""
    rows = rows_of(workload, first, workload.sizes["OY"] - first)
    return rows is not None and not rows.read % ALIGNMENT and not rows.written % ALIGNMENT


def _halves(ways: tuple[Way, Way], rows: int, height: int) -> tuple[Half, Half] | None:
    one, two = half_on(ways[0], 0, rows), half_on(ways[1], rows, height - rows)
    return None if one is None or two is None else (one, two)


def half_on(way: Way, first: int, count: int) -> Half | None:
    """Rows of a layer on one module; None where they do not fit, or could not stay.

    They are brought into the module's form again: that of a layer with padding may be another one.
    """
    rows, meant = rows_of(way.workload, first, count), way.original
    if rows is None or rows.read % ALIGNMENT or rows.written % ALIGNMENT:
        return None
    own = convert(way.module, rows.workload, way.constants)
    if isinstance(own, str) or own.error_lsb != 0:
        return None
    rows = replace(rows, workload=own.workload)
    if meant is not None:
        part = rows_of(meant.workload, first, count)
        assert part is not None
        meant = replace(meant, workload=part.workload)
    if all(
        p.refuses(meant.workload if meant else rows.workload)
        for p in way.module.patterns()
        if p.name == way.pattern
    ):
        return None
    found = _alone(way, rows.workload)
    return None if found is None else Half(way, rows, own.constants, meant, *found)


def _alone(way: Way, workload: Workload) -> tuple[LoopMapping, Cost] | None:
    """In one call of the kernel, moving constants itself; None where all does not fit."""
    module, model = way.module, way.module.cost_model(workload)
    unrolled = tuple(module.spatial(workload))
    inner = {dim: 1 for dim, _ in workload.dims}
    for loop in unrolled:
        inner[loop.dim] *= loop.size
    cuts = tuple(Cut(o.name, m.name, 0) for o in workload.operands for m in module.memories[:-1])
    mapping = LoopMapping(unrolled, tuple(between(dict(workload.dims), inner)), 0, cuts)
    try:
        if tile_program(workload, module, mapping) is None:
            return None
    except (InternalError, TargetError):
        return None  # one tile of it is too large
    if not isinstance(model, SequenceCostModel):
        return None
    stays = frozenset(o.name for o in workload.operands if not o.constant)
    return mapping, evaluation_of(workload, module, mapping, stays).cost()


def _work(way: Way, rows: np.ndarray) -> np.ndarray:
    """Cycles in which the unit works on so many rows."""
    model = way.module.cost_model(way.workload)
    assert isinstance(model, SequenceCostModel)
    tile = {dim: np.full(rows.shape, size) for dim, size in way.workload.sizes.items()}
    work, *_ = model.call_bounds(way.workload, tile | {"OY": rows})
    return np.broadcast_to(np.asarray(work, float), rows.shape)


def together(halves: Sequence[Half]) -> float:
    """Cycles of both in the worst case, started in this order."""
    return max(all_beside_cycles(*(half.lane for half in halves)))


def divide(schedule: Schedule, found: Sequence[Division]) -> tuple[Schedule, list[int]]:
    """`schedule` with layers in halves, and the first halves of those that run side by side."""
    by_step = {division.step: division for division in found}
    steps: list[Step] = []
    firsts = []
    tensors, aliases = list(schedule.tensors), list(schedule.aliases)
    constants = {constant.name: constant for constant in schedule.constants}
    for index, step in enumerate(schedule.steps):
        if index not in by_step:
            steps.append(step)
            continue
        firsts.append(len(steps))
        assert step.layer is not None
        for name in step.layer.workload.constants:
            constants.pop(f"{step.layer.symbol}_{name.name}")
        for number, half in enumerate(by_step[index].halves):
            made, views, places, packed = _step(schedule, step, number, half)
            steps.append(made)
            tensors += views
            aliases += places
            constants |= {constant.name: constant for constant in packed}
    changed = replace(
        schedule,
        steps=tuple(steps),
        tensors=tuple(tensors),
        aliases=tuple(aliases),
        constants=tuple(constants.values()),
    )
    return changed, firsts


def _step(
    schedule: Schedule, step: Step, number: int, half: Half
) -> tuple[Step, list[Tensor], list[Alias], list[Constant]]:
    """One half as a step, the tensors that it reads and writes, where they lie, its constants."""
    layer, way, workload = step.layer, half.way, half.rows.workload
    assert layer is not None
    symbol = f"{layer.symbol}{HALVES[number]}"
    packed = packed_constants(workload, way.module, half.mapping, half.constants)
    constants = [Constant(f"{symbol}_{o.name}", packed[o.name]) for o in workload.constants]
    reads, (written,) = step.reads(), step.writes()
    images = [(n, o, half.rows.read) for n, o in zip(reads, workload.inputs, strict=True)]
    tensors, aliases = [], []
    for name, operand, offset in (*images, (written, workload.output, half.rows.written)):
        whole = schedule.tensor(name)
        view = f"{name}_{symbol}"
        tensors.append(replace(whole, name=view, shape=operand.shape))
        aliases.append(Alias(view, name, offset))
    views_of = iter(tensors)
    arguments = (
        *(
            Argument("constant", f"{symbol}_{o.name}", "read")
            if o.constant
            else Argument("tensor", next(views_of).name, "read")
            for o in workload.operands[:-1]
        ),
        Argument("tensor", next(views_of).name, "write"),
    )
    program = LayerProgram(
        symbol,
        way.module.name,
        way.pattern,
        way.module.template(workload),
        workload,
        half.mapping,
        half.cost,
        tuple((name, np.asarray(value)) for name, value in half.constants.items()),
        tiles=tile_program(workload, way.module, half.mapping),
        original=half.original,
    )
    first = half.rows.written * workload.output.shape[1] // workload.output.nbytes
    label = f"{step.label} rows {first} to {first + workload.output.shape[1] - 1}"
    return Step(label, symbol, arguments, program), tensors, aliases, constants
