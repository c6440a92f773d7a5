"""A layer tile by tile behind the layer, on another unit, that makes what it reads.

Both are in tiles of rows and run side by side: while the one makes a tile, the other works on the
rows that are there: a sum of two images on the rows of the tile before, a convolution on those that
its windows see. What is made never leaves the inner memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

from match_aie.errors import InternalError, TargetError
from match_aie.hardware import Cut, ExecModule, SequenceCostModel, TileProgram, activations
from match_aie.hardware import Mapping as LoopMapping
from match_aie.hardware.move import unit
from match_aie.lowering.company import MARGIN, all_trailing_cycles
from match_aie.lowering.division import Half, Way, whole_on
from match_aie.lowering.handover_choice import evaluation_of
from match_aie.lowering.linked import read_of
from match_aie.lowering.moving import on_way
from match_aie.lowering.program import LayerProgram, Schedule, Step
from match_aie.lowering.tiles import tile_program
from match_aie.lowering.turns import needs_of
from match_aie.mapping.nest import between
from match_aie.workload.rows import Rows, has_rows

#: Tiles that both layers are tried in.
TILES = (2, 3, 4, 6)


@dataclass(frozen=True, eq=False)
class Trailing:
    """Step `step` and the one behind it, each in tiles of rows; `gain` is modelled.

    `pair` are their functions.
    """

    step: int
    pair: tuple[str, str]
    halves: tuple[Half, Half]
    gain: float

    @property
    def steps(self) -> frozenset[int]:
        """Both layers' indices."""
        return frozenset((self.step, self.step + 1))


@dataclass(frozen=True, eq=False)
class _Layer:
    """A step that may be in tiles of rows, and all of it in one call of its kernel."""

    layer: LayerProgram
    way: Way
    whole: Half

    @property
    def rows(self) -> int:
        return self.layer.workload.sizes["OY"]


def trailings(schedule: Schedule, modules: Mapping[str, ExecModule]) -> list[Trailing]:
    """The best tiles of all two layers that are modelled faster so, by themselves."""
    found = []
    for step in range(len(schedule.steps) - 1):
        best = max(_of_step(schedule, modules, step), key=lambda one: one.gain, default=None)
        if best is not None:
            found.append(best)
    return found


def trail(schedule: Schedule, found: Sequence[Trailing]) -> Schedule:
    """`schedule` with these layers in their tiles."""
    steps = list(schedule.steps)
    constants = {constant.name: constant for constant in schedule.constants}
    for one in found:
        for at, half in enumerate(one.halves, one.step):
            steps[at], packed = on_way(steps[at], half)
            constants |= {constant.name: constant for constant in packed}
    return replace(schedule, steps=tuple(steps), constants=tuple(constants.values()))


def _of_step(
    schedule: Schedule, modules: Mapping[str, ExecModule], step: int
) -> Iterator[Trailing]:
    """Ways in which the step after step `step` trails it."""
    steps = schedule.steps[step : step + 2]
    names, units = read_of(*steps), [_unit(at, modules) for at in steps]
    if not names or None in units or units[0] == units[1]:
        return
    made, behind = (_in_rows(schedule, modules, at) for at in (step, step + 1))
    if made is None or behind is None:
        return
    alone = made.whole.cost.cycles + behind.whole.cost.cycles
    pair = made.layer.symbol, behind.layer.symbol
    for one, other in product(_all_tiles(made), _all_tiles(behind)):
        needs = needs_of(one[1], other[1], names)
        lanes = one[0].lane, other[0].lane
        gain = alone - max(all_trailing_cycles(*lanes, needs)) if needs else 0.0
        if gain > MARGIN * alone:
            yield Trailing(step, pair, (one[0], other[0]), gain)


def _unit(step: Step, modules: Mapping[str, ExecModule]) -> str | None:
    """Which unit runs a step; None where that runs beside no other."""
    module = modules.get(step.layer.module) if step.layer else None
    return unit(module) if module else None


def _in_rows(schedule: Schedule, modules: Mapping[str, ExecModule], step: int) -> _Layer | None:
    """The step, if it is a layer of images whose rows can be tiles."""
    layer = schedule.steps[step].layer
    if layer is None or layer.pinned or layer.module not in modules:
        return None
    if layer.workload.run_time or activations(layer.workload, modules[layer.module]):
        return None  # sizes that a run gives, or an order that rows do not keep
    module = modules[layer.module]
    if not has_rows(layer.workload):
        return None
    if not isinstance(module.cost_model(layer.workload), SequenceCostModel):
        return None
    way = Way(module, layer.pattern, layer.workload, dict(layer.constants), layer.original)
    whole = whole_on(way)
    return None if whole is None else _Layer(layer, way, whole)


def _all_tiles(layer: _Layer) -> list[tuple[Half, TileProgram]]:
    """Ways to have a layer in tiles of rows."""
    found = (_in_tiles(layer, rows) for rows in sorted({_rows(layer, n) for n in TILES}))
    return [way for way in found if way is not None]


def _rows(layer: _Layer, tiles: int) -> int:
    """Rows of so many tiles, whole ones of what the unit does at a time."""
    unrolled = layer.way.module.spatial(layer.way.workload)
    each = next((loop.size for loop in unrolled if loop.dim == "OY"), 1)
    units = -(-layer.rows // each)
    return min(layer.rows, -(-units // tiles) * each)


def _in_tiles(layer: _Layer, rows: int) -> tuple[Half, TileProgram] | None:
    """A layer in tiles of so many rows; None where these do not begin where tiles may, or fit."""
    workload, module = layer.way.workload, layer.way.module
    images = (*workload.inputs, workload.output)
    aligned = max(memory.alignment for memory in module.memories[:-1])
    if rows == layer.rows or any(i.nbytes // i.shape[1] % aligned for i in images):
        return None
    unrolled, whole = tuple(module.spatial(workload)), dict(workload.dims)
    inner = dict.fromkeys(whole, 1)
    for loop in unrolled:
        inner[loop.dim] *= loop.size
    tile = whole | {"OY": rows}
    cuts = tuple(
        Cut(o.name, m.name, int(o in images))
        for o in workload.operands
        for m in module.memories[:-1]
    )
    loops = (*between(whole, tile), *between(tile, inner))
    mapping = LoopMapping(unrolled, loops, 1, cuts)
    try:
        tiles = tile_program(workload, module, mapping)
    except (InternalError, TargetError):
        return None  # one tile of it is too large
    if tiles is None:
        return None
    stays = frozenset(image.name for image in images)
    cost = evaluation_of(workload, module, mapping, stays).cost()
    whole_of = Rows(workload, 0, 0)
    half = Half(layer.way, whole_of, layer.way.constants, layer.way.original, mapping, cost)
    return half, tiles
