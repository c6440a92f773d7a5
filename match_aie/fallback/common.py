"""One call list for a range of sizes, from those of several sizes.

What is the same at every size stays as it is. A number that depends on the size becomes an
`Extent`: elements of a tensor, bytes of a workspace, and numbers in a C function, which become its
parameters. At each of the sizes the functions are then exactly what the fallback makes for it.
Anything else that differs is refused with the operator that it belongs to.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from match_aie.errors import UnsupportedOperatorError
from match_aie.fallback.parts import part
from match_aie.fallback.remainder import Call, Remainder
from match_aie.lowering.program import CFunction, Constant, Join, Tensor, Workspace
from match_aie.workload.extent import Different, Elements, Extent, Fit, Size, at

#: Numbers in C text: floats, and integers.
_NUMBER = re.compile(r"(0x[0-9a-f.]+p[+-]?\d+f?|U?INT\d+_C\(\d+\)|(?<![\w.])\d+(?![\w.]))")

#: Below it every integer is a float32.
EXACT = 1 << 24

#: Where the parameters of a definition end.
_HEAD_ENDS = ") {\n"


def common(
    made: Sequence[Remainder],
    fit: Fit,
    sizes: Sequence[Size],
    largest: Callable[[], Remainder],
    prefix: str,
) -> Remainder:
    """The call list of all `sizes`, tensors and constants as large as they become.

    Args:
        made: call lists of several sizes.
        fit: of those sizes.
        sizes: which.
        largest: gives the call list of the largest sizes, for constants that depend on them.
        prefix: of the network's symbols.

    Raises:
        UnsupportedOperatorError: an operator whose code is not the same but for numbers.
    """
    high = tuple(size.high for size in sizes)
    return _Common(made, fit, high, largest, prefix).remainder()


@dataclass(frozen=True)
class _Made:
    """A function of all sizes, and what its further parameters are."""

    function: CFunction
    extents: tuple[Extent, ...]


class _Common:
    def __init__(
        self,
        made: Sequence[Remainder],
        fit: Fit,
        high: tuple[int, ...],
        largest: Callable[[], Remainder],
        prefix: str,
    ) -> None:
        """Nothing made yet.

        Args:
            made: call lists of several sizes.
            fit: of those sizes.
            high: the largest sizes.
            largest: gives the call list of these.
            prefix: of the network's symbols.
        """
        self._made, self._first = made, made[0]
        self._fit, self._high = fit, high
        self._largest, self._prefix = largest, prefix

    def remainder(self) -> Remainder:
        self._same_calls()
        functions = {
            one[0].symbol: self._function(one)
            for one in zip(*(each.functions for each in self._made), strict=True)
        }
        first = self._first
        calls = [self._call(index, functions) for index in range(len(first.calls))]
        tensors = [self._tensor(several) for several in self._each("tensors")]
        result = replace(
            first,
            tensors=tuple(tensors),
            constants=(),
            calls=tuple(calls),
            joins=tuple(self._join(several) for several in self._each("joins")),
            functions=tuple(made.function for made in functions.values()),
        )
        for several in self._each("constants"):
            result = self._with_constant(result, several)
        return result

    def _each(self, name: str) -> list[tuple[Any, ...]]:
        return list(zip(*(getattr(each, name) for each in self._made), strict=True))

    def _same_calls(self) -> None:
        """Refuse call lists that differ in more than sizes."""
        first = self._first
        for other in self._made[1:]:
            for one, two in zip(first.calls, other.calls, strict=False):
                if (one.callee, one.arguments, one.label) != (two.callee, two.arguments, two.label):
                    raise self._refusal(one.callee, "other operators do its work at another size")
            if _names(first) != _names(other):
                raise self._refusal("", "other operators do the work at another size")

    def _refusal(self, symbol: str, why: str) -> UnsupportedOperatorError:
        """An error that names the operators of function `symbol`, and where it is first called."""
        operators = next((f.operators for f in self._first.functions if f.symbol == symbol), "")
        label = next((call.label for call in self._first.calls if call.callee == symbol), "")
        return UnsupportedOperatorError(
            [(operators or "an operator", label, f"it has no one form for all sizes: {why}")]
        )

    def _function(self, several: Sequence[CFunction]) -> _Made:
        first = several[0]
        pieces = [_NUMBER.split(one.source) for one in several]
        if len({len(each) for each in pieces}) > 1:
            raise self._refusal(first.symbol, "its loops are others at another size")
        extents: dict[Extent, str] = {}
        words = []
        for index, piece in enumerate(zip(*pieces, strict=True)):
            if len(set(piece)) == 1:
                words.append(piece[0])
            elif index % 2 == 0:
                raise self._refusal(first.symbol, f"{piece[0]!r} is {piece[-1]!r} at another size")
            else:
                words.append(self._word(piece, extents, first.symbol))
        head, found, body = "".join(words).partition(_HEAD_ENDS)
        assert found
        more = "".join(f", const int32_t {name}" for name in extents.values())
        # What TVM computes of it is known at single sizes only: it is not kept.
        function = replace(first, source=f"{head}{more}{_HEAD_ENDS}{body}", meanings=())
        return _Made(function, tuple(extents))

    def _word(self, piece: Sequence[str], extents: dict[Extent, str], symbol: str) -> str:
        """What stands in the place of a number that differs: a parameter."""
        values, kind = _values(piece)
        if values is None:
            raise self._refusal(symbol, f"{piece[0]} is {piece[-1]} at another size")
        try:
            number = self._fit.number(values)
        except Different as error:
            raise self._refusal(symbol, str(error)) from error
        assert isinstance(number, Extent)
        name = extents.setdefault(number, f"n_{len(extents)}")
        return f"({kind}){name}" if kind else name

    def _call(self, index: int, functions: dict[str, _Made]) -> Call:
        calls = [each.calls[index] for each in self._made]
        first = calls[0]
        spaces = []
        for several in zip(*(call.workspaces for call in calls), strict=True):
            nbytes = self._number(first.callee, [space.nbytes for space in several])
            spaces.append(Workspace(several[0].name, at(nbytes, self._high)))
        made = functions.get(first.callee)
        return replace(first, workspaces=tuple(spaces), extents=made.extents if made else ())

    def _number(self, symbol: str, values: Sequence[int]) -> Elements:
        try:
            return self._fit.number(values)
        except Different as error:
            raise self._refusal(symbol, str(error)) from error

    def _tensor(self, several: Sequence[Tensor]) -> Tensor:
        first = several[0]
        writer = next(
            (c.callee for c in self._first.calls if any(a.name == first.name for a in c.arguments)),
            "",
        )
        extents = self._shape(writer, [tensor.shape for tensor in several])
        if not any(isinstance(extent, Extent) for extent in extents):
            return first
        shape = tuple(at(extent, self._high) for extent in extents)
        return replace(first, shape=shape, extents=extents)

    def _shape(self, symbol: str, shapes: Sequence[tuple[int, ...]]) -> tuple[Elements, ...]:
        if len({len(shape) for shape in shapes}) > 1:
            raise self._refusal(symbol, "a tensor has other axes at another size")
        return tuple(self._number(symbol, values) for values in zip(*shapes, strict=True))

    def _join(self, several: Sequence[Join]) -> Join:
        """A concatenation, which a function copies, with the bytes of the largest sizes."""
        nbytes = at(self._number("", [join.nbytes for join in several]), self._high)
        return replace(several[0], nbytes=nbytes, copied=nbytes)

    def _with_constant(self, made: Remainder, several: Sequence[Constant]) -> Remainder:
        """With one constant more: as it is at all sizes, or a part of the one of the largest."""
        first, values = several[0], [constant.value for constant in several]
        if all(_same(value, values[0]) for value in values):
            return replace(made, constants=(*made.constants, first))
        reader = next(
            call.callee
            for call in made.calls
            if any((a.kind, a.name) == ("constant", first.name) for a in call.arguments)
        )
        extents = self._shape(reader, [value.shape for value in values])
        position = [constant.name for constant in self._first.constants].index(first.name)
        known = self._largest().constants
        whole = known[position].value if position < len(known) else values[0]
        shape = tuple(at(extent, self._high) for extent in extents)
        cuts = [whole[tuple(map(slice, value.shape))] for value in values]
        if whole.shape != shape or not all(map(_same, cuts, values)):
            raise self._refusal(reader, "a constant of it depends on the size")
        return part(made, Constant(first.name, whole), extents, self._prefix)


def _values(piece: Sequence[str]) -> tuple[list[int] | None, str]:
    """Numbers in C text as integers, None where one is none; and their C type, "" for int32.

    A mean divides by a float, which is a whole number at every size.
    """
    if "0x" in piece[0]:
        floats = [float.fromhex(text.rstrip("f")) for text in piece]
        whole = all(value.is_integer() and abs(value) < EXACT for value in floats)
        kind = "float" if piece[0].endswith("f") else "double"
        return (list(map(int, floats)) if whole else None), kind
    wide = re.match(r"(U?)INT(\d+)_C", piece[0])
    kind = f"{wide[1].lower()}int{wide[2]}_t" if wide else ""
    return [int(re.sub(r"^U?INT\d+_C\(|\)$", "", text)) for text in piece], kind


def _names(made: Remainder) -> object:
    """What call lists of several sizes have in common."""
    several = (made.tensors, made.constants), (made.calls, made.joins)
    names = [[each.name for each in tensors] for tensors in several[0]]
    symbols = [function.symbol for function in made.functions]
    return names, symbols, list(map(len, several[1])), (made.inputs, made.outputs, made.aliases)


def _same(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether two arrays are the same bytes."""
    return (
        one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()
    )
