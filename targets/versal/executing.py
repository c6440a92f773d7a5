"""A network's layers on the array, executed with real data and compared with their references."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from match_aie.errors import Infeasible, InfeasibleError, MismatchError
from match_aie.hardware import ChosenLayer
from match_aie.targets.aie_ml.array.check import check
from match_aie.targets.aie_ml.array.layout import lay_out
from match_aie.targets.aie_ml.array.program import ArrayProgram
from match_aie.targets.aie_ml.execute import execute
from match_aie.targets.aie_ml.graph.join import Joined
from match_aie.targets.aie_ml.graph.plan import LayerGraph, Outside
from match_aie.targets.aie_ml.known import device as known
from match_aie.targets.aie_ml.vendor.golden import drawn, in_turns, tensors
from match_aie.targets.versal.chained import Chain, given
from match_aie.targets.versal.chains import chains, joined
from match_aie.targets.versal.module import plan_of
from match_aie.targets.versal.wishes import NO_WISHES, Wish
from match_aie.workload import Workload

Arrays = Mapping[str, np.ndarray]

__all__ = ["drawn", "prove", "stretches", "wide_weights"]


@dataclass(frozen=True, eq=False)
class CalledProgram:
    """What the array runs at one call.

    Attributes:
        label: of its first layer.
        program: on the array.
        tensors: by the names of the ways in.
        results: each way out, with the tensor that it carries all or a part of.
    """

    label: str
    program: ArrayProgram
    tensors: Arrays
    results: tuple[tuple[Outside, np.ndarray], ...]


def stretches(
    layers: Sequence[ChosenLayer],
    device: str,
    rng: np.random.Generator,
    *,
    handover: bool = True,
    wishes: Mapping[str, Wish] = NO_WISHES,
) -> Iterator[CalledProgram]:
    """Programs of a network's layers on the array, as it is emitted, with their tensors.

    What layers read of each other is what references make; all else is random.

    Args:
        layers: of the array, in execution order.
        device: its name.
        rng: where numbers come from.
        handover: whether layers in a row hand over in memory tiles.
        wishes: of users, by label.

    Raises:
        InfeasibleError: a graph does not fit the array.
        InternalError: a program breaks a rule.
    """
    graphs = [
        plan_of(la.workload, device, la.mapping).graph(la.symbol, la.workload, la.constants)
        for la in layers
    ]
    facts = tuple(given(layer, wishes) for layer in layers)
    taken, made = tensors(layers, rng)
    for chain in chains(facts, device, whole=handover):
        alone = len(chain.layers) == 1
        whole = None if alone else joined("network", chain, graphs, facts, device)
        graph = graphs[chain.first] if whole is None else whole.graph
        program = lay_out(graph, known(device), chain.column)
        label = layers[chain.first].label
        if isinstance(program, Infeasible):
            raise InfeasibleError(program, where=label)
        check(program, known(device))
        owners = [0] * len(graph.outputs) if whole is None else whole.outputs
        results = tuple(
            (way, made[chain.layers[of]]) for way, of in zip(graph.outputs, owners, strict=True)
        )
        read = _inputs(graph, chain, whole, taken, layers[chain.first].workload)
        yield CalledProgram(label, program, read, results)


def wide_weights(a: str, w: str, shape: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    """Weights [outputs, inputs]: small where 32-bit activations of `drawn` are large.

    Sums of up to 900 products of such pairs, and a bias below 2**24, fit 32 bits.
    """
    large = (2**18 if w == "int32" else 2**15 - 1) if a == "int32" else 2**6
    return in_turns(rng, shape, 8, large).astype(w)


def _inputs(
    graph: LayerGraph,
    chain: Chain,
    whole: Joined | None,
    taken: Sequence[Arrays],
    workload: Workload,
) -> Arrays:
    """Tensors by the names of a graph's ways in."""
    found = {}
    names = [operand.name for operand in workload.inputs]
    for at, way in enumerate(graph.inputs):
        if whole is not None:
            of, operand = whole.inputs[at]
            found[way.name] = taken[chain.layers[of]][operand]
        elif way.values is None:
            held = way.part or way.blocks
            operand = held.operand if held is not None else names[min(at, len(names) - 1)]
            found[way.name] = taken[chain.first][operand]
    return found


def prove(
    layers: Sequence[ChosenLayer],
    device: str,
    rng: np.random.Generator,
    *,
    handover: bool = True,
    wishes: Mapping[str, Wish] = NO_WISHES,
) -> int:
    """Execute all programs of a network's layers; how many results equal their references.

    Args:
        layers: of the array, in execution order.
        device: its name.
        rng: where numbers come from.
        handover: whether layers in a row hand over in memory tiles.
        wishes: of users, by label.

    Raises:
        MismatchError: one does not.
        ExecutionError: a program cannot be executed.
    """
    count = 0
    for stretch in stretches(layers, device, rng, handover=handover, wishes=wishes):
        done = execute(stretch.program, known(device), stretch.tensors)
        built: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        for way, wanted in stretch.results:
            got, _ = built.setdefault(id(wanted), (np.zeros_like(wanted), wanted))
            held, carried = way.part or way.blocks, done.outputs[way.name]
            if held is None:
                got.reshape(-1)[...] = carried
            else:
                held.paste(carried, got)
        for got, wanted in built.values():
            wrong = int(np.count_nonzero(got != wanted))
            if wrong:
                what = f"{wrong} of {wanted.size} elements of an executed program differ"
                raise MismatchError(what, where=stretch.label)
        count += len(built)
    return count
