"""Constants of a network: one aligned blob, and the C struct that gives access to it.

The blob is a binary file that the assembler includes, since weights as decimal text would take
compilers minutes and gigabytes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from match_aie.codegen.ctype import ctype
from match_aie.errors import InternalError
from match_aie.lowering import Constant

#: Types without a name in C11 are stored as their bits; a call passes them as `const void *`.
_AS_BITS = {"float16": "uint16_t", "bfloat16": "uint16_t"}


@dataclass(frozen=True)
class Member:
    """A constant in the blob.

    Attributes:
        name: of the constant, and of the struct's member.
        dtype: numpy name of the element type.
        shape: elements per axis.
        ctype: of the member's elements.
        count: elements of the member, at least one.
        offset: in the blob, in bytes.
        nbytes: of the member.
        padding: bytes after the member, up to the next one or to the end.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    ctype: str
    count: int
    offset: int
    nbytes: int
    padding: int

    @property
    def typed(self) -> bool:
        """Whether the member has the element's own C type."""
        return self.dtype not in _AS_BITS


@dataclass(frozen=True)
class Blob:
    """Constants one after the other, each aligned, and the bytes they make."""

    members: tuple[Member, ...]
    data: bytes


def element_type(dtype: str) -> str:
    """C type of a struct member that holds elements of `dtype`.

    >>> element_type("bool"), element_type("float16"), element_type("int64")
    ('bool', 'uint16_t', 'int64_t')
    """
    return "bool" if dtype == "bool" else _AS_BITS.get(dtype) or ctype(dtype)


def little_endian(value: np.ndarray) -> bytes:
    """Bytes of `value`, row-major, little-endian whatever the machine."""
    array = np.ascontiguousarray(value)
    return array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()


def layout(constants: Iterable[Constant], alignment: int) -> Blob:
    """Put `constants` one after the other, each at a multiple of `alignment` bytes.

    Raises:
        InternalError: two constants have one name.
    """
    members: list[Member] = []
    pieces: list[bytes] = []
    offset = 0
    for constant in constants:
        value = constant.value
        count = max(1, value.size)
        data = little_endian(value) or bytes(value.dtype.itemsize)
        padding = -len(data) % alignment
        dtype = value.dtype.name
        members.append(
            Member(
                constant.name,
                dtype,
                tuple(value.shape),
                element_type(dtype),
                count,
                offset,
                len(data),
                padding,
            )
        )
        pieces += [data, bytes(padding)]
        offset += len(data) + padding
    names = [member.name for member in members]
    if len(set(names)) != len(names):
        raise InternalError("two constants have the same name")
    return Blob(tuple(members), b"".join(pieces))
