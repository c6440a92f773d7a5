"""Operators of TFLite files that TVM's importer lacks or has wrong: as numpy computes them."""

from math import erf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from match_aie.errors import UnsupportedOperatorError
from match_aie.frontend import load, normalize
from tests.networks.tflite_file import Step, Stored, flatbuffer
from tests.unit.frontend.test_normalize import run

SCALE = np.array([0.05], np.float32)


def floats(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def file(kind, operands, wanted, options="", **fields):
    """(flatbuffer, feeds): lists are constants of int32, arrays inputs; `wanted` gives shapes."""
    tensors, names, feeds = [], [], {}
    results = wanted if isinstance(wanted, list) else [wanted]
    for at, value in enumerate(operands):
        known = isinstance(value, list | int)
        array = np.array(value, np.int32) if known else value
        scale = {"scale": SCALE, "zero_point": 3} if array.dtype == np.int8 else {}
        name = f"i{at}"
        names.append(name)
        content = array if known else None
        tensors.append(Stored(name, array.shape, str(array.dtype), content=content, **scale))
        if not known:
            feeds[name] = array
    ends = [f"o{at}" for at in range(len(results))]
    for name, result in zip(ends, results, strict=True):
        scale = {"scale": SCALE, "zero_point": 3} if result.dtype == np.int8 else {}
        tensors.append(Stored(name, result.shape, str(result.dtype), **scale))
    step = Step(kind, tuple(names), ends[0], options, fields, tuple(ends[1:]))
    return flatbuffer(tensors, [step], tuple(feeds), tuple(ends)), feeds


def check(kind, operands, wanted, options="", *, atol=0.0, **fields):
    """Both element types where elements are moved: floats, and integers with one scale."""
    data, feeds = file(kind, operands, wanted, options, **fields)
    model = normalize(load(data))
    got = run(model, *(feeds[port.name] for port in model.inputs))
    results = wanted if isinstance(wanted, list) else [wanted]
    for one, other in zip(got, results, strict=True):
        assert (one.shape, one.dtype) == (other.shape, other.dtype)
        np.testing.assert_allclose(one, other, rtol=0, atol=atol)


def both(*shape):
    """Floats, and integers."""
    return [floats(*shape), np.random.default_rng(1).integers(-128, 128, shape).astype(np.int8)]


def to_batches(x, blocks, pads, zero):
    """`SPACE_TO_BATCH_ND` of one or two dimensions, pixel by pixel."""
    x = np.pad(x, [(0, 0), *pads, (0, 0)], constant_values=zero)
    places = np.stack(np.meshgrid(*(range(b) for b in blocks), indexing="ij"), -1)
    parts = []
    for place in places.reshape(-1, len(blocks)):
        cut = tuple(slice(at, None, block) for at, block in zip(place, blocks, strict=True))
        parts.append(x[(slice(None), *cut)])
    return np.concatenate(parts)


def test_blocks_become_images_and_pixels_again():
    for x in both(2, 5, 6, 3):
        zero = 3 if x.dtype == np.int8 else 0
        wanted = to_batches(x, (2, 3), ((0, 1), (2, 1)), zero)
        check("SPACE_TO_BATCH_ND", [x, [2, 3], [[0, 1], [2, 1]]], wanted)
        check("BATCH_TO_SPACE_ND", [wanted, [2, 3], [[0, 1], [2, 1]]], x)
    line = floats(1, 6, 2)
    check("SPACE_TO_BATCH_ND", [line, [2], [[0, 0]]], to_batches(line, (2,), ((0, 0),), 0))


@pytest.mark.parametrize("axis", [0, 1, -1, [1]])
def test_cuts(axis):
    at = axis[0] if isinstance(axis, list) else axis
    for x in both(4, 6, 2):
        parts = np.split(x, 2, at)
        check("SPLIT", [axis, x], parts, "SplitOptions", NumSplits=2)
        sizes = [x.shape[at] - 1, 1]
        check(
            *("SPLIT_V", [x, [-1, 1], axis], np.split(x, sizes[:1], at), "SplitVOptions"),
            NumSplits=2,
        )
        slices = [np.take(x, i, at) for i in range(x.shape[at])]
        check("UNPACK", [x], slices, "UnpackOptions", Num=len(slices), Axis=at)
        check("EXPAND_DIMS", [x, axis], np.expand_dims(x, at))


def test_a_single_slice():
    x = floats(3, 1, 2)
    check("UNPACK", [x], [x[:, 0]], "UnpackOptions", Num=1, Axis=1)
    check("SPLIT", [1, x], [x], "SplitOptions", NumSplits=1)


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_batches_are_gathered_from(data):
    rank = data.draw(st.integers(2, 4))
    batches = data.draw(st.integers(0, rank - 1))
    axis = data.draw(st.integers(batches, rank - 1))
    shape = data.draw(st.lists(st.integers(1, 4), min_size=rank, max_size=rank))
    inner = data.draw(st.lists(st.integers(1, 3), max_size=2))
    x = floats(*shape)
    places = (*shape[:batches], *inner)
    index = np.random.default_rng(2).integers(0, shape[axis], places).astype(np.int32)
    rows = [np.take(x[at], index[at], axis - batches) for at in np.ndindex(*shape[:batches])] or [x]
    wanted = np.array(rows).reshape(*shape[:batches], *rows[0].shape)
    fields = {"Axis": axis, "BatchDims": batches}
    if index.ndim:
        check("GATHER", [x, index], wanted.astype(np.float32), "GatherOptions", **fields)


@pytest.mark.parametrize("places", [[[0, 2], [1, 0]], [[[2, 3, 1]], [[0, 0, 4]]], [[1], [1], [0]]])
def test_elements_are_gathered(places):
    x = floats(3, 4, 5)
    index = np.array(places)
    check("GATHER_ND", [x, places], x[tuple(np.moveaxis(index, -1, 0))])


@pytest.mark.parametrize(("mode", "name"), [(0, "reflect"), (1, "symmetric")])
def test_edges_are_mirrored(mode, name):
    for x in both(3, 4, 2):
        wanted = np.pad(x, ((1, 2), (2, 1), (0, 0)), name)
        check("MIRROR_PAD", [x, [[1, 2], [2, 1], [0, 0]]], wanted, "MirrorPadOptions", Mode=mode)


@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
def test_sums_from_either_end(exclusive, reverse):
    x = floats(3, 5)
    turned = x[:, ::-1] if reverse else x
    wanted = np.cumsum(turned, 1, dtype=np.float32) - (turned if exclusive else 0)
    wanted = wanted[:, ::-1] if reverse else wanted
    fields = {"Exclusive": exclusive, "Reverse": reverse}
    check("CUMSUM", [x, 1], np.ascontiguousarray(wanted), "CumsumOptions", atol=1e-6, **fields)


def test_rows_by_number_and_by_condition():
    table, rows = floats(5, 4), np.array([3, 0, 3], np.int32)
    check("EMBEDDING_LOOKUP", [rows, table], table[rows])
    one, other, chosen = floats(3, 4), floats(3, 4, seed=1), np.array([True, False, True])
    check("SELECT", [chosen, one, other], np.where(chosen[:, None], one, other))


def test_rows_that_do_not_exist_are_the_nearest():
    table, rows = floats(5, 4), np.array([-1, 9, 2], np.int32)
    nearest = table[[0, 4, 2]]
    check("EMBEDDING_LOOKUP", [rows, table], nearest)
    check("GATHER", [table, rows], nearest, "GatherOptions", Axis=0)
    check("GATHER_ND", [table, rows[:, None]], nearest)


@pytest.mark.parametrize("beta", [1.0, 0.5, 2.5])
def test_softmax_of_beta_times_its_operand(beta):
    x = floats(3, 7)
    e = np.exp(beta * (x - x.max(1, keepdims=True)))
    check("SOFTMAX", [x], e / e.sum(1, keepdims=True), "SoftmaxOptions", atol=1e-6, Beta=beta)


@pytest.mark.parametrize("tanh", [False, True])
def test_gelu_of_both_kinds(tanh):
    x = 3 * floats(4, 9)
    inner = np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))
    gate = inner if tanh else np.vectorize(erf)(x / np.sqrt(2))
    wanted = (0.5 * x * (1 + gate)).astype(np.float32)
    check("GELU", [x], wanted, "GeluOptions", atol=2e-6, Approximate=tanh)


@pytest.mark.parametrize("adjoint", [(False, False), (True, False), (False, True)])
def test_products_of_broadcast_batches(adjoint):
    x, y = floats(2, 1, 3, 4), floats(3, 4, 5, seed=1)
    given_x, given_y = (
        np.ascontiguousarray(v.swapaxes(-1, -2)) if turned else v
        for v, turned in zip((x, y), adjoint, strict=True)
    )
    fields = {"AdjX": adjoint[0], "AdjY": adjoint[1]}
    check("BATCH_MATMUL", [given_x, given_y], x @ y, "BatchMatMulOptions", atol=1e-5, **fields)


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_places_in_the_type_of_the_file(dtype):
    number = {np.int32: 2, np.int64: 4}[dtype]
    for x in both(3, 5):
        fields = {"OutputType": number}
        check("ARG_MAX", [x, 1], x.argmax(1).astype(dtype), "ArgMaxOptions", **fields)
        check("ARG_MIN", [x, 0], x.argmin(0).astype(dtype), "ArgMinOptions", **fields)


@pytest.mark.parametrize(
    ("shape", "inputs", "kept"), [((2, 3, 8), 8, True), ((2, 3, 8), 8, False), ((2, 4), 8, False)]
)
def test_rows_of_dense_layers(shape, inputs, kept):
    x, weight, bias = floats(*shape), floats(5, inputs, seed=1), floats(5, seed=2)
    wanted = np.maximum(x.reshape(-1, inputs) @ weight.T + bias, 0)
    wanted = wanted.reshape(*shape[:-1], 5) if kept else wanted
    fields = {"KeepNumDims": kept, "FusedActivationFunction": 1}
    check(
        "FULLY_CONNECTED", [x, weight, bias], wanted, "FullyConnectedOptions", atol=1e-5, **fields
    )


def test_unknown_custom_operators_are_named():
    data, _ = file("Landmarks2Matrix", [floats(2, 3)], floats(2, 3), Custom=b"")
    with pytest.raises(
        UnsupportedOperatorError, match=r"Landmarks2Matrix \(node 'o0'\): no such custom operator"
    ):
        load(data)


def test_results_of_other_shapes_than_the_file_says_are_refused():
    data, _ = file("TRANSPOSE", [floats(2, 3), [1, 0]], floats(2, 3))
    with pytest.raises(UnsupportedOperatorError, match=r"its result is \[2, 3\], and it comes as"):
        load(data)


@pytest.mark.parametrize("kind", ["MATRIX_DIAG", "MATRIX_SET_DIAG", "SPARSE_TO_DENSE"])
def test_calls_of_tvms_own_library_are_refused(kind):
    data, _ = file(kind, [floats(2, 3)], floats(2, 3, 3))
    with pytest.raises(UnsupportedOperatorError, match="no such operator"):
        load(data)


def test_axes_that_are_computed_are_refused():
    data, _ = file("EXPAND_DIMS", [floats(2, 3), np.array(1, np.int32)], floats(2, 1, 3))
    with pytest.raises(UnsupportedOperatorError, match="must be known at compile time"):
        load(data)
