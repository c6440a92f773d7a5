"""What the array runs of a network's calls, as its simulator takes it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from match_aie.hardware import ChosenLayer, SimulatedStep
from match_aie.targets.aie_ml.graph.join import Joined
from match_aie.targets.aie_ml.graph.layer import zeros_of
from match_aie.targets.aie_ml.graph.plan import LayerGraph
from match_aie.targets.aie_ml.simulate import Part, Stretch
from match_aie.targets.versal.chained import Chain, sharing
from match_aie.targets.versal.phases import updated_bytes


def layers_of(steps: Sequence[SimulatedStep], module: str) -> list[ChosenLayer]:
    """Layers of a module among a network's calls, their numbers apart.

    Args:
        steps: the network's calls.
        module: its name.
    """
    found = []
    for at, step in enumerate(steps):
        if step.module == module and step.workload and step.mapping:
            zeros = zeros_of(step.workload)
            what = (f"layer{at}", step.label, step.module, step.workload, step.mapping)
            found.append(ChosenLayer(*what, zeros, replace(step.flow, step=at)))
    return found


def stretches_of(
    layers: Sequence[ChosenLayer],
    graphs: Sequence[LayerGraph],
    found: Sequence[tuple[Chain, Joined | None]],
) -> list[Stretch]:
    """A stretch for each chain.

    Args:
        layers: on the array, whose steps are numbers of the network's calls.
        graphs: of each of them.
        found: their chains, and the graphs of those of several layers.
    """
    shared = sharing(chain for chain, _ in found)
    made = []
    for chain, whole in found:
        held = whole.held if whole is not None else {}
        parts = tuple(
            Part(
                layers[at].flow.step,
                tuple(k.buffer for of in chain.reads(number).values() for k in held[of]),
                tuple(kept.buffer for kept in held.get(number, ())),
            )
            for number, at in enumerate(chain.layers)
        )
        graph = graphs[chain.first if chain.host is None else chain.host]
        graph = graph if whole is None else whole.graph
        again = updated_bytes(graph) if chain.first in shared else 0
        made.append(Stretch(graph, chain.column, parts, again))
    return made
