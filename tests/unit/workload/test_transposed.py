"""Transposed convolutions: what they mean is what the accesses of their operands say."""

from itertools import product

import numpy as np
import pytest

from match_aie.workload import Quantized, Window, conv2d_transpose, phase_taps, reference
from tests.aie_layers import random_inputs
from tests.transposed import SHAPES, transposed


def by_access(workload, x, weight):
    """Sums of products, index by index; outside of the operands there is nothing."""
    names = [name for name, _ in workload.dims]
    y = np.zeros(workload.output.shape, np.int64)
    point = workload.operand("x").zero_point

    def element(operand, at):
        place = [sum(at[d] * c for d, c in axis.terms) + axis.offset for axis in operand.axes]
        inside = all(0 <= p < size for p, size in zip(place, operand.shape, strict=True))
        return tuple(place) if inside else None

    for index in product(*(range(size) for _, size in workload.dims)):
        at = dict(zip(names, index, strict=True))
        of_x = element(workload.operand("x"), at)
        of_w = element(workload.operand("weight"), at)
        if of_x is not None and of_w is not None:
            product_ = (int(x[of_x]) - point) * int(weight[of_w])
            y[element(workload.output, at)] += product_
    return y


@pytest.mark.parametrize("shape", SHAPES)
def test_accesses_and_reference_agree(shape):
    rng = np.random.default_rng(1)
    quantised = transposed(rng, shape, (3, 2, 2, 3), point=4)
    filter_, stride, padding, _ = shape
    workload = conv2d_transpose(
        Quantized("int8", 0.05, 4),
        Quantized("int32"),
        shape=(1, 3, 2, 2),
        weight_shape=(3, *filter_, 2),
        out=quantised.output.shape[1:3],
        window=Window(stride, (1, 1), padding),
    )
    (x,) = random_inputs(workload, rng).values()
    weight = rng.integers(-128, 128, workload.operand("weight").shape).astype(np.int8)
    constants = {"weight": weight, "bias": np.array([1, 10, 100], np.int32)}
    got = reference(workload, [x], constants)
    np.testing.assert_array_equal(got, by_access(workload, x, weight) + constants["bias"])


def test_as_many_products_as_inputs_times_filter():
    workload = transposed(np.random.default_rng(0), SHAPES[2], (5, 6, 8, 4))
    assert workload.macs == 5 * 6 * 8 * 4 * 16
    assert workload.steps > workload.macs


@pytest.mark.parametrize(
    ("filter_", "stride", "before", "taps"),
    [(2, 2, 0, (1, 0)), (3, 2, 1, (2, 0)), (4, 2, 1, (3, 1)), (3, 1, 1, (3, 1)), (1, 2, 0, (1, 0))],
)
def test_taps_of_a_phase(filter_, stride, before, taps):
    assert phase_taps(filter_, stride, before) == taps


def test_parts_of_strides_are_no_workload():
    window = Window((2, 2))
    with pytest.raises(ValueError, match="no whole number of strides"):
        conv2d_transpose(
            Quantized("int8"),
            Quantized("int32"),
            shape=(1, 3, 3, 2),
            weight_shape=(2, 3, 3, 2),
            out=(7, 7),
            window=window,
        )
