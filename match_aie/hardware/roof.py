"""The most that hardware can do: what a layer's speed is held against."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from match_aie.errors import TargetError


@dataclass(frozen=True)
class Roof:
    """What bounds a layer on a module, whatever its mapping: a fact of the hardware.

    Attributes:
        macs_per_cycle: multiply-accumulates of the layer's element types, of all units together.
        bytes_per_cycle: of the way between `memory` and the module.
        memory: where the layer's operands come from.
        nbytes: that the layer moves on that way at least: each operand once.
        source: of both figures.
    """

    macs_per_cycle: float
    bytes_per_cycle: float
    memory: str
    nbytes: int
    source: str

    def __post_init__(self) -> None:
        """Refuse what bounds nothing, and what nobody said."""
        for field in ("macs_per_cycle", "bytes_per_cycle", "nbytes"):
            if not 0 < getattr(self, field) < inf:
                raise TargetError(f"a roof's {field} is {getattr(self, field)}, not above 0")
        if not self.source:
            raise TargetError(
                "a roof without a source", hint="name one, or state no roof at all (None)"
            )
