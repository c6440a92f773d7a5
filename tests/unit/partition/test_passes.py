"""Passes of a target: what they may change, and that they change no result."""

from dataclasses import dataclass, replace
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx.reference import ReferenceEvaluator

from match_aie import frontend
from match_aie.errors import TargetError
from match_aie.hardware import (
    ExecModule,
    Graph,
    MatchTarget,
    Node,
    Rewrites,
    Value,
    pad_channels,
    split_channels,
)
from match_aie.partition import to_graph, transformed
from match_aie.partition.meaning import evaluate
from match_aie.testing.case import Case, network
from match_aie.testing.zoo import INT8, ZOO, Conv, residual


class Chip(MatchTarget, Rewrites):
    """Nothing but passes."""

    def __init__(self, *passes: Any) -> None:
        self.passes = passes

    def modules(self) -> list[ExecModule]:
        return []


def chain(
    channels: tuple[int, ...], *, per_channel: bool = False, side: int = 4
) -> onnx.ModelProto:
    """Convolutions one after the other; every other one has an activation."""

    def build(graph: Any) -> Any:
        x = graph.input(replace(INT8, shape=(1, channels[0], 4, 4)))
        for at, outputs in enumerate(channels[1:]):
            x = Conv(INT8, outputs, per_channel=per_channel, relu=at % 2 == 0).on(graph, x)
        return x

    return network([Case("chain", build, single=False)])


def canonical(model: onnx.ModelProto) -> Any:
    return frontend.normalize(frontend.load(model))


def convolved(graph: Graph) -> list[int]:
    """Input channels of all convolutions."""
    return [
        graph.values[node.inputs()[0]].shape[-1]
        for node in graph.nodes
        if node.operator == "nn.conv2d"
    ]


@settings(max_examples=4, deadline=None)
@given(
    st.lists(st.sampled_from((1, 3, 10, 16, 24, 40)), min_size=2, max_size=4).map(tuple),
    st.booleans(),
)
def test_channels_are_padded_and_results_stay(channels: tuple[int, ...], per_channel: bool) -> None:
    model = canonical(chain(channels, per_channel=per_channel))
    padded = to_graph(transformed(model, Chip(pad_channels(16))))
    assert all(size % 16 == 0 for size in convolved(padded))
    assert padded.values[padded.outputs[0]].shape == (1, channels[-1], 4, 4)
    # Only the network's own input is padded by an operator: the others come out wider.
    pads = [node.operator for node in padded.nodes].count("nn.pad")
    assert pads == (channels[0] % 16 > 0)


def test_what_others_read_too_is_padded_by_an_operator() -> None:
    model = canonical(network([Case("block", residual, single=False)]))
    before = to_graph(model)
    padded = to_graph(transformed(model, Chip(pad_channels(24))))
    assert set(convolved(before)) == {16}
    assert set(convolved(padded)) == {24}
    assert [node.operator for node in padded.nodes].count("nn.pad") >= 1


def test_nothing_to_do_leaves_the_model_as_it_is() -> None:
    model = canonical(chain((16, 32)))
    assert transformed(model, Chip(pad_channels(16))) is model


def weights(graph: Graph) -> list[int]:
    """Bytes of the weights of all products."""
    return [
        prod(graph.values[node.inputs()[1]].shape)
        for node in graph.nodes
        if node.operator in ("nn.conv2d", "matmul")
    ]


@settings(max_examples=6, deadline=None)
@given(
    channels=st.lists(st.integers(1, 100), min_size=2, max_size=4).map(tuple),
    room=st.integers(1500, 20_000),
    per_channel=st.booleans(),
)
def test_layers_beyond_a_memory_are_parts(
    channels: tuple[int, ...], room: int, per_channel: bool
) -> None:
    """`transformed` holds results to those before; a part fits with its images."""
    model = canonical(chain(channels, per_channel=per_channel))
    after = to_graph(transformed(model, Chip(split_channels(room))))
    assert sum(weights(after)) == sum(weights(to_graph(model)))
    ports = 16 * (channels[0] + channels[-1])
    images = iter([node for node in after.nodes if node.operator == "nn.conv2d"])
    for inputs, outputs in pairwise(channels):
        left, made, most = room - ports - 16 * (inputs + outputs), 0, 0
        each = next(images)
        taps = prod(after.values[each.inputs()[1]].shape[:-1])
        while True:
            made += after.values[each.output].shape[-1]
            most = max(most, after.values[each.output].shape[-1])
            if made == outputs:
                break
            each = next(images)
        assert most * (taps + 8) <= left or (most == outputs and taps + 8 > left)


@pytest.mark.parametrize("room", [61_000, 70_000])
def test_a_part_has_whole_blocks_and_its_name(room: int) -> None:
    model = canonical(chain((16, 96, 96)))
    after = to_graph(transformed(model, Chip(split_channels(room))))
    made = [n for n in after.nodes if n.operator == "nn.conv2d"]
    assert len(made) > 2
    for node in made:
        assert " channels " in node.label or after.values[node.output].shape[-1] == 96
        assert after.values[node.output].shape[-1] % 32 == 0


def test_layers_that_fit_stay_and_no_memory_is_refused() -> None:
    model = canonical(chain((3, 5)))
    assert transformed(model, Chip(split_channels(10_000))) is model
    with pytest.raises(TargetError, match="positive"):
        split_channels(0)


def test_evaluation_is_what_onnx_means() -> None:
    proto = chain((3, 5, 4), per_channel=True)
    x = np.random.default_rng(1).integers(-128, 128, (1, 3, 4, 4)).astype(np.int8)
    (name,) = (port.name for port in proto.graph.input)
    (wanted,) = ReferenceEvaluator(proto).run(None, {name: x})
    found = evaluate(to_graph(canonical(proto)), {"in0": x})
    assert found.read == {}
    assert np.abs(found.results[0].astype(int) - wanted).max() <= 1


@dataclass(frozen=True)
class Wrong:
    """A pass that does something else."""

    change: Any
    name: str = "wrong"

    def __call__(self, graph: Graph) -> Graph:
        return self.change(graph)


def with_node(graph: Graph, at: int, **changes: Any) -> Graph:
    nodes = list(graph.nodes)
    nodes[at] = replace(nodes[at], **changes)
    return replace(graph, nodes=tuple(nodes))


def convolving(graph: Graph, *data: Any) -> Graph:
    """The first convolution reads `data` instead; it has one argument less where none is given."""
    at = next(i for i, node in enumerate(graph.nodes) if node.operator == "nn.conv2d")
    return with_node(graph, at, arguments=(*data, *graph.nodes[at].arguments[1:]))


def with_constant(graph: Graph) -> Graph:
    """The first weight with another value."""
    at, node = next(
        (at, node)
        for at, node in enumerate(graph.nodes)
        if node.operator == "dequantize" and graph.values[node.inputs()[0]].constant is not None
    )
    value = graph.values[node.inputs()[0]]
    assert value.constant is not None
    fresh = Value("other", value.dtype, value.shape, value.constant ^ 1)
    changed = with_node(graph, at, arguments=("other", *node.arguments[1:]))
    return replace(changed, values={**graph.values, "other": fresh})


def with_softmax(graph: Graph) -> Graph:
    first = graph.nodes[0]
    added = Node(0, "nn.softmax", (first.inputs()[0],), {}, "added")
    values = {**graph.values, "added": graph.values[first.inputs()[0]]}
    used = replace(first, arguments=("added",))
    return Graph((added, used, *graph.nodes[1:]), values, graph.outputs)


MISTAKES = {
    "another constant": (with_constant, "pass wrong changes what the network computes"),
    "no graph": (lambda graph: None, "pass wrong gives NoneType, not a Graph"),
    "an exception": (lambda graph: graph.nodes[999], "pass wrong failed: IndexError"),
    "other results": (lambda g: replace(g, outputs=()), "gives a network with other results"),
    "another operator": (
        lambda graph: with_node(graph, 0, operator="nn.relu"),
        "pass wrong makes t0 another operator: nn.relu",
    ),
    "an operator that no pass may add": (with_softmax, "pass wrong adds nn.softmax"),
    "a tensor that is nowhere": (
        lambda graph: convolving(graph, "nowhere"),
        "pass wrong gives a graph that is no network: KeyError: 'nowhere'",
    ),
    "a tensor that is made later": (
        lambda graph: convolving(graph, graph.nodes[-1].output),
        "pass wrong gives a graph that is no network: KeyError",
    ),
    "a number": (
        lambda graph: convolving(graph, 3),
        "pass wrong gives 3 for an argument, not a value's name",
    ),
    "an argument too few": (
        lambda graph: convolving(graph),
        "pass wrong gives a graph that is no network: ValueError",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_wrong_pass_has_a_name(mistake: str) -> None:
    change, said = MISTAKES[mistake]
    with pytest.raises(TargetError) as raised:
        transformed(canonical(chain((3, 5))), Chip(Wrong(change)))
    assert said in raised.value.what


@pytest.mark.parametrize(
    ("passes", "said"),
    [
        (pad_channels(16), "not a tuple"),
        (None, "not a tuple"),
        ((pad_channels,), "which is no pass"),
        (("pad_channels",), "which is no pass"),
    ],
)
def test_passes_that_are_none(passes: Any, said: str) -> None:
    chip = Chip()
    chip.passes = passes
    with pytest.raises(TargetError, match=said):
        transformed(canonical(chain((3, 5))), chip)


@dataclass(frozen=True)
class Turning:
    """Turns the last operand of the concatenation, and turns it back."""

    name: str = "turning"

    def __call__(self, graph: Graph) -> Graph:
        at = next(i for i, node in enumerate(graph.nodes) if node.operator == "concat")
        node, values = graph.nodes[at], dict(graph.values)
        (*others, tensor), added = node.inputs(), []
        for name in ("there", "back"):
            shape = values[tensor].shape[:2] + values[tensor].shape[:1:-1]
            values[name] = Value(name, values[tensor].dtype, shape)
            how = {"axes": (0, 1, 3, 2)}
            added.append(Node(0, "permute_dims", (tensor,), how, name, node.label))
            tensor = name
        changed = replace(node, arguments=((*others, tensor), *node.arguments[1:]))
        nodes = (*graph.nodes[:at], *added, changed, *graph.nodes[at + 1 :])
        numbered = tuple(replace(each, index=index) for index, each in enumerate(nodes))
        return Graph(numbered, values, graph.outputs)


def test_operands_of_a_concatenation_may_change() -> None:
    cases = {case.name: case for case in ZOO}
    name = next(name for name in cases if name.startswith("concat"))
    model = canonical(network([cases[name]]))
    turned = to_graph(transformed(model, Chip(Turning())))
    assert [node.operator for node in turned.nodes].count("permute_dims") >= 2


def test_a_multiple_that_is_none() -> None:
    with pytest.raises(TargetError, match="positive"):
        pad_channels(0)
