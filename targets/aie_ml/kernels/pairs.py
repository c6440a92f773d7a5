"""Kernel functions that compute every element of y from one of a and one of b."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Generic, TypeVar

from match_aie.targets.aie_ml.kernels.elements import ElementCall, Spec
from match_aie.targets.aie_ml.kernels.spec import C_TYPES

Numbers = TypeVar("Numbers", covariant=True)


@dataclass(frozen=True)
class PairSpec:
    """Element types of such a kernel, and how it clips.

    Attributes:
        a: of both inputs.
        dtype: of the output.
        lo: stored values are clipped from below.
        hi: and from above.
    """

    a: str
    dtype: str
    lo: bool = False
    hi: bool = False

    @property
    def named(self) -> str:
        """Types and clips, for names of kernels."""
        return f"{self.a}_{self.dtype}" + "_lo" * self.lo + "_hi" * self.hi

    #: C++ name of an element type.
    c_type = staticmethod(C_TYPES.__getitem__)


@dataclass(frozen=True)
class PairCall(ElementCall[Spec], Generic[Spec, Numbers]):
    """A function of buffers a, b and y, without parameters.

    Attributes:
        numbers: factors or zero points, offset, shift, bounds.
        rows: vectors of a call.
    """

    numbers: Numbers
    rows: int = 1

    #: Its template, which reads it under the name `call`.
    template: ClassVar[str]
    reads = ("x", "x1")
    buffers = ("a", "b")
