"""Layers in bands of rows: the same results, and images that fit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from match_aie import frontend
from match_aie.errors import TargetError
from match_aie.hardware import ExecModule, Graph, MatchTarget, Rewrites, split_rows
from match_aie.hardware.bands import regions
from match_aie.hardware.written import Occupied
from match_aie.partition import to_graph, transformed
from match_aie.testing.case import Case, network
from match_aie.testing.graph import GraphBuilder, Value
from match_aie.testing.zoo import NO_PADS, UINT8, Conv, between, depthwise


class Chip(MatchTarget, Rewrites):
    """Nothing but passes."""

    def __init__(self, *passes: Any) -> None:
        self.passes = passes

    def modules(self) -> list[ExecModule]:
        return []


def pooled(graph: GraphBuilder, x: Value, operator: str, **how: object) -> Value:
    """A window of 3x3 with padding of 1."""
    shape = {"kernel_shape": (3, 3), "strides": (2, 2), "pads": (1, 1, 1, 1)}
    real = graph.node(operator, [graph.real(x)], **shape, **how)
    size = tuple((n - 1) // 2 + 1 for n in x.shape[2:])
    return graph.store(real, x, (*x.shape[:2], *size), x.spread)


def block(graph: GraphBuilder, x: Value) -> Value:
    """An image with what a convolution of it is, added."""
    real = graph.node("Add", [graph.real(Conv(x, x.shape[1]).on(graph, x)), graph.real(x)])
    return graph.store(graph.node("Relu", [real]), x, x.shape, x.spread)


def joined(graph: GraphBuilder, x: Value) -> Value:
    """Two convolutions side by side in one image."""
    parts = [Conv(x, 8).on(graph, x), Conv(x, 8, (1, 1), pads=NO_PADS).on(graph, x)]
    real = graph.node("Concat", [graph.real(part) for part in parts], axis=1)
    return graph.store(real, x, (1, 16, *x.shape[2:]), parts[0].spread)


LAYERS = {
    "3x3": lambda graph, x: Conv(x, 8, relu=True).on(graph, x),
    "3x3 apart": lambda graph, x: Conv(x, 4, dilations=(2, 2), pads=(2, 2, 2, 2)).on(graph, x),
    "3x3 by 2": lambda graph, x: Conv(x, 8, strides=(2, 2), pads=(0, 0, 1, 1)).on(graph, x),
    "5x5": lambda graph, x: Conv(x, 4, (5, 5), pads=(2, 2, 2, 2), per_channel=True).on(graph, x),
    "1x1": lambda graph, x: Conv(x, 24, (1, 1), pads=NO_PADS).on(graph, x),
    "depthwise": lambda graph, x: depthwise(x).on(graph, x),
    "maximum": lambda graph, x: pooled(graph, x, "MaxPool"),
    "average": lambda graph, x: pooled(graph, x, "AveragePool"),
    "average, padded": lambda graph, x: pooled(graph, x, "AveragePool", count_include_pad=1),
    "block": block,
    "joined": joined,
}


def chain(names: tuple[str, ...], rows: int = 16, columns: int = 16) -> onnx.ModelProto:
    """Layers one after the other, of an image of 4 channels."""

    def build(graph: GraphBuilder) -> Value:
        x = graph.input(replace(UINT8, shape=(1, 4, rows, columns)))
        for name in names:
            x = LAYERS[name](graph, x)
        return x

    return network([Case("chain", build, single=False)])


def canonical(model: onnx.ModelProto) -> Any:
    return frontend.normalize(frontend.load(model))


def fullest(graph: Graph) -> int:
    """Bytes at the fullest place."""
    occupied = Occupied(graph)
    return max(occupied.taken(place) for place in range(len(occupied.written)))


@settings(max_examples=12, deadline=None)
@given(
    st.lists(st.sampled_from(sorted(LAYERS)), min_size=2, max_size=4).map(tuple),
    st.integers(13, 24),
    st.integers(55, 99),
)
def test_bands_give_the_same_and_fit(names: tuple[str, ...], rows: int, percent: int) -> None:
    """`transformed` holds results to those before, bit for bit."""
    model = canonical(chain(names, rows))
    room = fullest(to_graph(model)) * percent // 100
    after = transformed(model, Chip(split_rows(room)))
    assert after is model or fullest(to_graph(after)) <= room


@pytest.mark.parametrize("name", sorted(LAYERS))
def test_each_layer_may_be_in_bands(name: str) -> None:
    """Between a layer that makes its image larger and one that makes it small again."""
    model = canonical(chain(("1x1", name, "3x3 by 2")))
    before = to_graph(model)
    most = fullest(before)
    after = to_graph(transformed(model, Chip(split_rows(most - 100))))
    assert fullest(after) <= most - 100
    bands = [n for n in after.nodes if " rows " in n.label and n.operator == "nn.conv2d"]
    assert len(bands) >= 2
    label = bands[0].label.split()[0]
    rows = [after.values[n.output].shape[1] for n in bands if n.label.split()[0] == label]
    whole = next(n for n in before.nodes if n.label == label and n.operator == "nn.conv2d")
    # What bands share is computed again: borders of the filters behind them, no more.
    assert 0 <= sum(rows) - before.values[whole.output].shape[1] < 8 * len(rows)


def test_the_fewest_bands_that_fit_and_their_names() -> None:
    model = canonical(chain(("1x1", "3x3 by 2")))
    graph = to_graph(model)
    counts = []
    for room in range(9500, 6000, -500):
        (region,) = regions(Occupied(graph), room)
        counts.append(region.count)
        assert region.fits(room)
        assert region.count == 2 or not replace(region, count=region.count - 1).fits(room)
    assert counts == sorted(counts)
    assert counts[0] == 2 < counts[-1]
    after = to_graph(transformed(model, Chip(split_rows(9500))))
    labels = [n.label.split(" ", 1)[1] for n in after.nodes if n.operator == "nn.conv2d"]
    assert labels == ["rows 0 to 8", "rows 0 to 3", "rows 8 to 15", "rows 4 to 7"]


def test_what_fits_stays_and_so_does_what_no_bands_make_fit() -> None:
    model = canonical(chain(("1x1", "3x3 by 2")))
    assert transformed(model, Chip(split_rows(fullest(to_graph(model))))) is model
    assert transformed(model, Chip(split_rows(600))) is model  # input and result alone take more
    with pytest.raises(TargetError, match="positive"):
        split_rows(0)


def test_constants_with_rows_are_in_no_bands() -> None:
    model = canonical(network([Case("between", between, single=False)]))
    room = fullest(to_graph(model)) - 100
    assert transformed(model, Chip(split_rows(room))) is model
