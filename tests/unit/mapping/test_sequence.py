"""Layers priced call after call: the calls are those of the emitted walk, the search is exact."""

from dataclasses import dataclass
from functools import cache
from itertools import product

import numpy as np
import pytest

from match_aie.cost_models.walked import WalkedTransfers
from match_aie.hardware import Repeat, SequenceCostModel, measure
from match_aie.lowering import tiles
from match_aie.mapping import Evaluation, SearchOptions, overfull, search
from match_aie.mapping.exact import Exact
from match_aie.mapping.nest import to_mapping
from match_aie.mapping.pool import Placement, Pool, Scorer
from match_aie.mapping.sequence import Nest, Prices, sequence_cycles
from match_aie.mapping.space import build_space
from match_aie.mapping.tables import pose
from match_aie.targets.gap9.cluster.module import Cluster
from match_aie.targets.gap9.ne16.module import Ne16
from match_aie.workload import Quantized, Tail, Window, conv2d, with_fixed_tail
from tests.thinned import thinned
from tests.unit.mapping.machines import Machine
from tests.unit.targets.gap9_layers import conv, depthwise, linear

SAME, HALVED = Window(padding=(1, 1, 1, 1)), Window((2, 2), padding=(0, 0, 1, 1))


def accelerated(rows, columns, inputs, outputs, *, filter_=3, stride=1, groups=1, zero=0):
    """A convolution in NE16's arithmetic."""
    pad = filter_ // 2
    layer = conv2d(
        Quantized("uint8", 0.1, zero), Quantized("uint8", 0.1),
        shape=(1, rows, columns, inputs),
        weight_shape=(outputs, filter_, filter_, inputs // groups), groups=groups,
        window=Window((stride, stride), (1, 1), (pad, pad, pad, pad)),
    )  # fmt: skip
    tail = Tail(0, 0, 255, "floor", 20)
    return with_fixed_tail(layer, tail, multiplier=outputs, offset=outputs, bias=False)


class Blocks(WalkedTransfers):
    """Kernels of 4 by 4 channels, on a controller that takes a while."""

    layer, visit, start, program, wait = 50.0, 20.0, 15.0, 10.0, 4.0

    def kernel_cycles(self, workload, tile):
        channels = -(-tile["K"] // 4) * -(-tile["C"] // 4)
        others = [size for dim, size in tile.items() if dim not in "KC"]
        return np.asarray(self.start + channels * np.prod(np.broadcast_arrays(*others), axis=0))


class Walked(Machine):
    """Sums of a part of the inputs wait in the only scratchpad."""

    def __init__(self, nbytes):
        super().__init__((nbytes,), reductions=("C",), align=16, sums=True)

    def cost_model(self, workload):
        return Blocks()


#: Layer and module; the L1 is so small that most do not fit whole.
CASES = {
    "cluster, padded": (conv(5, 2, 8, 8, (3, 3), SAME), Cluster(2600)),
    "cluster, depthwise": (depthwise(7, 2, 8), Cluster(1250)),
    "cluster, halved": (conv(8, 4, 3, 8, (3, 3), HALVED), Cluster(1100)),
    "cluster, dense": (linear(1, 40, 36), Cluster(1500)),
    "ne16, 3x3": (accelerated(10, 3, 8, 40), Ne16(14_000)),
    "ne16, stride 2": (accelerated(12, 6, 8, 16, stride=2), Ne16(6_500)),
    "ne16, 1x1": (accelerated(9, 3, 32, 64, filter_=1), Ne16(5_000)),
    "ne16, depthwise": (accelerated(9, 6, 32, 32, groups=32), Ne16(3_000)),
    "ne16, bordered": (accelerated(10, 6, 3, 16, zero=7), Ne16(6_000)),
    "walked, sums of 3x3": (conv(2, 1, 4, 4, (3, 3), SAME), Walked(330)),
    "walked, sums": (linear(1, 8, 6), Walked(260)),
}


def posed(name):
    workload, module = CASES[name]
    model = module.cost_model(workload)
    spatial = tuple(module.spatial(workload))
    space = build_space(workload, module, spatial, "ragged")
    return pose(workload, module, model, space, energy=False)


def placements(problem):
    """All chains of tiles."""
    space, groups = problem.space, range(len(problem.layout.groups))
    nodes = range(space.count)
    for kernel in nodes:
        around = [n for n in nodes if space.below[kernel, n]]
        for chosen in product(around, repeat=len(groups)):
            pairs = product(chosen, repeat=2)
            if all(space.below[a, b] or space.below[b, a] for a, b in pairs):
                yield Placement(kernel, tuple(((0, at), n) for at, n in enumerate(chosen)))


@cache
def legal(name):
    """All mappings that fit, by kernel tile."""
    problem = posed(name)
    workload, module = CASES[name]
    found = {}
    for placement in placements(problem):
        mapping = to_mapping(problem, placement)
        if mapping in found or not sums_stay(workload, module, mapping):
            continue
        if not overfull(workload, module, problem.model, mapping):
            found[mapping] = placement.kernel
    return found


def sums_stay(workload, module, mapping):
    """Whether no loop over a reduction is outside of the output's tile: no module stores sums."""
    place = module.memories[0].name
    outside = mapping.temporal[: mapping.cut(workload.output.name, place)]
    return not any(loop.dim in workload.reductions for loop in outside)


@cache
def best_by_kernel(name):
    """Cycles of the best mapping of every kernel tile, ascending."""
    workload, module = CASES[name]
    prices, found = Prices(workload, module, module.cost_model(workload)), {}
    for mapping, kernel in legal(name).items():
        cycles = sequence_cycles(prices, mapping)
        found[kernel] = min(found.get(kernel, cycles), cycles)
    return sorted(found.values())


@dataclass(frozen=True)
class Recorded:
    """A model that says what it was asked for."""

    of: SequenceCostModel

    def __getattr__(self, name):
        return getattr(self.of, name)

    def call_price(self, workload, ranges):
        return tuple(length for _, length in ranges.values())

    def transfer_price(self, workload, block, outer, inner, direction):
        return block.operand.name, int(block.nbytes), int(block.chunks), int(block.planes)


def unrolled(items):
    for item in items:
        if isinstance(item, Repeat):
            for _ in range(item.times):
                yield from unrolled(item.body)
        else:
            yield item


def moved(region):
    """As `Recorded` says it."""
    line, counts = region.lines
    planes = int(np.prod(counts[1:])) if counts else 1
    return region.operand.name, region.nbytes, region.nbytes // line, planes


@pytest.mark.parametrize("name", thinned(CASES, 3, 0))
def test_calls_are_those_of_the_walk(name, monkeypatch):
    """Of constants as the workload has them: what packing adds to a transfer is not priced."""
    monkeypatch.setattr(tiles, "packings", lambda *_: {})
    problem, rng = posed(name), np.random.default_rng(3)
    workload, module = CASES[name]
    prices = Prices(workload, module, Recorded(problem.model))
    every = list(legal(name))
    for at in rng.permutation(len(every))[:25]:
        mapping = every[at]
        calls = list(unrolled(Nest(prices, mapping).calls()))
        visits = list(tiles.tile_program(workload, module, mapping).visits())
        assert [c.opens for c in calls] == [v.opens for v in visits]
        assert [c.work for c in calls] == [tuple(n for _, n in v.ranges.values()) for v in visits]
        assert [c.loads for c in calls] == [
            tuple(moved(r) for r in v.loads if r.nbytes) for v in visits
        ]
        assert [c.store for c in calls] == [moved(v.output) for v in visits]


@pytest.mark.parametrize("name", thinned(CASES, 3, 1))
def test_no_mapping_is_better(name):
    """Brute force over all chains of tiles."""
    workload, module = CASES[name]
    assert len(legal(name)) > 5
    best = best_by_kernel(name)[0]
    for engine in ("exact", "loma"):
        found = search(workload, module, SearchOptions(engine, runners_up=0))
        assert found[0].cost.cycles == pytest.approx(best, rel=1e-9)
    assert search(workload, module, SearchOptions("exact"))[0].bound == pytest.approx(best)


@pytest.mark.parametrize("objective", ["energy", "edp"])
@pytest.mark.parametrize(
    "name",
    [pytest.param("cluster, halved", marks=pytest.mark.slow), "ne16, 1x1", "ne16, bordered"],
)
def test_no_mapping_takes_less_energy(name, objective):
    """Brute force: picojoules, and their product with the cycles of the whole layer."""
    workload, module = CASES[name]
    model = module.cost_model(workload)
    costs = [Evaluation(workload, module, model, mapping).cost() for mapping in legal(name)]
    best = min(measure(cost, objective) for cost in costs)
    found = search(workload, module, SearchOptions("exact", objective=objective, runners_up=0))
    assert measure(found[0].cost, objective) == pytest.approx(best, rel=1e-9)
    assert len({round(cost.picojoules) for cost in costs}) > 5


@pytest.mark.parametrize("name", thinned(CASES, 3, 2))
def test_bounds_are_not_above_the_price(name):
    """Everything the search looks at, the pruning switched off."""
    problem = posed(name)
    exact = Exact(problem, Scorer(problem.model))
    seen = []

    class Every(Pool):
        def promising(self, value, tie):
            seen.append(value)
            return True

        def offer(self, value, tie, placement):
            assert seen[-1] <= value * (1 + 1e-9), placement

        @property
        def limit(self):
            return float("inf"), float("inf")

    exact.solve(Every(narrow=True))
    assert len(seen) > 10


@pytest.mark.parametrize("name", ["ne16, 1x1", "cluster, depthwise"])
def test_runners_up_are_proven_too(name):
    found = search(*CASES[name], SearchOptions("exact", runners_up=3))
    expected = best_by_kernel(name)[:4]
    assert [f.cost.cycles for f in found] == pytest.approx(expected, rel=1e-9)
