"""What an operator costs on the core, where no module claims it: counts of operations.

The fallback compiles such operators to plain C. How long that takes is not searched but counted,
in the same unit as everything else that selection adds up: cycles of the target's reference clock.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from types import MappingProxyType

#: Operators that only rename memory: the fallback emits no code for them.
VIEWS = frozenset({"reshape", "expand_dims", "squeeze", "flatten"})

#: Cycles per element of what an operator writes. Assumptions for scalar C at -O3 on a core with
#: an FPU, to rank covers against each other; none is measured. A load, an operation and a store
#: overlap to one cycle; a division, or a rounding with its comparisons, takes four; a function of
#: libm about 25.
PER_OUTPUT: Mapping[str, float] = MappingProxyType(
    {
        "quantize": 4.0,  # division, round half to even, clip, convert
        "dequantize": 2.0,  # convert, subtract, multiply
        "divide": 4.0,
        "floor_divide": 4.0,
        "mod": 4.0,
        "sqrt": 4.0,
        "rsqrt": 8.0,
        **dict.fromkeys(("exp", "log", "tanh", "sigmoid", "erf", "power", "sin", "cos"), 25.0),
        **dict.fromkeys(("nn.silu", "nn.gelu", "nn.gelu_tanh", "nn.log_softmax"), 25.0),
        "permute_dims": 2.0,  # neighbours are read across rows, one at a time
        "nn.softmax": 30.0,  # maximum, exponential, sum, division
        "nn.layer_norm": 8.0,  # two sums, then subtract, multiply twice, add
        "nn.rms_norm": 6.0,  # a sum, then multiply three times
        "image.resize2d": 8.0,  # four neighbours, three interpolations
    }
)

#: Operators that read every element of their first input once: a sum, mean or extremum.
REDUCTIONS = frozenset({"sum", "mean", "max", "min", "prod", "argmax", "argmin", "variance"})


#: Composites of recurrent cells: their second and third inputs are the weights of all gates.
RECURRENT = frozenset({"onnx.GRU", "onnx.LSTM", "onnx.RNN"})


def interleaved(shapes: Sequence[tuple[int, ...]], axis: int) -> str | None:
    """Why the operands of a concatenation are no blocks of the result; None where they are.

    Args:
        shapes: of the operands, row-major.
        axis: along which they are joined, from the start.
    """
    rows = prod(shapes[0][:axis]) if shapes else 1
    if rows == 1:
        return None
    lengths = [str(prod(shape[axis:])) for shape in shapes]
    shown = " and ".join(lengths if len(lengths) < 3 else [*lengths[:2], "more"])
    return f"{rows} rows of {shown} elements alternate in the result"


def is_block(whole: Sequence[int], part: Sequence[int]) -> bool:
    """Whether a slice of one step, by its shape, is one block of what it is of, row-major."""
    cut = next((at for at, size in enumerate(whole) if size != part[at]), 0)
    same = list(whole[cut + 1 :]) == list(part[cut + 1 :])
    return same and all(size == 1 for size in whole[:cut])


@dataclass(frozen=True)
class TensorType:
    """A tensor without its contents; `constant` where they are known at compile time."""

    dtype: str
    shape: tuple[int, ...]
    constant: bool = False

    @property
    def size(self) -> int:
        """Elements."""
        return prod(self.shape)


@dataclass(frozen=True)
class Operation:
    """One operator of the canonical graph, as a cost model of the core sees it.

    Attributes:
        operator: such as "nn.conv2d", or a composite's name.
        inputs: tensors it reads, in call order, tuples flattened.
        output: the tensor it gives.
        attributes: plain data by name.
    """

    operator: str
    inputs: tuple[TensorType, ...]
    output: TensorType
    attributes: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def macs(self) -> int:
        """Multiply-accumulates of convolutions and matrix products; 0 for all others."""
        if len(self.inputs) < 2:
            return 0
        data, weight = self.inputs[:2]
        if self.operator in RECURRENT and len(self.inputs) > 2:
            # Every row of the input meets all weights, and so does every state.
            rows = data.size // max(1, data.shape[-1])
            return rows * (weight.size + self.inputs[2].size)
        if self.operator == "matmul":
            return self.output.size * (data.shape[-1] if data.shape else 1)
        if not self.operator.startswith("nn.conv"):
            return 0
        layout = str(self.attributes.get("kernel_layout", "OIHW"))
        if "transpose" in self.operator:
            # Every element of the input meets all weights of its channel.
            return data.size * weight.size // max(1, weight.shape[layout.index("I")])
        return self.output.size * weight.size // max(1, weight.shape[layout.index("O")])

    @property
    def free(self) -> bool:
        """Whether the fallback usually emits no code for it: a view, or a joining of blocks."""
        if self.operator != "concat":
            return self.operator in VIEWS
        axis = self.attributes.get("axis") or 0
        if not isinstance(axis, int) or not self.output.shape:
            return False
        made = sum(tensor.size for tensor in self.inputs if not tensor.constant)
        rows = interleaved([t.shape for t in self.inputs], axis % len(self.output.shape))
        return rows is None and 2 * made >= self.output.size

    @property
    def window(self) -> int | None:
        """Positions of a pool's window; None for what is no pool, or one without a window."""
        sizes = self.attributes.get("pool_size")
        if not isinstance(sizes, tuple | list):
            return None
        return prod(size for size in sizes if isinstance(size, int))


@dataclass(frozen=True)
class CoreCost:
    """Cycles of operators in fallback C, by counting; the default of a target's core.

    Attributes:
        per_mac: cycles of a multiply-accumulate in float32. Two by default: a multiplication and
            an addition in order, which `-ffp-contract=off` keeps apart.
        per_step: cycles of one position of a pool's window, or of an element that is reduced.
        per_element: cycles of an element of any operator that `PER_OUTPUT` does not name.
        overhead: cycles of a call before its first operation, for everything but `VIEWS`. 200 by
            default, as for a layer of the CPU target. Fused operators are one call: their price
            is too high by what they share.
    """

    per_mac: float = 2.0
    per_step: float = 1.0
    per_element: float = 1.0
    overhead: float = 200.0

    def __post_init__(self) -> None:
        """Refuse negative costs."""
        if min(self.per_mac, self.per_step, self.per_element, self.overhead) < 0:
            raise ValueError(f"{self}: costs must not be negative")

    def cycles(self, operation: Operation) -> float:
        """Modelled cycles of `operation` on the core."""
        name = operation.operator
        if operation.free:
            return 0.0
        if operation.macs:
            return self.overhead + self.per_mac * operation.macs
        if operation.window is not None:
            return self.overhead + self.per_step * operation.output.size * operation.window
        if ("pool" in name or name in REDUCTIONS) and operation.inputs:
            return self.overhead + self.per_step * operation.inputs[0].size
        return self.overhead + PER_OUTPUT.get(name, self.per_element) * operation.output.size
