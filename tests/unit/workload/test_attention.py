"""Quantised attention: three layers in one, in the model's arithmetic and in integers."""

import numpy as np
import pytest

from match_aie.targets.aie_ml.kernels.arithmetic import NARROW, in_fixed_point
from match_aie.workload import (
    Converted,
    attention_layers,
    layer_constants,
    reference,
    to_fixed_point,
)
from match_aie.workload.codec import from_json, to_json
from tests.aie_attention import random_attention
from tests.aie_layers import random_inputs


def own(layer, known, mine):
    """What `layer` is by itself, a product by 16-bit multipliers too, of which `mine` is one."""
    ways = [in_fixed_point(layer, known)]
    ways += [to_fixed_point(layer, known, NARROW)] if layer.kind == "matmul" else []
    (found, *_) = [way for way in ways if way.workload == mine]
    return found


@pytest.mark.parametrize("seed", range(8))
def test_it_is_its_three_layers_in_their_own_integers(seed) -> None:
    workload, constants = random_attention(seed)
    made = in_fixed_point(workload, constants)
    assert isinstance(made, Converted)
    fused = attention_layers(made.workload)
    given = zip(attention_layers(workload), layer_constants(constants), fused, strict=True)
    alone = [own(layer, known, mine) for layer, known, mine in given]
    found = layer_constants(made.constants)
    for mine, theirs in zip(found, alone, strict=True):
        assert mine.keys() == theirs.constants.keys()
        assert all(np.array_equal(mine[name], theirs.constants[name]) for name in mine)
    rng = np.random.default_rng(seed)
    arrays = random_inputs(workload, rng)
    x, x1, x2 = (arrays[name] for name in ("x", "x1", "x2"))
    scores = reference(fused[0], [x, x1], found[0])
    weights = reference(fused[1], [scores.reshape(-1, scores.shape[-1])], found[1])
    wanted = reference(fused[2], [weights.reshape(scores.shape), x2], found[2])
    np.testing.assert_array_equal(reference(made.workload, [x, x1, x2], made.constants), wanted)


@pytest.mark.parametrize("seed", range(20))
def test_what_its_integers_lose_is_within_the_bound(seed) -> None:
    workload, constants = random_attention(seed)
    made = in_fixed_point(workload, constants)
    inputs = list(random_inputs(workload, np.random.default_rng(seed)).values())
    exact = reference(workload, inputs, constants).astype(int)
    found = reference(made.workload, inputs, made.constants).astype(int)
    assert np.abs(found - exact).max() <= np.floor(made.error_lsb) + 1
    assert np.abs(found - exact).max() <= 2


def test_it_travels_as_json() -> None:
    workload, constants = random_attention(3)
    made = in_fixed_point(workload, constants).workload
    assert from_json(to_json(made)) == made
    assert made.macs == sum(layer.macs for layer in attention_layers(made))
