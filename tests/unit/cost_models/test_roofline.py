import numpy as np
import pytest

from match_aie.cost_models.roofline import Roofline
from match_aie.errors import Infeasible
from match_aie.hardware import Block, Mapping, Memory, TileCostModel
from match_aie.mapping import SearchOptions, check, search
from match_aie.workload import Quantized, dense, full_range, rowwise
from tests.unit.mapping.machines import Machine, addition, conv, fully_connected, pooling

ANY = Mapping((), ())
X = Quantized("int8", 1.0)


def test_arithmetic_hides_traffic():
    w = dense(X, Quantized("int32"), rows=100, inputs=10, outputs=10)
    # 10,000 MACs at 2 per cycle; 1000 + 100 + 40 + 4000 bytes at 4 per cycle.
    cost = Roofline(2, 1, 4, overhead=7).cost(w, ANY)
    assert cost.cycles == 5007
    assert dict(cost.parts) == {"compute": 5000, "memory": 0, "overhead": 7}


def test_traffic_beyond_the_arithmetic_stalls():
    w = rowwise(
        "quantize", Quantized("float32"), X, rows=1, columns=100, tail=full_range("int8", 0)
    )
    cost = Roofline(1, 10, 2).cost(w, ANY)
    assert cost.cycles == 500 / 2
    assert dict(cost.parts) == {"compute": 10, "memory": 240, "overhead": 0}


def test_rates_are_positive():
    with pytest.raises(ValueError, match="positive"):
        Roofline(1, 0, 1)


@pytest.mark.parametrize(
    ("wrong", "why"), [({"overhead": -1}, "negative"), ({"mode": "both"}, "mode is one of")]
)
def test_what_is_no_model(wrong, why):
    with pytest.raises(ValueError, match=why):
        Roofline(1, 1, 1, **wrong)


LAYERS = {
    "conv": conv(oy=7, ox=5, k=6, c=3, stride=2),
    "depthwise": conv(c=1, k=1, groups=6, oy=5),
    "dense": fully_connected(rows=3, inputs=7, outputs=11),
    "add": addition(),
    "pool": pooling(),
}
MODEL = Roofline(4.0, 2.0, 8.0, overhead=25.0)


class Toy(Machine):
    """Two levels, a roofline, two tiles of everything in L1."""

    def __init__(self, l1):
        super().__init__((l1,), double=None)
        self.model = MODEL


def test_it_prices_tiles():
    assert isinstance(MODEL, TileCostModel)
    assert MODEL.mode == "pipelined"
    work = LAYERS["dense"]
    whole = {dim: np.asarray(size) for dim, size in work.dims}
    assert MODEL.kernel_cycles(work, whole) == 25 + 3 * 7 * 11 / 4
    whole = {dim: np.asarray(size) for dim, size in LAYERS["add"].dims}
    assert MODEL.kernel_cycles(LAYERS["add"], whole) == 25 + 4 * 4 * 4 / 2


@pytest.mark.parametrize("name", LAYERS)
def test_one_tile_costs_what_it_costs_among_many(name):
    work, rng = LAYERS[name], np.random.default_rng(3)
    tiles = {dim: rng.integers(1, size + 1, 40) for dim, size in work.dims}
    cycles = MODEL.kernel_cycles(work, tiles)
    assert cycles.shape == (40,)
    outer, inner = Memory("out", None, 3.0, 5.0, 7.0, 2.0), Memory("in", 64, 4.0)
    block = Block(work.output, rng.integers(1, 99, 40), rng.integers(1, 9, 40))
    for direction in ("load", "store"):
        moves = MODEL.transfer_cycles(work, block, outer, inner, direction)
        for at in range(40):
            one = Block(work.output, block.nbytes[at], block.chunks[at])
            assert MODEL.transfer_cycles(work, one, outer, inner, direction) == moves[at]
    for at in range(40):
        tile = {dim: np.asarray(values[at]) for dim, values in tiles.items()}
        assert MODEL.kernel_cycles(work, tile) == cycles[at]


@pytest.mark.parametrize("l1", [160, 400])
@pytest.mark.parametrize("name", LAYERS)
def test_a_new_target_with_nested_memories(name, l1):
    work, module = LAYERS[name], Toy(l1)
    exact = search(work, module, SearchOptions("exact"))
    loma = search(work, module, SearchOptions("loma"))
    assert not isinstance(exact, Infeasible)
    assert not isinstance(loma, Infeasible)
    assert all(check(work, module, found.mapping) == () for found in (*exact, *loma))
    best = exact[0].cost.cycles
    assert best <= loma[0].cost.cycles * (1 + 1e-9)
    # What the search found in its tables is what its mapping costs tile by tile.
    assert exact[0].bound == pytest.approx(best, rel=1e-9)
    assert best >= work.steps / (4.0 if work.macs else 2.0) + 25
