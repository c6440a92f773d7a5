"""Operators that pick, place and order elements, against numpy."""

import re

import numpy as np
import pytest
from harness import evaluate, module_of, run
from hypothesis import given, settings
from hypothesis import strategies as st
from tvm.relax import op

from match_aie.fallback import lower

RNG = np.random.default_rng(0)
SANITISED = ("-O1", "-fsanitize=undefined", "-fno-sanitize-recover")


def _normal(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def test_take_clamps_what_is_out_of_range():
    x, index = _normal(5, 4), np.array([[0, 4], [2, 99]], np.int64)
    (got,) = evaluate(lambda emit, v, i: emit(op.take(v, i, axis=0)), x, index, flags=SANITISED)
    np.testing.assert_array_equal(got, x[np.minimum(index, 4)])


def test_gather_elements_counts_negative_indices_from_the_end():
    x, index = _normal(5, 4), np.array([[0, -1, 4, 2], [-5, 3, 1, -2]], np.int64)
    (got,) = evaluate(lambda emit, v, i: emit(op.gather_elements(v, i, 0)), x, index)
    np.testing.assert_array_equal(got, np.take_along_axis(x, index % 5, 0))


def test_gather_nd():
    x, index = _normal(3, 4, 5), np.array([[0, -1], [2, 3]], np.int64)
    (got,) = evaluate(lambda emit, v, i: emit(op.gather_nd(v, i)), x, index)
    np.testing.assert_array_equal(got, x[index[:, 0], index[:, 1]])
    (got,) = evaluate(
        lambda emit, v, i: emit(op.gather_nd(v, i, 1)), x, np.array([[1], [-1], [0]], np.int64)
    )
    np.testing.assert_array_equal(got, x[[0, 1, 2], [1, -1, 0]])


REDUCTIONS = {
    "update": lambda old, new: new,
    "add": lambda old, new: old + new,
    "mul": lambda old, new: old * new,
    "max": max,
    "min": min,
}


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_scatter(reduction):
    x, updates = _normal(5, 4), _normal(3, 4)
    index = np.array([[0, -1, 2, 3], [0, 1, 2, -5], [4, 1, 1, 9]], np.int64)
    rows = np.array([[1], [-1], [1]], np.int64)
    got = evaluate(
        lambda emit, v, i, u, r: [
            emit(op.scatter_elements(v, i, u, 0, reduction)),
            emit(op.scatter_nd(v, r, u, reduction)),
        ],
        x, index, updates, rows, flags=SANITISED,
    )  # fmt: skip
    elements, slices = x.copy(), x.copy()
    for j in range(3):
        for k in range(4):
            if index[j, k] < 5:  # the last one is out of range, and has no effect
                place = index[j, k], k
                elements[place] = REDUCTIONS[reduction](elements[place], updates[j, k])
            place = rows[j, 0], k
            slices[place] = REDUCTIONS[reduction](slices[place], updates[j, k])
    np.testing.assert_array_equal(got[0], elements)
    np.testing.assert_array_equal(got[1], slices)


@settings(max_examples=6, deadline=None)
@given(st.integers(1, 20), st.integers(1, 5), st.booleans(), st.sampled_from([0, 1]))
def test_sorting_keeps_the_order_of_equals(n, distinct, descending, axis):
    x = RNG.integers(0, distinct, (n, 3) if axis == 0 else (3, n)).astype(np.float32)
    k = max(1, n // 2)
    values, order, top, where = evaluate(
        lambda emit, v: [
            emit(op.sort(v, axis, descending)),
            emit(op.argsort(v, axis, descending, "int64")),
            *_both(emit, op.topk(v, k, axis, "both", descending, "int64")),
        ],
        x,
    )
    wanted = np.argsort(-x if descending else x, axis, kind="stable")
    np.testing.assert_array_equal(order, wanted)
    np.testing.assert_array_equal(values, np.take_along_axis(x, wanted, axis))
    np.testing.assert_array_equal(where, np.take(wanted, range(k), axis))
    np.testing.assert_array_equal(top, np.take_along_axis(x, where, axis))


def _both(emit, call):
    from tvm import relax

    pair = emit(call)
    return [emit(relax.TupleGetItem(pair, index)) for index in (0, 1)]


@pytest.mark.parametrize("exclusive", [False, True])
def test_running_sums_and_products(exclusive):
    x = _normal(3, 7)
    total, product = evaluate(
        lambda emit, v: [
            emit(op.cumsum(v, 1, exclusive=exclusive)), emit(op.cumprod(v, 0, exclusive=exclusive)),
        ],
        x,
    )  # fmt: skip
    sums, products = np.cumsum(x, 1), np.cumprod(x, 0)
    if exclusive:
        sums = np.concatenate([np.zeros((3, 1), np.float32), sums[:, :-1]], 1)
        products = np.concatenate([np.ones((1, 7), np.float32), products[:-1]], 0)
    np.testing.assert_allclose(total, sums, 1e-6, 1e-6)
    np.testing.assert_allclose(product, products, 1e-6, 1e-6)


def test_moving_data():
    x = _normal(2, 3, 4)
    got = evaluate(
        lambda emit, v: [
            emit(op.permute_dims(v, [2, 0, 1])),
            emit(op.strided_slice(v, [1, 2], [2, 0], [0, 4], [-1, 2])),
            emit(op.flip(v, 1)),
            emit(op.tile(v, [2, 1, 3])),
            emit(op.repeat(v, 2, 1)),
            emit(op.broadcast_to(emit(op.strided_slice(v, [0], [0], [1])), [5, 3, 4])),
            emit(op.nn.pad(v, [0, 1, 2, 0, 0, 0], "constant", 7.0)),
            emit(op.concat([v, v], 2)),
        ],
        x,
    )
    wanted = [
        x.transpose(2, 0, 1), x[:, 2:0:-1, 0:4:2], x[:, ::-1], np.tile(x, (2, 1, 3)),
        np.repeat(x, 2, 1), np.broadcast_to(x[:1], (5, 3, 4)),
        np.pad(x, ((0, 1), (2, 0), (0, 0)), constant_values=7.0), np.concatenate([x, x], 2),
    ]  # fmt: skip
    for value, reference in zip(got, wanted, strict=True):
        np.testing.assert_array_equal(value, reference)


def _moved(emit, value, rng):
    """A rule that moves data, as (TVM's value, numpy's function)."""
    shape = [int(size) for size in value.ty.shape]
    kind = int(rng.integers(6))
    if kind == 0:
        times = [int(t) for t in rng.integers(1, 3, len(shape))]
        return emit(op.tile(value, times)), lambda a: np.tile(a, times)
    if kind == 1:
        axis = int(rng.integers(len(shape)))
        return emit(op.flip(value, axis)), lambda a: np.flip(a, axis)
    if kind == 2:
        flat = [int(np.prod(shape))]
        parts = flat if flat[0] % 3 else [flat[0] // 3, 3]
        return emit(op.reshape(value, parts)), lambda a: a.reshape(parts)
    if kind == 3:
        axis = int(rng.integers(len(shape)))
        first = int(rng.integers(shape[axis]))
        return (
            emit(op.strided_slice(value, [axis], [first], [shape[axis]])),
            lambda a: np.take(a, range(first, shape[axis]), axis),
        )
    if kind == 4:
        return emit(op.repeat(value, 2, 0)), lambda a: np.repeat(a, 2, 0)
    order = [int(axis) for axis in rng.permutation(len(shape))]
    return emit(op.permute_dims(value, order)), lambda a: a.transpose(order)


@pytest.mark.parametrize("seed", range(3))
def test_data_moved_more_than_once(seed):
    x = _normal(2, 3, 4)
    wanted = []

    def body(emit, v):
        rng, results = np.random.default_rng(seed), []
        for _ in range(12):
            value, array = v, x
            for _ in range(4):
                value, rule = _moved(emit, value, rng)
                array = rule(array)
            results.append(value)
            wanted.append(array)
        return results

    for value, reference in zip(evaluate(body, x), wanted, strict=True):
        np.testing.assert_array_equal(value, reference)


@given(sizes=st.tuples(*(st.integers(1, 20) for _ in range(4))), order=st.permutations(range(4)))
@settings(max_examples=12, deadline=None)
def test_reshape_after_transpose(sizes, order):
    """Whatever the sizes are: loops are divided where both quotient and remainder are read."""
    x = _normal(*sizes)
    shape = [sizes[order[0]], sizes[order[1]], sizes[order[2]] * sizes[order[3]]]
    (got,) = evaluate(
        lambda emit, v: emit(op.reshape(emit(op.permute_dims(v, order)), shape)), x, flags=SANITISED
    )
    np.testing.assert_array_equal(got, x.transpose(order).reshape(shape))


#: Shape, axes, and the innermost loop's length: of a row that is read, of a part of it, or of a
#: row that is written.
TURNED = [
    ((8, 9, 4), (2, 0, 1), 4),
    ((2, 7, 6, 3), (0, 3, 1, 2), 3),
    ((9, 8, 16), (2, 0, 1), 16),
    ((9, 8, 20), (2, 0, 1), 4),
    ((40, 36), (1, 0), 4),
    ((16, 8, 9), (1, 2, 0), 16),
    ((8, 9, 5), (2, 0, 1), 9),
    ((300, 7), (1, 0), 300),
    ((7, 300), (1, 0), 7),
]


@pytest.mark.parametrize(("shape", "axes", "inner"), TURNED, ids=str)
def test_a_transposition_reads_short_pieces(shape, axes, inner):
    x = _normal(*shape)
    module = module_of(lambda emit, v: emit(op.permute_dims(v, axes)), (x.shape, "float32"))
    remainder = lower(module, prefix="net", labels={})
    (function,) = remainder.functions
    assert re.findall(r"< (\d+); \+\+", function.source)[-1] == str(inner)
    (got,) = run(remainder, [x])
    np.testing.assert_array_equal(got, x.transpose(axes))
