"""Scalars in C: types, exact literals, and the small functions that C's operators do not cover.

C leaves undefined what tensor programs need defined: float to integer out of range, signed
overflow, shifts by the width or more, division by zero. The helper functions here give each of
them one meaning, the same on every compiler:

- float to integer saturates; NaN becomes the smallest value.
- integer arithmetic wraps; x / 0 and x % 0 are 0; shifting by the width or more shifts all out.
- min and max of a NaN and a number are NaN, as in numpy and ONNX Runtime.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

#: C type of an element type; the others (bfloat16, 8-bit floats) have none.
C_TYPES = {
    "bool": "bool",
    "int8": "int8_t",
    "int16": "int16_t",
    "int32": "int32_t",
    "int64": "int64_t",
    "uint8": "uint8_t",
    "uint16": "uint16_t",
    "uint32": "uint32_t",
    "uint64": "uint64_t",
    "float16": "_Float16",
    "float32": "float",
    "float64": "double",
}

_SHORT = {"bool": "bool", "float16": "f16", "float32": "f32", "float64": "f64"}


def short_name(dtype: str) -> str:
    """How symbols spell an element type.

    >>> short_name("float32"), short_name("uint8"), short_name("int32")
    ('f32', 'u8', 'i32')
    """
    return _SHORT.get(dtype) or dtype.replace("uint", "u").replace("int", "i")


def is_float(dtype: str) -> bool:
    """Whether `dtype` is a floating-point type."""
    return dtype.startswith("float")


def is_signed(dtype: str) -> bool:
    """Whether `dtype` is a signed integer type."""
    return dtype.startswith("int")


def bits(dtype: str) -> int:
    """Width of a numeric element type.

    >>> bits("uint16")
    16
    """
    return int(dtype.removeprefix("u").removeprefix("int").removeprefix("float"))


def integer_range(dtype: str) -> tuple[int, int]:
    """Smallest and largest value of an integer type."""
    info = np.iinfo(dtype)
    return int(info.min), int(info.max)


def literal(value: float, dtype: str) -> str:
    """`value` as a C constant expression of type `dtype`, exact to the last bit.

    >>> literal(0.1, "float32"), literal(-3, "int32"), literal(float("-inf"), "float32")
    ('0x1.99999ap-4f', '-3', '-INFINITY')
    """
    if dtype == "bool":
        return "true" if value else "false"
    if is_float(dtype):
        return _float_literal(float(value), dtype)
    return _integer_literal(int(value), dtype)


def _float_literal(value: float, dtype: str) -> str:
    with np.errstate(over="ignore"):
        value = float(np.dtype(dtype).type(value))
    if math.isnan(value):
        text = "NAN"
    elif math.isinf(value):
        text = "INFINITY" if value > 0 else "-INFINITY"
    else:
        text = _shortest_hex(value) + ("" if dtype == "float64" else "f")
    if dtype == "float16" or (dtype == "float64" and not math.isfinite(value)):
        return f"(({C_TYPES[dtype]}){text})"
    return text


def _shortest_hex(value: float) -> str:
    mantissa, exponent = value.hex().split("p")
    return f"{mantissa.rstrip('0').rstrip('.')}p{exponent}" if "." in mantissa else value.hex()


def _integer_literal(value: int, dtype: str) -> str:
    if dtype == "int64":
        return "INT64_MIN" if value == -(2**63) else f"INT64_C({value})"
    if dtype == "int32" and value == -(2**31):
        return "INT32_MIN"
    return {"uint32": f"UINT32_C({value})", "uint64": f"UINT64_C({value})"}.get(dtype, str(value))


#: For C's preprocessor: processors with registers of 64 bits, the first byte lowest, and loads of
#: them from any address.
TURNS = "defined(__x86_64__) || defined(__AARCH64EL__)"


@dataclass
class Helpers:
    """The helper functions that one network needs, by symbol, in first-use order.

    Attributes:
        prefix: of every symbol.
        sources: symbol -> C text of its definition.
    """

    prefix: str
    sources: dict[str, str] = field(default_factory=dict)

    def binary(self, kind: str, dtype: str) -> str:
        """Symbol of a function `T f(T a, T b)`: one of `BINARY`, or KeyError."""
        symbol = f"{self.prefix}_{kind}_{short_name(dtype)}"
        if symbol not in self.sources:
            ctype = C_TYPES[dtype]
            body = BINARY[kind].format(
                t=ctype, u=C_TYPES[_unsigned(dtype)], n=bits(dtype) if dtype != "bool" else 1
            )
            if kind in ("div", "mod", "floordiv", "floormod") and not is_signed(dtype):
                body = f"return b == 0 ? 0 : ({ctype})(a {'/' if 'div' in kind else '%'} b);"
            if kind in ("min", "max") and not is_float(dtype):
                body = BINARY["below" if kind == "min" else "above"]
            if kind == "floormod" and is_float(dtype):
                body = _FLOAT_FLOORMOD.format(f=f"fmod{'' if dtype == 'float64' else 'f'}")
            self._add(symbol, f"{ctype} {symbol}({ctype} a, {ctype} b)", body)
        return symbol

    def to_integer(self, source: str, dtype: str) -> str:
        """Symbol of the saturating conversion from float type `source` to integer `dtype`."""
        symbol = f"{self.prefix}_{short_name(source)}_to_{short_name(dtype)}"
        if symbol not in self.sources:
            head = f"{C_TYPES[dtype]} {symbol}({C_TYPES[source]} a)"
            self._add(symbol, head, _conversion(source, dtype))
        return symbol

    def turned(self) -> str:
        """Symbol of the function that turns a block of bytes (`planes`)."""
        symbol = f"{self.prefix}_turned"
        if symbol not in self.sources:
            head = f"void {symbol}(void *to, int32_t to_line, const void *from, int32_t from_line)"
            self._add(symbol, head, _TURNED)
            self.sources[symbol] = f"#if {TURNS}\n{self.sources[symbol]}#endif\n"
        return symbol

    def _add(self, symbol: str, head: str, body: str) -> None:
        lines = "".join(f"    {line}\n" for line in body.split("\n"))
        self.sources[symbol] = f"static inline {head} {{\n{lines}}}\n"


def _unsigned(dtype: str) -> str:
    return f"u{dtype}" if is_signed(dtype) else "uint8" if not dtype.startswith("uint") else dtype


_FLOAT_FLOORMOD = "const float r = {f}(a, b);\nreturn r != 0 && (r < 0) != (b < 0) ? r + b : r;"

#: Bodies of the binary helpers: t the type, u its unsigned twin, n its width.
BINARY = {
    "min": "return a < b || a != a ? a : b;",
    "max": "return a > b || a != a ? a : b;",
    "above": "return a > b ? a : b;",  # b where a is NaN: a clamp before a conversion
    "below": "return a < b ? a : b;",
    "div": "return b == 0 ? 0 : b == -1 ? ({t})(0 - ({u})a) : ({t})(a / b);",
    "mod": "return b == 0 || b == -1 ? 0 : ({t})(a % b);",
    "floordiv": (
        "if (b == 0) {{\n    return 0;\n}}\n"
        "if (b == -1) {{\n    return ({t})(0 - ({u})a);\n}}\n"
        "return ({t})(a / b - (a % b != 0 && (a < 0) != (b < 0)));"
    ),
    "floormod": (
        "if (b == 0 || b == -1) {{\n    return 0;\n}}\n"
        "return ({t})(a % b + (a % b != 0 && (a < 0) != (b < 0) ? b : 0));"
    ),
    "shl": "return ({u})b < {n} ? ({t})(({u})a << b) : 0;",
    "shr": "return ({u})b < {n} ? ({t})(a >> b) : ({t})(a < 0 ? -1 : 0);",
    "shru": "return b < {n} ? ({t})(a >> b) : 0;",
    "ipow": (
        "{u} r = 1;\n{u} f = ({u})a;\n"
        "if (b < 0) {{\n    return a == 1 ? 1 : a == -1 ? (b % 2 == 0 ? 1 : -1) : 0;\n}}\n"
        "for (; b != 0; b = ({t})(b / 2)) {{\n"
        "    r = b % 2 != 0 ? ({u})(r * f) : r;\n    f = ({u})(f * f);\n}}\n"
        "return ({t})r;"
    ),
}


def _conversion(source: str, dtype: str) -> str:
    """Body of a saturating conversion. Bounds are compared before, selected after, the cast.

    Clamping first keeps the cast itself in range, so compilers may run it unconditionally and
    vectorise. Where the largest integer is no value of `source`, the largest value below is the
    clamp and the saturated result is chosen afterwards.
    """
    low, high = integer_range(dtype)
    wide = "float32" if source == "float16" else source
    ctype, exact = C_TYPES[wide], np.dtype(wide).type
    top = exact(high) if int(exact(high)) <= high else np.nextafter(exact(high), exact(0))
    lines = [
        f"const {ctype} x = a;" if wide == source else f"const {ctype} x = ({ctype})a;",
        f"const {ctype} low = {literal(low, wide)};",
        f"const {ctype} high = {literal(float(top), wide)};",
        f"const {ctype} y = x > low ? (x < high ? x : high) : low;",
    ]
    cast = f"({C_TYPES[dtype]})y"
    if int(top) != high:
        cast = f"x > high ? {literal(high, dtype)} : {cast}"
    return "\n".join([*lines, f"return {cast};"])


#: Turns a block of eight by eight bytes where `TURNS` holds.
_TURNED = """\
static const uint64_t low[] = {0x00ff00ff00ff00ffu, 0x0000ffff0000ffffu, 0xffffffffu};
uint64_t line[8];
#pragma GCC unroll 8
for (int i = 0; i < 8; ++i) {
    memcpy(&line[i], (const uint8_t *)from + i * from_line, sizeof line[i]);
}
#pragma GCC unroll 3
for (int step = 0; step < 3; ++step) {
    #pragma GCC unroll 4
    for (int pair = 0; pair < 4; ++pair) {
        const int apart = 1 << step, i = pair / apart * 2 * apart + pair % apart;
        const uint64_t swapped = ((line[i] >> (8 << step)) ^ line[i + apart]) & low[step];
        line[i + apart] ^= swapped;
        line[i] ^= swapped << (8 << step);
    }
}
#pragma GCC unroll 8
for (int i = 0; i < 8; ++i) {
    memcpy((uint8_t *)to + i * to_line, &line[i], sizeof line[i]);
}"""
