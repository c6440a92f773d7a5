"""What a layer computes: types, constructors, and the numpy reference."""

from match_aie.workload.build import (
    Quantized,
    conv2d,
    dense,
    elementwise,
    full_range,
    matmul,
    output_extent,
    permute,
    pool2d,
    rowwise,
)
from match_aie.workload.fixed import Converted, shift_round, with_fixed_tail
from match_aie.workload.fixed_point import FixedPoint, to_fixed_point
from match_aie.workload.real import (
    attention,
    layer_norm,
    real_conv2d,
    real_dense,
    real_matmul,
    real_softmax,
    recurrent,
)
from match_aie.workload.real_reference import TOLERANCE, within_tolerance
from match_aie.workload.reference import reference
from match_aie.workload.workload import (
    FIXED_POINT_KINDS,
    ITEMSIZE,
    Activation,
    Axis,
    Kind,
    Operand,
    RealTail,
    Rounding,
    Tail,
    Window,
    Workload,
)

__all__ = [
    "FIXED_POINT_KINDS",
    "ITEMSIZE",
    "TOLERANCE",
    "Activation",
    "Axis",
    "Converted",
    "FixedPoint",
    "Kind",
    "Operand",
    "Quantized",
    "RealTail",
    "Rounding",
    "Tail",
    "Window",
    "Workload",
    "attention",
    "conv2d",
    "dense",
    "elementwise",
    "full_range",
    "layer_norm",
    "matmul",
    "output_extent",
    "permute",
    "pool2d",
    "real_conv2d",
    "real_dense",
    "real_matmul",
    "real_softmax",
    "recurrent",
    "reference",
    "rowwise",
    "shift_round",
    "to_fixed_point",
    "with_fixed_tail",
    "within_tolerance",
]
