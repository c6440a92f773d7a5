"""The MLIR text of three small networks."""

import numpy as np
import pytest

from match_aie.targets.aie_ml.known import device
from match_aie.targets.xdna.mlir import text
from tests.xdna_programs import chain


@pytest.mark.parametrize(
    ("name", "rows", "widths", "dtype", "array"),
    [
        ("xdna_dense.mlir", 8, (16, 16), np.int8, "npu1"),
        ("xdna_chain.mlir", 8, (16, 16, 16), np.int16, "npu1"),
        ("xdna_npu2.mlir", 16, (16, 16), np.int8, "npu2"),
    ],
)
def test_text(golden, name, rows, widths, dtype, array):
    found = chain(rows, widths, dtype, array, columns=1)
    golden(name, text(found.program, device(array)))
