"""What a layer computes: types, constructors, and the numpy reference."""

from match_aie.workload.build import (
    Quantized,
    conv2d,
    dense,
    elementwise,
    full_range,
    matmul,
    output_extent,
    pool2d,
    rowwise,
)
from match_aie.workload.fixed import shift_round, with_fixed_tail
from match_aie.workload.fixed_point import Converted, FixedPoint, to_fixed_point
from match_aie.workload.reference import reference
from match_aie.workload.workload import (
    FIXED_POINT_KINDS,
    ITEMSIZE,
    Axis,
    Kind,
    Operand,
    Rounding,
    Tail,
    Window,
    Workload,
)

__all__ = [
    "FIXED_POINT_KINDS",
    "ITEMSIZE",
    "Axis",
    "Converted",
    "FixedPoint",
    "Kind",
    "Operand",
    "Quantized",
    "Rounding",
    "Tail",
    "Window",
    "Workload",
    "conv2d",
    "dense",
    "elementwise",
    "full_range",
    "matmul",
    "output_extent",
    "pool2d",
    "reference",
    "rowwise",
    "shift_round",
    "to_fixed_point",
    "with_fixed_tail",
]
