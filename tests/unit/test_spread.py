"""How far evaluations of a case of several layers may be apart: proven, and no further."""

import numpy as np
import pytest
from onnx import numpy_helper
from onnx.reference import ReferenceEvaluator

from match_aie.testing import ZOO
from match_aie.testing.case import network
from match_aie.testing.spread import spread_of

SEVERAL = {case.name: case for case in ZOO if not case.single}


def inputs(model, seed):
    rng = np.random.default_rng(seed)
    found = {}
    for port in model.graph.input:
        info = np.iinfo(np.int8 if port.type.tensor_type.elem_type == 3 else np.uint8)
        shape = [dim.dim_value for dim in port.type.tensor_type.shape.dim]
        found[port.name] = rng.integers(info.min, info.max + 1, shape).astype(info.dtype)
    return found


def evaluated(model, feeds, steps=0.0, seed=1):
    """The model's output, where everything stored is up to `steps` off before it is rounded."""
    rng = np.random.default_rng(seed)
    known = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer} | dict(feeds)
    moving = set(feeds)
    for node in model.graph.node:
        operands = {name: known[name] for name in node.input}
        if moving.intersection(node.input):
            moving.add(node.output[0])
            if node.op_type == "QuantizeLinear":
                x, scale = (known[name] for name in node.input[:2])
                operands[node.input[0]] = x + scale * rng.choice(
                    np.float32([-steps, steps]), x.shape
                )
        (known[node.output[0]],) = ReferenceEvaluator(node).run(None, operands)
    return known[model.graph.output[0].name].astype(np.int64)


@pytest.mark.parametrize("name", SEVERAL)
@pytest.mark.parametrize(("extra", "steps"), [(0, 1e-4), (1, 0.99)])
def test_whatever_rounding_does_stays_within_the_bound(name, extra, steps):
    model = network([SEVERAL[name]])
    feeds = inputs(model, 0)
    bound = spread_of(model, feeds, extra)
    exact = evaluated(model, feeds)
    gaps = [np.abs(evaluated(model, feeds, steps, seed) - exact) for seed in range(3)]
    assert all((gap <= bound).all() for gap in gaps)
    assert max(gap.max() for gap in gaps) >= extra
    assert bound.max() < 300


def test_a_residual_that_vanishes_is_further_away_than_the_bound():
    model = network([SEVERAL["residual block int8"]])
    feeds = inputs(model, 0)
    bound = spread_of(model, feeds, 0)
    exact = evaluated(model, feeds)
    (add,) = [node for node in model.graph.node if node.op_type == "Add"]
    graph = model.graph
    for node in [node for node in graph.node if add.output[0] in node.input]:
        node.input[list(node.input).index(add.output[0])] = add.input[0]
    graph.node.remove(add)
    lost = evaluated(model, feeds)
    assert np.abs(lost - exact).max() > bound.max()


def test_an_operator_without_a_rule_has_no_bound():
    model = network([SEVERAL["residual block int8"]])
    feeds = inputs(model, 0)
    *_, last = (node for node in model.graph.node if node.op_type == "Relu")
    last.op_type = "Neg"
    assert spread_of(model, feeds, 0) is None
