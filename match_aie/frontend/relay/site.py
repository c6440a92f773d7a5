"""Where an operator is lowered: its attributes, and what its rule may emit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np
from tvm import relax

from match_aie import tvm_api
from match_aie.errors import ModelError
from match_aie.frontend.relay.fold import fold
from match_aie.frontend.relay.source import Source
from match_aie.frontend.relay.syntax import Attribute, Attributes, MetaRef
from match_aie.frontend.relay.values import Expr, Value
from match_aie.limits import Limits


@dataclass
class Emission:
    """The Relax function that is being built.

    Attributes:
        builder: TVM's.
        labels: name of a Relax variable -> what users know it by.
        definitions: variable -> the call that computes it.
        warnings: what was assumed, a sentence each.
        limits: how much the constants that operators make may take together.
        made: bytes of them so far.
    """

    builder: Any = field(default_factory=relax.BlockBuilder)
    labels: dict[str, str] = field(default_factory=dict)
    definitions: dict[Any, Expr] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    limits: Limits = Limits()
    made: int = 0


@dataclass(frozen=True, eq=False)
class Site:
    """A call of an operator.

    Attributes:
        operator: its name in Relay.
        arguments: already lowered.
        attributes: as written.
        source: for errors.
        at: where the call stands.
        label: what users know the result by.
        emission: what is emitted goes there.
    """

    operator: str
    arguments: tuple[Value, ...]
    attributes: Attributes
    source: Source
    at: int
    label: str
    emission: Emission

    def error(self, what: str, hint: str = "") -> ModelError:
        """An error about this call."""
        return self.source.error(f"{self.operator}: {what}", self.at, hint)

    def reserve(self, *sizes: int) -> None:
        """Account for a constant of these sizes, of 8 bytes per element, before it is made.

        Raises:
            LimitError: all of them together would take too much.
        """
        self.emission.made += 8 * prod(max(size, 0) for size in sizes)
        what = f"{self.operator} makes constants that take too much"
        self.emission.limits.check("constant_bytes", self.emission.made, what, self.label)

    def emit(self, value: Expr) -> Expr:
        """A variable for `value`, or a constant where numpy can compute it exactly."""
        if isinstance(value, relax.Var) or tvm_api.is_constant(value):
            return value
        builder = self.emission.builder
        value = builder.normalize(value)
        folded = fold(value)
        if folded is not None:
            return constant(folded)
        var = builder.emit(value, name_hint=f"r{len(self.emission.definitions)}")
        self.emission.definitions[var] = value
        self.emission.labels[tvm_api.variable_name(var)] = self.label
        return var

    def tensor(self, index: int) -> Expr:
        """Argument `index`, which must be a tensor."""
        if index >= len(self.arguments):
            raise self.error(f"it has {len(self.arguments)} inputs and needs more")
        return self.as_tensor(self.arguments[index])

    def as_tensor(self, value: Value) -> Expr:
        """`value`, which must be a tensor."""
        if isinstance(value, relax.Var | tvm_api.ConstantNode):
            return value
        what = "a tuple" if isinstance(value, tuple) else "a function"
        raise self.error(f"{what} stands where a tensor should")

    def tensors(self, index: int) -> list[Expr]:
        """Argument `index`, which must be a tuple of tensors."""
        if index >= len(self.arguments):
            raise self.error(f"it has {len(self.arguments)} inputs and needs more")
        value = self.arguments[index]
        if not isinstance(value, tuple):
            raise self.error("a tensor stands where a tuple should")
        return [self.as_tensor(item) for item in value]

    def array(self, index: int, what: str) -> np.ndarray:
        """The value of argument `index`, which must be known at compile time."""
        return self.known(self.tensor(index), what)

    def known(self, value: Expr, what: str) -> np.ndarray:
        """The value of a tensor, which must be known at compile time."""
        if not tvm_api.is_constant(value):
            raise self.error(
                f"its {what} must be known at compile time",
                hint="give the parameters with params=, or with --params",
            )
        return tvm_api.constant_value(value)

    # Attributes, by name, with what Relay means where they are absent or None.

    def get(self, name: str) -> Attribute:
        """The attribute, None where it is absent."""
        value = self.attributes.get(name)
        if isinstance(value, MetaRef):
            raise self.error(f"attribute {name} is in metadata that is not read ({value.kind})")
        return value

    def has(self, name: str) -> bool:
        """Whether the attribute says anything."""
        return self.get(name) is not None

    def integer(self, name: str, default: int | None = None) -> int:
        """A whole number."""
        value = self.get(name)
        if value is None and default is not None:
            return default
        if isinstance(value, bool) or not isinstance(value, int | float) or value != int(value):
            raise self.error(f"attribute {name} is {_shown(value)}, not a whole number")
        return int(value)

    def number(self, name: str, default: float | None = None) -> float:
        """A real number."""
        value = self.get(name)
        if value is None and default is not None:
            return default
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.error(f"attribute {name} is {_shown(value)}, not a number")
        return float(value)

    def flag(self, name: str, default: bool = False) -> bool:
        """A truth value."""
        value = self.get(name)
        if value is None:
            return default
        if not isinstance(value, bool | int):
            raise self.error(f"attribute {name} is {_shown(value)}, not True or False")
        return bool(value)

    def word(self, name: str, default: str = "") -> str:
        """A string; "" and None mean the default."""
        value = self.get(name)
        if value is None or value == "":
            return default
        if not isinstance(value, str):
            raise self.error(f"attribute {name} is {_shown(value)}, not a string")
        return value

    def integers(self, name: str, default: Sequence[int] | None = None) -> list[int]:
        """A list of whole numbers; one number is a list of one."""
        value = self.get(name)
        if value is None and default is not None:
            return list(default)
        if isinstance(value, int) and not isinstance(value, bool):
            return [value]
        if isinstance(value, np.ndarray) and value.dtype.kind in "iu":
            return [int(item) for item in value.reshape(-1)]
        items = [*value] if isinstance(value, tuple) else [None]
        if any(isinstance(item, bool) or not isinstance(item, int) for item in items):
            raise self.error(f"attribute {name} is {_shown(value)}, not a list of whole numbers")
        return [item for item in items if isinstance(item, int)]

    def axis(self, default: int, rank: int, name: str = "axis") -> int:
        """An axis of a tensor of `rank`, counted from the front."""
        axis = self.integer(name, default)
        if not -rank <= axis < max(rank, 1):
            raise self.error(f"{name} {axis} is none of a tensor of rank {rank}")
        return axis % rank if rank else 0


def _shown(value: Attribute) -> str:
    return repr(value)[:60]


def constant(value: np.ndarray) -> Expr:
    """A constant node holding `value`."""
    array = np.asarray(value)
    return relax.const(np.ascontiguousarray(array).reshape(array.shape), str(array.dtype))


def scalar(value: float, dtype: str) -> Expr:
    """A constant of rank 0."""
    return constant(np.array(value, dtype))


def shape(expr: Expr) -> tuple[int, ...]:
    """Sizes of a tensor."""
    return tvm_api.shape_of(expr)


def dtype(expr: Expr) -> str:
    """Element type of a tensor."""
    return tvm_api.dtype_of(expr)


def rank(expr: Expr) -> int:
    """Axes of a tensor."""
    return len(tvm_api.shape_of(expr))
