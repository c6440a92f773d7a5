"""Which tensors between layers are stored in 16 bits."""

from dataclasses import replace

import numpy as np
import pytest

from match_aie.fallback.remainder import Call, Remainder
from match_aie.hardware import Cost, Mapping
from match_aie.lowering import Alias, Argument, Join, MappedLayer, Tensor, shorter
from match_aie.targets.gap9.cluster.module import Cluster
from match_aie.workload import FLOAT16, real_dense
from match_aie.workload.short_floats import stored_as


def layer(precision="float16"):
    made = real_dense(rows=2, inputs=4, outputs=4)
    made = replace(made, real=replace(made.real, precision=precision))
    weight = {"weight": np.zeros((4, 4), np.float32)}
    return MappedLayer("", Cluster(floats="fp16"), "", made, weight, Mapping((), ()), Cost(1.0))


def call(callee, read, write):
    return Call(callee, (Argument("tensor", read, "read"), Argument("tensor", write, "write")))


def chain(*calls, aliases=(), joins=(), outputs=("y",)):
    names = dict.fromkeys(a.name for c in calls for a in c.arguments)
    tensors = tuple(Tensor(name, "float32", (2, 4)) for name in names)
    return Remainder(("x",), outputs, tensors, (), aliases, calls, (), joins)


TWO = (call("a", "x", "t"), call("b", "t", "y"))


def found(remainder, **others):
    layers = {"a": layer(), "b": layer(), "c": layer(), **others}
    rest, changed = shorter(remainder, layers)
    types = {tensor.name: tensor.dtype for tensor in rest.tensors if tensor.dtype != "float32"}
    operands = {
        key: [o.name for o in workload.operands if o.dtype != "float32"]
        for key, workload in changed.items()
    }
    return types, operands


def test_between_two_layers():
    assert found(chain(*TWO)) == ({"t": "float16"}, {"a": ["y"], "b": ["x"]})


def test_a_view_is_stored_as_what_it_is_a_view_of():
    calls = (call("a", "x", "t"), call("b", "v", "y"))
    types, operands = found(chain(*calls, aliases=(Alias("v", "t"),)))
    assert types == {"t": "float16", "v": "float16"}
    assert operands == {"a": ["y"], "b": ["x"]}


@pytest.mark.parametrize(
    "remainder",
    [
        chain(*TWO, outputs=("t", "y")),
        chain(*TWO, call("copy", "t", "z")),
        chain(*TWO, joins=(Join("", 8, 0, ("t",)),)),
        chain(*TWO, aliases=(Alias("t", "whole", 32),)),
        chain(call("a", "x", "t"), call("plain", "t", "y")),
    ],
    ids=["a result", "the core", "a concatenation", "a part", "another type"],
)
def test_what_others_touch_stays(remainder):
    assert found(remainder, plain=layer("float32")) == ({}, {})


def test_only_float32_becomes_shorter():
    plain = chain(*TWO)
    wide = tuple(replace(tensor, dtype="float64") for tensor in plain.tensors)
    rest, changed = shorter(replace(plain, tensors=wide), {"a": layer(), "b": layer()})
    assert {tensor.dtype for tensor in rest.tensors} == {"float64"}
    assert not changed


def test_operands_of_a_layer():
    made = stored_as(layer().workload, {"x": FLOAT16.dtype})
    assert [o.dtype for o in made.operands] == ["float16", "float32", "float32"]
