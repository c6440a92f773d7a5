"""Kernels of rows in bfloat16 (`match_aie.workload.rows_bfloat16`): softmax, norms, sums, products.

Buffers hold bfloat16 patterns. Sums, differences and products of floats are spelled out as those of
bfloat16 numbers into float accumulators, whose every rounding is known; the vendor's own products
of floats are made of the same, in an order that is not public.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from match_aie.targets.aie_ml.kernels.call import Parameter
from match_aie.targets.aie_ml.kernels.lookup import FilledCall, TableCall
from match_aie.targets.aie_ml.kernels.pairs import PairCall
from match_aie.targets.aie_ml.kernels.spec import C_TYPES
from match_aie.workload import Activation
from match_aie.workload.bfloat16 import LARGEST_BFLOAT16
from match_aie.workload.functions_bfloat16 import (
    ExponentTable,
    FunctionTable,
    function_table,
    patterns,
    values_of,
)
from match_aie.workload.rows_bfloat16 import (
    FRACTION,
    INVERSE,
    INVERSE_ROOT,
    INVERSE_STEPS,
    LANES,
    LN_2,
    LOG2_E,
    MAGIC,
    POWERS,
    ROOT_STEPS,
    Split,
    beside,
    layer_norm_rows,
    rms_rows,
    share_of,
    softmax_rows,
)

#: Element type of all buffers.
BFLOAT16 = "bfloat16"


@dataclass(frozen=True)
class FloatSpec:
    """A kernel that reads and stores bfloat16."""

    a: ClassVar[str] = BFLOAT16
    dtype: ClassVar[str] = BFLOAT16

    @property
    def lanes(self) -> int:
        """Elements of a vector."""
        return LANES

    #: C++ name of an element type.
    c_type = staticmethod(C_TYPES.__getitem__)

    @property
    @abstractmethod
    def family(self) -> str:
        """Identifier that kernels with the same source share."""

    @property
    @abstractmethod
    def template(self) -> str:
        """Its template, which reads the kernel under the name `k`."""


@dataclass(frozen=True)
class FloatSoftmaxSpec(FloatSpec):
    """A softmax of rows, with the numbers of its source."""

    fraction: ClassVar[int] = FRACTION
    entries: ClassVar[int] = 1 << FRACTION
    inverse: ClassVar[int] = INVERSE
    steps: ClassVar[int] = INVERSE_STEPS
    log2_e: ClassVar[Split] = LOG2_E
    ln_2: ClassVar[float] = LN_2.item()
    magic: ClassVar[float] = float(MAGIC)
    magic_bits: ClassVar[int] = int(MAGIC.view(np.int32))
    largest: ClassVar[float] = LARGEST_BFLOAT16

    #: Identifier that kernels with the same source share.
    family = "softmax_bfloat16"

    #: Its template.
    template = "aie/softmax_float.hpp.mako"


@dataclass(frozen=True)
class FloatNormSpec(FloatSpec):
    """A norm of rows.

    Attributes:
        rms: whether elements stay as they are.
    """

    rms: bool = False

    inverse_root: ClassVar[int] = INVERSE_ROOT
    steps: ClassVar[int] = ROOT_STEPS

    @property
    def family(self) -> str:
        """Identifier that kernels with the same source share."""
        return f"{'rms_' * self.rms}norm_bfloat16"

    #: Its template.
    template = "aie/norm_float.hpp.mako"


@dataclass(frozen=True)
class FloatPairSpec(FloatSpec):
    """A sum or product of two tensors, element by element.

    Attributes:
        operator: which.
    """

    operator: Literal["add", "mul"]

    @property
    def family(self) -> str:
        """Identifier that kernels with the same source share."""
        return f"{self.operator}_bfloat16"

    #: Its template.
    template = "aie/pair_float.hpp.mako"


@dataclass(frozen=True)
class FloatFunctionSpec(FloatSpec):
    """A function of single elements, by its table's form.

    Attributes:
        slope: of what is below the table; 0 where that is its first entries.
        linear: whether positive numbers above it are their own results.
        exponents: elements of a table of mantissas; 0 where the table is of magnitudes.
        root: whether exponents are halved.
    """

    slope: float = 0.0
    linear: bool = False
    exponents: int = 0
    root: bool = False

    @staticmethod
    def of(activation: Activation) -> FloatFunctionSpec:
        """The form of a function."""
        table = function_table(activation)
        if isinstance(table, ExponentTable):
            return FloatFunctionSpec(exponents=len(table.entries), root=table.root)
        return FloatFunctionSpec(table.slope, table.linear)

    @property
    def lanes(self) -> int:
        """Elements of a vector."""
        return 2 * LANES

    @property
    def family(self) -> str:
        """Identifier that kernels with the same source share."""
        if self.exponents:
            return f"{'root' if self.root else 'reciprocal'}_bfloat16"
        form = {0.0: "", 0.5: "_half", 1.0: "_one"}[self.slope]
        return f"function{form}{'_linear' * self.linear}_bfloat16"

    #: Its template.
    template = "aie/function_float.hpp.mako"


@dataclass(frozen=True)
class FloatRowsCall(FilledCall):
    """A function of rows of bfloat16 that are filled up to whole vectors."""

    def meaning(self, inputs: tuple[np.ndarray, ...], *values: np.ndarray) -> np.ndarray:
        """What it stores for whole rows, patterns; what lies behind a row's elements is 0."""
        rows = values_of(inputs[0]).reshape(-1, self.width)
        stored = np.zeros(rows.shape, np.uint16)
        with np.errstate(all="ignore"):
            stored[:, : self.columns] = patterns(self.rows_of(rows[:, : self.columns], *values))
        return stored.reshape(-1)


@dataclass(frozen=True)
class FloatSoftmaxCall(FloatRowsCall):
    """A softmax's function: buffers x and y, the two arrays of the powers of two."""

    spec: FloatSoftmaxSpec  # type: ignore[assignment]

    #: Its template, which reads it under the name `call`.
    template = "aie/softmax_float_layer.cpp.mako"

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Both arrays; that called w lies in a bank of its own."""
        return tuple(Parameter(name, "int32", 2 * len(POWERS)) for name in ("w", "cd"))

    @property
    def beside(self) -> float:
        """What the rows' filling adds to their sums of exponentials."""
        return float(beside(self.columns))

    def rows_of(self, x: np.ndarray, *values: np.ndarray) -> np.ndarray:
        """The softmaxes of rows x [B, K]; the table is what it always is."""
        del values
        return softmax_rows(x)


@dataclass(frozen=True)
class FloatNormCall(FloatRowsCall):
    """A norm's function: buffers x and y, factors and, of a layer norm, addends of a row.

    Attributes:
        epsilon: added to the mean square.
    """

    spec: FloatNormSpec  # type: ignore[assignment]
    epsilon: float

    #: Its template, which reads it under the name `call`.
    template = "aie/norm_float_layer.cpp.mako"

    @property
    def added(self) -> float:
        """Epsilon as the float that it is."""
        return float(np.float32(self.epsilon))

    @property
    def share(self) -> float:
        """What a row's sum is multiplied by."""
        return float(share_of(self.columns))

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Filled up with 0."""
        weight = Parameter("weight", BFLOAT16, self.width)
        return (weight,) if self.spec.rms else (weight, Parameter("bias", "float", self.width))

    def rows_of(self, x: np.ndarray, *values: np.ndarray) -> np.ndarray:
        """The norms of rows x [B, K]."""
        weight, *bias = (each[: self.columns] for each in values)
        if self.spec.rms:
            return rms_rows(x, values_of(weight), self.epsilon)
        return layer_norm_rows(x, values_of(weight), bias[0], self.epsilon)


@dataclass(frozen=True)
class FloatFunctionCall(TableCall):
    """A function of elements: buffers x and y, the two arrays of its table.

    Attributes:
        activation: which.
    """

    spec: FloatFunctionSpec  # type: ignore[assignment]
    activation: Activation

    #: Its template, which reads it under the name `call`.
    template = "aie/function_float_layer.cpp.mako"

    @property
    def table(self) -> FunctionTable | ExponentTable:
        """What it knows."""
        return function_table(self.activation)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Both arrays; that called w lies in a bank of its own."""
        size = 2 * (len(self.table.entries) + -len(self.table.entries) % (self.repeated // 2))
        return tuple(Parameter(name, "int16", size) for name in ("w", "cd"))

    def meaning(self, inputs: tuple[np.ndarray, ...], *values: np.ndarray) -> np.ndarray:
        """What it stores, patterns."""
        del values
        return self.table(inputs[0])


@dataclass(frozen=True)
class FloatPairCall(PairCall[FloatPairSpec, None]):
    """A sum or product of two tensors."""

    template = "aie/pair_float_layer.cpp.mako"

    def meaning(self, inputs: tuple[np.ndarray, ...], *values: np.ndarray) -> np.ndarray:
        """What it stores of elements of both, patterns; it has no parameters."""
        del values
        a, b = (values_of(each) for each in inputs)
        with np.errstate(all="ignore"):
            return patterns(a + b if self.spec.operator == "add" else a * b)


FloatCall = FloatSoftmaxCall | FloatNormCall | FloatFunctionCall | FloatPairCall
