"""Networks of dense layers on the AI Engine array: repeated runs, or the latency of a single one.

    python benchmarks/aie_network.py [--cases NAME ...] [--emulate] [--json FILE]

Each network is compiled by `match.compile` for a VEK280, or for the device that its name ends with
(int8, bias, ReLU, weights resident, fed by streams of programmable logic, or by the chip's memory).
Its program is executed for two runs with different data, and counts only where both results equal
the reference bit for bit. Then it is simulated until runs follow each other at a steady pace, and
for latency a single run, from its first word in to its last word out. Seconds, of processors, are
measured; nothing here ran on hardware. With `--emulate` the emitted project of each is also built
and run twice here, as `match-aie run` does: its AI Engine sources as they are, in the emulation of
the vendor's API, every layer compared with its reference bit for bit. Images that follow each other
(`aie_images.py`), networks that are too large for the array (`aie_phases.py`) and exercises of
placing blocks (`aie_placement.py`) are cases, too.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
from aie_images import IMAGES, image_rows
from aie_phases import PHASED, phased_rows
from aie_placement import exercises, placement_rows
from aie_rest import products, rest_rows
from machine import machine_row
from rows import duration, figure, processor, report
from versal import dense_network

import match_aie as match
from match_aie.compilation import Compilation
from match_aie.hardware import Cost
from match_aie.targets.aie_ml import device
from match_aie.targets.aie_ml.array import ArrayProgram, Assumed
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.execute import execute
from match_aie.targets.aie_ml.graph.plan import MemoryKind
from match_aie.targets.aie_ml.graph.spread_plan import Aim, SpreadPlan
from match_aie.targets.aie_ml.graph.timed_splits import MEMORY_GBPS
from match_aie.targets.aie_ml.simulate import simulate_program
from match_aie.targets.aie_ml.simulate.run import run_layer
from match_aie.targets.versal import VersalAIEML
from match_aie.targets.versal.executing import stretches
from match_aie.targets.versal.module import plan_of

Row = dict[str, object]


@dataclass(frozen=True)
class Case:
    """A network: rows of a call, and its input's columns followed by every layer's output's.

    Attributes:
        rows: of a call.
        widths: of the input and of every layer's output.
        aim: what it is compiled for.
        step: 2^step is the scale of its weights.
        memory: what feeds it.
        device: whose array runs it.
    """

    rows: int
    widths: tuple[int, ...]
    aim: Aim = "throughput"
    step: int = -10
    memory: MemoryKind = "plio"
    device: str = "vek280"

    @property
    def array(self) -> Device:
        """Of the device."""
        return device(self.device)

    @property
    def macs(self) -> int:
        """Multiply-accumulates of a call, no padding."""
        return self.rows * sum(a * b for a, b in pairwise(self.widths))


#: A jet-tagging network: columns of its input and of every layer's output.
JET = (16, 64, 64, 32, 5)

CASES = {
    "mlp7_512": Case(128, (512,) * 8),
    "mlp2_1024": Case(256, (1024,) * 3),
    "token_s16": Case(512, (196, 256, 196)),
    "channel_s16": Case(196, (512, 2048, 512)),
    "token_l16": Case(1024, (196, 512, 196)),
    "deep_45x64": Case(1, (64,) * 46, "latency", -8),
    "deep_45x64_stream": Case(1, (64,) * 46, step=-8),
    "jet_latency": Case(1, JET, "latency"),
    "mlp7_512_ddr": Case(128, (512,) * 8, memory="ddr"),
    "mlp2_1024_ddr": Case(256, (1024,) * 3, memory="ddr"),
    "token_s16_ddr": Case(512, (196, 256, 196), memory="ddr"),
    "channel_s16_ddr": Case(196, (512, 2048, 512), memory="ddr"),
    "token_l16_ddr": Case(1024, (196, 512, 196), memory="ddr"),
    "jet_vek385": Case(1, JET, "latency", device="vek385"),
    "jet_vck190": Case(1, JET, "latency", device="vck190"),
    "mlp7_128_vck190": Case(128, (128,) * 8, step=-9, device="vck190"),
}

#: Cycles of a cascade's transfer that are shown beside what is assumed.
CASCADES = (2, 8, 16)


@dataclass(frozen=True, eq=False)
class Executed:
    """A compiled network whose program gave the reference's results in two runs.

    Attributes:
        net: as compiled.
        program: of the whole network.
        compiling: seconds.
        executing: likewise.
    """

    net: Compilation
    program: ArrayProgram
    compiling: float
    executing: float


def executed(case: Case) -> Executed:
    """Compile a network, execute its program.

    Raises:
        AssertionError: it is not one program, or a result is not the reference's.
    """
    target = VersalAIEML(case.device, modules=("array",), memory=case.memory, optimize_for=case.aim)
    begun = processor()
    net = match.compile(dense_network(case.widths, case.rows, case.step), target, cache=False)
    compiling = processor() - begun
    layers = net.program.schedule.chosen
    assert len(layers) == len(case.widths) - 1, "a layer runs elsewhere"
    runs = []
    for seed in (1, 2):
        (stretch,) = stretches(layers, case.device, np.random.default_rng(seed))
        runs.append(stretch)
    program = runs[0].program
    begun = processor()
    done = execute(program, case.array, [run.tensors for run in runs])
    executing = processor() - begun
    for number, run in enumerate(runs):
        wanted = run.results[0][1]
        np.testing.assert_array_equal(done.tensor(wanted, run=number), wanted)
        most = min(20, max(1, wanted.size // 16))
        assert np.unique(wanted).size > most, "results too much alike to show anything"
    first, second = (run.results[0][1] for run in runs)
    assert not np.array_equal(first, second), "results do not depend on the input"
    return Executed(net, program, compiling, executing)


def emulated(name: str, case: Case, net: Compilation) -> list[Row]:
    """Build the emitted project of a compiled network, run it with two inputs.

    Raises:
        AssertionError: a layer's result is not the reference's, or results show nothing.
    """
    begun = processor()
    outputs: list[np.ndarray] = []
    with tempfile.TemporaryDirectory(prefix="aie_network_") as folder:
        project = net.write(Path(folder, "project"))
        (port,) = project.record.inputs
        for seed in (1, 2):
            given = np.random.default_rng(seed).integers(-128, 128, port.shape, np.int8)
            result = project.run(given, timeout=None)
            assert result.matches_reference, f"not the reference's: {result.mismatches}"
            assert result.layers_checked == len(case.widths) - 1, "a layer was not compared"
            outputs += result.outputs.values()
    first, second = outputs
    most = min(20, max(1, first.size // 16))
    assert np.unique(first).size > most, "results too much alike to show anything"
    assert not np.array_equal(first, second), "results do not depend on the input"
    seconds, note = processor() - begun, "C++ built, run twice, compared"
    return [
        figure(name, "emulated", 1, "", "measured", "two runs, every layer equal to its reference"),
        duration(name, "processor_seconds_emulation", seconds, note),
    ]


def rows_of(name: str, case: Case, *, emulate: bool = False) -> list[Row]:
    """All figures of a network; `emulate` those of its emitted project, too."""
    made, array = executed(case), case.array
    tiles = len(made.program.cores)
    begun = processor()
    result = simulate_program(made.program, array)
    simulating = processor() - begun
    # Channels take turns at the chip's memory, which need not repeat: then many runs are averaged.
    assert result.steady or case.memory == "ddr", "no steady pace"
    alone = run_layer(made.program, array).cycles
    paced = result.interval if case.aim == "throughput" else alone
    tops = _tops(case, paced)
    pace = "" if result.steady else "; the mean of many runs, no steady pace"
    note = f"{tiles} tiles, {case.rows} rows a run: {_stages(case, made.net)}"
    plans = _plans(case, made.net)
    costs = _costs(made.net)
    predicted = sum(much for cost in costs for what, much in cost.parts if what != "host")
    rows = [
        figure(name, "executed", 1, "", "measured", "two runs equal to the reference"),
        figure(name, "simulated_tops", tops, "TOPS", "simulated", note),
        figure(name, "simulated_us", _us(case, paced), "us", "simulated", f"{case.aim}{pace}"),
        figure(name, "first_result_us", _us(case, alone), "us", "simulated", "a single run"),
        figure(name, "predicted_us", _us(case, predicted), "us", "modelled"),
        figure(name, "tiles", tiles, "", "modelled", f"of {array.core_tiles}"),
        figure(name, "limit_tops", _limit(case, plans), "TOPS", "modelled", "filled up to parts")
        if case.aim == "throughput"
        else figure(
            name, "interval_us", _us(case, result.interval), "us", "simulated", "repeated runs"
        ),
        duration(name, "seconds", made.compiling, "match.compile"),
        duration(name, "seconds_execution", made.executing, "two runs"),
        duration(name, "seconds_simulation", simulating),
    ]
    if case.aim == "throughput" and case.memory == "plio":
        rows += rest_rows(name, plans, array, result.interval, case.macs)
    if emulate:
        rows += emulated(name, case, made.net)
    if case.memory == "ddr":
        moved = plans[0].moved[0] + plans[-1].moved[1]
        bound = _tops(case, moved * array.clock_ghz / (array.dram_gbps or MEMORY_GBPS))
        note = f"{moved} bytes a run"
        rows.append(figure(name, "limit_memory_tops", bound, "TOPS", "modelled", note))
    varied = [
        (which, Assumed().scaled(factor), f"assumed times of the array at {which}")
        for factor, which in ((0.5, "half"), (2.0, "double"))
    ]
    varied += [
        (f"cascade_{much}", replace(Assumed(), cascade=much), f"{much} cycles a transfer")
        for much in CASCADES
    ]
    for which, assumed, note in varied:
        if case.aim == "throughput":
            cycles = simulate_program(made.program, array, assumed=assumed).interval
        else:
            cycles = run_layer(made.program, array, assumed=assumed).cycles
        for metric, value, unit in (
            ("tops", _tops(case, cycles), "TOPS"),
            ("us", _us(case, cycles), "us"),
        ):
            rows.append(figure(name, f"simulated_{metric}_{which}", value, unit, "simulated", note))
    return rows


def _us(case: Case, cycles: float) -> float:
    return cycles / case.array.clock_ghz / 1000


def _costs(net: Compilation) -> list[Cost]:
    return [step.layer.cost for step in net.program.schedule.steps if step.layer is not None]


def _tops(case: Case, cycles: float) -> float:
    return 2 * case.macs / cycles * case.array.clock_ghz / 1000


def _plans(case: Case, net: Compilation) -> list[SpreadPlan]:
    found = [
        plan_of(layer.workload, case.device, layer.mapping) for layer in net.program.schedule.chosen
    ]
    return [plan for plan in found if isinstance(plan, SpreadPlan)]


def _stages(case: Case, net: Compilation) -> str:
    """Each stage's split: parts of the reduction, the columns, the rows, then copies."""
    found = []
    for plan in _plans(case, net):
        m, copies = plan.timed.mapping, plan.timed.copies
        split = f"{m.cas_length}x{m.column_parts}x{m.row_parts}"
        found.append(split + (f" {copies} times" if copies > 1 else ""))
    return ", ".join(found)


def _limit(case: Case, plans: Sequence[SpreadPlan]) -> float:
    """TOPS if tiles did nothing but their products, those of what is filled up included."""
    return _tops(case, max(products(plan, case.array) for plan in plans))


def main() -> None:
    """Print the table, and write the rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    names = [*CASES, *PHASED, *IMAGES, *exercises()]
    parser.add_argument("--cases", nargs="+", choices=sorted(names), default=names)
    parser.add_argument("--emulate", action="store_true", help="build and run the emitted projects")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows: list[Row] = [machine_row()]
    for name in options.cases:
        if name in IMAGES:
            rows += image_rows(name)
        elif name in PHASED:
            rows += phased_rows(name)
        elif name in CASES:
            rows += rows_of(name, CASES[name], emulate=options.emulate)
        else:
            rows += placement_rows(name)
    report(rows, options.json)


if __name__ == "__main__":
    main()
