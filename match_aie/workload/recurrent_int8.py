"""GRU and LSTM whose products are of 8 bits, bit for bit; gates and states as in bfloat16.

x is quantised, with one scale and one zero point. Every row of the weights is integers of -127 to
127 times a scale of its own (`Rows`): those that the model stores where it stores such, else the
nearest ones. A state is read by products as its nearest multiple of 1/128, halves to even, from -1
to 127/128. Sums of products are exact. Each is rounded to bfloat16, multiplied by its row's scale
in bfloat16 (times x's, or 1/128) and added to what is there, in float32 with one rounding: the
input's to both biases, or to its own where the other is apart, then the state's.

Everything else is as `match_aie.workload.recurrent_bfloat16` has it: functions, gates, states in
float32, and results, which are states rounded to bfloat16.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from match_aie.workload.attention_bfloat16 import attention_bfloat16
from match_aie.workload.bfloat16 import dense_bfloat16, starting, to_bfloat16
from match_aie.workload.fixed import Converted
from match_aie.workload.recurrent_bfloat16 import (
    RECURRENT,
    Layer,
    not_finite,
    recurrent_bfloat16,
    refuses_recurrent,
    walked,
)
from match_aie.workload.recurrent_single import recurrent_single
from match_aie.workload.recurrent_single_lines import recurrent_single_lines
from match_aie.workload.rows_bfloat16 import ROWS_BFLOAT16, rows_bfloat16
from match_aie.workload.short_floats import short_float, short_products
from match_aie.workload.workload import Operand, Workload

Arrays = Mapping[str, np.ndarray]

#: Largest integer of a weight.
MOST = 127

#: What products read of a state are multiples of one over it.
STATE_STEPS = 128

#: Magnitude that sums of products stay below: cores make floats of them by the bits of a number
#: that is so large that its last bit means 1.
SUMS_BELOW = 1 << 22

#: Share of a step by which stored integers may seem to be off, float32 as their scales are.
_ALIKE = 2.0**-10


@dataclass(frozen=True, eq=False)
class Rows:
    """Weights as integers.

    Attributes:
        codes: int64 [rows, columns], -127 to 127.
        scales: float32 [rows].
    """

    codes: np.ndarray
    scales: np.ndarray

    @classmethod
    def of(cls, weight: np.ndarray) -> Rows:
        """Of float32 [rows, columns].

        A row's largest weight may be any integer that makes integers of all others; 127 where
        there are several, or none.
        """
        wide = weight.astype(np.float64)
        most = np.abs(wide).max(axis=1, initial=0.0)
        unit = wide / np.where(most > 0, most, 1.0)[:, None]
        largest = np.full(len(wide), MOST)
        for code in range(1, MOST + 1):  # the last that fits stays
            steps = unit * code
            largest[(np.abs(steps - np.rint(steps)) < _ALIKE).all(axis=1)] = code
        codes = np.rint(unit * largest[:, None]).astype(np.int64)
        return cls(codes, (most / largest).astype(np.float32))


def steps_of_state(values: np.ndarray) -> np.ndarray:
    """What products read of float32 values, in steps of 1/128: int64."""
    return np.clip(np.rint(values.astype(np.float64) * STATE_STEPS), -128, 127).astype(np.int64)


def refuses_integer_recurrent(workload: Workload) -> str | None:
    """Why a GRU or LSTM of a quantised x has no meaning with products of 8 bits."""
    refused = refuses_recurrent(workload)
    if refused is not None:
        return refused
    x = workload.inputs[0]
    if x.scale is None or x.dtype not in ("int8", "uint8"):
        return f"its input is {x.dtype}, and not quantised to 8 bits"
    return None


def span(x: Operand) -> int:
    """Largest magnitude of a quantised input less its zero point."""
    info = np.iinfo(x.dtype)
    return max(int(info.max) - x.zero_point, x.zero_point - int(info.min))


def too_large(workload: Workload, constants: Arrays) -> str | None:
    """Why sums of products of 8 bits may be too large for a core; None where they are not."""
    spans = {"weight": span(workload.inputs[0]), "recurrent": STATE_STEPS}
    for name, most in spans.items():
        largest = most * int(np.abs(Rows.of(constants[name]).codes).sum(axis=1).max())
        if largest >= SUMS_BELOW:
            return f"a sum of its products may be {largest}, and cores take less than {SUMS_BELOW}"
    return None


def in_8_bits(workload: Workload, constants: Arrays) -> Converted | str:
    """A recurrent layer of a quantised input with products of 8 bits, or why it has none.

    Constants stay as they are: they are rounded where they are packed.
    """
    refused = refuses_integer_recurrent(workload) or too_large(workload, constants)
    refused = refused or not_finite(constants)
    if refused is not None or workload.real is None:
        return refused or "its sums are integers"
    real = replace(workload.real, precision="int8")
    return Converted(replace(workload, real=real), constants, None)


def scales(rows: Rows, step: float) -> np.ndarray:
    """What sums are multiplied by, bfloat16 as float32; `step` is that of the other operand."""
    return to_bfloat16(rows.scales * np.float32(step))


@dataclass(frozen=True, eq=False)
class _IntegerLayer(Layer):
    """As `Layer`, with integer weights; sums are times `scale` and `state_scale` [gates, K]."""

    scale: np.ndarray
    state_scale: np.ndarray

    @classmethod
    def of(cls, workload: Workload, arrays: Arrays) -> _IntegerLayer:
        """See the module."""
        gates, k = workload.sizes["G"], workload.sizes["K"]
        found = [Rows.of(arrays[name]) for name in ("weight", "recurrent")]
        codes = [rows.codes.reshape(gates, k, -1).transpose(0, 2, 1) for rows in found]
        bias = np.asarray(arrays["bias"], np.float32).reshape(2, gates, k)
        x = workload.inputs[0]
        steps = (x.scale or 1.0, 1.0 / STATE_STEPS)
        both = [scales(r, s).reshape(gates, k) for r, s in zip(found, steps, strict=True)]
        return cls(codes[0], codes[1], bias[0], bias[1], both[0], both[1])

    def seen(self, gate: int, x: np.ndarray, *, apart: bool = False) -> np.ndarray:
        """Of x [steps, inputs], int64 less its zero point."""
        start = self.bias[gate] if apart else self.bias[gate] + self.state_bias[gate]
        sums = to_bfloat16((x @ self.weight[gate]).astype(np.float32))
        return np.asarray(starting(start) + self.scale[gate] * sums)

    def with_state(self, gate: int, sums: np.ndarray, h: np.ndarray) -> np.ndarray:
        """Of a state in steps of 1/128."""
        products = to_bfloat16((h @ self.state[gate]).astype(np.float32))
        return np.asarray(sums + self.state_scale[gate] * products)

    def operand(self, values: np.ndarray) -> np.ndarray:
        """In steps of 1/128."""
        return steps_of_state(values)


def product_type(workload: Workload) -> str:
    """Element type of what a layer that is `rounded` multiplies."""
    precision = workload.real.precision if workload.real is not None else "bfloat16"
    singles = dict.fromkeys(("single", "single_lines"), "float32")
    known = singles | {name: name for name in ("int8", "float16", "bfp16")}
    return known.get(precision, "bfloat16")


def recurrent_int8(workload: Workload, arrays: Arrays) -> np.ndarray:
    """Every state of a GRU or LSTM of one sequence, float32 of bfloat16 values."""
    x = arrays["x"][:, 0].astype(np.int64) - workload.inputs[0].zero_point
    return walked(workload, _IntegerLayer.of(workload, arrays), x)


def rounded_meaning(workload: Workload, arrays: Arrays) -> np.ndarray:
    """What a layer in bfloat16, or one of other products, stores, of whatever kind.

    Raises:
        ModelError: it has no such meaning.
    """
    if workload.kind in ROWS_BFLOAT16:
        return rows_bfloat16(workload, arrays)
    if workload.kind == "attention":
        return attention_bfloat16(workload, arrays)
    if workload.kind not in RECURRENT:
        short = short_float(workload) is not None
        return short_products(workload, arrays) if short else dense_bfloat16(workload, arrays)
    lines = workload.real is not None and workload.real.precision == "single_lines"
    single = recurrent_single_lines if lines else recurrent_single
    meaning = {"int8": recurrent_int8, "float32": single}
    return meaning.get(product_type(workload), recurrent_bfloat16)(workload, arrays)
