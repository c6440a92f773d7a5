"""The ONNX pre-pass operator by operator: the same numbers as onnxruntime, or a refusal."""

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import helper, numpy_helper

from match_aie.errors import UnsupportedOperatorError
from match_aie.frontend import load

F32 = np.float32
RNG = np.random.default_rng(5)


def normal(*shape):
    return RNG.standard_normal(shape).astype(F32)


def both(tools, node, feeds, outputs, constants=None, opset=17):
    """(what onnxruntime computes from the node, from its rewriting, operators of the latter)."""
    ports = {name: (value.dtype, value.shape) for name, value in feeds.items()}
    model = tools.build([node], ports, outputs, constants, opset)
    rewritten = tools.prepass(model)
    want = tools.run_onnxruntime(model, feeds)
    got = tools.run_onnxruntime(rewritten, feeds)
    return want, got, {n.op_type for n in rewritten.graph.node}


def same(want, got, **tolerance):
    for w, g in zip(want, got, strict=True):
        assert (w.dtype, w.shape) == (g.dtype, g.shape)
        if tolerance:
            np.testing.assert_allclose(g, w, **tolerance)
        else:
            np.testing.assert_array_equal(g, w)


CLOSE = {"rtol": 2e-6, "atol": 1e-7}


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_sum_of_tensors_is_additions(onnx_tools, count):
    feeds = {"a": normal(2, 3, 4), "b": normal(3, 1), "c": normal(1, 1, 4)}
    feeds = dict(list(feeds.items())[:count])
    node = helper.make_node("Sum", list(feeds), ["y"])
    want, got, ops = both(onnx_tools, node, feeds, {"y": (F32, None)})
    same(want, got)
    assert "Sum" not in ops
    assert ("Add" in ops) == (count > 1)


@settings(max_examples=10, deadline=None)
@given(n=st.integers(1, 2), c=st.integers(1, 3), s=st.integers(1, 3), h=st.integers(1, 3))
def test_space_to_depth(onnx_tools, n, c, s, h):
    node = helper.make_node("SpaceToDepth", ["x"], ["y"], blocksize=s)
    feeds = {"x": normal(n, c, h * s, 2 * s)}
    want, got, ops = both(onnx_tools, node, feeds, {"y": (F32, None)})
    same(want, got)
    assert "SpaceToDepth" not in ops


@pytest.mark.parametrize(
    ("have", "asked"), [((2, 1), (2, 3)), ((3, 1), (1, 4)), ((2, 3), (1,)), ((1,), (2, 1, 3))]
)
def test_expand(onnx_tools, have, asked):
    node = helper.make_node("Expand", ["x", "s"], ["y"])
    constants = {"s": np.array(asked, np.int64)}
    want, got, _ = both(onnx_tools, node, {"x": normal(*have)}, {"y": (F32, None)}, constants)
    same(want, got)


@pytest.mark.parametrize("sides", [(1, 1), (1, 0), (0, 1)])
def test_is_inf(onnx_tools, sides):
    node = helper.make_node(
        "IsInf", ["x"], ["y"], detect_positive=sides[0], detect_negative=sides[1]
    )
    feeds = {"x": np.array([1, np.inf, -np.inf, np.nan, 0], F32)}
    want, got, _ = both(onnx_tools, node, feeds, {"y": (bool, [5])})
    same(want, got)


def test_dropout_at_inference(onnx_tools):
    node = helper.make_node("Dropout", ["x"], ["y", "m"])
    outputs = {"y": (F32, None), "m": (bool, None)}
    want, got, ops = both(onnx_tools, node, {"x": normal(3)}, outputs)
    same(want, got)
    assert "Dropout" not in ops


@pytest.mark.parametrize("op", ["Softplus", "Mish"])
def test_softplus_keeps_its_digits(onnx_tools, op):
    x = np.concatenate([np.linspace(-100, 100, 401), [1e-8, -1e-8, 0, 1e30]]).astype(F32)
    model = onnx_tools.build(
        [helper.make_node(op, ["x"], ["y"])], {"x": (F32, x.shape)}, {"y": (F32, None)}, opset=18
    )
    (got,) = onnx_tools.run_onnxruntime(onnx_tools.prepass(model), {"x": x})
    exact = np.logaddexp(0, x.astype(np.float64))
    if op == "Mish":
        exact = x * np.tanh(exact)
    np.testing.assert_allclose(got, exact, rtol=1e-5, atol=1e-37)


@pytest.mark.parametrize("opset", [17, 18])
@pytest.mark.parametrize(("p", "axis"), [(1, 0), (2, -1)])
def test_lp_normalization(onnx_tools, opset, p, axis):
    node = helper.make_node("LpNormalization", ["x"], ["y"], p=p, axis=axis)
    feeds = {"x": normal(3, 4)}
    want, got, _ = both(onnx_tools, node, feeds, {"y": (F32, [3, 4])}, opset=opset)
    same(want, got, **CLOSE)


def test_lp_normalization_of_zeros(onnx_tools):
    node = helper.make_node("LpNormalization", ["x"], ["y"])
    model = onnx_tools.build([node], {"x": (F32, [2, 3])}, {"y": (F32, [2, 3])})
    feeds = {"x": np.zeros((2, 3), F32)}
    (got,) = onnx_tools.run_onnxruntime(onnx_tools.prepass(model), feeds)
    np.testing.assert_array_equal(got, feeds["x"])


@pytest.mark.parametrize(
    ("base", "exponent"),
    [(F32, np.int64), (F32, np.int32), (np.int32, np.int32), (np.int64, F32), (F32, F32)],
)
def test_power_of_mixed_types(onnx_tools, base, exponent):
    node = helper.make_node("Pow", ["x", "e"], ["y"])
    feeds = {"x": np.array([1, 2, 3, 5], base), "e": np.array([0, 3, 2, 1], exponent)}
    want, got, _ = both(onnx_tools, node, feeds, {"y": (base, [4])})
    same(want, got, **CLOSE)


@settings(max_examples=25, deadline=None)
@given(
    size=st.tuples(st.integers(1, 5), st.integers(1, 5)),
    kernel=st.integers(1, 4),
    stride=st.integers(1, 3),
    extra=st.integers(0, 2),
    form=st.sampled_from(["SAME_UPPER", "SAME_LOWER", "VALID", "shape", "shape upper"]),
)
def test_conv_transpose_padding(onnx_tools, size, kernel, stride, extra, form):
    attributes = {"strides": [stride, stride], "kernel_shape": [kernel, kernel]}
    full = [stride * (s - 1) + kernel for s in size]
    if form.startswith("shape"):
        attributes["output_shape"] = [max(s, f - extra) for f, s in zip(full, size, strict=True)]
        attributes |= {"auto_pad": "SAME_UPPER"} if "upper" in form else {}
    else:
        attributes["auto_pad"] = form
        if form.startswith("SAME") and kernel < stride:
            return  # the result is larger than the full convolution: tested with the shape
    node = helper.make_node("ConvTranspose", ["x", "w"], ["y"], **attributes)
    feeds = {"x": normal(1, 2, *size)}
    outputs, constants = {"y": (F32, [None] * 4)}, {"w": normal(2, 3, kernel, kernel)}
    want, got, _ = both(onnx_tools, node, feeds, outputs, constants)
    same(want, got, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint32])
@pytest.mark.parametrize("direction", ["LEFT", "RIGHT"])
def test_shifts_in_range(onnx_tools, dtype, direction):
    node = helper.make_node("BitShift", ["x", "n"], ["y"], direction=direction)
    feeds = {"x": np.array([1, 7, 200, 255], dtype), "n": np.array([0, 1, 3, 7], dtype)}
    want, got, _ = both(onnx_tools, node, feeds, {"y": (dtype, [4])})
    same(want, got)


@pytest.mark.parametrize("op", ["ReduceMax", "ReduceMin"])
def test_extrema_of_nothing_but_infinities(onnx_tools, op):
    """In the module, since it is TVM that starts from the largest finite number."""

    big = np.finfo(F32).max
    low = -1 if op == "ReduceMax" else 1
    x = np.array([[np.inf, np.inf], [big, np.inf], [big, big], [1, np.inf]], F32) * low
    node = helper.make_node(op, ["x"], ["y"], axes=[1], keepdims=0)
    model = onnx_tools.build([node], {"x": (F32, x.shape)}, {"y": (F32, [4])})
    (got,) = onnx_tools.run_tvm(load(model), {"x": x})
    np.testing.assert_array_equal(got, low * np.array([np.inf, big, big, 1], F32))


#: Antialiasing is defined beside half_pixel only; nearest is taken with whole sizes only.
RESIZES = [
    (mode, antialias, given, coordinates)
    for mode in ("linear", "cubic", "nearest")
    for antialias in (0, 1)
    for given in ("scales", "sizes", "axes")
    for coordinates in ("half_pixel", "asymmetric", "align_corners")
    if not (antialias and coordinates != "half_pixel")
    and not (mode == "nearest" and (antialias or given == "scales"))
]


@pytest.mark.parametrize("coordinates", ["half_pixel", "asymmetric"])
def test_nearest_with_sizes_that_are_not_whole_is_refused(onnx_tools, coordinates):
    from match_aie.errors import UnsupportedOperatorError

    node = helper.make_node(
        *("Resize", ["x", "", "s"], ["y"]),
        mode="nearest",
        coordinate_transformation_mode=coordinates,
    )
    scales = {"s": np.array([1, 1, 0.6, 1.7], F32)}
    inputs, outputs = {"x": (F32, (1, 2, 6, 5))}, {"y": (F32, [None] * 4)}
    with pytest.raises(UnsupportedOperatorError, match="nearest with sizes that are not whole"):
        load(onnx_tools.build([node], inputs, outputs, scales, opset=19))


@pytest.mark.parametrize(("mode", "antialias", "given", "coordinates"), RESIZES)
def test_resize(onnx_tools, mode, antialias, given, coordinates):
    scales = [1, 1, 0.5, 2] if coordinates == "align_corners" else [1, 1, 0.6, 1.7]
    inputs, constants = {
        "scales": (["x", "", "s"], {"s": np.array(scales, F32)}),
        "sizes": (["x", "", "", "s"], {"s": np.array([1, 2, 3, 9], np.int64)}),
        "axes": (["x", "", "", "s"], {"s": np.array([9, 3], np.int64)}),
    }[given]
    more = {"axes": [3, 2]} if given == "axes" else {}
    node = helper.make_node(
        *("Resize", inputs, ["y"]),
        mode=mode,
        antialias=antialias,
        coordinate_transformation_mode=coordinates,
        **more,
    )
    outputs, feeds = {"y": (F32, [None] * 4)}, {"x": normal(1, 2, 6, 5)}
    want, got, ops = both(onnx_tools, node, feeds, outputs, constants, opset=19)
    same(want, got, rtol=1e-4, atol=1e-5)
    assert antialias + (mode == "cubic") == 0 or "Resize" not in ops


@pytest.mark.parametrize("op", ["Conv", "MaxPool", "AveragePool"])
@pytest.mark.parametrize("auto", ["SAME_UPPER", "SAME_LOWER", "VALID"])
@pytest.mark.parametrize("stride", [1, 2, 3])
def test_padding_in_words(onnx_tools, op, auto, stride):
    feeds, attributes = {"x": normal(1, 2, 7, 8)}, {"strides": [stride, stride]}
    constants = {"w": normal(3, 2, 3, 2)} if op == "Conv" else None
    attributes |= {} if op == "Conv" else {"kernel_shape": [3, 2]}
    inputs = ["x", "w"] if op == "Conv" else ["x"]
    node = helper.make_node(op, inputs, ["y"], auto_pad=auto, **attributes)
    want, got, _ = both(onnx_tools, node, feeds, {"y": (F32, [None] * 4)}, constants)
    same(want, got, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("axis", [-1, 0, 1])
@pytest.mark.parametrize("dtype", [F32, np.int32])
def test_one_hot(onnx_tools, axis, dtype):
    """onnxruntime has it for a few types only: the reference evaluator stands in."""
    node = helper.make_node("OneHot", ["x", "d", "v"], ["y"], axis=axis)
    constants = {"d": np.int64(4), "v": np.array([2, 5], dtype)}
    ports = {"x": (np.int64, (2, 3))}
    model = onnx_tools.build([node], ports, {"y": (dtype, [None] * 3)}, constants)
    feeds = {"x": np.array([[0, -1, 3], [4, -5, 1]])}
    (got,) = onnx_tools.run_onnxruntime(onnx_tools.prepass(model), feeds)
    index = np.where(feeds["x"] < 0, feeds["x"] + 4, feeds["x"])
    hits = np.stack([index == k for k in range(4)], axis=axis)
    np.testing.assert_array_equal(got, np.where(hits, 5, 2).astype(dtype))


def test_padding_around(onnx_tools):
    node = helper.make_node("Pad", ["x", "p"], ["y"], mode="wrap")
    constants = {"p": np.array([1, 0, 2, 3], np.int64)}
    outputs = {"y": (F32, [6, 7])}
    want, got, ops = both(onnx_tools, node, {"x": normal(3, 4)}, outputs, constants, opset=19)
    same(want, got)
    assert "Pad" not in ops


@pytest.mark.parametrize("mode", ["edge", "reflect"])
@pytest.mark.parametrize("pads", [(1, -1), (-2, 3), (-1, -1)])
def test_padding_that_crops(onnx_tools, mode, pads):
    node = helper.make_node("Pad", ["x", "pads"], ["y"], mode=mode)
    constants = {"pads": np.array([0, pads[0], 0, pads[1]])}
    x = normal(2, 7)
    want, got, kinds = both(onnx_tools, node, {"x": x}, {"y": (F32, None)}, constants)
    same(want, got)
    assert "Pad" not in kinds


def test_pieces_without_elements(onnx_tools):
    nodes = [
        helper.make_node("Split", ["x", "s"], ["a", "b", "c"], axis=1),
        helper.make_node("Neg", ["a"], ["n"]),
        helper.make_node("Concat", ["n", "b", "c"], ["y"], axis=1),
    ]
    constants = {"s": np.array([3, 0, 2], np.int64)}
    model = onnx_tools.build(nodes, {"x": (F32, [2, 5])}, {"y": (F32, [2, 5])}, constants)
    feeds = {"x": normal(2, 5)}
    rewritten = onnx_tools.prepass(model)
    same(onnx_tools.run_onnxruntime(model, feeds), onnx_tools.run_onnxruntime(rewritten, feeds))
    assert "Split" not in {n.op_type for n in rewritten.graph.node}


def test_layer_norm_with_all_results(onnx_tools):
    node = helper.make_node("LayerNormalization", ["x", "s", "b"], ["y", "m", "d"], axis=1)
    constants = {"s": normal(4, 5), "b": normal(4, 5)}
    outputs = {"y": (F32, [3, 4, 5]), "m": (F32, [3, 1, 1]), "d": (F32, [3, 1, 1])}
    want, got, _ = both(onnx_tools, node, {"x": normal(3, 4, 5)}, outputs, constants)
    same(want, got, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("axis", [0, -1])
def test_rms_norm(onnx_tools, axis):
    node = helper.make_node("RMSNormalization", ["x", "s"], ["y"], axis=axis)
    scale = normal(3, 5) if axis == 0 else normal(5)
    model_in = {"x": normal(3, 5)}
    want, got, _ = both(onnx_tools, node, model_in, {"y": (F32, [3, 5])}, {"s": scale}, opset=23)
    same(want, got, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("op", "opset"), [("Celu", 17), ("Swish", 24), ("HardSwish", 17)])
def test_operators_by_their_definition(onnx_tools, op, opset):
    node = helper.make_node(op, ["x"], ["y"])
    ports = {"x": (F32, [7])}
    model = onnx_tools.build([node], ports, {"y": (F32, [7])}, opset=opset)
    feeds = {"x": normal(7)}
    want = onnx.reference.ReferenceEvaluator(model).run(None, feeds)
    got = onnx_tools.run_onnxruntime(onnx_tools.prepass(model), feeds)
    same(want, got, **CLOSE)


@pytest.mark.parametrize("bits", ["int4", "uint4", "int8", "uint8"])
@pytest.mark.parametrize("block", [0, 2])
def test_narrow_and_blocked_weights(onnx_tools, bits, block):
    dtype = helper.tensor_dtype_to_np_dtype(getattr(onnx.TensorProto, bits.upper()))
    low = 0 if bits[0] == "u" else -8
    w = RNG.integers(low, low + 16, (6, 4)).astype(dtype)
    scale = RNG.uniform(0.1, 1, (3, 4) if block else 6).astype(F32)
    zero = RNG.integers(low, low + 16, scale.shape).astype(dtype)
    more = {"block_size": block} if block else {}
    nodes = [
        helper.make_node("DequantizeLinear", ["w", "s", "z"], ["d"], axis=0, **more),
        helper.make_node("Add", ["x", "d"], ["y"]),
    ]
    ports = {"x": (F32, [6, 4])}
    model = onnx_tools.build(nodes, ports, {"y": (F32, [6, 4])}, {"s": scale}, opset=21)
    for name, value in (("w", w), ("z", zero)):
        model.graph.initializer.append(numpy_helper.from_array(value, name))
    feeds = {"x": normal(6, 4)}
    want = onnx_tools.run_onnxruntime(model, feeds)
    rewritten = onnx_tools.prepass(model)
    same(want, onnx_tools.run_onnxruntime(rewritten, feeds), **CLOSE)
    kept = {t.data_type for t in rewritten.graph.initializer}
    assert not kept & {onnx.TensorProto.INT4, onnx.TensorProto.UINT4}


def test_blocked_activations(onnx_tools):
    node = helper.make_node("QuantizeLinear", ["x", "s", "z"], ["y"], axis=1, block_size=2)
    constants = {
        "s": RNG.uniform(0.01, 0.03, (3, 2)).astype(F32),
        "z": RNG.integers(-20, 20, (3, 2)).astype(np.int8),
    }
    feeds = {"x": normal(3, 4)}
    want, got, _ = both(onnx_tools, node, feeds, {"y": (np.int8, [3, 4])}, constants, opset=21)
    same(want, got)


@pytest.mark.parametrize("taken", [True, False])
def test_a_constant_condition_takes_its_branch(onnx_tools, taken):
    def branch(op):
        out = helper.make_tensor_value_info("r", 1, [2])
        return helper.make_graph([helper.make_node(op, ["x"], ["r"])], op, [], [out])

    node = helper.make_node(
        "If", ["c"], ["y"], then_branch=branch("Neg"), else_branch=branch("Abs")
    )
    constants = {"c": np.array(taken)}
    feeds = {"x": normal(2)}
    want, got, ops = both(onnx_tools, node, feeds, {"y": (F32, [2])}, constants)
    same(want, got)
    assert ops == {"Neg" if taken else "Abs"}


def _branch(name, nodes, *outputs):
    results = [helper.make_tensor_value_info(out, 1, None) for out in outputs]
    return helper.make_graph(nodes, name, [], results)


@pytest.mark.parametrize("shape", [(), (1,)])
@pytest.mark.parametrize("taken", [True, False])
def test_a_condition_of_run_time_chooses_between_both_branches(onnx_tools, taken, shape):
    inner = helper.make_node(
        "If",
        ["c"],
        ["q"],
        then_branch=_branch("inner_yes", [helper.make_node("Exp", ["r"], ["e"])], "e"),
        else_branch=_branch("inner_no", [helper.make_node("Sin", ["r"], ["i"])], "i"),
    )
    yes = _branch("yes", [helper.make_node("Neg", ["x"], ["r"]), inner], "r", "q")
    # The same names inside: they are other tensors.
    others = [helper.make_node("Abs", ["x"], ["r"]), helper.make_node("Tan", ["r"], ["q"])]
    no = _branch("no", others, "r", "q")
    node = helper.make_node("If", ["c"], ["y", "z"], then_branch=yes, else_branch=no)
    feeds = {"x": normal(2, 3), "c": np.full(shape, taken)}
    outputs = {"y": (F32, [2, 3]), "z": (F32, [2, 3])}
    want, got, ops = both(onnx_tools, node, feeds, outputs)
    same(want, got)
    assert "Where" in ops
    assert "If" not in ops


@pytest.mark.parametrize("declared", [None, [3]])
def test_branches_of_other_shapes_are_refused(onnx_tools, declared):
    first = np.zeros(1, np.int64), np.ones(1, np.int64)
    nodes = [helper.make_node("Slice", ["x", "from", "to"], ["r"])]
    node = helper.make_node(
        "If",
        ["c"],
        ["y"],
        then_branch=_branch("yes", [helper.make_node("Neg", ["x"], ["r"])], "r"),
        else_branch=_branch("no", nodes, "r"),
    )
    constants = dict(zip(("from", "to"), first, strict=True))
    inputs = {"x": (F32, [3]), "c": (np.bool_, [])}
    model = onnx_tools.build([node], inputs, {"y": (F32, declared)}, constants)
    with pytest.raises(UnsupportedOperatorError, match=r"\[3\] and \[1\]"):
        onnx_tools.prepass(model)


def test_shape_chains_fold_away(onnx_tools):
    nodes = [
        helper.make_node("Shape", ["x"], ["s"]),
        helper.make_node("Gather", ["s", "zero"], ["n"]),
        helper.make_node("Unsqueeze", ["n", "zero1"], ["n1"]),
        helper.make_node("Concat", ["n1", "minus"], ["t"], axis=0),
        helper.make_node("Reshape", ["x", "t"], ["y"]),
    ]
    constants = {
        **{"zero": np.int64(0), "zero1": np.array([0], np.int64), "minus": np.array([-1], np.int64)}
    }
    model = onnx_tools.build(nodes, {"x": (F32, [2, 3, 4])}, {"y": (F32, None)}, constants)
    model.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", 1, [None, None]))
    assert [n.op_type for n in onnx_tools.prepass(model).graph.node] == ["Reshape"]


def test_quantised_weights_stay_quantised(onnx_tools):
    nodes = [
        helper.make_node("DequantizeLinear", ["w", "s"], ["d"]),
        helper.make_node("Transpose", ["d"], ["t"]),
        helper.make_node("MatMul", ["x", "t"], ["y"]),
    ]
    constants = {"w": np.ones((2, 3), np.int8), "s": F32(0.5)}
    model = onnx_tools.build(nodes, {"x": (F32, [1, 3])}, {"y": (F32, [1, 2])}, constants)
    assert "DequantizeLinear" in {n.op_type for n in onnx_tools.prepass(model).graph.node}


REFUSED = [
    ("Det", {}, [(F32, [5, 5])], 17, "larger than 4 by 4"),
    ("NonZero", {}, [(F32, [3])], 17, "depends on the data"),
    ("RandomNormalLike", {}, [(F32, [3])], 17, "random"),
    ("Reshape", {}, [(F32, [6]), (np.int64, [2])], 17, ""),
    ("Expand", {}, [(F32, [1]), (np.int64, [2])], 17, ""),
    ("MaxPool", {"kernel_shape": [2, 2], "ceil_mode": 1}, [(F32, [1, 1, 4, 4])], 17, "indices"),
]


@pytest.mark.parametrize(("op", "attributes", "inputs", "opset", "why"), REFUSED)
def test_forms_that_are_refused(onnx_tools, op, attributes, inputs, opset, why):
    names = [f"i{k}" for k in range(len(inputs))]
    results = {"MaxPool": ["y", "m"]}.get(op, ["y"])
    node = helper.make_node(op, names, results, "here", **attributes)
    ports = dict(zip(names, inputs, strict=True))
    kinds = {"NonZero": np.int64, "m": np.int64}
    model = onnx_tools.build([node], ports, {"y": (kinds.get(op, F32), None)}, opset=opset)
    for name in results[1:]:
        value = helper.make_tensor_value_info(name, onnx.TensorProto.INT64, None)
        model.graph.output.append(value)
    with pytest.raises(UnsupportedOperatorError) as caught:
        onnx_tools.prepass(model)
    assert caught.value.operators[0][:1] == (op,)
    assert why in caught.value.operators[0][2]


def test_a_named_output_that_nothing_reads_is_dropped():
    """Also where nothing else is to prune: a GRU without `Y_h` is one that modules run."""
    from match_aie.frontend.onnx_rewrite.prune import prune

    node = helper.make_node("GRU", ["x", "w", "r"], ["y", "last"], hidden_size=3)
    weights = {"w": normal(1, 9, 2), "r": normal(1, 9, 3)}
    model = helper.make_model(
        helper.make_graph(
            [node],
            "g",
            [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [4, 1, 2])],
            [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [4, 1, 1, 3])],
            [numpy_helper.from_array(value, name) for name, value in weights.items()],
        )
    )
    assert list(prune(model).graph.node[0].output) == ["y"]
    assert list(model.graph.node[0].output) == ["y", "last"]


def test_group_norm_between_others(onnx_tools):
    """Its result's shape, which ONNX does not infer, is known to the node behind it."""
    nodes = [
        helper.make_node("GroupNormalization", ["x", "s", "b"], ["n"], num_groups=2),
        helper.make_node("Add", ["n", "x"], ["y"]),
    ]
    constants, feeds = {"s": normal(6), "b": normal(6)}, {"x": normal(2, 6, 3, 4)}
    ports = [{name: (F32, (2, 6, 3, 4))} for name in "xy"]
    model = onnx_tools.build(nodes, *ports, constants, 21)
    (want,) = onnx_tools.run_onnxruntime(model, feeds)
    (got,) = onnx_tools.run_tvm(load(model), feeds)
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


def test_an_output_that_is_rewritten_is_no_input_of_others(onnx_tools):
    """A node behind it leaves an input away: what is absent stays absent, round after round."""
    nodes = [
        helper.make_node("Resize", ["x", "", "s"], ["y"], mode="cubic"),
        helper.make_node("Clip", ["x", "", "top"], ["z"]),
    ]
    constants = {"s": np.array([1, 1, 1, 2], F32), "top": np.array(0.25, F32)}
    feeds = {"x": normal(1, 2, 3, 4)}
    results = {"y": (F32, (1, 2, 3, 8)), "z": (F32, (1, 2, 3, 4))}
    model = onnx_tools.build(nodes, {"x": (F32, (1, 2, 3, 4))}, results, constants, 18)
    rewritten = onnx_tools.prepass(model)
    (clip,) = [node for node in rewritten.graph.node if node.op_type == "Clip"]
    assert list(clip.input) == ["x", "", "top"]
    want, got = onnx_tools.run_onnxruntime(model, feeds), onnx_tools.run_tvm(load(model), feeds)
    for w, g in zip(want, got, strict=True):
        np.testing.assert_allclose(g, w, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("taken", [True, False])
def test_branches_that_read_what_an_output_is(onnx_tools, taken):
    """Subgraphs read values of the graph around them, also ones that get an output's name."""

    def branch(op):
        result = helper.make_tensor_value_info(op, 1, (4,))
        return helper.make_graph([helper.make_node(op, ["r", "r"], [op])], op, [], [result])

    nodes = [
        helper.make_node("Relu", ["x"], ["r"]),
        helper.make_node("Identity", ["r"], ["y"]),
        helper.make_node("If", ["c"], ["z"], then_branch=branch("Add"), else_branch=branch("Mul")),
    ]
    ports = {"x": (F32, (4,)), "c": (np.bool_, ())}
    model = onnx_tools.build(nodes, ports, {name: (F32, (4,)) for name in "yz"}, {}, 18)
    feeds = {"x": normal(4), "c": np.array(taken)}
    want, got = onnx_tools.run_onnxruntime(model, feeds), onnx_tools.run_tvm(load(model), feeds)
    for w, g in zip(want, got, strict=True):
        np.testing.assert_array_equal(g, w)
