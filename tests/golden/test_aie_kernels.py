"""The exact text of emitted AI Engine kernels, a layer function and a graph."""

from dataclasses import replace

import numpy as np
import pytest

from match_aie.codegen import render_template
from match_aie.codegen.sources import units
from match_aie.targets.aie_ml import Tiling
from match_aie.targets.aie_ml.array.layer import ArrayMapping
from match_aie.targets.aie_ml.graph.dense import DenseGraph
from match_aie.targets.aie_ml.graph.dense_plan import dense_layer
from match_aie.targets.aie_ml.graph.region import region
from match_aie.targets.aie_ml.graph.write import Placed, network_units
from match_aie.targets.aie_ml.kernels.attention import WeightsSpec
from match_aie.targets.aie_ml.kernels.call import LayerCall
from match_aie.targets.aie_ml.kernels.float_attention import FloatPartsSpec
from match_aie.targets.aie_ml.kernels.floats import (
    FloatFunctionSpec,
    FloatNormSpec,
    FloatSoftmaxSpec,
)
from match_aie.targets.aie_ml.kernels.lanes import AddSpec, MaxPoolSpec
from match_aie.targets.aie_ml.kernels.lookup import TableSpec
from match_aie.targets.aie_ml.kernels.norm import NormSpec
from match_aie.targets.aie_ml.kernels.running_attention import RunningSpec
from match_aie.targets.aie_ml.kernels.softmax import SoftmaxSpec
from match_aie.targets.aie_ml.kernels.spec import KernelSpec, Requantise
from match_aie.targets.aie_ml.kernels.streamed_attention import PartsSpec
from match_aie.workload import with_fixed_tail
from match_aie.workload.build import Quantized, dense, full_range

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
CALL = LayerCall("fc_last", "fc_kernels.h", replace(DENSE, position="last", bias=False), shift=9)
KERNELS = {
    "aie_dense.hpp": DENSE,
    "aie_dense_flat.hpp": replace(DENSE, k=96, flat=True),
    "aie_conv_last.hpp": CONV,
    "aie_depthwise.hpp": DEPTHWISE,
    "aie_add.hpp": AddSpec("uint8", "uint8", lo=True),
    "aie_table.hpp": TableSpec("int8", "uint8"),
    "aie_norm.hpp": NormSpec("int8", "int8"),
    "aie_softmax.hpp": SoftmaxSpec("int8", "int8"),
    "aie_norm_float.hpp": FloatNormSpec(),
    "aie_softmax_float.hpp": FloatSoftmaxSpec(),
    "aie_function_float.hpp": FloatFunctionSpec.of("gelu"),
    "aie_weights.hpp": WeightsSpec("int8", "uint8"),
    "aie_weight_parts.hpp": PartsSpec("int8", "uint8"),
    "aie_float_parts.hpp": FloatPartsSpec(),
    "aie_float_parts_unshifted.hpp": FloatPartsSpec(shifted=False),
    "aie_float_parts_unshifted_laned.hpp": FloatPartsSpec("laned", shifted=False),
    "aie_float_parts_blocked.hpp": FloatPartsSpec("blocked", shifted=False),
    "aie_running_parts.hpp": RunningSpec("int8", 12),
    "aie_running_parts_by_8.hpp": RunningSpec("int8", 12, keys=8),
    "aie_max_pool.hpp": MaxPoolSpec("int8", rows=2),
}


@pytest.mark.parametrize("name", KERNELS)
def test_kernels(golden, name) -> None:
    golden(name, render_template(KERNELS[name].template, k=KERNELS[name]))


def dense_graph():
    """Two tiles in a cascade; 7 rows of 100, of which nothing is a multiple of a tile."""
    workload = dense(
        Quantized("int8", 1.0), Quantized("int8", 1.0), rows=7, inputs=100, outputs=12,
        tail=full_range("int8", 0), scales=1,
    )  # fmt: skip
    tail = replace(workload.tail, shift=9)
    workload = with_fixed_tail(workload, tail, offset=12, bias=False)
    layer = dense_layer(workload)
    shape = ((2, 2), "overlapped", 2, 1, 1, 8, 16)
    mapping = ArrayMapping(layer, Tiling(4, 8, 8, native=True), *shape)
    constants = {o.name: np.zeros(o.shape, o.dtype) for o in workload.constants}
    return DenseGraph("fc", mapping, region("vek280", 2, 8), workload, constants).graph, workload


def test_graph(golden) -> None:
    graph, workload = dense_graph()
    texts = units(network_units("net", [Placed(graph, 4, workload)], 1024))
    golden("aie_graph.h", texts["aie/fc_graph.h"].decode())
    golden("aie_host.cpp", texts["aie/net_host.cpp"].decode())
    golden("aie_emulation.cpp", texts["emulation/net_array.cpp"].decode())


def test_layer_function(golden) -> None:
    golden("aie_layer.cpp", render_template("aie/layer.cpp.mako", call=CALL))
