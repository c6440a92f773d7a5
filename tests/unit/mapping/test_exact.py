"""Engine `exact` against brute force, on layers small enough for it."""

import itertools
from functools import cache

import pytest

from match_aie.errors import Infeasible
from match_aie.hardware import Loop
from match_aie.mapping import SearchOptions, overfull, search
from tests.thinned import thinned
from tests.unit.mapping.machines import (
    Machine,
    addition,
    conv,
    fully_connected,
    pooling,
    product,
)
from tests.unit.mapping.oracle import MODES, Oracle

K2 = Loop("K", 2)

#: name: workload, memories, what else is special about the machine, tiles.
CASES = {
    "conv": (conv(ox=2), (100,), {}, "divisor"),
    "conv, unrolled": (conv(k=8), (200,), {"unroll": (K2, Loop("OY", 2))}, "divisor"),
    "conv, strided": (conv(stride=2, f=1, pad=0, c=3, ox=2), (60,), {}, "divisor"),
    "conv, dilated": (conv(dilation=2, oy=3, ox=2), (160,), {}, "ragged"),
    "conv, padded tiles": (conv(oy=2, ox=4), (150,), {"padded": True, "align": 8}, "divisor"),
    "conv, ragged": (conv(oy=5, ox=1, k=5, f=1, pad=0), (60,), {"unroll": (K2,)}, "ragged"),
    "conv, per-tensor scale": (conv(oy=5, ox=1, scales=1), (120,), {}, "ragged"),
    "depthwise": (conv(c=1, k=1, groups=4, oy=3), (120,), {"unroll": (Loop("G", 2),)}, "ragged"),
    "grouped": (conv(c=2, k=2, groups=2, oy=2, ox=2), (120,), {}, "divisor"),
    "batch": (conv(batch=3, oy=2, ox=2, k=2, f=1, pad=0), (40,), {}, "ragged"),
    "dense": (fully_connected(), (40,), {"store": 1.0}, "ragged"),
    "dense, partial sums": (
        fully_connected(rows=2, inputs=4, outputs=4),
        (34,),
        {"reductions": ("C",)},
        "divisor",
    ),
    "dense, partial sums beside the output": (
        fully_connected(rows=2, inputs=4, outputs=4),
        (38,),
        {"reductions": ("C",), "sums": True},
        "divisor",
    ),
    "dense, legal tiles": (
        fully_connected(rows=2, inputs=4, outputs=5),
        (80,),
        {"legal": {"K": 2}},
        "ragged",
    ),
    "dense, stored partial sums": (
        fully_connected(rows=3, inputs=4, outputs=4),
        (30,),
        {"reductions": ("C",), "spills": True},
        "ragged",
    ),
    "matmul": (product(), (28,), {}, "ragged"),
    "add": (addition(oy=3, ox=2), (30,), {}, "ragged"),
    "pool": (pooling(), (40,), {"double": ("x",)}, "ragged"),
    "im2col": (conv(oy=2, ox=4), (180,), {"scratch": 4}, "divisor"),
    "split": (conv(oy=2), (90,), {"split": True}, "divisor"),
    "three levels": (conv(oy=4, ox=1, f=1, pad=0), (40, 64), {}, "divisor"),
    "three levels, strided": (conv(oy=2, ox=2, k=4, f=1, pad=0, stride=2), (40, 64), {}, "divisor"),
    "three levels, depthwise": (conv(c=1, k=1, groups=4, oy=2, ox=2), (60, 150), {}, "divisor"),
    "three levels, ragged": (conv(oy=3, ox=1, f=1, pad=0, k=3), (40, 60), {}, "ragged"),
    "three levels, partial sums": (
        fully_connected(rows=2, inputs=4, outputs=2),
        (28, 48),
        {"reductions": ("C",), "spills": True},
        "divisor",
    ),
    "four levels": (fully_connected(rows=2, inputs=2, outputs=4), (28, 40, 60), {}, "divisor"),
}


@cache
def least(name):
    workload, sizes, facts, tiles = CASES[name]
    return Oracle(workload, Machine(sizes, **facts), tiles).best()


def found(name, mode, objective="latency"):
    workload, sizes, facts, tiles = CASES[name]
    machine = Machine(sizes, mode, **facts)
    return (
        workload,
        machine,
        search(workload, machine, SearchOptions("exact", tiles, objective, runners_up=0)),
    )


@pytest.mark.parametrize(("name", "mode"), thinned(itertools.product(CASES, MODES), 7))
def test_nothing_is_better(name, mode):
    workload, machine, mappings = found(name, mode)
    assert not isinstance(mappings, Infeasible), mappings
    assert mappings[0].cost.cycles == pytest.approx(least(name)[mode, "latency"], rel=1e-9)
    assert mappings[0].bound == pytest.approx(least(name)[mode, "latency"], rel=1e-9)
    assert overfull(workload, machine, machine.model, mappings[0].mapping) == {}


@pytest.mark.parametrize(
    ("name", "objective"), thinned(itertools.product(CASES, ["energy", "edp"]), 5)
)
def test_the_objective_is_followed(name, objective):
    cost = found(name, "pipelined", objective)[2][0].cost
    value = cost.picojoules * (cost.cycles if objective == "edp" else 1.0)
    assert value == pytest.approx(least(name)["pipelined", objective], rel=1e-9)
