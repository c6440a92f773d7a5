"""Shapes with ranges: `{"x": ("1..128", 384)}` means one program for all of these sizes."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass
from operator import index

from match_aie.errors import OptionError, shorten
from match_aie.limits import Limits
from match_aie.workload.extent import MOST_SIZES, Size

#: "1..128", "batch:1..128", or the name of a size that another dimension gives.
_RANGE = re.compile(r"(?:([^\W\d]\w{0,39})\s*:\s*)?(\d{1,18})\s*\.\.\s*(\d{1,18})", re.ASCII)
_NAME = re.compile(r"[^\W\d]\w{0,39}", re.ASCII)

#: What the only range of a model is called where nobody says more.
ONLY = "n"

Shapes = Mapping[str, Sequence[int | str]]

#: Input name -> the names that a model gives its dimensions, "" for none.
Names = Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class Ranges:
    """Sizes that a run gives, and the shapes of inputs in terms of them.

    Attributes:
        sizes: in the order in which inputs name them; none where all shapes are fixed.
        shapes: input name -> sizes of its axes, numbers or names of `sizes`.
    """

    sizes: tuple[Size, ...]
    shapes: Mapping[str, tuple[int | str, ...]]

    def at(self, values: Sequence[int]) -> dict[str, tuple[int, ...]]:
        """The shapes where the sizes are `values`."""
        known = {size.name: value for size, value in zip(self.sizes, values, strict=True)}
        return {
            name: tuple(known[size] if isinstance(size, str) else size for size in shape)
            for name, shape in self.shapes.items()
        }

    @property
    def most(self) -> dict[str, tuple[int, ...]]:
        """The largest shapes."""
        return self.at(self.largest)

    @property
    def largest(self) -> tuple[int, ...]:
        """The upper ends."""
        return tuple(size.high for size in self.sizes)


def of_model(model: object, shapes: Shapes | None, limits: Limits | None = None) -> Ranges:
    """The ranges in `shapes`, by the names that the model gives its dimensions.

    Raises:
        ModelError: the model cannot be read.
        OptionError: a shape that means nothing, see `read`.
    """
    _are_shapes(shapes or {})
    if not any(isinstance(size, str) for shape in (shapes or {}).values() for size in shape):
        return read(shapes, {})
    from match_aie.frontend.onnx_axes import names_of_axes

    return read(shapes, names_of_axes(model, limits or Limits()))


def read(shapes: Shapes | None, names: Names) -> Ranges:
    """The ranges in shapes of inputs.

    A range is called what stands before its colon, else what the model calls the dimension, else
    "n" where there is one only. One name is one size.

    Args:
        shapes: by input name, as `compile` takes them.
        names: of the model's dimensions.

    Raises:
        OptionError: no number and no range, an empty range, ranges that contradict each other, a
            name that no range has, or more than two sizes.
    """
    found: dict[str, Size] = {}
    read_shapes = {
        name: tuple(_dimension(name, shape, axis, names, found) for axis in range(len(shape)))
        for name, shape in (shapes or {}).items()
    }
    for name, shape in read_shapes.items():
        for size in shape:
            if isinstance(size, str) and size not in found:
                raise OptionError(
                    f"{size!r} is the size of an axis, and no axis says its range",
                    where=f"input {shorten(name, 60)}",
                    hint=f"{size}:1..128 in the shape of one input",
                )
    if len({name.upper() for name in found}) < len(found):
        raise OptionError(f"sizes that differ in case only: {', '.join(found)}")
    if len(found) > MOST_SIZES:
        raise OptionError(
            f"{len(found)} sizes are to be given at run time, {MOST_SIZES} at most: "
            + ", ".join(found),
            hint="fix one, or give two axes that are always equal one name (n:1..128, then n)",
        )
    return Ranges(tuple(found.values()), read_shapes)


def _are_shapes(shapes: object) -> None:
    """See that these are names with sequences of sizes.

    Raises:
        OptionError: they are something else.
    """
    orderless = (str, bytes, AbstractSet, Mapping)
    good = isinstance(shapes, Mapping) and all(
        isinstance(name, str) and isinstance(shape, Collection) and not isinstance(shape, orderless)
        for name, shape in shapes.items()
    )
    if not good:
        raise OptionError(
            "shapes are no names with sizes", hint='a mapping such as {"x": (1, 3, 32, 32)}'
        )


def _dimension(
    name: str, shape: Sequence[int | str], axis: int, names: Names, found: dict[str, Size]
) -> int | str:
    """One axis of an input.

    Args:
        name: of the input.
        shape: as the user writes it.
        axis: which of it.
        names: of the model's dimensions.
        found: ranges by name; a new one is noted there.
    """
    text = shape[axis]
    where = f"input {shorten(name, 60)}, axis {axis}"
    parsed = None
    if isinstance(text, str):
        text = text.strip()
        if _NAME.fullmatch(text):
            return text
        parsed = _RANGE.fullmatch(text)
        if re.fullmatch(r"[0-9]{1,18}", text):
            return int(text)
    elif not isinstance(text, bool):
        with suppress(TypeError):  # a float would lose what is behind its point
            return index(text)
    if parsed is None:
        raise OptionError(
            f"{shorten(str(text), 40)!r} is neither a size nor a range",
            where=where,
            hint="384, 1..128, batch:1..128, or the name of another axis' range",
        )
    called = parsed[1] or _known(names.get(name, ()), axis) or _only(found, where)
    size = Size(called, int(parsed[2]), int(parsed[3]))
    if not 1 <= size.low <= size.high:
        raise OptionError(f"the range {text} holds no size", where=where, hint="1..128")
    if found.setdefault(called, size) != size:
        raise OptionError(
            f"{called} is {found[called].low}..{found[called].high} and {size.low}..{size.high}",
            where=where,
            hint="one range, or another name: other:1..128",
        )
    return called


def _known(names: Sequence[str], axis: int) -> str:
    """What the model calls an axis, "" where that is no name of a size."""
    name = names[axis] if axis < len(names) else ""
    return name if _NAME.fullmatch(name) else ""


def _only(found: Mapping[str, Size], where: str) -> str:
    """The name of a range that nobody names: there may be one of them."""
    if found:
        raise OptionError(
            "a second range has no name, and the model gives it none",
            where=where,
            hint="name ranges that differ (batch:1..8, n:1..128); equal ones have one name",
        )
    return ONLY
