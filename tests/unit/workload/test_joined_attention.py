"""Attention whose heads lie side by side in rows means what it means head by head."""

import numpy as np
import pytest

from match_aie.workload import AttentionSizes, Quantized, heads_joined, reference
from tests.aie_attention import attention_of

BYTES = Quantized("int8", 0.05, 3)


@pytest.mark.parametrize(("heads", "rows", "keys", "size"), [(1, 5, 7, 8), (3, 6, 4, 5)])
def test_joined_heads_are_heads_side_by_side(heads, rows, keys, size):
    rng = np.random.default_rng(heads)
    q, v = (rng.integers(-128, 128, (heads, n, size)).astype(np.int8) for n in (rows, keys))
    k = rng.integers(-128, 128, (heads, size, keys)).astype(np.int8)
    results = []
    for joined in (False, True):
        sizes = AttentionSizes(heads, rows, keys, size, size, joined=joined)
        layer, constants = attention_of(sizes, (BYTES,) * 3, (BYTES, BYTES), BYTES)
        assert heads_joined(layer) == joined
        x, x2 = (np.concatenate(list(each), axis=1) if joined else each for each in (q, v))
        results.append(reference(layer, [x, k, x2], constants))
    apart, together = results
    assert np.unique(apart).size > 1
    np.testing.assert_array_equal(together, np.concatenate(list(apart), axis=1))
