import json
import subprocess
import sys

import numpy as np
import pytest

import match_aie
from match_aie.demo import digits_model
from match_aie.errors import Infeasible, ModelError, OptionError, TargetError
from match_aie.hardware import (
    Cost,
    Loop,
    Mapping,
    Memory,
    OnArray,
    cost_from_json,
    cost_to_json,
    mapping_from_json,
    mapping_to_json,
)
from match_aie.mapping import MappedCost, SearchOptions, Task, check, search, search_all
from match_aie.targets.cpu import CPUModule
from match_aie.targets.diana.module import DigitalArray
from match_aie.workload import Axis, Operand, Quantized, Workload, dense, elementwise, full_range
from tests.unit.mapping.machines import Machine, conv, pooling

WORK = dense(Quantized("int8", 1.0), Quantized("int32"), rows=2, inputs=10, outputs=6)
NEEDED = 2 * 10 + 6 * 10 + 6 * 4 + 2 * 6 * 4


class Small(CPUModule):
    """A single memory of limited size, and four outputs at a time."""

    def __init__(self, size):
        self.memories = (Memory("L2", size, 8.0),)

    def spatial(self, workload):
        return (Loop("K", 4),)


def test_one_memory_means_one_untiled_mapping():
    (best,) = search(WORK, CPUModule())
    assert best.mapping.spatial == ()
    assert best.mapping.temporal == (Loop("B", 2), Loop("K", 6), Loop("C", 10))
    assert best.cost == CPUModule().cost_model(WORK).cost(WORK, best.mapping)
    assert check(WORK, CPUModule(), best.mapping) == ()


def test_what_hardware_unrolls_is_not_iterated():
    (best,) = search(WORK, Small(NEEDED))
    assert best.mapping.temporal == (Loop("B", 2), Loop("K", 2, 4), Loop("C", 10))
    assert check(WORK, Small(NEEDED), best.mapping) == ()


def test_operands_beyond_the_home_memory_are_infeasible():
    found = search(WORK, Small(NEEDED - 1))
    assert isinstance(found, Infeasible)
    assert (found.resource, found.demand, found.bound) == ("L2", NEEDED, NEEDED - 1)
    assert found.breakdown[0] == ("weight", 60)
    assert found.levers


def test_no_tile_fits():
    found = search(conv(batch=2), Machine((10,)), SearchOptions("exact"))
    assert isinstance(found, Infeasible)
    assert (found.resource, found.bound) == ("L1", 10)
    assert found.demand > 10
    assert found.levers[:2] == ("a smaller batch (it is 2)", "a larger L1")


def test_smaller_than_the_unrolling_where_nothing_else_fits():
    work = conv(oy=8, ox=1, k=8, f=1, pad=0)
    (best, *_) = search(work, Machine((80,), unroll=(Loop("K", 8),)), SearchOptions("exact"))
    assert best.mapping.spatial[0].size < 8


def test_a_cost_model_must_price_tiles():
    class Whole:
        def cost(self, workload, mapping):
            return Cost(1.0)

    class Nested(CPUModule):
        memories = (Memory("L1", 64, 8.0), Memory("L2", None, 8.0))

        def cost_model(self, workload):
            return Whole()

    with pytest.raises(TargetError, match="Whole cannot price tiles"):
        search(WORK, Nested())


@pytest.mark.parametrize("engine", ["exact", "loma"])
def test_runners_up_have_other_kernel_tiles(engine):
    work = conv(oy=8, ox=8, k=8)
    found = search(work, Machine((400,)), SearchOptions(engine, runners_up=3))
    tiles = [tuple(f.mapping.extents(f.mapping.kernel, work.dims).items()) for f in found]
    assert len(found) == len(set(tiles))
    assert len(found) == 4 if engine == "exact" else 1 < len(found) <= 4
    assert [f.cost.cycles for f in found] == sorted(f.cost.cycles for f in found)


def test_zigzag_is_no_better_than_exact():
    work, machine = conv(oy=8, ox=8, k=8, c=4), Machine((600,))
    exact = search(work, machine, SearchOptions("exact", "divisor"))
    stock = search(work, machine, SearchOptions("zigzag", "divisor", lpf_limit=5))
    assert stock[0].cost.cycles >= exact[0].cost.cycles
    assert check(work, machine, stock[0].mapping) == ()


def test_zigzag_says_what_it_cannot_express():
    with pytest.raises(OptionError, match="no equation for max_pool2d"):
        search(pooling(), Machine((40,)), SearchOptions("zigzag", "divisor"))


def test_a_tolerance_bounds_the_loss():
    work, machine = conv(oy=6, ox=4, k=8), Machine((200, 500), "pipelined")
    best = search(work, machine, SearchOptions("exact"))[0]
    loose = search(work, machine, SearchOptions("exact", tolerance=0.05))[0]
    assert loose.bound <= best.cost.cycles <= loose.cost.cycles <= best.cost.cycles / 0.95


def test_json_round_trip():
    best = search(conv(), Machine((120,)), SearchOptions("exact"))[0]
    assert mapping_from_json(json.loads(json.dumps(mapping_to_json(best.mapping)))) == best.mapping
    assert cost_from_json(json.loads(json.dumps(cost_to_json(best.cost)))) == best.cost
    assert cost_from_json(cost_to_json(Cost(0.1))) == Cost(0.1)
    assert len({best.mapping, mapping_from_json(mapping_to_json(best.mapping))}) == 1


@pytest.mark.parametrize(
    ("facts", "field"),
    [
        ({"bytes_per_cycle": 0.0}, "bytes_per_cycle"),
        ({"bytes_per_cycle": -1.0}, "bytes_per_cycle"),
        ({"bytes_per_cycle": float("nan")}, "bytes_per_cycle"),
        ({"store_bytes_per_cycle": 0.0}, "store_bytes_per_cycle"),
        ({"bytes": 0}, "bytes"),
        ({"chunk_cycles": -1.0}, "chunk_cycles"),
        ({"transfer_cycles": -1.0}, "transfer_cycles"),
        ({"alignment": 0}, "alignment"),
    ],
)
def test_memories_that_cannot_be(facts, field):
    with pytest.raises(TargetError, match=f"'L1': {field} "):
        Memory(**{"name": "L1", "bytes": 64, "bytes_per_cycle": 1.0, **facts})


@pytest.mark.parametrize(
    ("memories", "what"),
    [
        ((Memory("L1", 64, 1.0), Memory("L2", 32, 1.0)), "'L2' .* comes after 'L1'"),
        ((Memory("L1", None, 1.0), Memory("L2", 32, 1.0)), "'L2' .* comes after 'L1'"),
        ((Memory("L1", 64, 1.0), Memory("L1", 64, 1.0)), "names must differ"),
        ((Memory("L1", 64, 1.0, operands=("x",)),), "'L1' is outermost"),
    ],
)
def test_memories_out_of_order(memories, what):
    machine = Machine((40,))
    with pytest.raises(TargetError, match=f"memories: .*{what}|memories: {what}"):
        machine.memories = memories
    with pytest.raises(TargetError, match="memories"):
        type("Wrong", (CPUModule,), {"memories": memories})


def test_a_dimension_of_nothing():
    y = Operand("y", "int8", (0,), (Axis((("K", 1),)),))
    with pytest.raises(ModelError, match="dims: loop dimension 'K' has size 0"):
        Workload("add", (("K", 0),), (y,))


@pytest.mark.parametrize(
    "wrong", [{"engine": "salsa"}, {"tiles": "any"}, {"objective": "area"}, {"lpf_limit": 0}]
)
def test_options_that_mean_nothing(wrong):
    with pytest.raises(OptionError):
        SearchOptions(**wrong)


def test_the_package_does_not_import_zigzag():
    code = "import sys, match_aie.mapping; print('zigzag' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_searching_leaves_nothing_behind(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    search(conv(oy=8, k=8), Machine((200,)), SearchOptions("loma"))
    search(conv(oy=8, k=8), Machine((400,)), SearchOptions("zigzag", "divisor", lpf_limit=4))
    assert list(tmp_path.iterdir()) == []
    assert capfd.readouterr() == ("", "")


def test_footprint_of_arrays_is_that_of_numbers():
    from match_aie.mapping.footprint import axis_extents, block

    work = conv(oy=9, ox=7, k=5, c=3, stride=2, dilation=2)
    rng = np.random.default_rng(1)
    sizes = dict(work.dims)
    tiles = {dim: rng.integers(1, size + 1, 50) for dim, size in sizes.items()}
    for operand in work.operands:
        many = block(operand, axis_extents(operand, tiles, sizes), operand.shape)
        for at in range(50):
            tile = {dim: np.asarray(values[at]) for dim, values in tiles.items()}
            one = block(operand, axis_extents(operand, tile, sizes), operand.shape)
            assert one.nbytes == np.broadcast_to(many.nbytes, 50)[at]
            assert one.chunks == np.broadcast_to(many.chunks, 50)[at]


@pytest.mark.parametrize("objective", ["energy", "edp"])
@pytest.mark.parametrize("target", ["CPU", "Diana", "VersalAIEML"])
def test_no_energy_where_a_target_states_none(objective, target):
    said = f"'{objective}' needs energy, and target '{target}' states none"
    with pytest.raises(OptionError, match=said):
        match_aie.compile(digits_model(), target, objective=objective, cache=False)


@pytest.mark.parametrize("objective", ["energy", "edp"])
def test_no_energy_where_a_module_states_none(objective):
    module, full, shape = DigitalArray(), Quantized("int8", 0.5), (1, 8, 8, 4)
    tail = full_range("int8", 0)
    layer = elementwise("add", full, full, full, shape=shape, shape1=shape, out=shape, tail=tail)
    with pytest.raises(OptionError, match=f"'{objective}' needs energy, and module 'digital'"):
        search(layer, module, SearchOptions(objective=objective))


def test_mappings_are_searched_for_what_the_network_is_compiled_for():
    with pytest.raises(OptionError, match=r"searched for 'energy'.* compiled for 'latency'"):
        match_aie.compile(digits_model(), "GAP9", search=SearchOptions(objective="energy"))


def test_what_a_cache_holds_is_not_believed_either():
    class Old:
        def get(self, *_):
            return [MappedCost(Mapping((), ()), Cost(7.0))]

    task = Task(conv(oy=8, k=8), Machine((200,)))
    with pytest.raises(OptionError, match="needs energy"):
        search_all([task], SearchOptions(objective="energy"), cache=Old())


def test_unrollings_are_compared_by_the_objective():
    # The slower of the two takes less energy.
    costs = {4: Cost(10.0, (), 50.0), 2: Cost(20.0, (), 5.0)}

    class Priced:
        def cost(self, _workload, mapping):
            return costs[mapping.spatial[0].size]

    class Flat(Machine, OnArray):
        memories = ()

        def __init__(self):
            pass

        def unrollings(self, _workload):
            return [(Loop("K", 4),), (Loop("K", 2),)]

        def cost_model(self, _workload):
            return Priced()

    best = {
        objective: search(conv(oy=8, k=8), Flat(), SearchOptions(objective=objective))[0].cost
        for objective in ("latency", "energy", "edp")
    }
    assert [best[o].cycles for o in ("latency", "energy", "edp")] == [10.0, 20.0, 20.0]
