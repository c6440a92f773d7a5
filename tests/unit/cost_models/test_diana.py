"""DIANA's cost model: the published form, and close to the array walked block by block."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from match_aie.cost_models.diana import DianaDigital, packed_bytes
from match_aie.hardware import Block, Memory, TileCostModel
from match_aie.mapping import search
from match_aie.targets.diana.module import ARITHMETIC, DigitalArray
from match_aie.targets.diana.packing import pack
from match_aie.targets.diana.timing import array_cycles
from match_aie.workload import (
    Quantized,
    Tail,
    Window,
    Workload,
    conv2d,
    dense,
    elementwise,
    to_fixed_point,
)

MODEL = DianaDigital()
I8 = Quantized("int8", 0.5, 0)
TAIL = Tail(0, -128, 127)


def convolution(channels, outputs, rows, columns, size, stride=1, depthwise=False):
    """A conv2d with SAME padding, in the array's arithmetic, and its constants."""
    border = size // 2
    layer = conv2d(
        I8,
        "int8",
        I8,
        batch=1,
        in_channels=channels,
        out_channels=channels if depthwise else outputs,
        rows=rows,
        columns=columns,
        filter_=(size, size),
        groups=channels if depthwise else 1,
        window=Window((stride, stride), (1, 1), (border,) * 4),
        tail=TAIL,
        bias=True,
    )
    return layer
