"""Tensors in an order of a module's own: what is copied where, and what is not."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from match_aie.errors import TargetError
from match_aie.fallback.reorder import reorder
from match_aie.hardware import Blocked, Packed, activations
from match_aie.workload import Quantized, Tail, Window, conv2d
from tests.unit.mapping.machines import Machine

U8 = Quantized("uint8", 1.0)
INPUT, OUTPUT = Blocked("B C OY OX c", C=16), Blocked("B K OY OX k", K=16)


def image(inputs, outputs, side=4):
    return conv2d(
        U8, U8, shape=(1, side, side, inputs), weight_shape=(outputs, 3, 3, inputs),
        window=Window((1, 1), (1, 1), (1, 1, 1, 1)), tail=Tail(0, 0, 255), scales=outputs,
    )  # fmt: skip


def run(text, source, size):
    """The emitted function in Python: its loops and its places, read from the text."""
    loops = [
        (name, int(n)) for name, n in re.findall(r"\((?:int64_t) (i_\d)[^<]*<[^(]*\((\d+)\)", text)
    ]
    written, read = re.search(r"out_0\[(.*?)\] = in_0\[(.*?)\];", text).groups()
    places = [place.replace("INT64_C", "").replace("/", "//") for place in (written, read)]
    found = np.zeros(size, source.dtype)
    for index in np.ndindex(*[n for _, n in loops]):
        values = dict(zip([name for name, _ in loops], map(int, index), strict=True))
        to, origin = (eval(place, {}, values) for place in places)
        found[to] = source.reshape(-1)[origin]
    return found


@settings(max_examples=30, deadline=None)
@given(
    channels=st.sampled_from([1, 3, 16, 24, 33]),
    side=st.integers(1, 4),
    block=st.sampled_from([1, 4, 16]),
)
def test_what_is_copied_is_what_pack_gives(channels, side, block):
    workload = image(channels, 5, side)
    x = workload.operand("x")
    packing = Blocked("B C OY OX c", C=block).on(x)
    value = np.arange(1, x.size + 1, dtype=np.uint8).reshape(x.shape)
    packed = packing.pack(x, value)
    np.testing.assert_array_equal(packing.unpack(x, packed), value)
    there = run(reorder("f", x, None, packing), value, packed.size)
    np.testing.assert_array_equal(there.reshape(packed.shape), packed)
    back = run(reorder("f", x, packing, None), packed, x.size)
    np.testing.assert_array_equal(back.reshape(x.shape), value)


def test_ragged_blocks_are_zeroed_and_whole_ones_are_not():
    for channels, zeroed in ((24, True), (32, False)):
        x = image(channels, 5).operand("x")
        text = reorder("f", x, None, INPUT.on(x))
        assert ("out_0[i] = 0;" in text) == zeroed
        assert "out_0[i] = 0;" not in reorder("f", x, INPUT.on(x), None)


class Ordered(Machine, Packed):
    def layouts(self, workload):
        return self.given


def test_tensors_and_constants_are_told_apart():
    module = Ordered([4096])
    module.given = {"x": INPUT, "y": OUTPUT, "weight": Blocked("K C FY FX c k", K=16, C=16)}
    assert set(activations(image(24, 40), module)) == {"x", "y"}
    assert module.given["x"].on(image(24, 40).operand("x")).shape(image(24, 40).operand("x")) == (
        1, 2, 4, 4, 16,
    )  # fmt: skip


def test_the_bytes_of_a_tensor_are_no_one_s_to_pack():
    module = Ordered([4096])
    module.given = {"x": Blocked("B ...", B=1, cell=64)}
    with pytest.raises(TargetError, match="x is no constant, and its blocks are left to pack"):
        activations(image(24, 40), module)
