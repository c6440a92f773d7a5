"""Graphs of the shapes that TVM's own BYOC and pattern tests have: what becomes of each."""

from collections import Counter

import pytest
import tvm

from match_aie import tvm_api
from match_aie.byoc import partition, refusals
from match_aie.errors import ModelError
from tests import byoc_graphs
from tests.byoc_graphs import GRAPHS

TWO = ["permute_dims", "permute_dims"]
#: Graph -> composites (module.pattern), functions for us, and what main keeps.
EXPECTED = {
    "conv2d": (["cpu_rows.real_conv2d"], 1, TWO),
    "conv2d_bias": (["cpu_rows.real_conv2d_bias"], 1, TWO),
    "conv2d_relu": (["cpu_rows.real_conv2d_relu"], 1, TWO),
    "conv2d_bias_relu": (["cpu_rows.real_conv2d_bias_relu"], 1, TWO),
    "conv2d_bias_silu": (["cpu_rows.real_conv2d_bias_silu"], 1, TWO),
    "conv2d_residual_relu": (["cpu_rows.real_conv2d_bias_residual_relu"], 1, TWO),
    "conv2d_depthwise": (["cpu_rows.real_conv2d"], 1, TWO),
    "conv2d_strided_dilated": (["cpu_rows.real_conv2d"], 1, TWO),
    "conv2d_nhwc_ohwi": (["cpu_rows.real_conv2d"], 1, []),
    "two_convs": (["cpu_rows.real_conv2d_relu"] * 2, 1, TWO),
    # Equal layers are one function, called twice.
    "two_branches_added": (["cpu_rows.real_conv2d_relu"], 1, [*TWO, "add", "permute_dims"]),
    "diamond": (
        ["cpu_rows.real_avg_pool2d", "cpu_rows.real_conv2d_relu", "cpu_rows.real_max_pool2d"],
        1,
        ["permute_dims", "add", "permute_dims"],
    ),
    "foreign_between": (["cpu_rows.real_conv2d"], 1, [*TWO, "sin", *TWO]),
    "foreign_beside": (
        ["cpu_rows.real_conv2d", "cpu_rows.real_conv2d", "cpu_rows.real_conv2d_residual"],
        2,
        [*TWO, "sin", *TWO],
    ),
    "inner_value_returned": (["cpu_rows.real_conv2d"], 1, [*TWO, "nn.relu", "permute_dims"]),
    "tuple_of_layers": (
        ["cpu_rows.real_conv2d", "cpu_rows.real_conv2d", "cpu_rows.real_max_pool2d"],
        1,
        [*TWO, "permute_dims"],
    ),
    "max_pool2d": (["cpu_rows.real_max_pool2d"], 1, TWO),
    "split_convs": (["cpu_rows.real_conv2d"], 1, ["split", *TWO]),
    "matmul": (["cpu_float.real_dense"], 1, []),
    "matmul_bias": (["cpu_float.real_dense_bias"], 1, []),
    "matmul_bias_relu": (["cpu_float.real_dense_bias_relu"], 1, []),
    "matmul_bias_gelu": (["cpu_float.real_dense_bias_gelu"], 1, []),
    "matmul_transposed_weight": (["cpu_float.real_dense"], 1, []),
    "matmul_bias_residual": (["cpu_float.real_dense_bias_residual"], 1, []),
    "batch_matmul": (["cpu_float.real_matmul"], 1, []),
    "attention_spelled_out": (
        ["cpu_float.real_matmul", "cpu_float.real_matmul_x1t_divide", "cpu_rows.real_softmax"],
        1,
        [],
    ),
    "layer_norm": (["cpu_rows.layer_norm"], 1, []),
    "rms_norm": (["cpu_rows.rms_norm"], 1, []),
    "softmax": (["cpu_rows.real_softmax"], 1, []),
    "elementwise_function": (["cpu_rows.real_tanh"], 1, ["add", "multiply"]),
    "qdq_conv2d_relu": (["cpu.conv2d_bias_clip"], 1, TWO),
    "qdq_residual": (["cpu.conv2d_bias_added"], 1, TWO),
    "qdq_matmul": (["cpu.dense_bias"], 1, []),
    "integer_matmul_requantised": (["cpu_vector.dense_integer"], 1, []),
}
#: Graphs without a layer for the CPU, and the operator that is the reason.
UNTOUCHED = {
    "attention_operator": "nn.attention",
    "elementwise_only": "sin",
    "matmul_float16": "matmul",
    "conv2d_weight_parameter": "nn.conv2d",
}


def found_in(module):
    """Composites, number of functions for us, operators that main keeps."""
    composites: Counter[str] = Counter()
    functions = 0
    for function in module.functions.values():
        if function.attrs and str(function.attrs.get("Codegen", "")) == "match_aie":
            functions += 1
            inner = [v for _, v in tvm_api.bindings(function) if not tvm_api.operator_name(v)]
            names = [str(v.attrs["Composite"]) for v in inner if hasattr(v, "params")]
            composites.update(name.removeprefix("match_aie.") for name in names)
    values = [value for _, value in tvm_api.bindings(module["main"])]
    kept = [tvm_api.operator_name(value) for value in values if tvm_api.operator_name(value)]
    return sorted(composites.elements()), functions, kept


@pytest.fixture(scope="module")
def target():
    from match_aie.targets.cpu import CPU

    return CPU("x86-64-v3")


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_the_graph_is_partitioned(name, target) -> None:
    assert found_in(partition(GRAPHS[name](), target, cache=False)) == EXPECTED[name]


@pytest.mark.parametrize("name", sorted(UNTOUCHED))
def test_a_graph_without_layers_comes_back_as_it_is(name, target) -> None:
    module = GRAPHS[name]()
    assert partition(module, target, cache=False).same_as(module)
    reasons = [row.reason for row in refusals(module, target, cache=False)]
    assert f"no pattern of target CPU matches {UNTOUCHED[name]} here" in reasons


def test_every_graph_is_tested() -> None:
    assert {*EXPECTED, *UNTOUCHED} == set(GRAPHS)
    assert len(GRAPHS) >= 30


def test_dynamic_shapes_are_refused(target) -> None:
    with pytest.raises(ModelError, match="not static"):
        partition(byoc_graphs.dynamic_batch(), target, cache=False)


def test_branches_at_run_time_are_refused(target) -> None:
    with pytest.raises(ModelError, match="branches at run time"):
        partition(byoc_graphs.branch(), target, cache=False)


def test_functions_of_the_user_stay(target) -> None:
    module = byoc_graphs.with_tir_function()
    made = partition(module, target, cache=False)
    assert found_in(made) == (["cpu_float.real_dense"], 1, ["call_tir"])
    assert made["double"].same_as(module["double"])


def test_relax_functions_of_the_user_stay(target) -> None:
    module = byoc_graphs.with_relax_function()
    made = partition(module, target, cache=False)
    assert found_in(made)[:2] == (["cpu_rows.real_conv2d"], 1)
    tvm.ir.assert_structural_equal(made["helper"], module["helper"])


def test_refusals_say_why() -> None:
    from match_aie.targets.gap9 import GAP9

    reasons = refusals(GRAPHS["qdq_conv2d_relu"](), GAP9(), cache=False)
    assert reasons
    matched = [row for row in reasons if row.composite]
    assert matched
    assert all(row.composite.startswith("match_aie.") and row.reason for row in matched)


def test_what_costs_more_than_plain_c_is_named() -> None:
    """The pool of this graph pays for no layer of its own where its neighbours are this fast."""
    from match_aie.targets.cpu import CPU

    module, target = GRAPHS["tuple_of_layers"](), CPU("x86-64-v4")
    assert "nn.max_pool2d" in found_in(partition(module, target, cache=False))[2]
    (row,) = [r for r in refusals(module, target, cache=False) if "plain C" in r.reason]
    assert row.composite == "match_aie.cpu_rows.real_max_pool2d"
