"""Random legal mappings of a compiled network's layers: predicted and simulated cycles of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from match_aie.compilation import Compilation
from match_aie.hardware import ExecModule, Mapping, TileCostModel
from match_aie.lowering import LayerProgram
from match_aie.lowering.tiles import tile_program
from match_aie.mapping import Evaluation, check
from match_aie.mapping.nest import to_mapping
from match_aie.mapping.pool import Placement
from match_aie.mapping.space import build_space
from match_aie.mapping.tables import Problem, pose
from match_aie.simulation import ScratchpadSimulator
from match_aie.targets.gap9.timing.network import Gap9Timing

#: Mappings that call the kernel more often are not drawn: simulating them takes too long.
MOST_CALLS = 512

#: Draws for a mapping that is wanted, before a layer is taken to have no more.
TRIES = 40


@dataclass(frozen=True)
class Sample:
    """One mapping of a layer: cycles by the cost model, and simulated.

    Neither holds the hand-over from the control core, which a row of layers pays once.
    """

    predicted: float
    simulated: float


@dataclass(frozen=True)
class SampledLayer:
    """A layer's chosen mapping, and random ones."""

    symbol: str
    module: str
    chosen: Sample
    others: tuple[Sample, ...]


def sampled(net: Compilation, count: int, seed: int) -> list[SampledLayer]:
    """`count` different mappings over all layers that have tiles, as evenly as there are any."""
    rng = np.random.default_rng(seed)
    modules = {module.name: module for module in net.target.modules()}
    layers = [layer for layer in net.program.schedule.layers if layer.tiles is not None]
    drawn: dict[str, list[Mapping]] = {layer.symbol: [] for layer in layers}
    sources = {layer.symbol: draw(layer, modules[layer.module], rng) for layer in layers}
    missing = count
    while missing and sources:
        for symbol, source in list(sources.items()):
            mapping = next(source, None)
            if mapping is None:
                del sources[symbol]
            elif missing:
                drawn[symbol].append(mapping)
                missing -= 1
    simulator = net.target.simulator()
    assert isinstance(simulator, ScratchpadSimulator)
    found = []
    for layer in layers:
        module = modules[layer.module]
        both = [sample(layer, module, m, simulator) for m in (layer.mapping, *drawn[layer.symbol])]
        found.append(SampledLayer(layer.symbol, layer.module, both[0], tuple(both[1:])))
    return found


def draw(layer: LayerProgram, module: ExecModule, rng: np.random.Generator) -> Iterator[Mapping]:
    """Different legal mappings within the space of the search, until too few are left."""
    space = build_space(layer.workload, module, layer.mapping.spatial, "ragged")
    model = module.cost_model(layer.workload)
    assert isinstance(model, TileCostModel)
    problem = pose(layer.workload, module, model, space, energy=False)
    seen: set[Mapping] = set()
    tries = 0
    while tries < TRIES:
        tries += 1
        mapping = to_mapping(problem, _placement(problem, rng))
        if mapping in seen or mapping.calls > MOST_CALLS:
            continue
        if not check(layer.workload, module, mapping):
            tries = 0
            seen.add(mapping)
            yield mapping


def _placement(problem: Problem, rng: np.random.Generator) -> Placement:
    """A random chain of tiles: the kernel's, and around it one of each group, in any order."""
    space = problem.space
    kernel = node = int(rng.integers(space.count))
    placed = []
    for at in rng.permutation(len(problem.layout.groups)):
        node = int(rng.choice(np.flatnonzero(space.below[node])))
        placed.append(((0, int(at)), node))
    return Placement(kernel, tuple(sorted(placed)))


def sample(
    layer: LayerProgram, module: ExecModule, mapping: Mapping, simulator: ScratchpadSimulator
) -> Sample:
    """Both prices of one mapping."""
    model = module.cost_model(layer.workload)
    assert isinstance(model, TileCostModel)
    predicted = Evaluation(layer.workload, module, model, mapping).cost().cycles
    tiles = tile_program(layer.workload, module, mapping)
    assert tiles is not None
    near = replace(tiles, near=True)  # as the model takes all lists to be
    alone = simulator.layer(module.name, layer.workload, near)
    return Sample(predicted, alone - Gap9Timing(frequency_hz=1.0).offload)


def rank_correlation(samples: Sequence[Sample]) -> float:
    """Spearman's: Pearson's correlation of ranks, equal values sharing the mean rank."""
    first = _ranks([found.predicted for found in samples])
    second = _ranks([found.simulated for found in samples])
    if len(samples) < 2 or not first.std() or not second.std():
        return float("nan")
    return float(np.corrcoef(first, second)[0, 1])


def _ranks(values: Sequence[float]) -> np.ndarray:
    _, which, counts = np.unique(np.asarray(values), return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[which])
