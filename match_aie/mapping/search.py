"""Which mappings a module has for a workload, best first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from match_aie.errors import Infeasible, OptionError, TargetError
from match_aie.hardware import (
    Cost,
    CostModel,
    ExecModule,
    Loop,
    Mapping,
    Objective,
    OnArray,
    TileCostModel,
    Tiled,
    facet,
    measure,
)
from match_aie.mapping.evaluate import Evaluation
from match_aie.mapping.exact import Exact
from match_aie.mapping.nest import between, to_mapping
from match_aie.mapping.options import SearchOptions
from match_aie.mapping.pareto import SAME, descend, refuse_memory
from match_aie.mapping.pool import Placement, Pool, Scorer
from match_aie.mapping.space import build_space
from match_aie.mapping.tables import Problem, legal_kernels, pose
from match_aie.workload import Workload


@dataclass(frozen=True)
class MappedCost:
    """A mapping and what the module's cost model says of it.

    Attributes:
        mapping: how the layer runs.
        cost: modelled.
        bound: no mapping in the space searched has a smaller value of the objective (cycles,
            picojoules, or their product); None where the engine proves nothing. On a Pareto
            front: no mapping that takes as few bytes.
        nbytes: on a Pareto front, bytes taken of the memory that it is about; else None.
    """

    mapping: Mapping
    cost: Cost
    bound: float | None = None
    nbytes: int | None = None


def search(
    workload: Workload, module: ExecModule, options: SearchOptions = SearchOptions()
) -> list[MappedCost] | Infeasible:
    """Mappings of `workload` on `module`, best first; never an empty list.

    Returns:
        The best mapping that the engine finds and up to `options.runners_up` others, or why
        none fits: the operands the home memory, or the smallest tiles an inner one. With
        `options.pareto`, or where the module asks for it (`Tiled.pareto`), one mapping for
        every point of the front, best (and largest) first.

    Raises:
        OptionError: the memory to trade is not an inner memory of the module, or the objective
            needs energy and the module states none.
        TargetError: the module has inner memories and a cost model that cannot price tiles.
    """
    wanted = facet(module, Tiled).pareto
    if wanted is not None and options.pareto is None:
        options = replace(options, engine="exact", tolerance=0.0, pareto=wanted)
    if options.pareto is not None:
        refuse_memory(module, options.pareto)
    reason = _overflow(workload, module)
    if reason is not None:
        return reason
    found = _search(workload, module, options)
    refuse_without_energy(found, module, options.objective)
    return found


def refuse_without_energy(
    found: Sequence[MappedCost] | Infeasible, module: ExecModule, objective: Objective
) -> None:
    """Raise where mappings were to be compared by energy and their costs have none.

    Raises:
        OptionError: so it is.
    """
    if objective == "latency" or isinstance(found, Infeasible):
        return
    if all(row.cost.picojoules for row in found):
        return
    raise OptionError(
        f"the objective {objective!r} needs energy, and module {module.name!r} states none: "
        "its memories and its cost model give no picojoules",
        where=f"module {module.name}",
        hint="objective 'latency'; or give the module's memories picojoules_per_byte, or its cost "
        "model kernel_energy and transfer_energy",
    )


def _search(
    workload: Workload, module: ExecModule, options: SearchOptions
) -> list[MappedCost] | Infeasible:
    """The module's mappings by the way that its memories ask for."""
    model = module.cost_model(workload)
    if len(module.memories) < 2:
        return _untiled(workload, module, model, options.objective)
    if not isinstance(model, TileCostModel):
        raise TargetError(
            f"module {module.name!r} has {len(module.memories)} memories, but its cost model "
            f"{type(model).__name__} cannot price tiles",
            hint="see `TileCostModel` in match_aie/hardware/cost.py for the methods it needs",
        )
    return _tiled(workload, module, model, options)


def _tiled(
    workload: Workload, module: ExecModule, model: TileCostModel, options: SearchOptions
) -> list[MappedCost] | Infeasible:
    """Search with the module's unrolling, and where nothing fits with ever smaller tiles."""
    problem = None
    for spatial in unrollings(tuple(module.spatial(workload))):
        space = build_space(workload, module, spatial, options.tiles)
        problem = pose(workload, module, model, space, options.objective != "latency")
        if options.pareto is not None:
            front = _front(problem, options, options.pareto)
            if front:
                return front
            continue
        pool = run_engine(problem, options)
        if pool.found:
            bound = pool.bound if options.engine == "exact" else None
            return [priced(problem, placement, bound) for _, _, placement in pool.ranked()]
    assert problem is not None
    return _too_large(problem)


def refusal(workload: Workload, module: ExecModule, options: SearchOptions) -> Infeasible | None:
    """What `search` answers if nothing fits, without a search.

    Returns:
        What the operands lack of the home memory, or else the smallest tiles of an inner one; None
        where only the cost model of a module with a single memory can say.
    """
    reason = _overflow(workload, module)
    model = module.cost_model(workload)
    if reason is not None or len(module.memories) < 2 or not isinstance(model, TileCostModel):
        return reason
    *_, smallest = unrollings(tuple(module.spatial(workload)))
    space = build_space(workload, module, smallest, options.tiles)
    return _too_large(pose(workload, module, model, space, options.objective != "latency"))


def run_engine(problem: Problem, options: SearchOptions) -> Pool:
    """The placements that the engine named in `options` finds."""
    scorer = Scorer(problem.model, options.objective)
    pool = Pool(keep=options.runners_up + 1, tolerance=options.tolerance)
    exact = Exact(problem, scorer)
    if options.engine == "exact":
        exact.solve(pool)
        return pool
    from match_aie.mapping import loma

    return loma.run(exact, options)


def _front(problem: Problem, options: SearchOptions, memory: str) -> list[MappedCost]:
    """The mappings that no other beats in both the objective and the bytes of `memory`."""

    def used(placement: Placement) -> int:
        evaluation = Evaluation(
            problem.workload, problem.module, problem.model, to_mapping(problem, placement)
        )
        return sum(use.nbytes for use in evaluation.uses() if use.memory == memory)

    front: list[MappedCost] = []
    exact = Exact(problem, Scorer(problem.model, options.objective))
    for placement, bound in descend(exact, memory, used):
        point = replace(priced(problem, placement, bound), nbytes=used(placement))
        now = measure(point.cost, options.objective)
        if front and measure(front[-1].cost, options.objective) >= now * (1 - SAME):
            front.pop()  # as good with fewer bytes
        front.append(point)
    return front


def priced(problem: Problem, placement: Placement, bound: float | None) -> MappedCost:
    """The mapping of a placement, priced tile by tile."""
    mapping = to_mapping(problem, placement)
    cost = Evaluation(problem.workload, problem.module, problem.model, mapping).cost()
    return MappedCost(mapping, cost, bound)


def unrollings(spatial: tuple[Loop, ...]) -> Iterator[tuple[Loop, ...]]:
    """The hardware's unrolling, then with the largest factor halved until nothing is unrolled.

    Tiles are multiples of the unrolling; where even the smallest do not fit, smaller ones may,
    that leave lanes idle.
    """
    while True:
        yield spatial
        largest = max((loop.size for loop in spatial), default=1)
        if largest == 1:
            return
        at = next(i for i, loop in enumerate(spatial) if loop.size == largest)
        halved = Loop(spatial[at].dim, largest // 2, spatial[at].step)
        spatial = (*islice(spatial, at), halved, *islice(spatial, at + 1, None))


def _untiled(
    workload: Workload,
    module: ExecModule,
    model: CostModel | TileCostModel,
    objective: Objective,
) -> list[MappedCost] | Infeasible:
    """The module's unrollings, best first; or why the last of them does not fit."""
    found: list[MappedCost] = []
    refused: Infeasible | None = None
    for mapping in offered(workload, module):
        if not isinstance(model, CostModel):
            cost = Evaluation(workload, module, model, mapping).cost()
        else:
            answer = model.cost(workload, mapping)
            if isinstance(answer, Infeasible):
                refused = answer
                continue
            cost = answer
        found.append(MappedCost(mapping, cost))
    if not found:
        assert refused is not None, f"module {module.name} has no unrolling"
        return refused
    return sorted(found, key=lambda row: measure(row.cost, objective))


def offered(workload: Workload, module: ExecModule) -> Sequence[Mapping]:
    """What a module with a single memory offers: nests, or unrollings in one call."""
    array = facet(module, OnArray)
    unrollings = array.unrollings(workload) or (module.spatial(workload),)
    return array.nests(workload) or [untiled(workload, tuple(loops)) for loops in unrollings]


def untiled(workload: Workload, spatial: tuple[Loop, ...]) -> Mapping:
    """Everything in one call of the kernel: spatial loops, then what they leave, in order."""
    unroll = {dim: 1 for dim, _ in workload.dims}
    for loop in spatial:
        unroll[loop.dim] *= loop.size
    return Mapping(spatial, tuple(between(dict(workload.dims), unroll)))


def _overflow(workload: Workload, module: ExecModule) -> Infeasible | None:
    """Why the operands do not fit the home memory, if they do not."""
    if not module.memories or module.memories[-1].bytes is None:
        return None
    home = module.memories[-1]
    free = module.memories[-1].bytes - home.reserved
    demand = sum(operand.nbytes for operand in workload.operands)
    if demand <= free:
        return None
    users = [(o.name, float(o.nbytes)) for o in workload.operands]
    return _infeasible(home.name, demand, free, users, workload)


def _too_large(problem: Problem) -> Infeasible:
    """Why not even the smallest tiles fit: the memory that lacks most, or that none is legal."""
    if not legal_kernels(problem).any():
        allowed = f"tiles that {type(problem.module).__name__}.constrain() allows"
        return Infeasible(
            resource=allowed,
            demand=1.0,
            bound=0.0,
            unit="tiles",
            levers=("a constraint that leaves some tile", "run the layer on another module"),
        )
    layout, tiers = problem.layout, range(len(problem.layout.tiers))
    nodes = tuple(((t, at), 0) for t in tiers for at in range(len(layout.groups)))
    mapping = to_mapping(problem, Placement(0, nodes))
    uses = Evaluation(problem.workload, problem.module, problem.model, mapping).uses()
    wanted: dict[str, list[tuple[str, float]]] = {}
    for use in uses:
        wanted.setdefault(use.memory, []).append((use.user, float(use.nbytes)))
    sizes = {m.name: m.bytes for m in problem.module.memories if m.bytes is not None}
    totals = {name: sum(n for _, n in users) for name, users in wanted.items() if name in sizes}
    worst = max(totals, key=lambda name: totals[name] / sizes[name])
    return _infeasible(worst, totals[worst], sizes[worst], wanted[worst], problem.workload)


def _infeasible(
    memory: str,
    demand: float,
    bound: float,
    users: Sequence[tuple[str, float]],
    workload: Workload,
) -> Infeasible:
    levers = [f"a larger {memory}", "run the layer on another module"]
    if workload.sizes["B"] > 1:
        levers.insert(0, f"a smaller batch (it is {workload.sizes['B']})")
    largest = sorted((user for user in users if user[1]), key=lambda user: -user[1])
    return Infeasible(
        resource=memory,
        demand=demand,
        bound=bound,
        unit="bytes",
        levers=(*levers, "split the layer in the model"),
        breakdown=tuple(largest),
    )
