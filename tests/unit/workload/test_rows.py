"""Rows of a layer are what the whole layer computes there."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from match_aie.workload import Quantized, Tail, Window, conv2d, dense, elementwise, reference
from match_aie.workload.rows import has_rows, rows_of

X, Y = Quantized("uint8", 0.5, 7), Quantized("uint8", 0.75, 3)


@st.composite
def convolutions(draw):
    numbers = st.integers(1, 3)
    depthwise = draw(st.booleans())
    channels, filter_ = draw(numbers), (draw(numbers), draw(numbers))
    window = Window(
        (draw(numbers), draw(numbers)),
        (draw(numbers), draw(numbers)),
        tuple(draw(st.integers(0, 2)) for _ in range(4)),
    )
    reach = [(f - 1) * d + 1 for f, d in zip(filter_, window.dilation, strict=True)]
    shape = (1, draw(st.integers(reach[0] + window.stride[0], 12)), draw(st.integers(reach[1], 12)))
    outputs = channels if depthwise else draw(numbers)
    return conv2d(
        X,
        Y,
        shape=(*shape, channels),
        weight_shape=(outputs, *filter_, 1 if depthwise else channels),
        groups=channels if depthwise else 1,
        window=window,
        tail=Tail(3, 0, 255),
        scales=outputs,
    )


@settings(max_examples=60, deadline=None)
@given(convolutions(), st.data())
def test_both_halves_are_the_whole(workload, data):
    assert has_rows(workload)
    height = workload.sizes["OY"]
    at = data.draw(st.integers(1, height - 1))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    x = rng.integers(0, 256, workload.operand("x").shape).astype(np.uint8)
    constants = {
        o.name: rng.uniform(0.01, 0.2, o.shape).astype(np.float32)
        if o.name == "scale"
        else rng.integers(-100, 100, o.shape).astype(o.dtype)
        for o in workload.constants
    }
    whole = reference(workload, [x], constants)
    for first, count in ((0, at), (at, height - at)):
        part = rows_of(workload, first, count)
        wanted = whole[:, first : first + count]
        if part is None:
            assert (wanted == wanted[:, :1, :1]).all()
            continue
        taken = part.workload.operand("x")
        begin = part.read // (taken.nbytes // taken.shape[1])
        got = reference(part.workload, [x[:, begin : begin + taken.shape[1]]], constants)
        np.testing.assert_array_equal(got, wanted)
        assert part.written == first * whole[0, 0].nbytes


def test_rows_that_see_padding_only_are_no_layer():
    workload = conv2d(
        X, Y, shape=(1, 4, 4, 1), weight_shape=(1, 1, 1, 1), window=Window(padding=(2, 0, 0, 0)),
        tail=Tail(3, 0, 255), scales=1,
    )  # fmt: skip
    assert rows_of(workload, 0, 2) is None
    assert rows_of(workload, 0, 3).workload.window.padding == (2, 0, 0, 0)


@pytest.mark.parametrize("batch", [1, 2])
def test_only_convolutions_of_one_image_have_rows(batch):
    image = {"shape": (batch, 4, 4, 1), "weight_shape": (1, 1, 1, 1)}
    assert has_rows(conv2d(X, Y, **image, tail=Tail(3, 0, 255), scales=1)) == (batch == 1)
    assert not has_rows(
        dense(X, Y, rows=batch, inputs=4, outputs=4, tail=Tail(3, 0, 255), scales=1)
    )


@settings(max_examples=30, deadline=None)
@given(
    st.sampled_from(["add", "mul"]),
    st.tuples(st.integers(2, 7), st.integers(1, 5), st.integers(1, 5)),
    st.data(),
)
def test_rows_of_a_sum_of_two_images_are_the_whole(kind, shape, data):
    image = (1, *shape)
    sizes = {"shape": image, "shape1": image, "out": image}
    workload = elementwise(kind, X, X, Y, **sizes, tail=Tail(3, 0, 255))
    assert has_rows(workload)
    at = data.draw(st.integers(1, shape[0] - 1))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    images = [rng.integers(0, 256, image).astype(np.uint8) for _ in range(2)]
    whole = reference(workload, images, {})
    for first, count in ((0, at), (at, shape[0] - at)):
        part = rows_of(workload, first, count)
        begin = part.read // whole[0, 0].nbytes
        got = reference(part.workload, [x[:, begin : begin + count] for x in images], {})
        np.testing.assert_array_equal(got, whole[:, first : first + count])
        assert part.read == part.written == first * whole[0, 0].nbytes


@pytest.mark.parametrize("other", [(1, 1, 1, 3), (1, 4, 1, 3)])
def test_a_sum_with_less_than_an_image_has_no_rows(other):
    image = (1, 4, 2, 3)
    layer = elementwise("add", X, X, Y, shape=image, shape1=other, out=image, tail=Tail(3, 0, 255))
    assert not has_rows(layer)
