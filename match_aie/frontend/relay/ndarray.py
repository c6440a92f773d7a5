"""Arrays and parameter lists as TVM's run time writes them.

An array is u64 magic, u64 0, i32 device type, i32 device id, i32 rank, u8 type code, u8 bits,
u16 lanes, i64 sizes, i64 bytes, data; a list is u64 magic, u64 0, names (u64 count, each u64
length and bytes), u64 count, arrays. All little endian (src/runtime/ndarray.cc and
src/runtime/file_utils.cc of TVM up to 0.19).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from math import prod

import numpy as np

from match_aie.errors import ModelError, shorten

ARRAY_MAGIC = 0xDD5E40F096B4A13F
LIST_MAGIC = 0xF7E58D4F05049CB7
#: What the bytes of a parameter list start with.
LIST_MARK = struct.pack("<Q", LIST_MAGIC)
#: The same for one array.
ARRAY_MARK = struct.pack("<Q", ARRAY_MAGIC)

_MAX_RANK = 32
_CODES = {0: "int", 1: "uint", 2: "float"}


@dataclass
class _Reader:
    """A place in the bytes."""

    data: bytes
    at: int = 0

    def take(self, layout: str) -> tuple[int, ...]:
        """Little-endian numbers."""
        size = struct.calcsize(f"<{layout}")
        return struct.unpack(f"<{layout}", self.bytes(size))

    def bytes(self, size: int) -> bytes:
        """The next `size` bytes."""
        if size < 0 or self.at + size > len(self.data):
            raise ModelError(
                "the parameters are cut off",
                where=f"byte {self.at} of {len(self.data)}",
                hint="copy the file again",
            )
        start, self.at = self.at, self.at + size
        return self.data[start : self.at]


def read_list(data: bytes) -> dict[str, np.ndarray]:
    """Arrays by name, from what `save_param_dict` gave.

    Raises:
        ModelError: the bytes are something else, or cut off.
    """
    reader = _Reader(data)
    magic, _ = reader.take("QQ")
    if magic != LIST_MAGIC:
        raise ModelError("these bytes are no parameters that save_param_dict wrote")
    names = []
    for _ in range(reader.take("Q")[0]):
        names.append(reader.bytes(reader.take("Q")[0]).decode("utf-8", "backslashreplace"))
    (count,) = reader.take("Q")
    if count != len(names):
        raise ModelError(f"the parameters hold {len(names)} names and {count} arrays")
    return {name: _array(reader, name) for name in names}


def read_array(data: bytes) -> np.ndarray:
    """The one array that `data` holds.

    Raises:
        ModelError: the bytes are something else, or cut off.
    """
    return _array(_Reader(data), "an array")


def _array(reader: _Reader, name: str) -> np.ndarray:
    magic, _ = reader.take("QQ")
    if magic != ARRAY_MAGIC:
        raise ModelError("no array starts here", where=f"{shorten(name, 80)}, byte {reader.at}")
    _, _, rank = reader.take("iii")
    code, bits, lanes = reader.take("BBH")
    if not 0 <= rank <= _MAX_RANK:
        raise ModelError(f"an array of rank {rank}", where=shorten(name, 80))
    shape = reader.take(f"{rank}q")
    (size,) = reader.take("q")
    dtype = _dtype(code, bits, lanes, name)
    if any(extent < 0 for extent in shape) or size != prod(shape) * dtype.itemsize:
        raise ModelError(
            f"an array of shape {list(shape)} and type {dtype} cannot have {size} bytes",
            where=shorten(name, 80),
        )
    return np.frombuffer(reader.bytes(size), dtype).reshape(shape)


def _dtype(code: int, bits: int, lanes: int, name: str) -> np.dtype[np.generic]:
    kind = _CODES.get(code)
    sizes = (16, 32, 64) if kind == "float" else (8, 16, 32, 64)
    if (kind, bits, lanes) == ("uint", 1, 1):
        return np.dtype(np.bool_)
    if kind is None or bits not in sizes or lanes != 1:
        raise ModelError(
            f"an array with element type code {code}, {bits} bits, {lanes} lanes is not read",
            where=shorten(name, 80),
        )
    return np.dtype(f"{kind}{bits}")
