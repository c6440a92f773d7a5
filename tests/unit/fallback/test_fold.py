import numpy as np
import pytest
from tvm import relax

from match_aie import tvm_api
from match_aie.fallback.fold import cast, fold


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


def product(a, b):
    block = relax.BlockBuilder()
    with block.function("main", []):
        call = block.normalize(relax.op.matmul(relax.const(a), relax.const(b)))
        block.emit_func_output(relax.const(0.0))
    return fold(call)


def test_a_product_of_matrices_is_summed_in_float64():
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(shape).astype(np.float32) for shape in ((2, 1, 5, 40), (3, 40, 6)))
    wanted = np.einsum("abmk,bkn->abmn", np.float64(a).repeat(3, 1), np.float64(b))
    found = tvm_api.constant_value(product(a, b))
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, wanted, rtol=2.0**-24, atol=1e-12)


def test_products_beyond_the_limit_stay(monkeypatch):
    monkeypatch.setattr("match_aie.fallback.fold.MOST_PRODUCTS", 7)
    ones = np.ones((2, 2), np.float32)
    assert product(ones, ones) is None
