"""C types and literals of tensor elements."""

from __future__ import annotations

import math

import numpy as np

_CTYPE = {
    "bool": "uint8_t",
    "int8": "int8_t",
    "uint8": "uint8_t",
    "int16": "int16_t",
    "uint16": "uint16_t",
    "int32": "int32_t",
    "uint32": "uint32_t",
    "int64": "int64_t",
    "uint64": "uint64_t",
    "bfloat16": "uint16_t",  # by its bits, as
    "float16": "uint16_t",
    "float32": "float",
    "float64": "double",
}


def ctype(dtype: str) -> str:
    """The C type of one element, from <stdint.h> where it is an integer.

    Raises:
        ValueError: C11 has no such type (complex numbers).

    >>> ctype("int8")
    'int8_t'
    """
    try:
        return _CTYPE[dtype]
    except KeyError:
        raise ValueError(f"C has no element type {dtype!r}") from None


def float_literal(value: float) -> str:
    """`value`, rounded to float32, as a hexadecimal C literal: the compiler rounds nothing.

    Raises:
        ValueError: infinities and NaN have no literal.

    >>> float_literal(0.1), float_literal(-3)
    ('0x1.99999ap-4f', '-0x1.8p+1f')
    """
    single = float(np.float32(value))
    if not math.isfinite(single):
        raise ValueError(f"{value} has no float32 literal")
    mantissa, exponent = single.hex().split("p")
    whole, _, digits = mantissa.partition(".")
    digits = digits.rstrip("0")
    return f"{whole}{'.' if digits else ''}{digits}p{exponent}f"


def int_literal(value: int) -> str:
    """`value` as an int32 expression.

    Raises:
        ValueError: it is none.

    >>> int_literal(-2147483648)
    '(-2147483647 - 1)'
    """
    if not -(1 << 31) <= value < 1 << 31:
        raise ValueError(f"{value} is no int32")
    return "(-2147483647 - 1)" if value == -(1 << 31) else str(value)
