"""Sizes that are given at run time, and what depends on them.

A program for a range of sizes has one `Size` per named dimension. What grows with them (elements of
an axis, iterations of a loop, bytes) is an `Extent`: a polynomial with integer coefficients. It is
found from its values where the same network was compiled for several sizes, more of them than the
polynomial has coefficients, and has to give every one of those values exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from match_aie.workload.workload import Workload

#: What a number may depend on at most: the square of each size, one of them squared in a product.
LARGEST_POWER = 2
LARGEST_DEGREE = 3

#: Sizes of one program at most. With three, a compilation would have to try 20 combinations.
MOST_SIZES = 2

#: Numbers that depend on sizes are int32 in C.
LARGEST = (1 << 31) - 1


@dataclass(frozen=True)
class Size:
    """A size that is given at run time.

    Attributes:
        name: as users and the model call it.
        low: the least, at least 1.
        high: the largest: memory is planned for it.
    """

    name: str
    low: int
    high: int


@dataclass(frozen=True)
class Extent:
    """A number that depends on sizes: the sum of coefficient * product(size ** power).

    Attributes:
        terms: (a power of each size, coefficient), the highest powers first, no coefficient 0.
    """

    terms: tuple[tuple[tuple[int, ...], int], ...]

    def at(self, values: Sequence[int]) -> int:
        """Its value where the sizes are `values`.

        >>> Extent((((2,), 3), ((0,), 1))).at((5,))
        76
        """
        return sum(
            coefficient * prod(v**p for v, p in zip(values, powers, strict=True))
            for powers, coefficient in self.terms
        )

    def text(self, names: Sequence[str]) -> str:
        """A C expression without outer parentheses.

        >>> Extent((((1, 1), 12), ((0, 1), -1), ((0, 0), 4))).text(("a", "b"))
        '12 * a * b - b + 4'
        """
        words = ""
        for powers, coefficient in self.terms:
            named = zip(names, powers, strict=True)
            factors = [name for name, power in named for _ in range(power)]
            if abs(coefficient) != 1 or not factors:
                factors.insert(0, str(abs(coefficient)))
            sign = (" - " if words else "-") if coefficient < 0 else (" + " if words else "")
            words += sign + " * ".join(factors)
        return words

    def times(self, factor: int) -> Extent:
        """This many times as much."""
        return Extent(tuple((powers, factor * c) for powers, c in self.terms))


#: JSON-like values, some of them extents.
Tree = Any

#: An axis: as many elements as ever, or a number that depends on sizes.
Elements = int | Extent


def at(number: Elements, values: Sequence[int]) -> int:
    """The value of `number` where the sizes are `values`."""
    return number.at(values) if isinstance(number, Extent) else number


def text(number: Elements, names: Sequence[str]) -> str:
    """`number` as a C expression, in parentheses where it is a sum."""
    if not isinstance(number, Extent):
        return str(number)
    words = number.text(names)
    return f"({words})" if len(number.terms) > 1 else words


class Different(Exception):
    """Values of several sizes are no polynomial, or differ in more than numbers."""


class Fit:
    """From values at several sizes to what gives them all."""

    def __init__(self, points: Sequence[tuple[int, ...]], sizes: Sequence[Size]) -> None:
        """Of values at `points`; an extent may not leave int32 at the largest of `sizes`.

        Raises:
            ValueError: there are too few points, or they lie on a curve.
        """
        self._points = tuple(points)
        self._most = tuple(size.high for size in sizes)
        powers = product(range(LARGEST_POWER, -1, -1), repeat=len(sizes))
        self._monomials = [p for p in powers if sum(p) <= LARGEST_DEGREE]
        rows = [
            [prod(v**p for v, p in zip(at, m, strict=True)) for m in self._monomials]
            for at in points
        ]
        self._rows, self._chosen = rows, _independent(rows, len(self._monomials))
        if len(points) <= len(self._monomials):
            raise ValueError("no point is left that would show a wrong polynomial")
        self._found: dict[tuple[int, ...], Elements | None] = {}

    def number(self, values: Sequence[int]) -> Elements:
        """What is `values` at the points.

        Raises:
            Different: no polynomial with integer coefficients is, or not within int32.
        """
        key = tuple(values)
        if key not in self._found:
            self._found[key] = key[0] if len(set(key)) == 1 else self._polynomial(key)
        found = self._found[key]
        if found is None:
            raise Different(f"{', '.join(map(str, key))} is no polynomial in the sizes")
        return found

    def _polynomial(self, values: tuple[int, ...]) -> Extent | None:
        system = [
            [Fraction(x) for x in self._rows[i]] + [Fraction(values[i])] for i in self._chosen
        ]
        solved = _solved(system)
        terms = tuple((m, int(c)) for m, c in zip(self._monomials, solved, strict=True) if c)
        if any(c.denominator != 1 for c in solved):
            return None
        extent = Extent(terms)
        if any(extent.at(p) != v for p, v in zip(self._points, values, strict=True)):
            return None
        largest = sum(abs(Extent((term,)).at(self._most)) for term in terms)
        return extent if largest <= LARGEST else None

    def tree(self, values: Sequence[Tree]) -> Tree:
        """JSON-like values that differ in integers only, as one with `Extent`s in their places.

        Raises:
            Different: they differ otherwise; says where.
        """
        first = values[0]
        if all(type(value) is type(first) for value in values):
            if isinstance(first, bool | str | float) or first is None:
                if all(value == first for value in values):
                    return first
            elif isinstance(first, int):
                return self.number(values)
            elif isinstance(first, Mapping) and all(v.keys() == first.keys() for v in values):
                return {key: self._within(key, [v[key] for v in values]) for key in first}
            elif isinstance(first, list | tuple) and all(len(v) == len(first) for v in values):
                return type(first)(map(self.tree, zip(*values, strict=True)))
        raise Different(f"{first!r} at one size is {values[-1]!r} at another")

    def _within(self, key: str, values: Sequence[Tree]) -> Tree:
        try:
            return self.tree(values)
        except Different as error:
            raise Different(f"{key}: {error}") from error


def _independent(rows: Sequence[Sequence[int]], wanted: int) -> list[int]:
    """Indices of the first rows that determine `wanted` coefficients."""
    chosen: list[int] = []
    basis: list[tuple[int, list[Fraction]]] = []
    for index, row in enumerate(rows):
        rest = [Fraction(x) for x in row]
        for at_column, known in basis:
            factor = rest[at_column]
            rest = [a - factor * b for a, b in zip(rest, known, strict=True)]
        column = next((i for i, x in enumerate(rest) if x), None)
        if column is not None:
            basis.append((column, [x / rest[column] for x in rest]))
            chosen.append(index)
    if len(chosen) < wanted:
        raise ValueError("the points lie on a curve: coefficients cannot be told apart")
    return chosen


def _solved(system: list[list[Fraction]]) -> list[Fraction]:
    """The solution of a regular linear system, each row with its right-hand side last."""
    for i in range(len(system)):
        pivot = next(r for r in range(i, len(system)) if system[r][i])
        system[i], system[pivot] = system[pivot], system[i]
        system[i] = [x / system[i][i] for x in system[i]]
        for r in range(len(system)):
            if r != i and system[r][i]:
                factor = system[r][i]
                system[r] = [a - factor * b for a, b in zip(system[r], system[i], strict=True)]
    return [row[-1] for row in system]


def mapped(tree: Tree, change: Callable[[Extent], Tree]) -> Tree:
    """`tree` with every extent in it changed."""
    if isinstance(tree, Extent):
        return change(tree)
    if isinstance(tree, Mapping):
        return {key: mapped(value, change) for key, value in tree.items()}
    if isinstance(tree, list | tuple):
        return type(tree)(mapped(value, change) for value in tree)
    return tree


def to_json(tree: Tree) -> Tree:
    """`tree` in the types of JSON; `from_json` gives it back, tuples as lists."""
    return mapped(tree, lambda e: {"extent": [[list(powers), c] for powers, c in e.terms]})


def from_json(tree: Tree) -> Tree:
    """What `to_json` wrote."""
    if isinstance(tree, Mapping):
        if tree.keys() == {"extent"}:
            terms = ((tuple(map(int, powers)), int(c)) for powers, c in tree["extent"])
            return Extent(tuple(terms))
        return {key: from_json(value) for key, value in tree.items()}
    return [from_json(value) for value in tree] if isinstance(tree, list) else tree


@dataclass(frozen=True)
class Word:
    """A number that templates print and multiply as C text, since only a run knows it.

    >>> str(Word("n_B") * 4 * Word("n_OX"))
    'n_B * 4 * n_OX'
    """

    words: str

    def __str__(self) -> str:
        """C text, a product."""
        return self.words

    def __mul__(self, other: int | Word) -> Word:
        """Text of the product."""
        return Word(f"{self} * {other}")

    def __rmul__(self, other: int) -> Word:
        """Text of the product."""
        return Word(f"{other} * {self}")


def loop_sizes(workload: Workload) -> dict[str, int | Word]:
    """Sizes of all loop dimensions; of those that a run gives the parameter's name."""
    return {
        dim: Word(f"n_{dim}") if dim in workload.run_time else size
        for dim, size in workload.sizes.items()
    }
