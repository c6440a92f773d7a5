import numpy as np
import pytest

from match_aie.fallback.fold import cast


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "uint32", "int64", "uint64"])
@pytest.mark.parametrize("source", ["float32", "float64"])
def test_cast_saturates(dtype, source):
    info = np.iinfo(dtype)
    given = np.array([-np.inf, np.inf, np.nan, -1.9, 1.9, -1e30, 1e30, float(info.max)], source)
    wanted = [info.min, info.max, info.min, max(info.min, -1), 1, info.min, info.max, info.max]
    np.testing.assert_array_equal(cast(given, dtype), np.array(wanted, dtype))


def test_cast_of_integers_wraps():
    given = np.array([300, -1], np.int32)
    np.testing.assert_array_equal(cast(given, "uint8"), np.array([44, 255], np.uint8))
