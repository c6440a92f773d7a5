"""What a layer computes, as plain data: loop dimensions, operands, and the tail after the sum.

A `Workload` holds structure only, never tensor contents, so it is hashable and travels as JSON.
Constants (weights, bias, requantisation scales) travel beside it as numpy arrays by name.

Loop dimensions: B batch (or rows), G group, K output channel of a group, C input channel of a
group, OY OX output row and column, FY FX filter row and column. Of a transposed convolution output
rows and columns are PY PX within OY OX, and FY FX count the input's rows and columns that an output
position sees.

Layouts: activations NHWC; conv2d weights [G*K, FY, FX, C]; dense weights [K, C].
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, prod
from typing import Literal, get_args

from match_aie.errors import ModelError
from match_aie.workload.codes import CODES
from match_aie.workload.kinds import FIXED_POINT_KINDS, NORMS, PRODUCTS, Kind

Rounding = Literal["half_even", "half_away", "floor", "half_up"]

#: What a float layer applies to every element before it stores it.
Activation = Literal[
    "identity", "relu", "clip", "gelu", "gelu_tanh", "silu", "tanh", "sigmoid",
    "exp", "reciprocal", "rsqrt",
]  # fmt: skip

#: What the products of a float layer are made of; see `RealTail`.
Precision = Literal[
    "float32", "bfloat16", "bfp16", "float16", "bfloat16_sums", "int8", "single", "single_lines"
]

#: Bytes of one element.
ITEMSIZE = {
    "bool": 1,
    "int8": 1,
    "uint8": 1,
    "int16": 2,
    "uint16": 2,
    "float16": 2,
    "bfloat16": 2,
    "int32": 4,
    "uint32": 4,
    "float32": 4,
    "int64": 8,
    "uint64": 8,
    "float64": 8,
}


@dataclass(frozen=True)
class Axis:
    """One tensor axis as an affine function of loop indices: sum(coefficient * loop) + offset.

    An axis without terms is broadcast (its index is always `offset`).
    """

    terms: tuple[tuple[str, int], ...]
    offset: int = 0


@dataclass(frozen=True)
class Operand:
    """A tensor a layer reads or writes.

    Attributes:
        name: "x", "x1", "y", or the name of a constant.
        dtype: numpy name of the element type.
        shape: elements per axis.
        axes: the access, one `Axis` per tensor axis. Reads outside the shape are padding and
            mean the operand's zero point.
        constant: known at compile time.
        scale: real value of one integer step (float32 exactly), None where not quantised or
            where it differs per channel.
        zero_point: the integer that means real 0.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    axes: tuple[Axis, ...]
    constant: bool = False
    scale: float | None = None
    zero_point: int = 0

    def __post_init__(self) -> None:
        """Refuse an access that does not fit the shape, and unknown element types."""
        if len(self.axes) != len(self.shape):
            raise ValueError(f"{self.name}: {len(self.axes)} axes for shape {self.shape}")
        if self.dtype not in ITEMSIZE:
            raise ValueError(f"{self.name}: unknown dtype {self.dtype!r}")

    @property
    def size(self) -> int:
        """Elements."""
        return prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes, without any padding."""
        return self.size * ITEMSIZE[self.dtype]


@dataclass(frozen=True)
class Window:
    """How a filter or a pool slides: (row, column) pairs, padding as top, left, bottom, right."""

    stride: tuple[int, int] = (1, 1)
    dilation: tuple[int, int] = (1, 1)
    padding: tuple[int, int, int, int] = (0, 0, 0, 0)
    count_include_pad: bool = False


#: Names of the tensors that a layer combines. Any but all of them may be known at compile time:
#: what a layer needs of them (shapes, types, zero points) it must ask of these, not of inputs.
DATA = ("x", "x1", "x2")


@dataclass(frozen=True)
class Tail:
    """From the sum to the stored integer: `y = clip(round(real) + zero_point, lo, hi)`.

    What `real` is depends on the workload's kind, see `match_aie.workload.reference`. Without
    `shift` it is computed in float32, the model's arithmetic. With `shift` it is fixed point, a
    module's own: `t = acc * multiplier + offset`, exact, and `real = t / 2**shift`, where
    "multiplier" and "offset" are constant operands (see `match_aie.workload.fixed`).

    Attributes:
        zero_point: of the output.
        lo: smallest value stored.
        hi: largest value stored.
        rounding: of `real`. In float32: half_even, and half_away for average pools on integers.
        shift: bits that fixed point shifts right by, None for float32.
        bits: width of the register that holds `t`, sign included.
    """

    zero_point: int
    lo: int
    hi: int
    rounding: Rounding = "half_even"
    shift: int | None = None
    bits: int = 32

    def __post_init__(self) -> None:
        """Refuse an empty range, and shifts that no register of `bits` has."""
        if self.lo > self.hi:
            raise ValueError(f"empty range [{self.lo}, {self.hi}]")
        if self.rounding not in get_args(Rounding):
            raise ValueError(f"unknown rounding {self.rounding!r}")
        if self.shift is None:
            if self.rounding in ("floor", "half_up"):
                raise ValueError(f"rounding {self.rounding} is for fixed point only")
        elif not 2 <= self.bits <= 64 or not 0 <= self.shift < self.bits:
            raise ValueError(f"a shift by {self.shift} in {self.bits} bits")


@dataclass(frozen=True)
class Added:
    """A quantised sum that a layer takes along: of its result q, which nobody else reads.

    `y = clip(round(((q - zq) * scale + (a - za) * sa) / to) + zero_point, lo, hi)` in float32, each
    operation rounded, where a is `operand`, of its own scale and zero point, and zq that of the
    tail before. It is of y's shape, or one constant per output channel.

    Attributes:
        operand: its name.
        scale: real value of a step of q.
        to: of a step of the sum.
        tail: of the sum.
    """

    operand: str
    scale: float
    to: float
    tail: Tail


@dataclass(frozen=True)
class RealTail:
    """From the sum to the stored float: `y = activation(sum * factor + bias + residual)`.

    Bias and residual are operands of those names, absent where the layer has none. In attention
    `factor` multiplies the products of queries and keys; an operand "mask" is added to them then.

    Attributes:
        activation: applied last; it is all that a "function" computes, which alone has the last
            three.
        factor: a float32 exactly.
        lo: lower bound of a "clip", a float32 exactly.
        hi: upper bound of a "clip".
        precision: "bfloat16" where operands and results are rounded to it, which makes
            layers exact: see `match_aie.workload.bfloat16`, `rows_bfloat16`. "bfp16" where products
            are of block floating point besides: see `match_aie.workload.block_float`. "float16" and
            "bfloat16_sums" where products and short sums of them are of binary16, or of bfloat16:
            see `match_aie.workload.short_floats`. "int8" where the products of a recurrent layer
            are of 8 bits: see `match_aie.workload.recurrent_int8`.
            "single" where each of its operations is one of float32, in an order that is certain:
            see `match_aie.workload.recurrent_single`. "single_lines": likewise, with functions that
            are lines out of tables, see `match_aie.workload.recurrent_single_lines`.
    """

    activation: Activation = "identity"
    factor: float = 1.0
    lo: float = -inf
    hi: float = inf
    precision: Precision = "float32"

    def __post_init__(self) -> None:
        """Refuse an empty range."""
        if not self.lo <= self.hi:
            raise ValueError(f"empty range [{self.lo}, {self.hi}]")


@dataclass(frozen=True)
class Workload:
    """One layer, exactly.

    Attributes:
        kind: which computation.
        dims: (loop dimension, size), outermost first as the reference iterates.
        operands: inputs, then constants, then the output "y", in the order of the emitted
            function's parameters.
        window: how the filter slides, for conv2d and pooling.
        tail: requantisation; None where the sum itself (int32, or float32) is the output.
        real: what a layer in float32 does to its sums; None for integer layers.
        parameters: (name, value) of further numbers: `epsilon` of a norm,
            `linear_before_reset` (0 or 1) of a GRU, `cell_clip`, `state_codes`, `input_codes` and
            `integer_rows` of an LSTM; see `match_aie.workload.attention`.
        run_time: loop dimensions whose sizes a run gives: `dims` has the largest. The emitted
            function takes them as further parameters, in the order of `dims`.
        added: what is added to the quantised result, one after the other; y is the last sum.
    """

    kind: Kind
    dims: tuple[tuple[str, int], ...]
    operands: tuple[Operand, ...]
    window: Window | None = None
    tail: Tail | None = None
    real: RealTail | None = None
    parameters: tuple[tuple[str, float], ...] = ()
    run_time: tuple[str, ...] = ()
    added: tuple[Added, ...] = ()

    def __post_init__(self) -> None:
        """Refuse workloads that no stage could treat."""
        names = [o.name for o in self.operands]
        if len(set(names)) != len(names) or not names or names[-1] != "y":
            raise ValueError(f"operands {names}: want distinct names, the output 'y' last")
        known = dict(self.dims)
        for operand in self.operands:
            for axis in operand.axes:
                for dim, _ in axis.terms:
                    if dim not in known:
                        raise ValueError(f"{operand.name}: unknown loop dimension {dim!r}")
        if [name for name in known if name in self.run_time] != list(self.run_time):
            raise ValueError(f"run-time dimensions {self.run_time} of {tuple(known)}")
        for name, size in self.dims:
            if size < 1:
                raise ModelError(f"dims: loop dimension {name!r} has size {size}, sizes start at 1")
        if self.added and (self.tail is None or self.fixed_point or self.kind not in PRODUCTS):
            raise ValueError(f"a {self.kind} with {self.tail} takes no sum along")
        if not {added.operand for added in self.added}.issubset(names[:-1]):
            raise ValueError(f"operands {names} of {self.added}")
        self._check_fixed_point()

    def _check_fixed_point(self) -> None:
        """Refuse operands that do not go with the arithmetic of the tail."""
        found = {o.name: o for o in self.operands if o.name in ("multiplier", "offset", "scale")}
        if self.tail is None or self.tail.shift is None:
            if "multiplier" in found or "offset" in found:
                raise ValueError("multiplier and offset are for fixed-point tails only")
            return
        if self.kind not in (*FIXED_POINT_KINDS, "softmax", *NORMS, "attention"):
            raise ValueError(f"a {self.kind} has no fixed-point meaning")
        if "scale" in found:
            raise ValueError("a fixed-point tail takes a multiplier instead of a scale")
        channels = self.output.shape[-1] if self.output.shape else 1
        for name, operand in found.items():
            sizes = {2} if (self.kind, name) == ("add", "multiplier") else {1, channels}
            if operand.dtype != "int32" or not operand.constant or len(operand.shape) != 1:
                raise ValueError(f"{name} is a constant int32 vector")
            if operand.size not in sizes:
                raise ValueError(f"{name} has {operand.size} elements, not {sorted(sizes)}")

    @property
    def rounded(self) -> bool:
        """Whether what it computes, and in which order, makes every bit of it certain."""
        return self.real is not None and self.real.precision != "float32"

    @property
    def fixed_point(self) -> bool:
        """Whether it requantises in fixed point."""
        return self.tail is not None and self.tail.shift is not None

    @property
    def sizes(self) -> dict[str, int]:
        """Size of every loop dimension by name; 1 for those that the workload has not."""
        return {**dict.fromkeys(("B", "G", "K", "C", "OY", "OX", "FY", "FX"), 1), **dict(self.dims)}

    @property
    def inputs(self) -> tuple[Operand, ...]:
        """Operands that arrive at run time."""
        return tuple(o for o in self.operands[:-1] if not o.constant)

    @property
    def constants(self) -> tuple[Operand, ...]:
        """Operands that are known at compile time."""
        return tuple(o for o in self.operands[:-1] if o.constant)

    @property
    def data(self) -> tuple[Operand, ...]:
        """The operands that are combined, whether they arrive at run time or are known."""
        return tuple(o for o in self.operands[:-1] if o.name in DATA or not o.constant)

    @property
    def output(self) -> Operand:
        """The operand that is written."""
        return self.operands[-1]

    @property
    def cell_clip(self) -> float:
        """Largest magnitude of an LSTM's cells, 0 for none."""
        return dict(self.parameters).get("cell_clip", 0.0)

    @property
    def state_codes(self) -> str:
        """How an LSTM's state is stored in 8 bits before a product reads it, one of `CODES`."""
        return CODES[int(dict(self.parameters).get("state_codes", 0))]

    @property
    def input_codes(self) -> str:
        """How an LSTM's x, all of it as one row, is stored in 8 bits, one of `CODES`."""
        return CODES[int(dict(self.parameters).get("input_codes", 0))]

    @property
    def integer_rows(self) -> bool:
        """Whether an LSTM's weights are `codes.integer_rows`."""
        return bool(dict(self.parameters).get("integer_rows", 0))

    @property
    def gives_cell(self) -> bool:
        """Whether an LSTM's last cell stands behind its states."""
        return self.kind == "lstm" and self.output.shape[0] > self.sizes["OY"]

    def operand(self, name: str) -> Operand:
        """The operand called `name`; KeyError if there is none."""
        for operand in self.operands:
            if operand.name == name:
                return operand
        raise KeyError(name)

    @property
    def reductions(self) -> tuple[str, ...]:
        """Loop dimensions that are summed (or maximised) over: those that do not index "y"."""
        kept = {dim for axis in self.output.axes for dim, _ in axis.terms}
        return tuple(dim for dim, _ in self.dims if dim not in kept)

    @property
    def partial_itemsize(self) -> int:
        """Bytes of a partial sum: 32 bits, or the output's own where that is wider."""
        return max(4, ITEMSIZE[self.output.dtype])

    @property
    def steps(self) -> int:
        """Iterations of the innermost statement: multiply-accumulates for conv2d and matmul."""
        return prod(size for _, size in self.dims)

    @property
    def macs(self) -> int:
        """Multiply-accumulates; 0 for kinds that do not multiply and sum."""
        if self.kind in PRODUCTS:
            return self.steps
        if self.kind == "conv2d_transpose":
            # Not all of its steps multiply: phases see different numbers of the filter's taps.
            return self.operand("x").size * self.operand("weight").size // self.sizes["C"]
        if self.kind in ("attention", "gru", "lstm"):
            # Two products that share all loops but their reductions (for attention: the head
            # size and the value's, which has its own loop).
            whole = dict(self.dims)
            both = whole.pop("C") + whole.pop("FX" if self.kind != "attention" else "K")
            return prod(whole.values()) * both
        return 0

    @property
    def nbytes(self) -> int:
        """Bytes of all operands, each once: the least that a layer moves."""
        return sum(operand.nbytes for operand in self.operands)

    def parameter(self, name: str) -> float:
        """The number called `name`; KeyError if there is none."""
        return dict(self.parameters)[name]

    @property
    def depthwise(self) -> bool:
        """A convolution whose every output channel sees a single input channel."""
        return self.kind == "conv2d" and self.sizes["C"] == 1 and self.sizes["G"] > 1
