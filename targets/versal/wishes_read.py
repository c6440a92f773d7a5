"""What users write about single layers, read into wishes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from match_aie.errors import TargetError
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.versal.wishes import COUNTS, OPERANDS, Layers, Wish

#: All that may be asked.
KEYS = (*COUNTS, "position", "column", "row", "precision")

#: Element types, by their names and what users of other tools call them.
TYPES = {
    **{name: name for name in ("int8", "uint8", "int16", "int32", "bf16")},
    **{"i8": "int8", "u8": "uint8", "i16": "int16", "i32": "int32", "bfloat16": "bf16"},
}


def read(layers: Layers, device: Device) -> dict[str, Wish]:
    """Wishes by label.

    Args:
        layers: what is asked.
        device: the array.

    Raises:
        TargetError: there is no such wish, or no array of this size.
    """
    hint = 'wishes by label, such as {"fc1": {"columns": 2}}'
    if not isinstance(layers, Mapping):
        raise TargetError(f"layers {layers!r}", hint=hint)
    for label, asked in layers.items():
        if not isinstance(label, str) or not isinstance(asked, Mapping):
            raise TargetError(f"wishes {asked!r}", where=str(label), hint=hint)
    return {label: _Reader(label, device).wish(asked) for label, asked in layers.items()}


@dataclass(frozen=True)
class _Reader:
    """What is asked of one layer, read.

    Attributes:
        label: of the layer.
        device: the array.
    """

    label: str
    device: Device

    def wish(self, asked: Mapping[str, object]) -> Wish:
        """All of it; what is asked in two ways must agree.

        Raises:
            TargetError: there is no such wish, or no array of this size.
        """
        found: dict[str, int] = {}
        types: tuple[tuple[str, str], ...] = ()
        for what, value in asked.items():
            if what == "precision":
                types = self._types(value)
                continue
            for name, number in self._numbers(what, value).items():
                if found.setdefault(name, number) != number:
                    raise self._refused(f"{name} {found[name]} and {number}", "one of both")
        return Wish(self.label, **found, precision=types)

    def _numbers(self, what: str, value: object) -> dict[str, int]:
        """What one key says, by the fields of a wish."""
        high, wide = self.device.core_rows, self.device.columns
        most = {"columns": wide, "tiles": wide * high, "cascade": wide, "replicas": wide * high}
        most["logic"] = 1
        if what == "position":
            column, row = self._pair(what, value, "(first column, 0)")
            return {"column": self._column(column), **self._row(row, column)}
        if what == "column":
            return {"column": self._column(self._number(what, value, None, None))}
        if what == "row":
            return self._row(self._number(what, value, 0, high - 1))
        if what not in most:
            raise self._refused(f"no wish of a layer is called {what!r}", f"one of {KEYS}")
        if what == "tiles" and isinstance(value, (tuple, list)):
            columns, rows = self._pair(what, value, "a number, or (columns, rows)")
            columns = self._number("columns", columns, 1, wide)
            return {"columns": columns, "tiles": columns * self._number("rows", rows, 1, high)}
        return {what: self._number(what, value, 1, most[what])}

    def _number(self, what: str, value: object, least: int | None, most: int | None) -> int:
        hint = "a number" if most is None else f"a number up to {most}"
        if not isinstance(value, int) or isinstance(value, bool):
            raise self._refused(f"{what} {value!r}", hint)
        if (least is not None and value < least) or (most is not None and value > most):
            raise self._refused(f"{what} {value!r}", hint)
        return value

    def _pair(self, what: str, value: object, hint: str) -> tuple[int, int]:
        pair = tuple(value) if isinstance(value, (tuple, list)) else ()
        numbers = [at for at in pair if isinstance(at, int) and not isinstance(at, bool)]
        if len(pair) != 2 or len(numbers) != 2:
            raise self._refused(f"{what} {value!r}", hint)
        return numbers[0], numbers[1]

    def _column(self, column: int) -> int:
        wide = self.device.columns
        if not 0 <= column < wide:
            raise self._refused(f"column {column} of an array with {wide}", f"0 to {wide - 1}")
        return column

    def _row(self, row: int, column: int = 0) -> dict[str, int]:
        """Nothing that is to be kept where it is 0."""
        if row != 0:
            raise self._refused(
                f"position in row {row}: a layer takes whole columns, with their memory tiles",
                f"({column}, 0)",
            )
        return {}

    def _types(self, value: object) -> tuple[tuple[str, str], ...]:
        """Element types by operand; a single one is of the input and the weight."""
        given = {"input": value, "weight": value} if isinstance(value, str) else value
        hint = f"one of {', '.join(TYPES)}, or one for each of {', '.join(OPERANDS)}"
        if not isinstance(given, Mapping) or not given:
            raise self._refused(f"precision {value!r}", hint)
        for operand, name in given.items():
            if operand not in OPERANDS or not isinstance(name, str) or name not in TYPES:
                raise self._refused(f"precision {operand!r}: {name!r}", hint)
        return tuple((operand, TYPES[given[operand]]) for operand in OPERANDS if operand in given)

    def _refused(self, what: str, hint: str) -> TargetError:
        return TargetError(what, where=self.label, hint=hint)
