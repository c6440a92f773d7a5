import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from match_aie.codegen.weights import layout, little_endian
from match_aie.errors import InternalError
from match_aie.lowering import Constant

DTYPES = st.sampled_from(["bool", "int8", "uint16", "int32", "float16", "float32", "float64"])
VALUES = hnp.arrays(DTYPES.map(np.dtype), hnp.array_shapes(min_dims=0, max_dims=3, min_side=0))


@given(st.lists(VALUES, max_size=6), st.sampled_from([8, 16, 64]))
def test_every_constant_is_found_at_its_aligned_offset(values, alignment):
    blob = layout([Constant(f"c{i}", v) for i, v in enumerate(values)], alignment)
    assert len(blob.data) % alignment == 0
    end = 0
    for member, value in zip(blob.members, values, strict=True):
        assert member.offset == end
        assert member.offset % alignment == 0
        assert member.count == max(1, value.size)
        assert member.nbytes == member.count * value.itemsize
        kept = blob.data[member.offset : member.offset + value.nbytes]
        assert kept == value.tobytes()
        end = member.offset + member.nbytes + member.padding
    assert end == len(blob.data)


def test_bytes_are_little_endian_and_row_major():
    value = np.array([[1, 2], [3, 4]], dtype=">i2").T
    assert little_endian(value) == bytes([1, 0, 3, 0, 2, 0, 4, 0])


def test_two_constants_of_one_name_are_refused():
    value = np.zeros(1, np.int8)
    with pytest.raises(InternalError):
        layout([Constant("c", value), Constant("c", value)], 8)
