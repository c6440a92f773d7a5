"""The exact text of image layers' kernel functions."""

import numpy as np
import pytest

from match_aie.codegen import render_template
from match_aie.targets.aie_ml import Tiling
from match_aie.targets.aie_ml.graph.cut_plan import share
from match_aie.targets.aie_ml.graph.image import CutLayer, ImageCut, ImageLayer
from match_aie.targets.aie_ml.graph.rows import CutRows, RowCut, RowLayer, row_graph
from match_aie.targets.aie_ml.graph.window import window_graph
from match_aie.targets.aie_ml.kernels.arithmetic import Epilogue
from match_aie.targets.aie_ml.kernels.bands import AddCall
from match_aie.targets.aie_ml.kernels.lanes import AddNumbers, AddSpec
from match_aie.targets.aie_ml.kernels.lookup import TableCall, TableSpec, table_values
from match_aie.targets.aie_ml.kernels.spec import Requantise
from match_aie.targets.aie_ml.kernels.window import Geometry

DEVICE = share("vek280", 1)


def conv():
    """A strided convolution with an input zero point, in two bands of rows."""
    g = Geometry(8, 9, 8, 8, (3, 3), (2, 2), padding=(1, 1, 1, 1))
    tail = Requantise("channel", "uint8", addend="channel")
    factors, bias = np.full(8, 20000), np.zeros(1, np.int64)
    weight = np.ones((8, 3, 3, 8), np.int8)
    layer = ImageLayer(
        "conv", "conv", g, "uint8", 7, "uint8", Epilogue(tail, 24, factors, factors, bias), weight
    )
    cut = ImageCut(Tiling(4, 8, 8, native=True), 1, 1, firings=2)
    return window_graph(CutLayer(layer, cut), DEVICE, 1)


def pool():
    """A maximum over 2x2."""
    layer = ImageLayer("pool", "max", Geometry(8, 8, 8, 8, (2, 2), (2, 2)), "uint8", 0, "uint8")
    cut = ImageCut(Tiling(4, 1, 8, native=False), 2, 1, firings=2)
    return window_graph(CutLayer(layer, cut), DEVICE, 1)


def summed():
    """Two tiles of a sum."""
    numbers = AddNumbers(12345, 23456, -(7 << 13), 15, lo=10)
    spec = AddSpec("uint8", "uint8", lo=True)
    layer = RowLayer("sum", AddCall("sum_add", "sum_kernels.h", spec, numbers), 200)
    return row_graph(CutRows(layer, RowCut(2)), DEVICE, 1)


def tabulated():
    """A table on one tile."""
    call = TableCall("gelu_table", "gelu_kernels.h", TableSpec("int8", "uint8"), 1)
    layer = RowLayer("gelu", call, 200, table_values(np.zeros(256, np.uint8)))
    return row_graph(CutRows(layer, RowCut(1)), DEVICE, 1)


GRAPHS = {
    "aie_bands.cpp": conv,
    "aie_pool_layer.cpp": pool,
    "aie_add_layer.cpp": summed,
    "aie_table_layer.cpp": tabulated,
}


@pytest.mark.parametrize("name", GRAPHS)
def test_functions(golden, name) -> None:
    (call,) = GRAPHS[name]().calls
    golden(name, render_template(call.template, call=call))
