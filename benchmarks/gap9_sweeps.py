"""GAP9 with fewer modules, with less L1, and single layers of many sizes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from gap9_bench import Bench, Row, inner_cycles, row
from search import SAME1, convolution

from match_aie.cli.simulating import picojoules
from match_aie.errors import Infeasible
from match_aie.hardware import BuildProfile, Converted, ExecModule, Storage
from match_aie.lowering.tiles import tile_program
from match_aie.mapping import search as search_mappings
from match_aie.simulation import ScratchpadSimulator
from match_aie.targets.gap9 import GAP9
from match_aie.workload import Workload

#: Modules beside the control core, by what the ablation calls them.
MODULES = {
    "all": ("ne16", "cluster"),
    "ne16": ("ne16",),
    "cluster": ("cluster",),
    "cpu": (),
}
CHANNELS, WIDTHS = (1, 16, 64), (2, 4, 8, 16, 32, 64, 128)
L1_KILOBYTES = (128, 64, 32, 24, 16, 12, 8)


class QuickBuild(GAP9):
    """GAP9 whose emulation is built with less optimisation: the same bits, sooner."""

    def build_profile(self) -> BuildProfile:
        """As GAP9's, but for -O1."""
        return BuildProfile(flags=("-O1",))


class Roomy(GAP9):
    """GAP9 with L2 for any network: what the core runs keeps weights of 32 bits, and needs more."""

    def storage(self) -> Storage:
        """No limit."""
        return Storage()


def module_rows(bench: Bench, network: str) -> list[Row]:
    """A network with some modules only; float ends are in, since the core fuses across them."""
    found = []
    for name, modules in MODULES.items():
        run = bench.compile(network, Roomy(modules=modules), floats=True).simulate(record=False)
        per_ms = run.frequency_hz / 1e3
        share = sum(step.cycles for step in run.steps if step.simulated) / run.cycles
        note = f"whole network, L2 without limit; {100 * share:.0f} % simulated, the rest modelled"
        predicted = sum(step.predicted for step in run.steps)
        case = f"{network}/modules {name}"
        how = "simulated" if share else "modelled"
        found.append(row(case, "total_ms", run.cycles / per_ms, "ms", how, note))
        found.append(row(case, "predicted_total_ms", predicted / per_ms, "ms", "modelled", ""))
        energy = picojoules(run)
        assert energy is not None
        of = "work, not idle units or leakage; the core's cycles are modelled"
        found.append(row(case, "energy_uj", energy / 1e6, "uJ", how, of))
    return found


def l1_rows(bench: Bench, network: str) -> list[Row]:
    """A network with less and less L1: time, and that emulation equals the reference."""
    found = []
    for kilobytes in L1_KILOBYTES:
        net = bench.compile(network, QuickBuild(l1_bytes=kilobytes << 10))
        run = net.simulate(record=False)
        _, cycles = inner_cycles(net, run)
        project = net.write(bench.folder / f"{network}_{kilobytes}")
        port = net.inputs[0]
        data = np.random.default_rng(kilobytes).integers(0, 256, port.shape, dtype=np.uint8)
        if not project.run(data).matches_reference:
            raise SystemExit(f"{network}, {kilobytes} kB: emulation differs from the reference")
        layers = [layer.module for layer in net.program.schedule.layers]
        counts = ", ".join(f"{layers.count(m)} on {m}" for m in sorted(set(layers)))
        note = f"{net.target.options()['l1_bytes']} bytes usable; {counts}; equals the reference"
        case = f"{network}/l1 {kilobytes} kB"
        milliseconds = cycles / run.frequency_hz * 1e3
        found.append(row(case, "simulated_ms", milliseconds, "ms", "simulated", note))
    return found


def micro_rows() -> list[Row]:
    """Single layers on whole images: MAC per cycle on each module that takes them."""
    target = GAP9()
    simulator = target.simulator()
    assert isinstance(simulator, ScratchpadSimulator)
    found = []
    for name, workload in micro_layers():
        for module in target.modules():
            converted = prepared(module, workload)
            if converted is None:
                continue
            case = f"micro/{name}/{module.name}"
            found += _micro(case, module, converted, simulator)
    return found


def _micro(
    case: str, module: ExecModule, layer: Converted, simulator: ScratchpadSimulator
) -> list[Row]:
    best = search_mappings(layer.workload, module)
    if isinstance(best, Infeasible):
        return [row(case, "feasible", 0, "", "modelled", str(best).splitlines()[0])]
    tiles = tile_program(layer.workload, module, best[0].mapping)
    assert tiles is not None
    cycles = simulator.layer(module.name, layer.workload, replace(tiles, near=True))
    macs = layer.workload.macs
    note = f"{macs} MAC, with the hand-over"
    return [
        row(case, "predicted_mac_per_cycle", macs / best[0].cost.cycles, "MAC/cycle", "modelled"),
        row(case, "simulated_mac_per_cycle", macs / cycles, "MAC/cycle", "simulated", note),
    ]


def micro_layers() -> Iterator[tuple[str, Workload]]:
    """3x3 and depthwise 3x3, C = K, on square images; one channel is both."""
    for channels in CHANNELS:
        for width in WIDTHS:
            image = (width, width, channels)
            yield f"3x3 C{channels} W{width}", convolution(image, channels, (3, 3), 1, SAME1)
            if channels > 1:
                yield f"dw3x3 C{channels} W{width}", convolution(image, 0, (3, 3), 1, SAME1)


def prepared(module: ExecModule, workload: Workload) -> Converted | None:
    """The layer with random weights in the module's arithmetic; None where it refuses."""
    rng = np.random.default_rng(0)
    constants: dict[str, np.ndarray] = {}
    for operand in workload.constants:
        if operand.dtype == "int8":
            constants[operand.name] = rng.integers(-127, 128, operand.shape).astype(np.int8)
        elif operand.dtype == "float32":
            constants[operand.name] = np.full(operand.shape, 1e-3, np.float32)
        else:
            constants[operand.name] = np.zeros(operand.shape, operand.dtype)
    found = module.convert(workload, constants)
    return None if isinstance(found, str) else found
