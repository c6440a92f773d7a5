"""Cycles of small programs, worked out by hand."""

from dataclasses import dataclass

import pytest

from match_aie.hardware import (
    Cut,
    Energy,
    ExecModule,
    Figure,
    Loop,
    Mapping,
    Memory,
    SimulatedStep,
)
from match_aie.lowering import tile_program
from match_aie.simulation import Jobs, KernelTime, ScratchpadSimulator, TransferTime
from match_aie.workload import Quantized, Tail, dense

U8 = Quantized("uint8", 1.0)
#: x[8, 16], weight[32, 16], bias[32], scale[1], y[8, 32].
LAYER = dense(U8, U8, rows=8, inputs=16, outputs=32, tail=Tail(0, 0, 255), scales=1)


class Chip(ExecModule):
    name = "chip"

    def __init__(self, double):
        self.memories = (Memory("L1", 4096, 8.0, double_buffered=double), Memory("L2", None, 8.0))

    def patterns(self):
        return ()

    def spatial(self, workload):
        return ()

    def cost_model(self, workload):
        raise NotImplementedError

    def template(self, workload):
        return ""


@dataclass(frozen=True)
class Timing:
    kernel_cycles: float = 100.0
    queue: int = 0
    program: float = 0.0
    frequency_hz: float = 1e6
    offload: float = 1000.0
    wait: float = 0.0
    dma_channels: int = 1

    def walk(self, tiles):
        return 0.0, 0.0

    def kernel(self, module, workload, visit):
        return KernelTime("unit", (Jobs(self.program, self.kernel_cycles),), self.queue)

    def transfer(self, region, *, store):
        return TransferTime(0.0, float(region.nbytes))

    def fetch(self, nbytes):
        return TransferTime(0.0, float(nbytes))


def program(tiles, double=None):
    """Rows in `tiles` tiles; weights, bias and scale stay."""
    step = 8 // tiles
    loops = (Loop("B", tiles, step),) if tiles > 1 else ()
    cuts = [Cut(name, "L1", 0) for name in ("weight", "bias", "scale")]
    cuts += [Cut(name, "L1", len(loops)) for name in ("x", "y")]
    mapping = Mapping((), loops, len(loops), tuple(cuts))
    return tile_program(LAYER, Chip(double), mapping)


def cycles(timing, tiles):
    step = SimulatedStep("layer", "chip", LAYER, tiles, 0.0, 0.0)
    return ScratchpadSimulator(timing).run([step]).cycles - timing.offload


CONSTANTS = 32 * 16 + 32 * 4 + 4


def test_one_tile_loads_computes_and_stores():
    assert cycles(Timing(), program(1)) == 8 * 16 + CONSTANTS + 100 + 8 * 32


@pytest.mark.parametrize("queue", [0, 2])
def test_slow_kernels_hide_all_transfers_but_the_first_and_last(queue):
    first = CONSTANTS + 2 * 16
    assert cycles(Timing(1000.0, queue), program(4)) == first + 4 * 1000 + 2 * 32


def test_slow_transfers_hide_the_kernels():
    """The DMA never rests from the first load to the last store."""
    assert cycles(Timing(10.0), program(4)) == 8 * 16 + CONSTANTS + 8 * 32


@pytest.mark.parametrize("queue", [0, 2])
@pytest.mark.parametrize("tiles", [1, 4])
def test_energy_is_of_what_was_busy(queue, tiles):
    """Cores and unit by their cycles, transfers and fetched constants by their bytes."""
    core, unit, byte, fetched = (Figure(v, v, v, "made up") for v in (2.0, 7.0, 0.5, 11.0))
    timing, energy = Timing(100.0, queue, program=30.0), Energy(core, {"chip": unit}, byte, fetched)
    steps = [
        SimulatedStep("a", "chip", LAYER, program(tiles), 0.0, 0.0, fetched=40),
        SimulatedStep("b", "core", None, None, 50.0, 50.0),
    ]
    first, second = ScratchpadSimulator(timing, energy).run(steps).steps
    moved = 8 * 16 + CONSTANTS + 8 * 32
    cores = timing.offload + tiles * timing.program
    assert first.picojoules == cores * 2.0 + tiles * 100.0 * 7.0 + moved * 0.5 + 40 * 11.0
    assert second.picojoules == 100.0
    assert {s.picojoules for s in ScratchpadSimulator(timing).run(steps).steps} == {None}


def test_single_buffers_serialise():
    assert cycles(Timing(100.0), program(4, double=())) == (
        CONSTANTS + 4 * (2 * 16) + 4 * 100 + 4 * (2 * 32)
    )


def test_programming_hides_behind_the_first_loads_and_the_job_before():
    first = CONSTANTS + 2 * 16
    shown = cycles(Timing(1000.0, 2, program=300.0), program(4))
    assert shown == first + 4 * 1000 + 2 * 32


def test_what_the_core_does_is_taken_as_modelled():
    step = SimulatedStep("softmax", "core", None, None, 123.0, 123.0)
    run = ScratchpadSimulator(Timing()).run([step])
    assert run.cycles == 123.0
    assert run.microseconds == pytest.approx(123.0)
    assert [row.simulated for row in run.steps] == [False]


def test_constants_are_fetched_while_the_step_before_runs():
    steps = [SimulatedStep("a", "core", None, None, 100.0, 100.0, fetched=40)]
    steps += [SimulatedStep(name, "core", None, None, 100.0, 100.0, 140) for name in "bc"]
    run = ScratchpadSimulator(Timing()).run(steps)
    # a waits for its 40; b's 140 begin with them and outlast a by 40; so do c's, behind b's.
    assert [row.cycles for row in run.steps] == [140.0, 40.0 + 100.0, 40.0 + 100.0]


def test_late_constants_are_fetched_once_the_step_before_is_over():
    steps = [SimulatedStep("a", "core", None, None, 100.0, 100.0, fetched=40)]
    steps += [SimulatedStep("b", "core", None, None, 100.0, 100.0, 140, late=True)]
    steps += [SimulatedStep("c", "core", None, None, 100.0, 100.0, 140)]
    run = ScratchpadSimulator(Timing()).run(steps)
    # c's begin with b, behind those of b.
    assert [row.cycles for row in run.steps] == [140.0, 140.0 + 100.0, 40.0 + 100.0]


def test_the_timeline_names_units():
    step = SimulatedStep("layer", "chip", LAYER, program(4), 0.0, 0.0)
    run = ScratchpadSimulator(Timing()).run([step])
    assert set(run.utilisation()) == {"control core", "controller", "DMA", "unit"}
    assert '"unit"' in run.trace_json()


def two_layers(first):
    """A layer of one tile, then one whose weights are loaded while the first one runs."""
    mapping = Mapping((), (), 0, tuple(Cut(o.name, "L1", 0) for o in LAYER.operands))
    second = tile_program(LAYER, Chip(None), mapping, {"weight": "ahead"})
    steps = [
        SimulatedStep(str(index), "chip", LAYER, tiles, 0.0, 0.0)
        for index, tiles in enumerate((first, second))
    ]
    return ScratchpadSimulator(Timing(1000.0)).run(steps)


def test_constants_are_loaded_while_the_layer_before_works():
    run = two_layers(program(1))
    rest = 8 * 16 + CONSTANTS - 32 * 16 + 1000 + 8 * 32
    assert [row.cycles for row in run.steps] == [
        Timing().offload + 8 * 16 + CONSTANTS + 1000 + 8 * 32,
        rest,
    ]


def test_what_no_layer_loaded_ahead_is_loaded_at_once():
    mapping = Mapping((), (), 0, tuple(Cut(o.name, "L1", 0) for o in LAYER.operands))
    alone = tile_program(LAYER, Chip(None), mapping, {"weight": "ahead"})
    assert cycles(Timing(), alone) == 8 * 16 + CONSTANTS + 100 + 8 * 32


def test_what_stays_is_not_moved():
    mapping = Mapping((), (), 0, tuple(Cut(o.name, "L1", 0) for o in LAYER.operands))
    stays = tile_program(LAYER, Chip(None), mapping, {"x": "never", "y": "never"})
    assert cycles(Timing(), stays) == CONSTANTS + 100
