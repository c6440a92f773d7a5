"""Stored tensors of an ONNX model: how many bytes they state, and whether they hold them."""

from __future__ import annotations

from collections.abc import Iterable
from math import prod

import onnx
from onnx import TensorProto

from match_aie.errors import ModelError, shorten

#: Bits of an element by ONNX's number of its type; strings have none.
ELEMENT_BITS = {
    **{TensorProto.FLOAT: 32, TensorProto.UINT8: 8, TensorProto.INT8: 8, TensorProto.UINT16: 16},
    **{TensorProto.INT16: 16, TensorProto.INT32: 32, TensorProto.INT64: 64, TensorProto.BOOL: 8},
    **{TensorProto.FLOAT16: 16, TensorProto.DOUBLE: 64, TensorProto.UINT32: 32},
    **{TensorProto.UINT64: 64, TensorProto.COMPLEX64: 64, TensorProto.COMPLEX128: 128},
    **{TensorProto.BFLOAT16: 16, TensorProto.FLOAT8E4M3FN: 8, TensorProto.FLOAT8E4M3FNUZ: 8},
    **{TensorProto.FLOAT8E5M2: 8, TensorProto.FLOAT8E5M2FNUZ: 8, TensorProto.UINT4: 4},
    **{TensorProto.INT4: 4, TensorProto.FLOAT4E2M1: 4, TensorProto.FLOAT8E8M0: 8},
    **{TensorProto.UINT2: 2, TensorProto.INT2: 2},
}

#: Fields for values of a type; all others are in `int32_data`, packed where they are 2 or 4 bits.
FIELDS = {
    **{TensorProto.FLOAT: "float_data", TensorProto.COMPLEX64: "float_data"},
    **{TensorProto.DOUBLE: "double_data", TensorProto.COMPLEX128: "double_data"},
    **{TensorProto.INT64: "int64_data", TensorProto.STRING: "string_data"},
    **{TensorProto.UINT32: "uint64_data", TensorProto.UINT64: "uint64_data"},
}
PAIRS = (TensorProto.COMPLEX64, TensorProto.COMPLEX128)


def stored_bytes(tensor: onnx.TensorProto) -> int:
    """Bytes that a stored tensor takes by its sizes and type."""
    return dense_bytes(tensor.dims, tensor.data_type)


def dense_bytes(shape: Iterable[int], dtype: int) -> int:
    """Bytes of a tensor of a shape whose elements are of ONNX's type `dtype`."""
    return (prod(shape) * ELEMENT_BITS.get(dtype, 64) + 7) // 8


def check_content(tensor: onnx.TensorProto) -> None:
    """Refuse a tensor that holds more or less than it states; data in other files is not read.

    Raises:
        ModelError: saying how much there is, and how much there should be.
    """
    if tensor.data_location == TensorProto.EXTERNAL:
        return
    where = f"tensor {shorten(tensor.name, 80)}"
    if tensor.HasField("segment"):
        raise ModelError("a tensor is stored in segments", where=where)
    if tensor.HasField("raw_data"):
        have, wanted, unit = len(tensor.raw_data), stored_bytes(tensor), "bytes"
    else:
        have = len(getattr(tensor, FIELDS.get(tensor.data_type, "int32_data")))
        wanted, unit = prod(tensor.dims), "elements"
        if tensor.data_type in PAIRS:
            wanted *= 2
        elif ELEMENT_BITS.get(tensor.data_type, 8) < 8:
            wanted = stored_bytes(tensor)
    if have != wanted:
        raise ModelError(
            f"a tensor of shape {list(tensor.dims)} holds {have} {unit} instead of {wanted}",
            where=where,
            hint="is the file complete? export it again",
        )
