"""A layer's kernel function: the kernel, the numbers of the layer, and its parameters in order."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from match_aie.errors import TargetError
from match_aie.targets.aie_ml.kernels.spec import C_TYPES, KernelSpec


@dataclass(frozen=True)
class Parameter:
    """An array that the host hands to a kernel (a run-time parameter).

    Attributes:
        name: of the argument.
        c_type: of its elements.
        size: elements.
    """

    name: str
    c_type: str
    size: int


def arguments_of(
    inputs: Iterable[tuple[str, str]],
    parameters: Iterable[Parameter],
    result: str | KernelSpec,
    *,
    fetches: bool = False,
) -> tuple[str, ...]:
    """A function's arguments as C++ text: buffers that are read, arrays, what it stores.

    Args:
        inputs: element types and names of the buffers.
        parameters: the arrays.
        result: element type of the buffer y; or the kernel, where a cascade may stand in its place,
            and another one before it.
        fetches: whether the function takes and gives its buffers itself.
    """
    kind = "async_buffer" if fetches else "buffer"
    taken = (f"adf::input_{kind}<{C_TYPES[dtype]}> &__restrict {name}" for dtype, name in inputs)
    arrays = (f"const {p.c_type} (&{p.name})[{p.size}]" for p in parameters)
    stored = result if isinstance(result, str) else result.requantise.dtype
    ends = [f"adf::output_{kind}<{C_TYPES[stored]}> &__restrict y"]
    if isinstance(result, KernelSpec):
        ends = ends if result.stores else [f"output_cascade<{result.accumulator}> *to"]
        ends = [f"input_cascade<{result.accumulator}> *from", *ends] if result.receives else ends
    return (*taken, *arrays, *ends)


@dataclass(frozen=True)
class LayerCall:
    """The function that a graph makes a kernel of.

    Its arguments are the buffer x, the `parameters`, the cascade in, then the buffer y or the
    cascade out; a graph numbers a kernel's inputs in this order.

    Attributes:
        symbol: its name, a C identifier.
        header: of its declaration.
        spec: the kernel.
        shift: bits shifted out.
        multiplier: of form "tensor".
        addend: one for all columns, where the kernel takes such.
        bias_size: elements of the bias; None for one per column.
        origins: of tiles of rows, for kernels that gather.
        offsets: of steps, likewise.
        bias_of: of rows, for kernels with a border bias; empty where the function around the
            call has tables of its own (`Bands`).
        x_n_step: elements of x between tiles of columns, for lane by lane kernels.
        image: whether y is an image [N/n][M/m][m][n], and not [M/m][N/n][m][n].
    """

    symbol: str
    header: str
    spec: KernelSpec
    shift: int = 0
    multiplier: int = 0
    addend: int = 0
    bias_size: int | None = None
    origins: tuple[int, ...] = ()
    offsets: tuple[int, ...] = ()
    bias_of: tuple[int, ...] = ()
    x_n_step: int = 0
    image: bool = False

    def __post_init__(self) -> None:
        """Refuse tables of another size than the kernel reads."""
        s = self.spec
        wanted = {
            "origins": s.m // s.tiling.m if s.gathered else 0,
            "offsets": s.k_steps if s.gathered else 0,
            "bias_of": s.m if s.border_bias else 0,
        }
        if not self.bias_of:
            wanted.pop("bias_of")
        for name, size in wanted.items():
            if len(getattr(self, name)) != size:
                raise TargetError(
                    f"kernel {self.symbol} reads {size} {name}, not {len(getattr(self, name))}"
                )

    #: Its template, which reads it under the name `call`.
    template = "aie/layer.cpp.mako"

    #: It has no local arrays.
    stack_bytes = 0

    @property
    def headers(self) -> tuple[KernelSpec, ...]:
        """Kernels that its source includes."""
        return (self.spec,)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """What the host hands over before the first run, in the order of the arguments."""
        s, found = self.spec, []
        if s.weighted:
            size = s.tiling.m * s.k * s.n if s.operation == "multiply" else s.k * s.n
            found.append(Parameter("w", C_TYPES[s.b], size))
        if s.bias:
            found.append(Parameter("bias", C_TYPES[s.bias_dtype], self.bias_size or s.n))
        if s.stores and s.requantise.form == "channel":
            found.append(Parameter("multiplier", "int16" if s.requantise.narrow else "int32", s.n))
        if s.stores and s.requantise.addend == "channel":
            found.append(Parameter("addend", "int32", s.n))
        return tuple(found)

    @property
    def arguments(self) -> tuple[str, ...]:
        """The function's arguments as C++ text."""
        return arguments_of(((self.spec.a, "x"),), self.parameters, self.spec)

    @property
    def tables(self) -> tuple[tuple[str, tuple[int, ...]], ...]:
        """Tables of addresses that lie with the kernel's code."""
        named = (("origins", self.origins), ("offsets", self.offsets), ("bias_of", self.bias_of))
        return tuple((name, values) for name, values in named if values)

    @property
    def fields(self) -> tuple[tuple[str, object], ...]:
        """The kernel's call, field by field as C++ text or numbers."""
        s, t = self.spec, self.spec.tiling
        size = t.m * t.n
        named: list[tuple[str, object]] = [("x", "x.data()")]
        named += [(name, f"{self.symbol}_{name}") for name in ("origins", "offsets") if s.gathered]
        named += [("x_n_step", self.x_n_step)] if s.operation != "mmul" else []
        named += [(p.name, p.name) for p in self.parameters if p.name in ("w", "bias")]
        named += [("bias_of", f"{self.symbol}_bias_of")] if s.border_bias else []
        named += [("from", "from")] if s.receives else []
        if not s.stores:
            named.append(("to", "to"))
            named += [("shift", self.shift)] if s.rounded and s.requantise.form != "none" else []
        else:
            steps = (size, s.m * t.n) if self.image else (s.n * t.m, size)
            named += [("y", "y.data()"), ("y_m_step", steps[0]), ("y_n_step", steps[1])]
            named += self._epilogue()
        m_blocks, n_blocks = s.blocks
        named.append(("m_blocks", m_blocks))
        if not s.flat:
            named.append(("k_steps", s.k_steps))
        return (*named, ("n_blocks", n_blocks))

    def _epilogue(self) -> list[tuple[str, object]]:
        r = self.spec.requantise
        named: list[tuple[str, object]] = []
        if r.scaled:
            channel = r.form == "channel"
            named.append(("multiplier", "multiplier" if channel else self.multiplier))
        if r.form != "none":
            named.append(("shift", self.shift))
        if r.scaled:
            of = {"zero_point": r.zero_point, "tensor": self.addend, "channel": "addend"}[r.addend]
            named.append(("zero" if r.addend == "zero_point" else "addend", of))
        if self.spec.lo is not None and not self.spec.floating:
            named.append(("lo", self.spec.lo))
        if r.hi is not None:
            named.append(("hi", r.hi))
        return named
