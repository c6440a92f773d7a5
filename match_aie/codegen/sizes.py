"""Sizes that a run gives, as the network's C shows them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from match_aie.codegen.names import comment
from match_aie.workload.extent import Elements, Size, text


@dataclass(frozen=True)
class SizeView:
    """A size: its C parameter, the end of its macros' names, the user's name, its bounds."""

    parameter: str
    macro: str
    label: str
    low: int
    high: int


@dataclass(frozen=True)
class SizesView:
    """All sizes of a network, in the order of the functions' parameters; maybe none."""

    sizes: tuple[SizeView, ...] = ()

    @property
    def parameters(self) -> str:
        """What C functions take after their other parameters."""
        return "".join(f", int32_t {size.parameter}" for size in self.sizes)

    @property
    def arguments(self) -> str:
        """The same handed on."""
        return "".join(f", {size.parameter}" for size in self.sizes)

    @property
    def wrong(self) -> str:
        """C condition that a size is not within its bounds."""
        tests = (f"{s.parameter} < {s.low} || {s.parameter} > {s.high}" for s in self.sizes)
        return " || ".join(tests)

    def text(self, number: Elements) -> str:
        """A number as a C expression."""
        return text(number, [size.parameter for size in self.sizes])

    def nbytes(self, extents: Sequence[Elements], itemsize: int) -> str:
        """C expression of the bytes of a tensor."""
        return f"(size_t)({self.product(extents)}) * {itemsize}"

    def product(self, extents: Sequence[Elements]) -> str:
        """C expression of the elements of a tensor."""
        return " * ".join(map(self.text, extents))

    def macro(self, extents: Sequence[Elements]) -> str:
        """The same in a macro, whose arguments are expressions."""
        names = [f"({size.parameter})" for size in self.sizes]
        return " * ".join(text(each, names) for each in extents)

    def shape(self, extents: Sequence[Elements], largest: Sequence[int]) -> str:
        """Elements per axis for a comment, by the users' names of sizes."""
        shown = extents or largest
        return ", ".join(text(each, [size.label for size in self.sizes]) for each in shown)


def sizes_view(sizes: Sequence[Size]) -> SizesView:
    """What C shows of `sizes`."""
    return SizesView(
        tuple(
            SizeView(f"n_{s.name}", s.name.upper(), comment(s.name), s.low, s.high) for s in sizes
        )
    )
