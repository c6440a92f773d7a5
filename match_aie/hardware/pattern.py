"""Patterns as data: the structure of operators a module can run, plus a check with a reason.

A structure is written from its output back to its inputs, in the operators of the canonical
quantised graph (`match_aie.frontend.canonical`), for example a convolution with bias:

>>> conv = Op("nn.conv2d", Op("dequantize", Any("x")), Op("dequantize", Const("weight")))
>>> Op("quantize", Op("add", conv, Op("dequantize", Const("bias")))).operators()
('quantize', 'add', 'nn.conv2d', 'dequantize', 'dequantize', 'dequantize')
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from match_aie.workload import Kind, Workload

#: The composite operator that normalisation makes of TFLite's integer average pool.
AVG_POOL_HALF_AWAY = "match.avg_pool2d_half_away"
#: The composite operator that normalisation makes of a requantisation in integers. A pattern's
#: `quantize` matches it; its layers come with a fixed-point tail.
REQUANTIZE = "match.requantize"


@dataclass(frozen=True)
class Any:
    """Matches any tensor, constant or not; binds it to `name`. Equal names must bind equally."""

    name: str


@dataclass(frozen=True)
class Const:
    """Matches a tensor known at compile time; binds it to `name`."""

    name: str


@dataclass(frozen=True, init=False)
class Op:
    """Matches a call of `operator` whose leading tensor arguments match `inputs`.

    Scales and zero points of `quantize` and `dequantize` need not be written: they are constant
    in the canonical form. Operands of `add` and `multiply` match in either order.
    """

    operator: str
    inputs: tuple[Structure, ...]

    def __init__(self, operator: str, *inputs: Structure) -> None:
        """`operator` as in the canonical graph ("nn.conv2d"), then its inputs."""
        object.__setattr__(self, "operator", operator)
        object.__setattr__(self, "inputs", inputs)

    def operators(self) -> tuple[str, ...]:
        """Every operator of the structure, output first."""
        below = (i.operators() for i in self.inputs if isinstance(i, Op))
        return (self.operator, *(name for names in below for name in names))


Structure = Any | Const | Op


def accepts_all(workload: Workload) -> str | None:
    """The check of a pattern that runs everything its structure matches."""
    del workload
    return None


@dataclass(frozen=True)
class Pattern:
    """One thing a module can run.

    Attributes:
        name: unique within the module; shown to users.
        kind: the kind of workload that the structure means.
        structure: what to find in the graph.
        refuses: a sentence saying why this module cannot run the workload, or None if it can.
    """

    name: str
    kind: Kind
    structure: Op
    refuses: Callable[[Workload], str | None] = accepts_all
