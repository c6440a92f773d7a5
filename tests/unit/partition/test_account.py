"""Nothing of a match vanishes: what a kind does not compute makes the candidate refuse."""

import numpy as np
import pytest

from match_aie.hardware import Any, Const, Op
from match_aie.hardware.graph import Graph
from match_aie.partition.candidates import candidates_of
from tests.plain_graphs import Builder
from tests.unit.partition.test_partition import Module, Pattern, dq

#: Of every tensor; square, so that operands in wrong places still have shapes that fit.
SIDE = 4
CONSTANTS = {
    "weight": np.arange(16, dtype=np.int8).reshape(SIDE, SIDE),
    "bias": np.arange(SIDE, dtype=np.int32),
    "other": np.arange(SIDE, dtype=np.int32),
    "root": np.float32(2**0.5),
    "one": np.float32(1),
    "half": np.float32(0.5),
    "divisor": np.float32(8),
}


class Realised(Builder):
    """A graph that is exactly what a structure says: int8 tensors, or float32 ones."""

    def __init__(self, structure, dtype):
        super().__init__()
        self.real, self.given, self.done = dtype == "float32", {}, {}
        self.dtype = dtype
        self.result = self.make(structure)

    def make(self, wanted, scale=0.5):
        if isinstance(wanted, Any):
            if wanted.name not in self.given:
                self.given[wanted.name] = self.input(wanted.name, (SIDE, SIDE), self.dtype)
            return self.given[wanted.name]
        if isinstance(wanted, Const):
            value = CONSTANTS[wanted.name]
            return self.constant(value.astype(np.float32) if self.real else value)
        if wanted not in self.done:
            self.done[wanted] = self.operator(wanted, scale)
        return self.done[wanted]

    def operator(self, wanted, scale):
        name = wanted.operator
        if name == "dequantize":
            (inner,) = wanted.inputs
            bias = isinstance(inner, Const) and CONSTANTS[inner.name].dtype == np.int32
            return self.dequantize(self.make(inner), 0.25 if bias else scale)
        inputs = [self.make(inner) for inner in wanted.inputs]
        if name == "quantize":
            return self.quantize(inputs[0])
        dtype = self.values[inputs[0]].dtype
        bounds = (0.0, 6.0) if name == "clip" else ()
        more = {"permute_dims": {"axes": (1, 0)}, "nn.softmax": {"axis": -1}}.get(name, {})
        return self.op(name, *inputs, *bounds, shape=(SIDE, SIDE), dtype=dtype, **more)


def candidate(structure, kind, dtype="int8"):
    made = Realised(structure, dtype)
    graph = Graph(tuple(made.nodes), dict(made.values), (made.result,))
    (found,) = candidates_of(graph, Module(), Pattern("p", kind, structure))
    return found


def q(inner):
    return Op("quantize", inner)


X, R = Any("x"), Any("residual")
PRODUCT = Op("matmul", dq(X), dq(Const("weight")))
BIASED = Op("add", PRODUCT, dq(Const("bias")))
REAL = Op("matmul", X, Const("weight"))
REAL_BIASED = Op("add", REAL, Const("bias"))


def erf_sum(v):
    return Op("add", Op("erf", Op("divide", v, Const("root"))), Const("one"))


def gelu(v):
    return Op("multiply", Op("multiply", v, erf_sum(v)), Const("half"))


QUANTISED = {
    "a sum by another name": ("dense", q(Op("add", dq(q(BIASED)), dq(Any("x1")))), "add"),
    "a relu in a sum": ("dense", q(Op("nn.relu", Op("add", dq(q(BIASED)), dq(R)))), "no sum"),
    "a residual before the quantize": ("dense", q(Op("add", BIASED, dq(R))), "add"),
    "a constant added twice": ("dense", q(Op("add", BIASED, dq(Const("other")))), "add"),
    "a relu of real numbers": ("dense", q(Op("nn.relu", BIASED)), "nn.relu"),
    "a clip of real numbers": ("dense", q(Op("clip", BIASED)), "clip"),
    "two clips": ("dense", Op("clip", Op("clip", q(BIASED))), "clip"),
    "a second requantisation": ("dense", q(dq(q(BIASED))), "dequantize"),
    "a turned result": ("dense", q(Op("permute_dims", BIASED)), "permute_dims"),
    "a layer before it": (
        "dense",
        q(Op("matmul", dq(q(Op("nn.relu", dq(X)))), dq(Const("weight")))),
        "nn.relu",
    ),
    "a quantize of something computed": ("quantize", q(Op("nn.relu", dq(X))), "nn.relu"),
    "something behind a dequantize": ("dequantize", Op("nn.relu", dq(X)), "nn.relu"),
    "a softmax of a relu": ("softmax", q(Op("nn.softmax", Op("nn.relu", dq(X)))), "stands where"),
    "an add of three": ("add", q(Op("add", Op("add", dq(X), dq(R)), dq(Any("x1")))), "stands"),
    "an add and a relu": ("add", q(Op("nn.relu", Op("add", dq(X), dq(Any("x1"))))), "nn.relu"),
}

REAL_ONES = {
    "an activation before the residual": ("dense", Op("add", Op("nn.relu", REAL_BIASED), R)),
    "two activations": ("dense", Op("tanh", Op("nn.relu", REAL))),
    "a bias behind the activation": ("dense", Op("add", Op("tanh", REAL), Const("bias"))),
    "a bias behind the residual": ("dense", Op("add", Op("add", REAL, R), Const("bias"))),
    "a bias across a transpose": (
        "dense",
        Op("add", Op("permute_dims", REAL), Const("bias")),
    ),
    "a bias under another name": ("dense", Op("add", REAL, Const("other"))),
    "a residual under another name": ("dense", Op("add", REAL, Any("x1"))),
    "a gelu of which a factor is missing": (
        "dense",
        Op("multiply", erf_sum(REAL), Const("half")),
    ),
    "an activation behind a product": ("matmul", Op("nn.relu", Op("matmul", X, Any("x1")))),
    "a quotient upside down": ("matmul", Op("divide", Const("divisor"), Op("matmul", X, R))),
    "a scaled input": ("matmul", Op("matmul", Op("divide", X, Const("divisor")), Any("x1"))),
    "a softmax of a relu": ("softmax", Op("nn.softmax", Op("nn.relu", X))),
}


@pytest.mark.parametrize("case", QUANTISED, ids=str)
def test_what_a_quantised_kind_does_not_compute_is_refused(case):
    kind, structure, said = QUANTISED[case]
    found = candidate(structure, kind)
    assert found.layer is None
    assert said in found.refusal


@pytest.mark.parametrize("case", REAL_ONES, ids=str)
def test_what_a_real_kind_does_not_compute_is_refused(case):
    kind, structure = REAL_ONES[case]
    found = candidate(structure, kind, "float32")
    assert found.layer is None
    assert "does not" in found.refusal or "would read" in found.refusal


def test_the_sentence_names_the_operators_and_the_kind():
    kind, structure, _ = QUANTISED["a sum by another name"]
    assert candidate(structure, kind).refusal == (
        "a layer of kind dense does not compute the add, dequantize, quantize that were matched too"
    )


@pytest.mark.parametrize(
    ("kind", "structure", "dtype"),
    [
        ("dense", Op("clip", q(BIASED)), "int8"),
        ("dense", q(PRODUCT), "int8"),
        ("add", q(Op("add", dq(X), dq(X))), "int8"),
        ("softmax", q(Op("nn.softmax", dq(X))), "int8"),
        ("dense", Op("nn.relu", Op("add", REAL_BIASED, R)), "float32"),
        ("dense", Op("add", Op("permute_dims", REAL_BIASED), R), "float32"),
        ("dense", gelu(REAL_BIASED), "float32"),
        ("dense", Op("multiply", REAL, Op("sigmoid", REAL)), "float32"),
        ("matmul", Op("permute_dims", Op("matmul", X, Any("x1"))), "float32"),
        ("matmul", Op("divide", Op("matmul", X, Any("x1")), Const("divisor")), "float32"),
    ],
)
def test_what_a_kind_computes_is_taken(kind, structure, dtype):
    found = candidate(structure, kind, dtype)
    assert found.refusal == ""
    assert len(found.layer.inputs) == len(found.layer.workload.inputs)


def test_the_fields_of_a_real_tail_are_read_where_they_stand():
    layer = candidate(Op("nn.relu", Op("add", REAL_BIASED, R)), "dense", "float32").layer
    assert layer.inputs == ("x", "residual")
    assert layer.workload.real.activation == "relu"
    assert "bias" in layer.constants
    assert candidate(gelu(REAL), "dense", "float32").layer.workload.real.activation == "gelu"


def test_a_pattern_that_calls_its_operands_something_else_is_told():
    found = candidate(Op("matmul", Any("data"), Const("weight")), "dense", "float32")
    assert found.refusal == "the pattern has no operand called x (it has data, weight)"
