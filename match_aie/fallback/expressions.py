"""C text of TIR expressions, with defined results where C leaves them undefined.

Two kinds of integer arithmetic meet in a PrimFunc. Index arithmetic is in range by construction
and is printed as plain C. Arithmetic on loaded data may overflow, and is printed in unsigned
types so that it wraps. An expression counts as data as soon as a load takes part in it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import tvm
from tvm.ir import prim

from match_aie.fallback.scalars import (
    C_TYPES,
    Helpers,
    bits,
    integer_range,
    is_float,
    is_signed,
    literal,
)

ATOM, UNARY, MUL, ADD, COMPARE, LOGIC, TERNARY = 9, 8, 7, 6, 5, 3, 1


class PrintError(Exception):
    """A PrimFunc holds something that has no C form here; the message says what."""


@dataclass(frozen=True)
class Text:
    """C text of an expression.

    Attributes:
        code: the text.
        level: how tightly its outermost operator binds.
        data: whether a load takes part, so that integer arithmetic may overflow.
    """

    code: str
    level: int = ATOM
    data: bool = False

    def at(self, level: int) -> str:
        """The text, in parentheses unless it binds at least as tightly as `level`."""
        return self.code if self.level >= level else f"({self.code})"


def dtype_of(expr: Any) -> str:
    """Element type of a scalar expression; PrintError where C has no such type."""
    dtype = str(expr.ty.dtype)
    if dtype not in C_TYPES:
        raise PrintError(f"values of type {dtype}")
    return dtype


#: TIR operator -> C function of math.h, without the suffix for float.
MATH = {
    "exp": "exp",
    "exp2": "exp2",
    "erf": "erf",
    "tanh": "tanh",
    "log": "log",
    "log2": "log2",
    "log10": "log10",
    "log1p": "log1p",
    "tan": "tan",
    "sin": "sin",
    "cos": "cos",
    "sinh": "sinh",
    "cosh": "cosh",
    "asin": "asin",
    "acos": "acos",
    "atan": "atan",
    "asinh": "asinh",
    "acosh": "acosh",
    "atanh": "atanh",
    "atan2": "atan2",
    "sqrt": "sqrt",
    "floor": "floor",
    "ceil": "ceil",
    "trunc": "trunc",
    # Half to even, as ONNX defines Round: C's `round` goes half away from zero.
    "round": "rint",
    "nearbyint": "rint",
    "fabs": "fabs",
    "fmod": "fmod",
    "pow": "pow",
    "hypot": "hypot",
    "copysign": "copysign",
    "nextafter": "nextafter",
    "fma": "fma",
}

#: Names of the external functions that lowerings here call.
POWER = "power"
INTEGER_POWER = "integer_power"

_COMPARE = {
    prim.EQ: "==",
    prim.NE: "!=",
    prim.LT: "<",
    prim.LE: "<=",
    prim.GT: ">",
    prim.GE: ">=",
}
_BITWISE = {"bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^"}


class ExpressionPrinter:
    """Prints expressions of one function.

    Args:
        helpers: where helper functions are asked for.
        scope: says what a variable is called, what a buffer is called, and whether an index
            expression is never negative.
    """

    def __init__(self, helpers: Helpers, scope: Scope) -> None:
        """Nothing is printed yet."""
        self._helpers = helpers
        self._scope = scope
        self._printers: dict[type, Callable[[Any], Text]] = {
            tvm.ir.Var: self._variable,
            prim.IntImm: self._immediate,
            prim.FloatImm: self._immediate,
            tvm.ir.TensorLoad: self._load,
            prim.Cast: self._cast,
            prim.Add: lambda e: self._arithmetic(e, "+", ADD),
            prim.Sub: lambda e: self._arithmetic(e, "-", ADD),
            prim.Mul: lambda e: self._arithmetic(e, "*", MUL),
            prim.Div: lambda e: self._division(e, "div"),
            prim.Mod: lambda e: self._division(e, "mod"),
            prim.FloorDiv: lambda e: self._division(e, "floordiv"),
            prim.FloorMod: lambda e: self._division(e, "floormod"),
            prim.Min: lambda e: self._extremum(e, "min"),
            prim.Max: lambda e: self._extremum(e, "max"),
            prim.And: lambda e: self._logic(e, "&&"),
            prim.Or: lambda e: self._logic(e, "||"),
            prim.Not: self._not,
            prim.Select: lambda e: self._choose(e.condition, e.true_value, e.false_value),
            prim.BitwiseAnd: lambda e: self._bitwise((e.a, e.b), "&"),
            prim.BitwiseOr: lambda e: self._bitwise((e.a, e.b), "|"),
            prim.BitwiseXor: lambda e: self._bitwise((e.a, e.b), "^"),
            prim.BitwiseNot: lambda e: self._complement(e.a),
            prim.LShift: lambda e: self._shift((e.a, e.b), "shift_left"),
            prim.RShift: lambda e: self._shift((e.a, e.b), "shift_right"),
            tvm.ir.Call: self._call,
            **{kind: self._compare for kind in _COMPARE},
        }

    def __call__(self, expr: Any) -> Text:
        """C text of `expr`; PrintError where it has none."""
        printer = self._printers.get(type(expr))
        if printer is None:
            raise PrintError(f"an expression of kind {type(expr).__name__}")
        return printer(expr)

    def _variable(self, expr: Any) -> Text:
        name, data = self._scope.variable(expr)
        return Text(name, ATOM, data)

    def _immediate(self, expr: Any) -> Text:
        code = literal(expr.value, dtype_of(expr))
        return Text(code, UNARY if code.startswith("-") else ATOM)

    def _load(self, expr: Any) -> Text:
        return Text(self.element(expr.source, expr.indices), ATOM, True)

    def element(self, buffer: Any, indices: Sequence[Any]) -> str:
        """C text of one element of a flat buffer."""
        if len(indices) != 1:
            raise PrintError("a buffer of several dimensions")
        return f"{self._scope.buffer(buffer)}[{self(indices[0]).code}]"

    def _cast(self, expr: Any) -> Text:
        source, target = dtype_of(expr.value), dtype_of(expr)
        clamped = is_float(source) and not is_float(target) and within(expr.value, target)
        value = self._clamped(expr.value) if clamped else self(expr.value)
        if source == target:
            return value
        if target == "bool":
            return Text(f"{value.at(ADD)} != 0", COMPARE, value.data)
        if is_float(source) and not is_float(target) and not clamped:
            return Text(
                f"{self._helpers.to_integer(source, target)}({value.code})", ATOM, value.data
            )
        return Text(f"({C_TYPES[target]}){value.at(UNARY)}", UNARY, value.data)

    def _arithmetic(self, expr: Any, sign: str, level: int) -> Text:
        a, b, dtype = self(expr.a), self(expr.b), dtype_of(expr)
        if dtype == "bool":
            raise PrintError(f"arithmetic ({sign}) on truth values")
        data = a.data or b.data
        right = level + 1
        plain = f"{a.at(level)} {sign} {b.at(right)}"
        if dtype == "float16":  # compilers keep more precision within an expression
            return Text(f"(_Float16)({plain})", UNARY, data)
        if is_float(dtype) or not data or dtype in ("uint32", "uint64"):
            return Text(plain, level, data)
        if is_signed(dtype) and bits(dtype) >= 32:
            wide = f"u{dtype}_t"
            code = f"({wide}){a.at(UNARY)} {sign} ({wide}){b.at(UNARY)}"
        elif dtype == "uint16":
            code = f"(uint32_t){a.at(UNARY)} {sign} (uint32_t){b.at(UNARY)}"
        else:
            code = plain
        return Text(f"({C_TYPES[dtype]})({code})", UNARY, data)

    def _division(self, expr: Any, kind: str) -> Text:
        a, b, dtype = self(expr.a), self(expr.b), dtype_of(expr)
        data = a.data or b.data
        if is_float(dtype):
            return self._float_division(a, b, dtype, kind)
        sign = "/" if "div" in kind else "%"
        positive = isinstance(expr.b, prim.IntImm) and expr.b.value > 0
        truncates = kind in ("div", "mod") or self._scope.never_negative(expr.a)
        if positive and truncates:
            code = f"{a.at(MUL)} {sign} {b.at(UNARY)}"
            if bits(dtype) < 32:
                return Text(f"({C_TYPES[dtype]})({code})", UNARY, data)
            return Text(code, MUL, data)
        return Text(f"{self._helpers.binary(kind, dtype)}({a.code}, {b.code})", ATOM, data)

    def _float_division(self, a: Text, b: Text, dtype: str, kind: str) -> Text:
        data = a.data or b.data
        quotient = f"{a.at(MUL)} / {b.at(UNARY)}"
        if kind == "div":
            half = dtype == "float16"
            return Text(
                f"(_Float16)({quotient})" if half else quotient, UNARY if half else MUL, data
            )
        if kind == "mod":
            return self._math("fmod", (a, b), dtype)
        if kind == "floordiv":
            return self._math("floor", (Text(quotient, MUL, data),), dtype)
        if dtype == "float16":
            raise PrintError("floor_mod on float16")
        return Text(f"{self._helpers.binary('floormod', dtype)}({a.code}, {b.code})", ATOM, data)

    def _clamped(self, expr: Any) -> Text:
        """An outermost min or max that gives its constant where the other operand is NaN."""
        a, b = (expr.b, expr.a) if isinstance(expr.a, prim.FloatImm) else (expr.a, expr.b)
        value, bound = self(a), self(b)
        kind = "below" if isinstance(expr, prim.Min) else "above"
        symbol = self._helpers.binary(kind, dtype_of(expr))
        return Text(f"{symbol}({value.code}, {bound.code})", ATOM, value.data)

    def _extremum(self, expr: Any, kind: str) -> Text:
        left, right = self(expr.a), self(expr.b)
        symbol = self._helpers.binary(kind, dtype_of(expr))
        return Text(f"{symbol}({left.code}, {right.code})", ATOM, left.data or right.data)

    def _compare(self, expr: Any) -> Text:
        a, b = self(expr.a), self(expr.b)
        return Text(f"{a.at(ADD)} {_COMPARE[type(expr)]} {b.at(ADD)}", COMPARE, a.data or b.data)

    def _logic(self, expr: Any, sign: str) -> Text:
        texts = []
        for part in (expr.a, expr.b):
            text = self(part)
            # gcc asks for parentheses where && and || meet; chains of one need none.
            same = isinstance(part, type(expr))
            texts.append(text.code if same else text.at(COMPARE))
        return Text(f" {sign} ".join(texts), LOGIC)

    def _not(self, expr: Any) -> Text:
        value = self(expr.a)
        return Text(f"!{value.at(UNARY)}", LOGIC, value.data)

    def _choose(self, condition: Any, yes: Any, no: Any) -> Text:
        c, a, b = self(condition), self(yes), self(no)
        code = f"{c.at(LOGIC + 1)} ? {a.at(LOGIC + 1)} : {b.at(LOGIC + 1)}"
        return Text(code, TERNARY, a.data or b.data)

    def _call(self, expr: Any) -> Text:
        name = str(getattr(expr.op, "name", "")).removeprefix("tirx.").removeprefix("prim.")
        args = list(expr.args)
        if name == "if_then_else":
            return self._choose(*args)
        if name == "likely":
            return self(args[0])
        if name == "call_pure_extern":
            return self._extern(expr)
        if name in _BITWISE:
            return self._bitwise(args, _BITWISE[name])
        if name in ("shift_left", "shift_right"):
            return self._shift(args, name)
        if name in ("isnan", "isinf", "isfinite"):
            value = self(args[0])
            return Text(f"{name}({value.code}) != 0", COMPARE, value.data)
        if name == "bitwise_not":
            return self._complement(args[0])
        return self._function(name, tuple(self(arg) for arg in args), dtype_of(expr))

    def _complement(self, expr: Any) -> Text:
        value, dtype = self(expr), dtype_of(expr)
        if dtype == "bool":
            return Text(f"!{value.at(UNARY)}", LOGIC, value.data)
        return Text(f"({C_TYPES[dtype]})~{value.at(UNARY)}", UNARY, value.data)

    def _extern(self, expr: Any) -> Text:
        dtype, name = dtype_of(expr), str(expr.args[0].value)
        args = tuple(self(arg) for arg in expr.args[1:])
        if name == POWER and is_float(dtype):
            return self._math("pow", args, dtype)
        if name == INTEGER_POWER and dtype in ("int32", "int64"):
            inner = ", ".join(arg.code for arg in args)
            return Text(f"{self._helpers.binary('ipow', dtype)}({inner})", ATOM, True)
        raise PrintError(f"a call of {name} on {dtype}")

    def _function(self, name: str, args: tuple[Text, ...], dtype: str) -> Text:
        if not is_float(dtype):
            raise PrintError(f"{name} on {dtype}")
        if name in ("sigmoid", "rsqrt"):
            return self._reciprocal(name, args, dtype)
        if name not in MATH:
            raise PrintError(f"the operation {name!r}")
        return self._math(MATH[name], args, dtype)

    def _reciprocal(self, name: str, args: tuple[Text, ...], dtype: str) -> Text:
        """1 / (1 + exp(-x)) or 1 / sqrt(x); in float16 computed in float, rounded once."""
        wide = "float32" if dtype == "float16" else dtype
        one = literal(1.0, wide)
        inner = Text(f"-({args[0].code})", UNARY) if name == "sigmoid" else args[0]
        below = self._math("exp" if name == "sigmoid" else "sqrt", (inner,), wide).code
        if name == "sigmoid":
            below = f"({one} + {below})"
        if dtype == "float16":
            return Text(f"(_Float16)({one} / {below})", UNARY, True)
        return Text(f"{one} / {below}", MUL, True)

    def _math(self, function: str, args: tuple[Text, ...], dtype: str) -> Text:
        inner = ", ".join(arg.code for arg in args)
        data = any(arg.data for arg in args)
        if dtype == "float16":  # computed in float, rounded once
            return Text(f"(_Float16){function}f({inner})", UNARY, data)
        return Text(f"{function}{'f' if dtype == 'float32' else ''}({inner})", ATOM, data)

    def _bitwise(self, args: Sequence[Any], sign: str) -> Text:
        a, b = (self(arg) for arg in args)
        ctype = C_TYPES[dtype_of(args[0])]
        return Text(f"({ctype})({a.at(UNARY)} {sign} {b.at(UNARY)})", UNARY, a.data or b.data)

    def _shift(self, args: Sequence[Any], name: str) -> Text:
        a, b = (self(arg) for arg in args)
        dtype = dtype_of(args[0])
        kind = "shl" if name == "shift_left" else "shr" if is_signed(dtype) else "shru"
        data = a.data or b.data
        if not data and isinstance(args[1], prim.IntImm):
            sign = "<<" if kind == "shl" else ">>"
            return Text(f"({a.at(UNARY)} {sign} {b.at(UNARY)})", ATOM, False)
        return Text(f"{self._helpers.binary(kind, dtype)}({a.code}, {b.code})", ATOM, data)


class Scope:
    """What an `ExpressionPrinter` needs to know of the statements around an expression."""

    def variable(self, var: Any) -> tuple[str, bool]:
        """Name of a scalar variable, and whether its value comes from loaded data."""
        raise NotImplementedError

    def buffer(self, buffer: Any) -> str:
        """Name of the array behind a buffer."""
        raise NotImplementedError

    def never_negative(self, expr: Any) -> bool:
        """Whether an index expression is proven to be 0 or more."""
        raise NotImplementedError


def within(expr: Any, dtype: str) -> bool:
    """Whether a float expression is a clamp by constants into the range of integer `dtype`."""
    if dtype == "bool":
        return False
    low, high = _bounds(expr)
    smallest, largest = integer_range(dtype)
    return smallest <= low and high <= largest


def _bounds(expr: Any) -> tuple[float, float]:
    """Bounds that constants in nested min and max put on a float expression (NaN aside)."""
    if isinstance(expr, prim.Min | prim.Max):
        for bound, inner in ((expr.a, expr.b), (expr.b, expr.a)):
            if isinstance(bound, prim.FloatImm):
                low, high = _bounds(inner)
                if isinstance(expr, prim.Min):
                    return min(low, bound.value), min(high, bound.value)
                return max(low, bound.value), max(high, bound.value)
    return -math.inf, math.inf
