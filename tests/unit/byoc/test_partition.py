"""The pass, parameters, names, and what users see of a partitioned module."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tvm
from tvm import relax
from tvm.relax.frontend.onnx import from_onnx

import match_aie
from match_aie import tvm_api
from match_aie.byoc import Partition, partition, patterns, refusals
from match_aie.byoc.flatten import flat, target_of
from match_aie.errors import ModelError, TargetError
from match_aie.hardware import Any, Const, Op, Pattern
from match_aie.targets.cpu import CPU
from match_aie.targets.gap9 import GAP9
from tests import byoc_graphs
from tests.byoc_graphs import GRAPHS, made, weights
from tests.networks.exported import exported_cnn

RELAY = """#[version = "0.0.5"]
def @main(%x: Tensor[(4, 32), float32], %w: Tensor[(24, 32), float32]) {
  nn.dense(%x, %w, units=24)
}
"""


@pytest.fixture(scope="module")
def target():
    return CPU("x86-64-v3")


def ours(module) -> list:
    return [f for f in module.functions.values() if f.attrs and "Codegen" in f.attrs]


def test_the_pass_composes_and_gives_what_the_function_does(target) -> None:
    module = GRAPHS["two_convs"]()
    sequence = tvm.transform.Sequential(
        [relax.transform.Normalize(), Partition(target, cache=False)]
    )
    assert sequence(module).script() == partition(module, target, cache=False).script()


def test_the_partitioned_module_is_well_formed(target) -> None:
    for name in ("foreign_beside", "diamond", "inner_value_returned"):
        made = partition(GRAPHS[name](), target, cache=False)
        assert relax.analysis.well_formed(made) is not False  # newer releases raise instead


def test_names_and_attributes_of_main_stay(target) -> None:
    module = GRAPHS["matmul"]()
    main = module["main"].with_attr("num_input", 1)
    module.update_func(module.get_global_var("main"), main)
    made = partition(module, target, cache=False)["main"]
    assert [tvm_api.variable_name(param) for param in made.params] == ["in0"]
    assert int(made.attrs["num_input"]) == 1


def test_the_module_that_was_given_is_not_changed(target) -> None:
    module = GRAPHS["matmul"]()
    before = module.script()
    partition(module, target, cache=False)
    assert module.script() == before


def test_functions_have_short_names_that_are_free(target) -> None:
    module = GRAPHS["foreign_beside"]()
    module["match_aie_0"] = byoc_graphs.with_tir_function()["double"].with_attr(
        "global_symbol", "match_aie_0"
    )
    names = {var.name_hint for var in partition(module, target, cache=False).get_global_vars()}
    assert names == {"main", "match_aie_0", "match_aie_1", "match_aie_2"}


def test_composites_name_the_target_as_plain_data() -> None:
    module = partition(GRAPHS["matmul"](), CPU("x86-64-v3", cache_bytes=(4096,)), cache=False)
    (function,) = ours(module)
    found = target_of(function)
    assert found.options() == CPU("x86-64-v3", cache_bytes=(4096,)).options()
    (inner,) = [v for _, v in tvm_api.bindings(function) if isinstance(v, relax.Function)]
    assert json.loads(str(inner.attrs["match_aie_target"]))["name"] == "CPU"


def test_a_function_for_us_without_a_target_is_refused() -> None:
    module = relax.transform.FuseOpsByPattern(
        [("match_aie.mine", relax.dpl.is_op("relax.sin")(relax.dpl.wildcard()))],
        annotate_codegen=True,
    )(made(lambda emit, x: emit(relax.op.sin(x)), ((4,), "float32")))
    (function,) = ours(module)
    with pytest.raises(TargetError, match="names 0 targets"):
        target_of(function)


def test_inner_functions_are_inlined(target) -> None:
    (function,) = ours(partition(GRAPHS["two_convs"](), target, cache=False))
    module = flat(function)
    names = [tvm_api.operator_name(value) for _, value in tvm_api.bindings(module["main"])]
    assert [name for name in names if name] == ["nn.conv2d", "nn.relu", "nn.conv2d", "nn.relu"]


def test_weights_may_be_parameters_with_values(target) -> None:
    module = GRAPHS["conv2d_weight_parameter"]()
    weight = np.ones((8, 8, 3, 3), np.float32)
    bound = partition(module, target, params={"in1": weight}, cache=False)
    assert len(ours(bound)) == 1
    assert [tvm_api.variable_name(p) for p in bound["main"].params] == ["in0"]


def test_a_parameter_that_is_not_there_is_refused(target) -> None:
    with pytest.raises(ModelError, match="no parameter"):
        partition(GRAPHS["matmul"](), target, params={"w": np.ones(3, np.float32)}, cache=False)


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (np.ones((4, 8, 3, 3), np.float32), "[4, 8, 3, 3] float32"),
        (np.ones((8, 8, 3, 3), np.float64), "[8, 8, 3, 3] float64"),
    ],
)
def test_a_value_of_another_type_is_refused(target, value, told) -> None:
    module = GRAPHS["conv2d_weight_parameter"]()
    with pytest.raises(ModelError, match=re.escape(told)) as caught:
        partition(module, target, params={"in1": value}, cache=False)
    assert caught.value.where == "in1"


def test_detached_parameters_are_taken_as_tvm_gives_them(target) -> None:
    module = from_onnx(exported_cnn(), keep_params_in_input=True)
    module, params = relax.frontend.detach_params(module)
    (main,) = params.values()
    found = partition(module, target, params=params, cache=False)
    assert [tvm_api.variable_name(p) for p in found["main"].params] == ["input"]
    assert len(ours(found)) == 1
    with pytest.raises(ModelError, match="values were given"):
        partition(module, target, params={"main": main[1:]}, cache=False)


def test_functions_called_after_methods_are_partitioned(target) -> None:
    module, params = byoc_graphs.of_modules(("forward", "plain"))
    found = partition(module, target, params=params, cache=False)
    names = {var.name_hint for var in found.get_global_vars()}
    assert names == {"forward", "plain", "match_aie_0", "match_aie_1"}
    assert str(found["plain"].attrs["global_symbol"]) == "plain"
    assert relax.analysis.well_formed(found) is not False  # newer releases raise instead
    unbound = partition(module, target, cache=False)
    assert unbound.same_as(module)
    assert len(refusals(module, target, cache=False)) > 1


def test_errors_pass_through_tvms_passes_as_they_are(target) -> None:
    with pytest.raises(ModelError, match="not static"):
        Partition(target, cache=False)(byoc_graphs.dynamic_batch())


def test_lowered_operators_are_refused_with_the_order_of_passes(target) -> None:
    module = GRAPHS["two_convs"]()
    passes = [
        Partition(target, cache=False),
        relax.transform.LegalizeOps(),
        relax.transform.RunCodegen(),
    ]
    with pytest.raises(ModelError, match="run RunCodegen before LegalizeOps"):
        tvm.transform.Sequential(passes)(module)


def test_partitioning_again_changes_nothing(target) -> None:
    once = partition(GRAPHS["foreign_between"](), target, cache=False)
    assert partition(once, target, cache=False).same_as(once)


def test_relay_text_is_read(target) -> None:
    weight = np.ones((24, 32), np.float32)
    module = partition(RELAY, target, params={"w": weight}, cache=False)
    (function,) = ours(module)
    assert "match_aie.cpu_float.real_dense" in function.script()


def test_an_unknown_target_is_refused() -> None:
    with pytest.raises(TargetError):
        Partition("no such chip")


def test_both_ways_give_the_same_composite_names(target) -> None:
    listed = patterns(target)
    for name in ("conv2d_bias_relu", "matmul_bias_gelu", "qdq_conv2d_relu", "layer_norm"):
        module = GRAPHS[name]()
        fused = relax.transform.FuseOpsByPattern(listed, bind_constants=True)(module)
        by_tvm = {str(f.attrs["Composite"]) for f in fused.functions.values() if _composite(f)}
        (function,) = ours(partition(module, target, cache=False))
        inner = [v for _, v in tvm_api.bindings(function) if isinstance(v, relax.Function)]
        assert by_tvm == {str(f.attrs["Composite"]) for f in inner}, name


def _composite(function) -> bool:
    return bool(function.attrs) and "Composite" in function.attrs


def test_tvms_registry_gives_the_patterns_in_order() -> None:
    """In a process of its own: it also has to end well, with patterns left in the registry."""
    script = """
from tvm.relax.backend.pattern_registry import get_patterns_with_prefix
from match_aie.byoc import patterns, register_patterns
register_patterns("Diana")
names = [pattern.name for pattern in get_patterns_with_prefix("match_aie")]
assert names == [pattern.name for pattern in patterns("Diana")]
"""
    subprocess.run([sys.executable, "-c", script], check=True)


def test_patterns_for_tvm_refuse_what_the_module_refuses() -> None:
    """NE16 takes convolutions of 1x1 and 3x3 on uint8; this one is on int8."""
    module = GRAPHS["qdq_conv2d_relu"]()
    fused = relax.transform.FuseOpsByPattern(patterns(GAP9()), bind_constants=True)(module)
    assert not any(_composite(function) for function in fused.functions.values())


def test_every_exported_name_is_a_pattern_of_the_target(target) -> None:
    known = {f"match_aie.{m.name}.{p.name}" for m in target.modules() for p in m.patterns()}
    names = [pattern.name for pattern in patterns(target)]
    assert len(names) == len(set(names)) > 100
    assert set(names) <= known


def test_a_structure_is_read_from_tvms_language() -> None:
    x, w, b = relax.dpl.wildcard(), relax.dpl.is_const(), relax.dpl.is_const()
    product = relax.dpl.is_op("relax.matmul")(x, w)
    found = Pattern.from_dpl("mine", "dense", relax.dpl.is_op("relax.add")(product, b))
    wanted = Op("add", Op("matmul", Any("x"), Const("weight")), Const("bias"))
    assert found == Pattern("mine", "dense", wanted)


def test_scales_are_no_tensors_and_names_are_taken() -> None:
    call, const = relax.dpl.is_op, relax.dpl.is_const
    data = relax.dpl.wildcard()
    real = call("relax.dequantize")(data.has_dtype("int8"), const(), const())
    root = call("relax.quantize")(call("relax.nn.softmax")(real), const(), const())
    found = Pattern.from_dpl("mine", "softmax", root, names={"data": data})
    inner = Op("nn.softmax", Op("dequantize", Any("data", ("int8",))))
    assert found.structure == Op("quantize", inner)


def test_a_choice_has_no_structure() -> None:
    x = relax.dpl.wildcard()
    either = relax.dpl.is_op("relax.tanh")(x) | relax.dpl.is_op("relax.sigmoid")(x)
    with pytest.raises(TargetError, match="OrPattern"):
        Pattern.from_dpl("mine", "softmax", either)


def test_constants_of_one_shape_and_other_values_stay_apart(target) -> None:
    def body(emit, x):
        y = emit(relax.op.matmul(x, weights(16, 16)))
        return emit(relax.op.matmul(y, relax.const(np.eye(16, dtype=np.float32), "float32")))

    (function,) = ours(partition(made(body, ((1, 16), "float32")), target, cache=False))
    values = [
        tvm_api.constant_value(arg)
        for _, value in tvm_api.bindings(flat(function)["main"])
        for arg in getattr(value, "args", ())
        if tvm_api.is_constant(arg)
    ]
    assert len(values) == 2
    assert not np.array_equal(values[0], values[1])


def test_names_that_change_between_releases_stay_in_one_file() -> None:
    """Nothing of TVM's internals, and no global function, is named outside tvm_api.py."""
    folder = Path(match_aie.__file__).parent
    private = re.compile(r"get_global_func|register_global_func|_ffi_api|GenericConst|tvm_ffi")
    for path in [*(folder / "byoc").glob("*.py"), folder / "hardware" / "dpl.py"]:
        assert private.search(path.read_text()) is None, path
