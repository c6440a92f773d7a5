"""The flat call list: order, layers, views, outputs, labels, refusals."""

import re
import subprocess
import sys

import numpy as np
import pytest
from graphs import layer, module_of
from tvm import relax, tirx
from tvm.relax import op

from match_aie.errors import ModelError, UnsupportedOperatorError
from match_aie.fallback import lower

F = "float32"


def _lower(build_body, *arguments, labels=None):
    return lower(module_of(build_body, *arguments), prefix="net", labels=labels or {})


def _tensors(remainder):
    return {tensor.name: tensor for tensor in remainder.tensors}


def _writes(remainder):
    return [a.name for call in remainder.calls for a in call.arguments if a.access == "write"]


def test_layers_survive_in_order():
    def body(emit, x):
        first = emit(layer("ma_0", [x], ((2, 8), "int8")))
        middle = emit(op.astype(first, F))
        second = emit(layer("ma_1", [middle, first], ((2, 4), F), ((3,), "int8")))
        left, right = (emit(relax.TupleGetItem(second, i)) for i in (0, 1))
        return [emit(op.nn.relu(left)), right]

    remainder = _lower(body, ((2, 8), F))
    callees = [call.callee for call in remainder.calls]
    assert [c for c in callees if c.startswith("ma_")] == ["ma_0", "ma_1"]
    second = next(call for call in remainder.calls if call.callee == "ma_1")
    assert [a.access for a in second.arguments] == ["read", "read", "write", "write"]
    shapes = [_tensors(remainder)[a.name].shape for a in second.arguments]
    assert shapes == [(2, 8), (2, 8), (2, 4), (3,)]
    assert remainder.outputs[1] == second.arguments[3].name
    assert {function.symbol for function in remainder.functions} >= set(callees) - {"ma_0", "ma_1"}


def test_a_layer_whose_result_nobody_needs_is_dropped():
    def body(emit, x):
        emit(layer("ma_0", [x], ((2,), F)))
        return emit(layer("ma_1", [x], ((2,), F)))

    assert [call.callee for call in _lower(body, ((2,), F)).calls] == ["ma_1"]


def test_reshapes_are_views():
    def body(emit, x):
        y = emit(layer("ma_0", [x], ((2, 1, 6), F)))
        flat = emit(op.reshape(y, (12,)))
        tall = emit(op.expand_dims(emit(op.squeeze(y, [1])), [0]))
        moved = emit(op.permute_dims(y, [1, 0, 2]))
        return emit(layer("ma_1", [flat, tall, moved], ((1,), F)))

    remainder = _lower(body, ((3,), F))
    assert [call.callee for call in remainder.calls] == ["ma_0", "ma_1"]
    base = remainder.calls[0].arguments[-1].name
    assert {alias.base for alias in remainder.aliases} == {base}
    views = [alias.view for alias in remainder.aliases]
    assert [_tensors(remainder)[view].shape for view in views] == [(12,), (1, 2, 6), (1, 2, 6)]
    assert not remainder.functions


def test_a_reshape_back_is_the_first_tensor():
    def body(emit, x):
        y = emit(layer("ma_0", [x], ((2, 6), F)))
        back = emit(op.reshape(emit(op.reshape(y, (12,))), (2, 6)))
        return emit(layer("ma_1", [back], ((1,), F)))

    remainder = _lower(body, ((3,), F))
    assert not remainder.aliases
    assert remainder.calls[1].arguments[0].name == remainder.calls[0].arguments[1].name


def test_an_output_that_is_a_view_becomes_the_storage():
    def body(emit, x):
        y = emit(layer("ma_0", [x], ((2, 6), F)))
        z = emit(layer("ma_1", [y], ((2,), F)))
        return [emit(op.reshape(y, (12,))), z]

    remainder = _lower(body, ((3,), F))
    output = remainder.outputs[0]
    assert remainder.calls[0].arguments[-1].name == output
    assert _tensors(remainder)[output].shape == (12,)
    assert [(a.view, a.base) for a in remainder.aliases] == [
        (remainder.calls[1].arguments[0].name, output)
    ]


def test_outputs_that_need_a_copy():
    """An input, a view of one, a constant, and one tensor twice."""
    constant = np.arange(4, dtype=np.int8)

    def body(emit, x):
        y = emit(layer("ma_0", [x], ((2,), F)))
        return [x, emit(op.reshape(x, (6,))), relax.const(constant, "int8"), y, y]

    remainder = _lower(body, ((3, 2), F))
    written = _writes(remainder)
    assert len(set(remainder.outputs)) == 5
    assert set(remainder.outputs) <= set(written)
    assert [_tensors(remainder)[o].shape for o in remainder.outputs] == [
        (3, 2), (6,), (4,), (2,), (2,)
    ]  # fmt: skip
    assert len(remainder.constants) == 1
    copies = [call for call in remainder.calls if "copy" in call.callee]
    assert len(copies) == 4
    assert len({call.callee for call in copies}) == 3  # both of six floats share a function


def test_equal_work_shares_functions_and_constants():
    weights = np.random.default_rng(0).standard_normal((4, 4)).astype(np.float32)

    def body(emit, x):
        for _ in range(5):
            x = emit(op.matmul(x, relax.const(weights.copy())))
            x = emit(layer("ma_0", [x], ((2, 4), F)))
        return x

    remainder = _lower(body, ((2, 4), F))
    assert len(remainder.calls) == 10
    assert len(remainder.constants) == 1
    assert len([f for f in remainder.functions if "matmul" in f.symbol]) == 1


def test_a_part_of_a_rewrite_is_computed_once():
    softmax = _lower(lambda emit, x: emit(op.nn.softmax(x, -1)), ((4, 4), "float16"))
    powers = [text for f in softmax.functions for text in f.source.split("expf(")[1:]]
    assert len(powers) == 1


def test_labels_and_operators():
    def body(emit, x):
        y = emit(
            op.nn.relu(
                emit(op.add(x, x), name_hint="a"),
            ),
            name_hint="b",
        )
        z = emit(layer("ma_0", [y], ((2,), F)), name_hint="c")
        return emit(op.exp(z), name_hint="d")

    labels = {"b": 'relu "quoted"\n', "c": "the layer", "d": "exponential", "x0": "input.1"}
    remainder = _lower(body, ((2,), F), labels=labels)
    assert [call.label for call in remainder.calls] == [
        'relu "quoted"\n',
        "the layer",
        "exponential",
    ]
    assert _tensors(remainder)[remainder.inputs[0]].label == "input.1"
    texts = "".join(function.source for function in remainder.functions)
    assert "quoted" not in texts
    described = {f.symbol: f.operators for f in remainder.functions}
    assert described[remainder.calls[0].callee] == "add, nn.relu"


def test_names_that_are_no_identifiers_reach_nothing():
    names = ['x"; system("', "int"]
    module = module_of(lambda emit, a, b: emit(op.add(a, b)), ((2,), F), ((2,), F), names=names)
    remainder = lower(module, prefix="net", labels={})
    for tensor in remainder.tensors:
        assert re.fullmatch(r"\w+", tensor.name)
    assert all("system" not in function.source for function in remainder.functions)
    assert all(f.source.startswith("static ") for f in remainder.functions)


def test_composites_are_inlined():
    builder = relax.BlockBuilder()
    a = relax.Var("a", relax.TensorType((2,), F))
    with builder.function("cell", [a], private=True, attrs={"Composite": "onnx.GRU"}):
        with builder.dataflow():
            doubled = builder.emit(op.add(a, a))
            pair = builder.emit_output(relax.Tuple([doubled, a]))
        builder.emit_func_output(pair)
    cell = next(v for v in builder.get().get_global_vars() if v.name_hint == "cell")
    x = relax.Var("x", relax.TensorType((2,), F))
    with builder.function("main", [x]):
        with builder.dataflow():
            result = builder.emit(relax.Call(cell, [x]), name_hint="gru")
            once = builder.emit(relax.TupleGetItem(result, 0))
            out = builder.emit_output(
                op.multiply(once, builder.emit(relax.TupleGetItem(result, 1)))
            )
        builder.emit_func_output(out)
    remainder = lower(builder.get(), prefix="net", labels={"gru": "my GRU"})
    assert len(remainder.calls) == 1
    assert remainder.functions[0].operators == "add, multiply"


def test_all_refusals_come_at_once():
    def body(emit, x):
        unique = emit(op.unique(x), name_hint="u")
        follower = emit(op.exp(unique))
        where = emit(op.nonzero(x), name_hint="w")
        return [emit(op.astype(where, F)), follower]

    with pytest.raises(UnsupportedOperatorError) as caught:
        _lower(body, ((8,), F), labels={"u": "Unique_1", "w": "NonZero_2"})
    named = [(operator, node) for operator, node, _ in caught.value.operators]
    assert named == [("unique", "Unique_1"), ("nonzero", "NonZero_2")]


def test_symbolic_shapes_are_refused():
    size = tirx.Var("n", "int64")
    module = module_of(lambda emit, x: emit(op.exp(x)), ((size, 3), F), names=["image"])
    with pytest.raises(ModelError, match="no fixed shape") as caught:
        lower(module, prefix="net", labels={"image": "Image:0"})
    assert caught.value.where == "Image:0"


def test_types_without_a_c_type_are_refused():
    with pytest.raises(UnsupportedOperatorError, match="bfloat16"):
        _lower(lambda emit, x: emit(op.exp(x)), ((2,), "bfloat16"))


SCRIPT = """
import sys
sys.path.insert(0, {folder!r})
from graphs import module_of
from tvm.relax import op
from match_aie.fallback import lower
body = lambda e, x, w: [e(op.nn.softmax(e(op.nn.relu(e(op.nn.conv2d(x, w, padding=1)))), -1)), x]
module = module_of(body, ((1, 3, 9, 9), "float32"), ((4, 3, 3, 3), "float32"))
print(lower(module, prefix="net", labels={{}}))
"""


@pytest.mark.parametrize("seed", ["1", "2"])
def test_the_same_module_gives_the_same_text(seed):
    folder = str(__import__("pathlib").Path(__file__).parent)
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(folder=folder)],
        env={"PYTHONHASHSEED": seed, "PATH": ""}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    body = lambda e, x, w: [  # noqa: E731
        e(op.nn.softmax(e(op.nn.relu(e(op.nn.conv2d(x, w, padding=1)))), -1)),
        x,
    ]
    here = _lower(body, ((1, 3, 9, 9), F), ((4, 3, 3, 3), F))
    assert repr(here.functions) in done.stdout
    assert done.stderr == ""


def test_heads_are_merged_without_divisions():
    """A reshape after a transpose is loops over heads and inside of them, which copy runs."""

    def body(emit, x):
        return emit(op.reshape(emit(op.permute_dims(x, (1, 0, 2))), (6, 96)))

    (function,) = _lower(body, ((12, 6, 8), F)).functions
    assert "%" not in function.source
    assert function.source.count("for (") == 2
    assert "memcpy(out_0 + i_0 * 96 + i_1 * 8, in_0 + i_1 * 48 + i_0 * 8, 8 * sizeof(float));" in (
        function.source
    )


def test_a_run_that_a_loop_copies_is_called_one():
    """Of eight elements or more; what is read backwards or in steps is none."""

    def copies(size, **how):
        def body(emit, x):
            return emit(op.strided_slice(x, axes=[1], **{k: [v] for k, v in how.items()}))

        (function,) = _lower(body, ((5, size), F)).functions
        return function.source.count("memcpy")

    assert copies(20, begin=3, end=11) == 1
    assert copies(20, begin=3, end=10) == 0
    assert copies(20, begin=0, end=20, strides=2) == 0
    assert copies(20, begin=19, end=-21, strides=-1) == 0


@pytest.mark.parametrize(
    ("shape", "axes", "dtype", "expected"),
    [
        ((64, 3, 32), (1, 2, 0), "uint8", 1),
        ((32, 40), (1, 0), "int8", 1),
        ((64, 3, 32), (1, 2, 0), F, 0),  # no bytes
        ((60, 3, 32), (1, 2, 0), "uint8", 0),  # no whole blocks
        ((16, 3, 32), (1, 2, 0), "uint8", 0),  # too few
        ((64, 3, 32), (1, 0, 2), "uint8", 0),  # runs
    ],
)
def test_planes_of_bytes_are_turned_in_blocks(shape, axes, dtype, expected):
    made = _lower(lambda emit, x: emit(op.permute_dims(x, axes)), (shape, dtype)).functions
    calls = "".join(function.source for function in made if "in_0" in function.source)
    assert calls.count("_turned(") == expected
    assert len(made) == 1 + expected
