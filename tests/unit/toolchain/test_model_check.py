import numpy as np
import pytest

from match_aie.codegen.port import PortRecord
from match_aie.toolchain.model_check import _difference


def port(dtype, scale=None, zero_point=0):
    return PortRecord("t", "y", dtype, (3,), scale, zero_point)


@pytest.mark.parametrize(
    ("record", "ours", "model", "lsb", "real"),
    [
        (port("uint8"), np.uint8([0, 9, 255]), np.uint8([2, 9, 255]), 2, None),
        (port("int8"), np.int8([-128, 0, 1]), np.int8([127, 0, 1]), 255, None),
        (port("bool"), np.array([True, False, True]), np.array([True, True, True]), 1, None),
        (port("float32", 0.5), np.float32([0, 1, 2]), np.float32([0, 1, 3.5]), 3, 1.5),
        (port("float32"), np.float32([0, 1, 2]), np.float32([0, 1, 2.25]), None, 0.25),
        # Integers from the project, real numbers from the model: (q - 1) * 0.5.
        (port("int8", 0.5, 1), np.int8([1, 3, 5]), np.float32([0, 1, 1.5]), 1, 0.5),
        (port("int8"), np.int8([1, 3, 5]), np.float32([0, 1, 1.5]), None, None),
        (
            port("float32"),
            np.float32([np.nan, np.inf, 0]),
            np.float32([np.nan, np.inf, 0]),
            None,
            0,
        ),
        (port("float32", 1.0), np.float32([np.nan, 0, 0]), np.float32([0, 0, 0]), None, np.inf),
    ],
)
def test_differences_in_steps_and_in_real_numbers(record, ours, model, lsb, real):
    assert _difference(record, ours, model) == (lsb, real)
