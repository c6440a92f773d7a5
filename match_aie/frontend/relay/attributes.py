"""Attribute values and literals in text."""

from __future__ import annotations

import math
import re

import numpy as np

from match_aie.frontend.relay.cursor import Cursor
from match_aie.frontend.relay.syntax import Attribute, Attributes, MetaRef, Opaque

#: Suffix of a literal -> its element type; without one, int32, or float32 where it has a point.
SUFFIXES = {
    "f": "float32",
    "F": "float32",
    "f16": "float16",
    "h": "float16",
    "f32": "float32",
    "f64": "float64",
    "i8": "int8",
    "i16": "int16",
    "i32": "int32",
    "i64": "int64",
    "u1": "bool",
    "u8": "uint8",
    "u16": "uint16",
    "u32": "uint32",
    "u64": "uint64",
}
_NUMBER = re.compile(r"(\d+\.?\d*)((?:[eE][-+]?\d+)?)(\w*)$")
#: How C++ prints what is no number, with a literal's suffix.
_NOT_FINITE = re.compile(r"(inf|nan)(f\d*)?$")
_ESCAPE = re.compile(r"\\(.)")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0"}
_WORDS: dict[str, Attribute] = {"True": True, "False": False, "None": None}


def literal(cursor: Cursor) -> np.ndarray | None:
    """The scalar that comes next (with its sign), or None where no literal does."""
    at, negative = cursor.at, False
    if cursor.text == "-" and cursor.kind == "symbol":
        follows = cursor.after()
        if not (follows[:1].isdigit() or _NOT_FINITE.match(follows)):
            return None
        cursor.take()
        negative = True
    text = cursor.text
    if cursor.kind == "number":
        cursor.take()
        return _number(cursor, f"-{text}" if negative else text, at)
    if cursor.kind != "name":
        return None
    if text in ("True", "False") and not negative:
        cursor.take()
        return np.array(text == "True")
    special = _NOT_FINITE.match(text)
    if special is None:
        return None
    cursor.take()
    value = math.inf if special[1] == "inf" else math.nan
    dtype = SUFFIXES.get(special[2] or "f", "float32")
    return np.array(-value if negative else value, dtype)


def _number(cursor: Cursor, text: str, at: int) -> np.ndarray:
    negative = text.startswith("-")
    parts = _NUMBER.match(text.removeprefix("-"))
    suffix = parts[3] if parts else ""
    if parts is None or (suffix and suffix not in SUFFIXES):
        raise cursor.source.error(f"{text!r} is not a number that Relay writes", at)
    digits, exponent = parts[1], parts[2]
    whole = not exponent and "." not in digits
    dtype = SUFFIXES[suffix] if suffix else ("int32" if whole else "float32")
    if dtype.startswith("float"):
        value = float(digits + exponent)
        with np.errstate(over="ignore"):
            return np.array(-value if negative else value, dtype)
    if not whole or len(digits) > 20:
        raise cursor.source.error(f"{text!r} is not a whole number", at)
    number = -int(digits) if negative else int(digits)
    low, high = (0, 1) if dtype == "bool" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    if not low <= number <= high:
        raise cursor.source.error(f"{text!r} does not fit {dtype}", at)
    return np.array(number, dtype)


def attribute(cursor: Cursor) -> Attribute:
    """The attribute value that comes next."""
    with cursor.nested():
        if cursor.text in ("[", "(") and cursor.kind == "symbol":
            return _list(cursor, {"[": "]", "(": ")"}[cursor.take()])
        if cursor.text == "{" and cursor.kind == "symbol":
            cursor.skip_balanced("{", "}")
            return Opaque("{...}")
        if cursor.kind == "string":
            return string(cursor)
        if cursor.kind == "name" and cursor.text == "meta" and cursor.after() == "[":
            return meta(cursor)
        if cursor.kind == "name" and cursor.text in _WORDS:
            return _WORDS[cursor.take()]
        if cursor.kind in ("number", "symbol", "name"):
            value = _plain_number(cursor)
            if value is not None:
                return value
        if cursor.kind == "name":
            name = cursor.take()
            if cursor.text == "(":
                cursor.skip_balanced("(", ")")
                return Opaque(f"{name}(...)")
            return name
        raise cursor.unexpected("an attribute's value")


def _plain_number(cursor: Cursor) -> int | float | None:
    """A number as Python has it: attributes are not tensors, so a suffix says little."""
    at, text = cursor.at, cursor.text
    if cursor.kind == "number" and text.isdecimal() and len(text) <= 20:
        cursor.take()
        return int(text)
    if text == "-" and cursor.after().isdecimal() and len(cursor.after()) <= 20:
        cursor.take()
        return -int(cursor.take())
    value = literal(cursor)
    if value is None:
        return None
    if value.dtype == bool:
        raise cursor.source.error("expected a number", at)
    item = value.item()
    # A float attribute is printed with the digits of a double: read it as one.
    number = _NUMBER.match(text)
    if isinstance(item, float) and number is not None:
        item = math.copysign(float(number[1] + number[2]), item)
    assert isinstance(item, int | float)
    return item


def _list(cursor: Cursor, closing: str) -> tuple[Attribute, ...]:
    values: list[Attribute] = []
    while not cursor.accept(closing):
        values.append(attribute(cursor))
        if not cursor.accept(","):
            cursor.expect(closing)
            break
    return tuple(values)


def string(cursor: Cursor) -> str:
    """The string that comes next, its escapes resolved."""
    return _ESCAPE.sub(lambda found: _ESCAPES.get(found[1], found[1]), cursor.take()[1:-1])


def meta(cursor: Cursor) -> MetaRef:
    """`meta[kind][index]`."""
    at = cursor.at
    cursor.take()
    cursor.expect("[")
    kind = cursor.expect_kind("name", "a kind of metadata, such as relay.Constant")
    cursor.expect("]")
    cursor.expect("[")
    index = cursor.expect_kind("number", "an index")
    if not index.isdecimal() or len(index) > 9:
        raise cursor.source.error(f"expected an index, found {index!r}", at)
    cursor.expect("]")
    return MetaRef(at, kind, int(index))


def named_attributes(cursor: Cursor, closing: str) -> Attributes:
    """`name=value, ...` up to `closing`, which is moved past."""
    found: dict[str, Attribute] = {}
    while not cursor.accept(closing):
        at = cursor.at
        name = cursor.expect_kind("name", f"an attribute or {closing!r}")
        cursor.expect("=")
        if name in found:
            raise cursor.source.error(f"attribute {name} is given twice", at)
        found[name] = attribute(cursor)
        if not cursor.accept(","):
            cursor.expect(closing)
            break
    return found
