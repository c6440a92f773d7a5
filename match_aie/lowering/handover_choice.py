"""How a layer may run where some of its operands stay in the inner memory, and at what cost."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace

from match_aie.errors import InternalError, TargetError
from match_aie.hardware import (
    SUMS,
    Cost,
    ExecModule,
    Objective,
    TileCostModel,
    TileProgram,
    measure,
)
from match_aie.hardware import Mapping as LoopMapping
from match_aie.hardware.tiles import Moves
from match_aie.lowering.company import Lane, lane_of
from match_aie.lowering.linked import links
from match_aie.lowering.program import LayerProgram, Schedule
from match_aie.lowering.tiles import tile_program
from match_aie.mapping import Evaluation
from match_aie.workload import Workload

#: Operands that a layer does not move itself, by name.
Held = tuple[tuple[str, Moves], ...]


@dataclass(frozen=True, eq=False)
class Choice:
    """One way to run a layer.

    Attributes:
        mapping: how.
        tiles: its program; operands that stay have no place yet.
        cost: modelled, as if constants loaded ahead were there in time; their energy is in it.
        early: cycles that loading them takes.
        moved: cycles of all other transfers.
        ahead: how many of them there are.
    """

    mapping: LoopMapping
    tiles: TileProgram
    cost: Cost
    early: float
    moved: float
    ahead: int = 0

    @property
    def scratch(self) -> int:
        """Bytes that the kernel needs beside tiles."""
        return self.tiles.scratch_bytes

    @property
    def tiled(self) -> int:
        """Bytes of the tiles that the layer moves itself, and of partial sums behind them."""
        taken = sum(o.copies * o.copy_bytes for o in self.tiles.operands if o.moves == "here")
        return taken + (self.tiles.sums.nbytes if self.tiles.sums is not None else 0)


class Known:
    """What was worked out of layers, for all plans of one network.

    Attributes:
        ways: to run a layer, by it, operands by which it is linked to another one, and those held.
        lanes: a layer as one of two, by it and by which way it runs; None is as it is alone.
    """

    def __init__(self) -> None:
        """Nothing yet."""
        self.ways: dict[tuple[LayerProgram, tuple[str, ...], Held], tuple[Choice, ...]] = {}
        self.lanes: dict[tuple[LayerProgram, Choice | None], Lane] = {}
        self._first: dict[Hashable, LayerProgram] = {}

    def like(self, layer: LayerProgram) -> LayerProgram:
        """The first one of all layers that compute the same in the same way."""
        key = layer.module, layer.workload, layer.mapping, layer.cost, layer.tiles
        return self._first.setdefault(key, layer)


class Choices:
    """What can be chosen for every step of a schedule; each is worked out once."""

    def __init__(
        self,
        schedule: Schedule,
        modules: Mapping[str, ExecModule],
        objective: Objective = "latency",
        known: Known | None = None,
    ) -> None:
        """Works out which steps read what the one beside them makes; keeps the rest.

        Args:
            schedule: the network's calls.
            modules: by name.
            objective: what has to fall.
            known: of other plans of the network.
        """
        self.objective = objective
        self.links = links(schedule)
        self._layers = {i: s.layer for i, s in enumerate(schedule.steps) if s.layer is not None}
        self._modules = modules
        self._packed = {constant.name: constant.value for constant in schedule.constants}
        self._known = Known() if known is None else known
        self._like = {step: self._known.like(layer) for step, layer in self._layers.items()}

    def constants(self, step: int) -> tuple[tuple[str, int], ...]:
        """(operand, bytes as packed) of a layer's constants."""
        layer = self._layers[step]
        return tuple(
            (o.name, self._packed[f"{layer.symbol}_{o.name}"].nbytes)
            for o in layer.workload.constants
        )

    def lane(self, step: int, choice: Choice | None = None) -> Lane:
        """A step as one of two at the same time; as it is alone where nothing is chosen."""
        layer = self._layers[step]
        like = self._like[step]
        known = self._known.lanes.get((like, choice))
        if known is None:
            mapping, cost = (choice or layer).mapping, (choice or layer).cost
            known = lane_of(self._modules[layer.module], layer.workload, mapping, cost)
            self._known.lanes[like, choice] = known
        return known

    def alone(self, step: int) -> Cost:
        """What the layer costs where it moves everything itself."""
        return self._layers[step].cost

    def room(self, steps: Sequence[int], memory: str) -> int | None:
        """Bytes that the layers share; None where one of them has other inner memories."""
        rooms = set()
        for step in steps:
            inner = self._modules[self._layers[step].module].memories[:-1]
            if [m.name for m in inner] != [memory] or inner[0].bytes is None:
                return None
            rooms.add(inner[0].bytes - inner[0].reserved)
        return min(rooms)

    def smallest(self, step: int, held: Held) -> int:
        """Bytes that the way takes that takes the fewest."""
        ways = self._ways(step, held)
        return min((choice.scratch + choice.tiled for choice in ways), default=0)

    def cheapest(self, step: int, held: Held, free: int) -> Choice | None:
        """The cheapest way that takes `free` bytes at most."""
        fitting = [c for c in self._ways(step, held) if c.scratch + c.tiled <= free]
        return min(fitting, key=lambda c: measure(c.cost, self.objective), default=None)

    def _ways(self, step: int, held: Held) -> tuple[Choice, ...]:
        key = self._like[step], self.links.get(step, ()), held
        if key not in self._known.ways:
            self._known.ways[key] = self._make(step, held)
        return self._known.ways[key]

    def _make(self, step: int, held: Held) -> tuple[Choice, ...]:
        layer = self._layers[step]
        assert layer.tiles is not None
        if not {name for name, moves in held if moves == "never"} >= set(self.links.get(step, ())):
            return ()  # tile by tile behind another layer, it reads what never leaves the memory
        if not held:
            evaluation = evaluation_of(
                layer.workload, self._modules[layer.module], layer.mapping, frozenset()
            )
            return (Choice(layer.mapping, layer.tiles, layer.cost, 0.0, evaluation.moved()),)
        module, names = self._modules[layer.module], dict(held)
        ways = [_uncut(layer.mapping, names) if step in self.links else _whole(layer.mapping)]
        if len(names) < len(layer.workload.operands):
            ways.append(_uncut(layer.mapping, names))  # there are transfers to hide
            if step not in self.links:
                ways.append(_needed(ways[-1], layer.workload, names))
        found = []
        for mapping in dict.fromkeys(ways):
            try:
                tiles = self._tiles(layer, module, mapping, names)
            except (InternalError, TargetError):
                continue  # one tile of this layer is too large
            if any(tiles.origin(o) for o in tiles.operands if o.name in names):
                continue  # it begins within what stays
            evaluation = evaluation_of(layer.workload, module, mapping, frozenset(names))
            stays = frozenset(name for name, moves in held if moves == "never")
            moving = evaluation_of(layer.workload, module, mapping, stays)
            late = moving.moved() - evaluation.moved()
            cost = replace(evaluation.cost(), picojoules=moving.picojoules())
            ahead = sum(moves == "ahead" for moves in names.values())
            found.append(Choice(mapping, tiles, cost, late, evaluation.moved(), ahead))
        return tuple(found)

    def _tiles(
        self,
        layer: LayerProgram,
        module: ExecModule,
        mapping: LoopMapping,
        held: Mapping[str, Moves],
    ) -> TileProgram:
        tiles = tile_program(layer.workload, module, mapping, held)
        assert tiles is not None
        return tiles


def _whole(mapping: LoopMapping) -> LoopMapping:
    """Everything in one call of the kernel."""
    return replace(mapping, kernel=0, cuts=tuple(replace(cut, index=0) for cut in mapping.cuts))


def _uncut(mapping: LoopMapping, held: Mapping[str, Moves]) -> LoopMapping:
    """The same loops, and operands in `held` whole."""
    cuts = (replace(cut, index=0) if cut.operand in held else cut for cut in mapping.cuts)
    return replace(mapping, cuts=tuple(cuts))


def _needed(mapping: LoopMapping, workload: Workload, held: Mapping[str, Moves]) -> LoopMapping:
    """The same without loops around the kernel that only choose parts of operands in `held`.

    Tiles were chosen when these had to move, too; what they cut is now in one call.
    """
    moved = [o for o in workload.operands if o.name not in held]
    dims = {dim for operand in moved for axis in operand.axes for dim, _ in axis.terms}
    around = mapping.temporal[: mapping.kernel]
    kept = tuple(loop for loop in around if loop.dim in dims)
    inside = tuple(loop for loop in around if loop.dim not in dims)
    cuts = (
        replace(cut, index=sum(loop.dim in dims for loop in around[: cut.index]))
        for cut in mapping.cuts
    )
    temporal = (*kept, *inside, *mapping.temporal[mapping.kernel :])
    return replace(mapping, temporal=temporal, kernel=len(kept), cuts=tuple(cuts))


def evaluation_of(
    workload: Workload, module: ExecModule, mapping: LoopMapping, held: frozenset[str]
) -> Evaluation:
    """By the module's cost model, on a chip where operands in `held` need no transfer.

    Partial sums stay where they are: without a memory that names them they would be priced as a
    wide output.

    Args:
        workload: the layer.
        module: that runs it in tiles.
        mapping: how.
        held: names of its operands that lie in the inner memory before and after it.

    Raises:
        InternalError: the module has no prices for tiles.
    """
    model = module.cost_model(workload)
    if not isinstance(model, TileCostModel):
        raise InternalError(f"module {module.name} has tiles and no prices for them")
    inner, *outer = module.memories
    names = [o.name for o in workload.operands if o.name not in held]
    if inner.operands is not None and SUMS in inner.operands:
        names.append(SUMS)
    variant = copy(module)
    variant.memories = (replace(inner, operands=tuple(names)), *outer)
    return Evaluation(workload, variant, model, mapping)
