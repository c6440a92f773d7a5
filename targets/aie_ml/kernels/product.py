"""A layer's kernel function for a product of two activations, its zero points corrected."""

from __future__ import annotations

from dataclasses import dataclass, fields

from match_aie.targets.aie_ml.kernels.call import LayerCall, Parameter, arguments_of
from match_aie.targets.aie_ml.kernels.spec import KernelSpec


@dataclass(frozen=True)
class OperandSums(KernelSpec):
    """The header of the sums over rows of a and columns of b that a product's zero points need."""

    @property
    def family(self) -> str:
        """Of the header."""
        return self.sums_family

    #: Of the header, which reads the product's kernel under the name `k`.
    template = "aie/operand_sums.hpp.mako"


@dataclass(frozen=True)
class ProductCall:
    """y = requantised((a - a_zero) (b - b_zero)), tiles as `kernels.layout` has them.

    Attributes:
        symbol: its name, a C identifier.
        header: of its declaration.
        spec: the kernel; with `row_bias` it has zero points.
        shift: bits shifted out.
        multiplier: of form "tensor".
        addend: after the multiplication, likewise.
        a_zero: zero point of a.
        b_zero: of b.
        constant: that joins every sum: K * a_zero * b_zero over the reduction without padding,
            and what else is added before a plain shift.
    """

    symbol: str
    header: str
    spec: KernelSpec
    shift: int = 0
    multiplier: int = 0
    addend: int = 0
    a_zero: int = 0
    b_zero: int = 0
    constant: int = 0

    #: Its template, which reads it under the name `call`.
    template = "aie/matmul_layer.cpp.mako"

    @property
    def headers(self) -> tuple[KernelSpec, ...]:
        """Kernels that its source includes."""
        s = self.spec
        sums = OperandSums(**{field.name: getattr(s, field.name) for field in fields(s)})
        return (s, sums) if s.row_bias else (s,)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """A bias where one is added before a shift and no zero point makes another."""
        plain = self.spec.bias and not self.spec.row_bias
        return (Parameter("bias", "int32", self.spec.n),) if plain else ()

    @property
    def stack_bytes(self) -> int:
        """Addends by rows and by columns."""
        s = self.spec
        return 4 * (s.m * s.tiling.n + s.n) if s.row_bias else 0

    @property
    def arguments(self) -> tuple[str, ...]:
        """The function's arguments as C++ text."""
        s = self.spec
        return arguments_of(((s.a, "a"), (s.b, "b")), self.parameters, s.requantise.dtype)

    @property
    def fields(self) -> tuple[tuple[str, object], ...]:
        """The kernel's call, field by field as C++ text or numbers."""
        same = LayerCall(
            self.symbol, self.header, self.spec, self.shift, self.multiplier, self.addend
        )
        named = dict(same.fields)
        named.update({"x": "a.data()", "w": "b.data()"})
        if not self.spec.row_bias:
            return tuple(named.items())
        named.update({"bias": "bias", "row_sums": "row_sums"})
        order = ("x", "w", "bias", "row_sums")
        rest = tuple((name, value) for name, value in named.items() if name not in order)
        return (*((name, named[name]) for name in order), *rest)
