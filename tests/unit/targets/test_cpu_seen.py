"""What kernels leave out of a filter because it sees padding alone."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from match_aie.hardware import Mapping
from match_aie.targets.cpu.form import form, shape
from match_aie.targets.cpu.machine import machine
from match_aie.targets.cpu.module import Int8Module, UntiledModule
from match_aie.targets.cpu.seen import pieces, seen, taps_seen
from match_aie.workload import Quantized, Window, conv2d, full_range

S8, ZERO, NINE = Quantized("int8", 0.1, -3), Quantized("uint8", 0.1, 0), Quantized("uint8", 0.1, 9)
VNNI = machine("x86-64-v4+avx512vnni")


def conv(x=ZERO, image=(7, 7), channels=512, outputs=512, taps=(3, 3), **window):
    window = {"padding": (1, 1, 1, 1)} | window
    return conv2d(x, S8, shape=(1, *image, channels), weight_shape=(outputs, *taps, channels),
                  window=Window(**window), tail=full_range("int8", -3), scales=outputs)  # fmt: skip


def found(workload, facts=VNNI):
    return seen(facts, workload, form(facts, workload), shape(workload))


@given(
    st.integers(1, 9), st.integers(1, 6), st.integers(1, 4), st.integers(1, 4),
    st.integers(0, 9), st.integers(1, 9),
)  # fmt: skip
def test_taps_are_those_within_the_image(outputs, taps, stride, dilation, before, size):
    ranges = taps_seen(outputs, taps, stride, dilation, before, size)
    for output, (first, end) in enumerate(ranges):
        within = [t for t in range(taps) if 0 <= output * stride - before + t * dilation < size]
        assert list(range(first, end)) == within


def test_a_small_image_leaves_out_what_is_padding():
    share = found(conv()).share(shape(conv()), whole=True)
    assert share == pytest.approx((19 / 21) ** 2)
    assert found(conv()).share(shape(conv()), whole=False) == pytest.approx(19 / 21)


@pytest.mark.parametrize(
    "workload",
    [conv(NINE), conv(padding=(0, 0, 0, 0)), conv(image=(224, 224), channels=4, outputs=8)],
    ids=["padding is not zero", "no padding", "little of it"],
)
def test_nothing_is_left_out(workload):
    assert found(workload) is None


def test_int16_has_no_zero_point():
    assert found(conv(NINE), machine("x86-64-v3")) is not None
    assert found(conv(), machine("aarch64")) is None  # 128 less: padding is not 0


@given(st.integers(1, 9), st.integers(1, 5), st.integers(0, 5), st.integers(0, 5))
def test_pieces_take_every_tap_that_a_pixel_sees_once(columns, taps, left, right):
    if columns + left + right < taps:
        return
    w = conv(image=(3, columns), channels=4, outputs=4, taps=(1, taps), padding=(0, left, 0, right))
    made = found(w)
    if made is None:
        return
    product = shape(w)
    taken = np.zeros((product.pixels, product.run), int)
    at = 0
    for piece in pieces(made, product):
        assert piece.begin == at < piece.end
        taken[list(piece.pixels), piece.begin : piece.end] += 1
        at = piece.end
    assert at == product.run
    expected = [[first <= i // 4 < end for i in range(4 * taps)] for first, end in made.columns]
    assert np.array_equal(taken, np.asarray(expected, int))


def test_kernels_leave_columns_out_where_a_tile_is_a_line():
    module = UntiledModule(VNNI)
    kernel = module.kernel(conv(), Mapping((), ()))
    assert kernel.rows == 7
    assert [piece.pixels for piece in kernel.pieces] == [
        tuple(range(1, 7)), tuple(range(7)), tuple(range(6)),
    ]  # fmt: skip
    wide = conv(image=(5, 40), channels=64)
    assert not Int8Module(VNNI).kernel(wide, Mapping((), ())).pieces


def test_what_is_left_out_is_not_paid_for():
    module = UntiledModule(VNNI)
    with_zeros, without = (module._one_core(conv(x)) for x in (ZERO, NINE))
    assert with_zeros.steps == pytest.approx(without.steps * (19 / 21) ** 2)


def test_tiles_ask_for_all_of_the_next_panel():
    """Lines that leave rows out ask for less; together they ask for every line of the panel."""
    kernel = UntiledModule(VNNI).kernel(conv(), Mapping((), ()))
    assert kernel.fetch is not None
    panel = kernel.steps * kernel.panel.columns
    runs = [(end - first) * 3 for first, end in kernel.seen.lines]
    steps = 512 // kernel.form.group // kernel.fetch.every
    asked, at = np.zeros(panel // 64, bool), 0
    for each in runs:
        first = at // 64
        asked[first : first + each * steps * kernel.fetch.lines] = True
        at = min(at + kernel.fetch.share, kernel.fetch.last)
    assert asked.all()
