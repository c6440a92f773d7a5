"""What a caller may choose about a compilation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from match_aie.errors import OptionError

Arithmetic = Literal["module", "model"]


@dataclass(frozen=True)
class CompileOptions:
    """Options of one compilation.

    Attributes:
        name: of the network; the model's file name by default.
        shapes: input name -> shape, for models whose dimensions are not all fixed.
        arithmetic: "module" lets a module use its own requantise arithmetic (the difference is
            reported); "model" makes a module that cannot reproduce the model's own arithmetic
            decline the layer.
        memory_limit: bytes the arena may take; None for no limit.
        integer_io: give inputs and outputs that are float only for a quantize or dequantize at
            the edge of the network their integer type.

    Raises:
        OptionError: an unknown arithmetic, or a limit that is not positive.
    """

    name: str | None = None
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=lambda: MappingProxyType({}))
    arithmetic: Arithmetic = "module"
    memory_limit: int | None = None
    integer_io: bool = False

    def __post_init__(self) -> None:
        """Refuse what has no meaning, before any work is done."""
        if self.arithmetic not in ("module", "model"):
            raise OptionError(
                f"no arithmetic called {self.arithmetic!r}", hint="arithmetic='module' or 'model'"
            )
        if self.memory_limit is not None and self.memory_limit < 1:
            raise OptionError(
                f"a memory limit of {self.memory_limit} bytes", hint="give a positive number"
            )
