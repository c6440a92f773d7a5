"""Two arrays of a kind, at the same time: layers of independent branches."""

import shutil
from dataclasses import replace

import numpy as np
import pytest
from systolic.target import DMA_BYTES, DMA_START, Systolic, SystolicArray, Timing, scratchpad

import match_aie as match
from match_aie.hardware import Company, Concurrent, Memory, SharedMemory
from match_aie.mapping import SearchOptions
from match_aie.simulation import KernelTime, ScratchpadSimulator
from match_aie.testing.case import Case, network
from match_aie.testing.zoo import INT8, Conv
from tests.cc.systolic.test_orders import BlockedArray
from tests.shared import random_inputs

OPERANDS = ("x", "x1", "y", "weight", "bias", "scale", "sums")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="no C compiler"),
]


class Unit(SystolicArray, Concurrent):
    """The array on a scratchpad that it shares, started and left alone."""

    beside = Company()
    memories = (
        scratchpad("L1", 65536, operands=OPERANDS),
        Memory("DRAM", None, DMA_BYTES, transfer_cycles=DMA_START),
    )

    def __init__(self, name):
        self.name = name


class Queued(Timing):
    def kernel(self, module, workload, visit):
        return KernelTime(module, super().kernel(module, workload, visit).jobs, queue=2)


class Arrays(Systolic, SharedMemory):
    name = "Arrays"
    shared_memory = "L1"

    def __init__(self, count=2):
        self.count = count

    def options(self):
        return {"count": self.count}

    def modules(self):
        return [Unit(f"array{number}") for number in range(self.count)]

    def runtime(self):
        return replace(super().runtime(), headers=("ma_beside.h", "systolic.h"))

    def simulator(self):
        return ScratchpadSimulator(Queued())


class BlockedUnit(Unit):
    """The same, of images in blocks of 16 channels."""

    def layouts(self, workload):
        return BlockedArray().layouts(workload)


class BlockedArrays(Arrays):
    def modules(self):
        return [BlockedUnit(f"array{number}") for number in range(self.count)]


def branches(graph):
    """Two rows of convolutions of one image, and their sum."""
    x = graph.input(replace(INT8, shape=(1, 32, 16, 16)))
    layer = Conv(INT8, 32, relu=True)
    one = other = layer.on(graph, x)
    for _ in range(6):
        one, other = layer.on(graph, one), layer.on(graph, other)
    real = graph.node("Add", [graph.real(one), graph.real(other)])
    return graph.store(real, x, x.shape, one.spread)


@pytest.fixture(scope="module")
def nets():
    model, search = network([Case("net", branches, single=False)]), SearchOptions("exact")
    return {
        count: match.compile(model, Arrays(count), name="net", search=search, cache=False)
        for count in (1, 2)
    }


def test_two_branches_on_two_arrays_are_faster(nets):
    """Simulated, the core's steps before and after included."""
    cycles = {count: net.simulate().cycles for count, net in nets.items()}
    assert cycles[1] / cycles[2] >= 1.5
    # Six pairs of the branches, and the first layer, half of it on each array.
    assert sum(len(one.lanes) for one in nets[2].program.schedule.beside) == 7 * 2
    where = [layer.module for layer in nets[2].program.schedule.layers]
    assert set(where) == {"array0", "array1"}
    assert min(map(where.count, set(where))) >= 7
    assert "array1" in nets[2].summary()


@pytest.mark.parametrize("chip", [Arrays, BlockedArrays])
def test_they_compute_what_one_does(nets, tmp_path, chip):
    """Loads, stores and kernels of two layers at a time in one scratchpad, bit for bit."""
    net = nets[2]
    if chip is BlockedArrays:
        model, search = network([Case("net", branches, single=False)]), SearchOptions("exact")
        net = match.compile(model, chip(), name="net", search=search, cache=False)
        assert sum(len(one.lanes) for one in net.program.schedule.beside) == 6 * 2
        assert all(layer.layouts for layer in net.program.schedule.layers)
        assert sum(step.layer is None for step in net.program.schedule.steps) <= 4
    project = net.write(tmp_path / "net")
    project.build(quick=True)
    result = project.run(random_inputs(project.record.inputs, np.random.default_rng(0)))
    assert result.matches_reference
    assert set(result.max_lsb_vs_model.values()) == {0}


def test_sums_of_a_result_that_stays_have_their_place(nets):
    """A result that later layers find whole in the scratchpad, made of partial sums."""
    (layer, *_) = nets[1].program.schedule.layers
    tiles = layer.tiles
    assert tiles.operands[-1].moves == "never"
    assert tiles.sums is None or tiles.sums.offset + tiles.sums.nbytes <= tiles.total
