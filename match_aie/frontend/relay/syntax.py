"""What a Relay module says, as plain data; `at` is an offset into the text (or a JSON node)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np


@dataclass(frozen=True, slots=True)
class TensorType:
    """A tensor: sizes (None where unknown) and element type as Relay writes it."""

    shape: tuple[int | None, ...] | None
    dtype: str | None


@dataclass(frozen=True, slots=True)
class TupleType:
    """A tuple of types."""

    fields: tuple[Type, ...]


@dataclass(frozen=True, slots=True)
class OtherType:
    """A type that no tensor has, such as of a function; `text` names it."""

    text: str


Type = TensorType | TupleType | OtherType


@dataclass(frozen=True, slots=True)
class MetaRef:
    """`meta[kind][index]`: an entry of the metadata section."""

    at: int
    kind: str
    index: int


@dataclass(frozen=True, slots=True)
class Opaque:
    """An attribute value that no operator here reads, such as a `Target(...)`."""

    text: str


Attribute = (
    None | bool | int | float | str | np.ndarray | MetaRef | Opaque | tuple["Attribute", ...]
)
Attributes = Mapping[str, Attribute]
NOTHING: Attributes = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Local:
    """A use of `%name`."""

    at: int
    name: str


@dataclass(frozen=True, slots=True)
class Global:
    """A use of `@name`."""

    at: int
    name: str


@dataclass(frozen=True, slots=True)
class Operator:
    """The operator that a call calls."""

    at: int
    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Constant:
    """A literal, or a tensor of a JSON module."""

    at: int
    value: np.ndarray


@dataclass(frozen=True, slots=True)
class Tuple:
    """`(a, b)`."""

    at: int
    items: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Project:
    """`source.index`."""

    at: int
    source: Expression
    index: int


@dataclass(frozen=True, slots=True)
class Call:
    """`function(arguments, attributes)`."""

    at: int
    function: Expression
    arguments: tuple[Expression, ...]
    attributes: Attributes


@dataclass(frozen=True, slots=True)
class Binding:
    """`%name = value;`, also with `let`."""

    at: int
    name: str
    value: Expression


@dataclass(frozen=True, slots=True)
class Block:
    """Bindings and a result."""

    at: int
    bindings: tuple[Binding, ...]
    result: Expression


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a function; `type` is None where the text gives none."""

    at: int
    name: str
    type: Type | None


@dataclass(frozen=True, slots=True)
class Function:
    """A function; `attributes` hold `Composite`, `Primitive` and what else was there."""

    at: int
    parameters: tuple[Parameter, ...]
    body: Block
    attributes: Attributes = field(default_factory=lambda: NOTHING)


Expression = (
    Local | Global | Operator | Constant | MetaRef | Tuple | Project | Call | Block | Function
)


@dataclass(frozen=True, slots=True, eq=False)
class Module:
    """Functions by name, and the constants of the metadata section.

    Attributes:
        functions: `main` is the network.
        constants: (kind, index) -> array; other metadata is not kept.
    """

    functions: Mapping[str, Function]
    constants: Mapping[tuple[str, int], np.ndarray] = field(
        default_factory=lambda: MappingProxyType({})
    )
