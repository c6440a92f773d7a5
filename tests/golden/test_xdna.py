"""The MLIR text of small networks."""

import numpy as np
import pytest

from match_aie.targets.aie_ml.known import device
from match_aie.targets.xdna.mlir import DIALECTS, kernels_of, read, text
from match_aie.targets.xdna.mlir.dialect import DEFAULT
from match_aie.targets.xdna.one_text import written
from tests.xdna_configuration import encoder
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


@pytest.mark.parametrize("dialect", ["2025-05", "2026-08"])
def test_other_versions_of_the_dialect(golden, dialect):
    """The first of the networks above, which is in the version of March 2026 there."""
    found = chain(8, (16, 16), np.int8, "npu1", columns=1)
    written = text(found.program, device("npu1"), DIALECTS[dialect])
    golden(f"xdna_dense_{dialect}.mlir", written)
    assert read(written, device("npu1"), kernels_of(found.program)) == found.program


def test_dense_layers_and_attention_are_one_configuration(golden):
    """A sequence for each; what is read back is in `unit/targets/xdna/test_one_text.py`."""
    golden("xdna_array.mlir", written(encoder()[0], device("npu1"), DEFAULT).text)
