"""The exact text of emitted AI Engine kernels, a layer function and a graph."""

from dataclasses import replace

import pytest

from match_aie.codegen import render_template
from match_aie.targets.aie_ml import Tiling
from match_aie.targets.aie_ml.kernels.block import DenseBlock
from match_aie.targets.aie_ml.kernels.call import LayerCall
from match_aie.targets.aie_ml.kernels.lanes import AddSpec, MaxPoolSpec
from match_aie.targets.aie_ml.kernels.spec import KernelSpec, Requantise

I8 = Tiling(4, 8, 8, native=True)
DENSE = KernelSpec("int8", "int8", I8, 2, 2, 8, 64, 16, Requantise("shift", "int8"), relu=True)
CONV = KernelSpec(
    "uint8",
    "int8",
    I8,
    1,
    2,
    8,
    72,
    16,
    Requantise("channel", "uint8", addend="channel"),
    "last",
    bias=False,
    gathered=True,
)
DEPTHWISE = KernelSpec(
    "uint8",
    "int8",
    Tiling(4, 1, 8, native=False),
    2,
    1,
    8,
    9,
    8,
    Requantise("tensor", "uint8", zero_point=3),
    operation="multiply",
    gathered=True,
    border_bias=True,
)
BLOCK = DenseBlock("fc", DENSE, 2, 1, 7, 100, 12, column=4)
CALLS = [
    LayerCall(f"fc_{position}", "fc_kernels.h", BLOCK.kernel_at(position), shift=9)
    for position in BLOCK.positions
]
KERNELS = {
    "aie_dense.hpp": DENSE,
    "aie_dense_flat.hpp": replace(DENSE, k=96, flat=True),
    "aie_conv_last.hpp": CONV,
    "aie_depthwise.hpp": DEPTHWISE,
    "aie_add.hpp": AddSpec("uint8", "uint8", lo=True),
    "aie_max_pool.hpp": MaxPoolSpec("int8", rows=2),
}


@pytest.mark.parametrize("name", KERNELS)
def test_kernels(golden, name) -> None:
    golden(name, render_template(KERNELS[name].template, k=KERNELS[name]))


def test_block(golden) -> None:
    golden("aie_block.h", render_template("aie/block.h.mako", b=BLOCK, calls=CALLS))


def test_layer_function(golden) -> None:
    golden("aie_layer.cpp", render_template("aie/layer.cpp.mako", call=CALLS[-1]))
