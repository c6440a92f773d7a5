"""From a layer's workload to the requantisation of its kernel, in the core's own fixed point.

Where scales are one power of two, kernels shift; else they multiply in 64 bits. Both round halves
to even, as the model does, so that a shift alone equals the model bit for bit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from match_aie.errors import TargetError
from match_aie.targets.aie_ml.kernels.lanes import AddNumbers, AddSpec
from match_aie.targets.aie_ml.kernels.multiplied import MultipliedNumbers, MultipliedSpec
from match_aie.targets.aie_ml.kernels.numeric import RoundingMode
from match_aie.targets.aie_ml.kernels.spec import Form, Requantise
from match_aie.workload import (
    NORMS,
    RECURRENT,
    ROWS_BFLOAT16,
    Converted,
    FixedPoint,
    Precision,
    Rounding,
    Workload,
    attention_layers,
    fixed_norm,
    fixed_softmax,
    in_8_bits,
    joined_attention,
    layer_constants,
    refuses_attention_bfloat16,
    refuses_bfloat16,
    refuses_recurrent,
    refuses_rows_bfloat16,
    to_fixed_point,
    with_tables,
)
from match_aie.workload.attention_bfloat16 import unshifted as is_unshifted
from match_aie.workload.attention_bfloat16 import with_factor, without_shift
from match_aie.workload.attention_running import running_attention
from match_aie.workload.bfloat16 import starting
from match_aie.workload.recurrent_bfloat16 import not_finite
from match_aie.workload.recurrent_single import not_finite_single

Arrays = Mapping[str, np.ndarray]

#: A plain shift of 32-bit sums, whose bias holds everything else.
SHIFT = FixedPoint(multiplier_bits=0, bits=32, rounding="half_even", inputs="centred")

#: 32-bit sums times 32-bit multipliers, and 32-bit addends, in 64-bit accumulators.
SCALED = FixedPoint(multiplier_bits=31, bits=64, rounding="half_even", inputs="centred")

#: Likewise with 16-bit multipliers, signed: half of the vector products. 32-bit sums times them,
#: and addends, fit 48 bits.
NARROW = FixedPoint(multiplier_bits=15, bits=48, rounding="half_even", inputs="centred")

#: Steps that such a multiplier may be from the model, beyond what a wide one is. A multiplier of 15
#: bits is 2^-15 off at most, and results are 255 steps.
NARROW_ERROR = 2.0**-7

#: Kinds whose multipliers may have 16 bits.
_PRODUCTS = ("matmul", "dense")

#: Pixels are summed as they are stored.
POOLED = replace(SCALED, inputs="raw")

#: 8-bit operands, 16-bit signed multipliers, 32-bit accumulators.
ADDED = FixedPoint(multiplier_bits=15, bits=32, rounding="half_even", inputs="raw")


@dataclass(frozen=True, eq=False)
class Epilogue:
    """What a kernel does with its sums.

    Attributes:
        requantise: the form.
        shift: bits shifted out.
        multiplier: as `reference.Numbers` has it.
        addend: likewise.
        bias: int64 [N] or [1], part of the sums; 0 where addends hold it. Of floats float32.
    """

    requantise: Requantise
    shift: int
    multiplier: np.ndarray | int | None
    addend: np.ndarray | int | None
    bias: np.ndarray


#: How cores round what a tail rounds so.
ROUNDINGS: Mapping[Rounding, RoundingMode] = {
    "half_even": "conv_even",
    "floor": "floor",
    "half_up": "positive_inf",
    "half_away": "symmetric_inf",
}


def in_fixed_point(
    workload: Workload,
    constants: Arrays,
    *,
    running: bool = True,
    unshifted: bool = False,
    narrow: bool = False,
    blocks: bool = False,
) -> Converted | str:
    """`workload` in the arithmetic of its kernel, or a sentence saying why it has none.

    What is in fixed point already keeps its rounding: cores have them all.

    Args:
        workload: of the model.
        constants: its own.
        running: whether attention of heads that no tile can hold has a running softmax
            (`workload.attention_running`).
        unshifted: whether that of floats has an unshifted one (`workload.attention_bfloat16`).
        narrow: whether a dense layer has 16-bit multipliers where that is hardly farther from the
            model.
        blocks: whether a dense layer of floats, or attention of floats with an unshifted softmax,
            has products of block floating point (`workload.block_float`).
    """
    if unshifted and workload.kind == "attention" and workload.real is not None:
        workload = without_shift(workload)
    if workload.real is not None:
        return in_fewer_bits(workload, constants, blocks=blocks)
    tail = workload.tail
    if workload.kind == "softmax" and not workload.fixed_point:
        return fixed_softmax(workload)
    if workload.kind in NORMS and not workload.fixed_point:
        return fixed_norm(workload, constants)
    if workload.kind == "attention":
        found = running_attention(workload, constants) if running else ""
        return found if isinstance(found, Converted) else _attention(workload, constants)
    rounding = tail.rounding if tail is not None and tail.shift is not None else "half_even"

    def fixed(how: FixedPoint) -> Converted | str:
        return to_fixed_point(workload, constants, replace(how, rounding=rounding))

    if workload.kind == "add":
        return fixed(ADDED)
    if workload.kind == "avg_pool2d":
        return fixed(POOLED)
    if workload.kind == "mul":
        return fixed(NARROW)
    shifted = fixed(SHIFT)
    if isinstance(shifted, Converted):
        return shifted
    wide = fixed(SCALED)
    return _narrowed(workload, wide, constants) if narrow else wide


def _attention(workload: Workload, constants: Arrays) -> Converted | str:
    """Its three layers; products that must be scaled have narrow multipliers where they do.

    With zero points program memory is short: then both products scale so, and share their code.
    """
    layers = attention_layers(workload)
    pairs = tuple(zip(layers, layer_constants(constants), strict=True))
    made = [_narrowed(layer, in_fixed_point(layer, known), known) for layer, known in pairs]
    moved = all(any(o.zero_point for o in layers[at].inputs) for at in (0, 2))
    if moved and any(isinstance(each, Converted) and _is_narrow(each) for each in made):
        made = [
            _narrowed(la, each, known, always=True)
            for (la, known), each in zip(pairs, made, strict=True)
        ]
    found = tuple(each for each in made if isinstance(each, Converted))
    refused = next((each for each in made if isinstance(each, str)), None)
    return refused or joined_attention(workload, found)


def _is_narrow(made: Converted) -> bool:
    tail = made.workload.tail
    return tail is not None and tail.bits == NARROW.bits


def _narrowed(
    layer: Workload, wide: Converted | str, constants: Arrays, *, always: bool = False
) -> Converted | str:
    """`wide` with 16-bit multipliers where that is hardly farther from the model.

    Args:
        layer: a product, or another layer, which stays as it is.
        wide: in fixed point.
        constants: of the layer.
        always: whether also products that a shift scales.
    """
    tail = None if isinstance(wide, str) else wide.workload.tail
    if isinstance(wide, str) or layer.kind not in _PRODUCTS or tail is None:
        return wide
    fixed = layer.tail is not None and layer.tail.shift is not None
    if not always and (tail.bits < SCALED.bits or fixed):
        return wide
    narrow = to_fixed_point(layer, constants, NARROW)
    if isinstance(narrow, str):
        return wide
    more = (narrow.error_lsb or 0.0) - (wide.error_lsb or 0.0)
    return narrow if more <= NARROW_ERROR else wide


def in_fewer_bits(
    workload: Workload, constants: Arrays, *, blocks: bool = False
) -> Converted | str:
    """A float32 layer with products of bfloat16, or of 8 bits, or why it has none.

    Recurrent layers of quantised inputs have the latter. Constants stay as they are: they are
    rounded where they are packed. With `blocks`, dense layers have block floating point, and so has
    attention with an unshifted softmax.
    """
    if workload.kind in ROWS_BFLOAT16:
        return _rows_in_bfloat16(workload, constants)
    recurrent, integers = workload.kind in RECURRENT, workload.inputs[0].scale is not None
    if recurrent and integers:
        return in_8_bits(workload, constants)
    refused = refuses_recurrent(workload) if recurrent else _refuses_products(workload)
    refused = refused or (not_finite(constants) if recurrent else None)
    if refused is not None or workload.real is None:
        return refused or "its sums are integers"
    able = workload.kind == "dense" or (workload.kind == "attention" and is_unshifted(workload))
    precision: Precision = "bfp16" if blocks and able else "bfloat16"
    made = replace(workload, real=replace(workload.real, precision=precision))
    if workload.kind == "attention":
        made, known = with_factor(made)
        constants = {**constants, **known}
    return Converted(made, constants, None)


def _refuses_products(workload: Workload) -> str | None:
    attention = workload.kind == "attention"
    return (refuses_attention_bfloat16 if attention else refuses_bfloat16)(workload)


def in_single(workload: Workload, constants: Arrays, *, lines: bool = False) -> Converted | str:
    """A recurrent layer in float32, as cores of the first AI Engine compute it, or why not.

    With `lines` functions are those of tables, as programmable logic has them.
    """
    refused = refuses_recurrent(workload) or not_finite_single(constants)
    if workload.inputs[0].scale is not None:
        refused = "its input is quantised, and its products would be of floats"
    if refused is not None or workload.real is None:
        return refused or "its sums are integers"
    real = replace(workload.real, precision="single_lines" if lines else "single")
    return Converted(replace(workload, real=real), constants, None)


def _rows_in_bfloat16(workload: Workload, constants: Arrays) -> Converted | str:
    """Rows, with the tables that their kernels read."""
    refused = refuses_rows_bfloat16(workload)
    if refused is not None or workload.real is None:
        return refused or "its sums are integers"
    real = replace(workload.real, precision="bfloat16")
    made, tables = with_tables(replace(workload, real=real))
    return Converted(made, {**constants, **tables}, None)


def epilogue(workload: Workload, constants: Arrays) -> Epilogue:
    """The requantisation of a workload that `in_fixed_point` gave.

    Raises:
        TargetError: it is not in the form that kernels compute.
    """
    tail, dtype = workload.tail, workload.output.dtype
    if workload.rounded and workload.real is not None:
        low = 0 if workload.real.activation == "relu" else None
        start = starting(constants.get("bias", np.zeros(1)))
        return Epilogue(Requantise("none", "bfloat16", lo=low), 0, None, None, start)
    if tail is None:
        bias = constants.get("bias", np.zeros(1)).astype(np.int64)
        return Epilogue(Requantise("none", dtype), 0, None, None, bias)
    if tail.shift is None or tail.zero_point or "bias" in constants:
        raise TargetError(f"a {workload.kind} that is not in the fixed point of its kernel")
    info = np.iinfo(dtype)
    lo = tail.lo if tail.lo > info.min else None
    hi = tail.hi if tail.hi < info.max else None
    offset = constants.get("offset", np.zeros(1)).astype(np.int64)
    if "multiplier" not in constants:
        form: Form = "none" if dtype == "int32" else "shift"
        plain = Requantise(form, dtype, rounding=ROUNDINGS[tail.rounding], lo=lo, hi=hi)
        return Epilogue(plain, tail.shift, None, None, offset)
    multiplier = constants["multiplier"].astype(np.int64)
    scaled = Requantise(
        "channel" if multiplier.size > 1 else "tensor",
        dtype,
        rounding=ROUNDINGS[tail.rounding],
        lo=lo,
        hi=hi,
        addend="channel" if offset.size > 1 else "tensor",
        narrow=tail.bits == NARROW.bits,
    )
    none = np.zeros(1, np.int64)
    return Epilogue(scaled, tail.shift, _number(multiplier), _number(offset), none)


#: Operands that sums of integers begin with, where they are neither scaled nor stored before it.
STARTS = "bias", "offset"


def starts(workload: Workload, form: str) -> bool:
    """Whether sums of a layer's kernel start from numbers by column.

    Args:
        workload: in the arithmetic of the kernels.
        form: of its requantisation, which may add them later.
    """
    named = any(operand.name in STARTS for operand in workload.constants)
    return (form in ("shift", "none") and named) or workload.inputs[0].zero_point != 0


def without_starts(fixed: Converted) -> Converted:
    """The same layer without operands that add zero to the sums of every column.

    Raises:
        TargetError: its requantisation is no shift of the sums, or it adds something.
    """
    known = dict(fixed.constants)
    mine = [name for name in STARTS if name in known]
    if "multiplier" in known or any(known[name].any() for name in mine):
        raise TargetError("a layer whose sums are scaled, or start from something")
    kept = tuple(o for o in fixed.workload.operands if o.name not in mine)
    constants = {name: value for name, value in known.items() if name not in mine}
    return replace(fixed, workload=replace(fixed.workload, operands=kept), constants=constants)


def add_kernel(workload: Workload, constants: Arrays) -> tuple[AddSpec, AddNumbers]:
    """The kernel of an `add` that `in_fixed_point` gave, and its numbers.

    Raises:
        TargetError: operands differ in type or shape, or are not in fixed point.
    """
    tail, (x, x1) = workload.tail, workload.inputs
    if workload.kind != "add" or tail is None or tail.shift is None:
        raise TargetError(f"a {workload.kind} that is not in the fixed point of its kernel")
    if (x.dtype, x.shape) != (x1.dtype, x1.shape) or x.zero_point or x1.zero_point:
        raise TargetError("kernels add two raw operands of one type and shape")
    info = np.iinfo(workload.output.dtype)
    left, right = (int(v) for v in np.broadcast_to(constants["multiplier"], (2,)))
    offset = int(constants["offset"][0]) if "offset" in constants else 0
    spec = AddSpec(x.dtype, workload.output.dtype, tail.lo > info.min, tail.hi < info.max)
    rounding = ROUNDINGS[tail.rounding]
    return spec, AddNumbers(left, right, offset, tail.shift, rounding, lo=tail.lo, hi=tail.hi)


def multiplied_kernel(
    workload: Workload, constants: Arrays
) -> tuple[MultipliedSpec, MultipliedNumbers]:
    """The kernel of a `mul` that `in_fixed_point` gave, and its numbers.

    Raises:
        TargetError: operands differ in type or shape, or are not in fixed point.
    """
    tail, (x, x1) = workload.tail, workload.inputs
    if workload.kind != "mul" or tail is None or tail.bits != NARROW.bits:
        raise TargetError(f"a {workload.kind} that is not in the fixed point of its kernel")
    if (x.dtype, x.shape) != (x1.dtype, x1.shape):
        raise TargetError("kernels multiply two operands of one type and shape")
    info = np.iinfo(workload.output.dtype)
    spec = MultipliedSpec(x.dtype, workload.output.dtype, tail.lo > info.min, tail.hi < info.max)
    shift = tail.shift or 0
    multiplier, offset = (int(constants[name][0]) for name in ("multiplier", "offset"))
    points = x.zero_point, x1.zero_point
    rounding = ROUNDINGS[tail.rounding]
    return spec, MultipliedNumbers(
        *points, multiplier, offset, shift, rounding, lo=tail.lo, hi=tail.hi
    )


def _number(values: np.ndarray) -> np.ndarray | int:
    return values if values.size > 1 else int(values[0])
