"""A network's graphs on the array as configurations of it: which there are, and who needs which."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from match_aie.hardware import ChosenLayer, Cost, Flow
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.graph.join import Joined
from match_aie.targets.aie_ml.graph.layer import zeros_of
from match_aie.targets.aie_ml.graph.overlay_nest import is_overlay_nest
from match_aie.targets.aie_ml.graph.plan import LayerGraph
from match_aie.targets.aie_ml.known import device as known
from match_aie.targets.versal.chained import Chain, Given
from match_aie.targets.versal.chains import chains, joined
from match_aie.targets.versal.module import plan_of
from match_aie.targets.xdna.direct import direct
from match_aie.targets.xdna.mlir.dialect import dialect_of
from match_aie.targets.xdna.one_text import Member, Task, configurations_of

#: Chains of a network's layers, and the graphs of those of several.
Chained = Sequence[tuple[Chain, Joined | None]]


def members_of(
    network: str,
    layers: Sequence[ChosenLayer],
    graphs: Sequence[LayerGraph],
    found: Chained,
    array: Device,
) -> tuple[Member, ...]:
    """A network's graphs, each in columns of its own; layers of an overlay together.

    Args:
        network: C identifier.
        layers: on the array, in execution order.
        graphs: of each of them.
        found: their chains.
        array: the device.
    """
    members: dict[str, Member] = {}
    for chain, whole in found:
        first = layers[chain.first]
        parts = [(layers[at].symbol, layers[at].workload) for at in chain.layers]
        told = is_overlay_nest(first.mapping)
        if told:  # functions of all of them have one name
            name, task = f"{network}_overlay", first.symbol
            plan = plan_of(first.workload, array.name, first.mapping)
            graph = plan.graph(name, first.workload, first.constants)
        else:
            graph = graphs[chain.first] if whole is None else whole.graph
            name = task = graph.name
        one = Task(task, direct(graph, whole, array), whole, parts)
        before = members[name].tasks if name in members else ()
        members[name] = Member(name, chain.column, (*before, one), told)
    return tuple(members.values())


def needed(layers: tuple[Given, ...], device: str, dialect: str, *, whole: bool) -> tuple[int, ...]:
    """Number of the configuration that each chain of a network needs, in execution order.

    Args:
        layers: on the array, in execution order.
        device: its name.
        dialect: version of the text, by name.
        whole: whether layers in a row are joined.

    Raises:
        InfeasibleError: as `chains`.
    """
    bare = tuple(Given(layer.workload, layer.mapping, Flow()) for layer in layers)
    return _needed(bare, chains(layers, device, whole=whole), device, dialect)


#: Layers are asked for as selected, as placed and as simulated, which are other steps each time.
@lru_cache(maxsize=64)
def _needed(
    layers: tuple[Given, ...], found: tuple[Chain, ...], device: str, dialect: str
) -> tuple[int, ...]:
    chosen = [
        ChosenLayer(f"layer{at}", "", "array", la.workload, la.mapping, zeros_of(la.workload))
        for at, la in enumerate(layers)
    ]
    graphs = [
        plan_of(la.workload, device, la.mapping).graph(la.symbol, la.workload, la.constants)
        for la in chosen
    ]
    chained = []
    for at, chain in enumerate(found):
        several = len(chain.layers) > 1
        name = f"chain{at}"
        chained.append((chain, joined(name, chain, graphs, layers, device) if several else None))
    array = known(device)
    # Of an overlay one layer: whether others have a text was seen when it was chosen.
    members = [
        replace(one, tasks=one.tasks[:1])
        for one in members_of("network", chosen, graphs, chained, array)
    ]
    number = {
        some.name: at
        for at, (those, _) in enumerate(configurations_of(members, array, dialect_of(dialect)))
        for some in those
    }
    told = next((number[one.name] for one in members if one.told), 0)
    return tuple(
        number.get(chosen[chain.first].symbol if joint is None else joint.graph.name, told)
        for chain, joint in chained
    )


def switches(numbers: Sequence[int]) -> tuple[bool, ...]:
    """Whether the array is configured anew before each of a run's calls.

    Runs follow each other, so the first call comes behind the last one of the run before. The
    first configuration of a process is none of a run.

    Args:
        numbers: of the configuration that each call needs, in execution order.
    """
    return tuple(one != numbers[at - 1] for at, one in enumerate(numbers))


def _numbered(
    layers: tuple[Given, ...], array: Device, dialect: str, *, whole: bool
) -> tuple[tuple[Chain, int], ...]:
    """Graphs of the array in execution order, each with the configuration that it needs."""
    found = chains(layers, array.name, whole=whole)
    return tuple(zip(found, needed(layers, array.name, dialect, whole=whole), strict=True))


def switched(layers: tuple[Given, ...], array: Device, dialect: str, *, whole: bool) -> list[int]:
    """Numbers of layers before which the array is configured anew.

    Args:
        layers: on the array, in execution order.
        array: the device.
        dialect: version of the text, by name.
        whole: whether layers in a row are joined.

    Raises:
        InfeasibleError: as `chains`.
    """
    found = _numbered(layers, array, dialect, whole=whole)
    anew = switches([number for _, number in found])
    return [chain.first for (chain, _), each in zip(found, anew, strict=True) if each]


def by_layer(
    layers: tuple[Given, ...], array: Device, dialect: str, *, whole: bool
) -> tuple[int, ...]:
    """Number of the configuration that each layer needs.

    Args:
        layers: on the array, in execution order.
        array: the device.
        dialect: version of the text, by name.
        whole: whether layers in a row are joined.

    Raises:
        InfeasibleError: as `chains`.
    """
    found = _numbered(layers, array, dialect, whole=whole)
    return tuple(number for chain, number in found for _ in chain.layers)


def configuring_cycles(array: Device) -> float:
    """Cycles of the array's clock that it takes to configure the array anew.

    Raises:
        TargetError: the device's facts do not say.
    """
    milliseconds = array.need(array.reconfiguration_ms, "the time of configuring the array")
    return milliseconds * 1e6 * array.clock_ghz


def configured_anew(cost: Cost, array: Device) -> Cost:
    """A layer's cost behind a configuration of the array, which is the processor's to wait for."""
    more = configuring_cycles(array)
    return replace(cost, cycles=cost.cycles + more, parts=(*cost.parts, ("configuring", more)))
