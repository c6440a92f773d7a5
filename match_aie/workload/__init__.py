"""What a layer computes: types, constructors, and the numpy reference."""

from match_aie.workload.analog import Converter, converted_sums, to_converter
from match_aie.workload.attention import (
    AttentionSizes,
    attention_layers,
    heads_joined,
    joined_attention,
    layer_constants,
    quantised_attention,
)
from match_aie.workload.attention_bfloat16 import refuses_attention_bfloat16
from match_aie.workload.bfloat16 import refuses_bfloat16
from match_aie.workload.build import (
    Quantized,
    conv2d,
    conv2d_transpose,
    dense,
    elementwise,
    full_range,
    matmul,
    output_extent,
    permute,
    phase_taps,
    pool2d,
    quantised_norm,
    rowwise,
    table,
)
from match_aie.workload.codes import CODES, integer_rows
from match_aie.workload.extent import Extent, Size, Word, loop_sizes
from match_aie.workload.fixed import Converted, shift_round, with_fixed_tail
from match_aie.workload.fixed_norm import NormNumbers, fixed_norm, norm_rows, normal_bits
from match_aie.workload.fixed_point import FixedPoint, to_fixed_point
from match_aie.workload.fixed_softmax import fixed_softmax, softmax_rows, weighted_rows
from match_aie.workload.float16 import FLOAT16_PAIRS, LARGEST_FLOAT16, refuses_float16
from match_aie.workload.kinds import FIXED_POINT_KINDS, NORMS, PRODUCTS, ROW_KINDS, Kind
from match_aie.workload.narrow import is_narrow, narrow, narrow_table
from match_aie.workload.nearest import to_nearest_shift
from match_aie.workload.real import (
    attention,
    function,
    layer_norm,
    real_conv2d,
    real_dense,
    real_matmul,
    real_pair,
    real_pool2d,
    real_softmax,
    recurrent,
    rms_norm,
)
from match_aie.workload.real_bound import real_expected, within_bound
from match_aie.workload.recurrent_bfloat16 import RECURRENT, refuses_recurrent
from match_aie.workload.recurrent_int8 import (
    in_8_bits,
    product_type,
    refuses_integer_recurrent,
)
from match_aie.workload.reference import reference, whole_image
from match_aie.workload.rows_bfloat16 import (
    ROWS_BFLOAT16,
    refuses_rows_bfloat16,
    with_tables,
)
from match_aie.workload.stored import with_sum
from match_aie.workload.workload import (
    DATA,
    ITEMSIZE,
    Activation,
    Added,
    Axis,
    Operand,
    Precision,
    RealTail,
    Rounding,
    Tail,
    Window,
    Workload,
)

__all__ = [
    "CODES",
    "DATA",
    "FIXED_POINT_KINDS",
    "FLOAT16_PAIRS",
    "ITEMSIZE",
    "LARGEST_FLOAT16",
    "NORMS",
    "PRODUCTS",
    "RECURRENT",
    "ROWS_BFLOAT16",
    "ROW_KINDS",
    "Activation",
    "Added",
    "AttentionSizes",
    "Axis",
    "Converted",
    "Converter",
    "Extent",
    "FixedPoint",
    "Kind",
    "NormNumbers",
    "Operand",
    "Precision",
    "Quantized",
    "RealTail",
    "Rounding",
    "Size",
    "Tail",
    "Window",
    "Word",
    "Workload",
    "attention",
    "attention_layers",
    "conv2d",
    "conv2d_transpose",
    "converted_sums",
    "dense",
    "elementwise",
    "fixed_norm",
    "fixed_softmax",
    "full_range",
    "function",
    "heads_joined",
    "in_8_bits",
    "integer_rows",
    "is_narrow",
    "joined_attention",
    "layer_constants",
    "layer_norm",
    "loop_sizes",
    "matmul",
    "narrow",
    "narrow_table",
    "norm_rows",
    "normal_bits",
    "output_extent",
    "permute",
    "phase_taps",
    "pool2d",
    "product_type",
    "quantised_attention",
    "quantised_norm",
    "real_conv2d",
    "real_dense",
    "real_expected",
    "real_matmul",
    "real_pair",
    "real_pool2d",
    "real_softmax",
    "recurrent",
    "reference",
    "refuses_attention_bfloat16",
    "refuses_bfloat16",
    "refuses_float16",
    "refuses_integer_recurrent",
    "refuses_recurrent",
    "refuses_rows_bfloat16",
    "rms_norm",
    "rowwise",
    "shift_round",
    "softmax_rows",
    "table",
    "to_converter",
    "to_fixed_point",
    "to_nearest_shift",
    "weighted_rows",
    "whole_image",
    "with_fixed_tail",
    "with_sum",
    "with_tables",
    "within_bound",
]
