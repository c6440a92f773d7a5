"""The least time of recurrent layers, at given peaks: what caches hold is read at their rates."""

from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).resolve().parents[2]
PEAK = {"fp32": 1e6, "read_L1": 100.0, "read_L2": 50.0, "read_L3": 20.0, "read_memory": 5.0}
CACHES = (1000, 10_000, 100_000)


@pytest.fixture
def floor_seconds(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import cpu_floor  # a script, not the package's

    return cpu_floor.floor_seconds


def layer(kind, **shapes):
    operands = [SimpleNamespace(name=name, shape=shape) for name, shape in shapes.items()]
    return SimpleNamespace(kind=kind, operands=operands, sizes={"OY": 10}, macs=0)


@pytest.mark.parametrize(
    ("elements", "seconds"),
    [
        (250, 1000 / 100),
        (1000, 1000 / 100 + 3000 / 50),
        (10_000, 1000 / 100 + 9000 / 50 + 30_000 / 20),
        (50_000, 1000 / 100 + 9000 / 50 + 90_000 / 20 + 100_000 / 5),
    ],
)
def test_weights_of_a_state_come_from_where_they_are_kept(floor_seconds, elements, seconds):
    found = floor_seconds([layer("gru", weight=(0,), recurrent=(elements,))], PEAK, CACHES)
    assert found == pytest.approx(10 * seconds * 1e-9)


def test_weights_that_are_read_once_come_from_one_cache(floor_seconds):
    found = floor_seconds([layer("dense", weight=(1000,))], PEAK, CACHES)
    assert found == pytest.approx(4000 / 50 * 1e-9)


def test_products_bound_a_layer_too(floor_seconds):
    busy = layer("dense", weight=(1000,))
    busy.macs = 10**9
    assert floor_seconds([busy], PEAK, CACHES) == pytest.approx(2e9 / 1e15)


def test_inputs_multiplied_beside_the_steps_leave_all_products_or_all_reads(floor_seconds):
    both = layer("gru", weight=(1000,), recurrent=(250,))
    reads = 4000 / 50 * 1e-9 + 10 * 1000 / 100 * 1e-9
    assert floor_seconds([both], PEAK, CACHES, together=True) == pytest.approx(reads)
    both.macs = 1250 * 10**6
    products = 2 * both.macs / 1e15
    assert floor_seconds([both], PEAK, CACHES, together=True) == pytest.approx(products)
    mixed = layer("gru", weight=(250,), recurrent=(250,))
    mixed.macs = 500 * 10**5  # 50 ns of products each, reads of 20 and 100
    assert floor_seconds([mixed], PEAK, CACHES) == pytest.approx(150e-9)
    assert floor_seconds([mixed], PEAK, CACHES, together=True) == pytest.approx(120e-9)
