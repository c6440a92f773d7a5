"""Relay types in text: `Tensor[(1, 3), float32]`, tuples, scalars."""

from __future__ import annotations

from match_aie.frontend.relay.cursor import Cursor
from match_aie.frontend.relay.syntax import OtherType, TensorType, TupleType, Type

#: Element types that a tensor may have here.
DTYPES = frozenset(
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64".split()
)
#: Relay writes truth values in two ways.
ALIASES = {"uint1": "bool"}


def parse_type(cursor: Cursor) -> Type:
    """The type that comes next.

    Raises:
        ModelError: there is none, or one of an algebraic data type.
    """
    with cursor.nested():
        if cursor.accept("("):
            return _tuple(cursor)
        at = cursor.at
        name = cursor.expect_kind("name", "a type")
        if name == "Tensor":
            return _tensor(cursor)
        if name == "fn":
            return _function(cursor)
        if name in ("ref", "Storage") or cursor.text == "[":
            kind = "a reference" if name == "ref" else "an algebraic data type"
            raise cursor.source.error(f"the type {name} is {kind}, which is not compiled", at)
        name = ALIASES.get(name, name)
        return TensorType((), name) if name in DTYPES else OtherType(name)


def element_type(cursor: Cursor) -> str:
    """An element type, such as float32."""
    at = cursor.at
    name = cursor.expect_kind("name", "an element type")
    name = ALIASES.get(name, name)
    if name not in DTYPES:
        raise cursor.source.error(f"there are no tensors of {name} here", at)
    return name


def _tensor(cursor: Cursor) -> TensorType:
    if not cursor.accept("["):
        return TensorType(None, None)
    cursor.expect("(")
    sizes: list[int | None] = []
    while not cursor.accept(")"):
        sizes.append(_size(cursor))
        if not cursor.accept(","):
            cursor.expect(")")
            break
    cursor.expect(",")
    dtype = element_type(cursor)
    cursor.expect("]")
    return TensorType(tuple(sizes), dtype)


def _size(cursor: Cursor) -> int | None:
    """One dimension; None for `?`, `Any` and symbols."""
    if cursor.accept("?"):
        return None
    if cursor.kind == "name":
        cursor.take()
        while cursor.text == "[":
            cursor.skip_balanced("[", "]")
        return None
    at = cursor.at
    text = cursor.expect_kind("number", "a size")
    digits = text.removesuffix("i64").removesuffix("i32")
    if not digits.isdecimal() or len(digits) > 12:
        raise cursor.source.error(f"expected a size, found {text!r}", at)
    return int(digits)


def _tuple(cursor: Cursor) -> TupleType:
    fields: list[Type] = []
    while not cursor.accept(")"):
        fields.append(parse_type(cursor))
        if not cursor.accept(","):
            cursor.expect(")")
            break
    return TupleType(tuple(fields))


def _function(cursor: Cursor) -> OtherType:
    if cursor.text == "[":
        cursor.skip_balanced("[", "]")
    cursor.skip_balanced("(", ")")
    cursor.expect("->")
    parse_type(cursor)
    return OtherType("a function")
