"""GAP9 with fewer modules, with less L1, and single layers of many sizes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from gap9_bench import Bench, Row, inner_cycles, row

from match_aie.errors import Infeasible
from match_aie.hardware import BuildProfile, Converted, ExecModule
from match_aie.lowering.tiles import tile_program
from match_aie.mapping import search
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
L1_KILOBYTES = (128, 64, 32, 24, 16, 12, 8)


class QuickBuild(GAP9):
    """GAP9 whose emulation is built with less optimisation: the same bits, sooner."""

    def build_profile(self) -> BuildProfile:
        """As GAP9's, but for -O1."""
        return BuildProfile(flags=("-O1", "-DMA_EMULATION"))


def module_rows(bench: Bench, network: str) -> list[Row]:
    """A network with some modules only; float ends are in, since the core fuses across them."""
    found = []
    for name, modules in MODULES.items():
        run = bench.compile(network, GAP9(modules=modules)).simulate(record=False)
        per_ms = run.frequency_hz / 1e3
        share = sum(step.cycles for step in run.steps if step.simulated) / run.cycles
        note = f"whole network; {100 * share:.0f} % of it simulated, the core's part modelled"
        predicted = sum(step.predicted for step in run.steps)
        case = f"{network}/modules {name}"
        how = "simulated" if share else "modelled"
        found.append(row(case, "total_ms", run.cycles / per_ms, "ms", how, note))
        found.append(row(case, "predicted_total_ms", predicted / per_ms, "ms", "modelled", ""))
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
        data = np.random.default_rng(kilobytes).standard_normal(port.shape).astype(np.float32)
        if not project.run(data).matches_reference:
            raise SystemExit(f"{network}, {kilobytes} kB: emulation differs from the reference")
        layers = [layer.module for layer in net.program.schedule.layers]
        counts = ", ".join(f"{layers.count(m)} on {m}" for m in sorted(set(layers)))
        note = f"{net.target.options()['l1_bytes']} bytes usable; {counts}; equals the reference"
        case = f"{network}/l1 {kilobytes} kB"
        found.append(row(case, "simulated_ms", cycles / run.frequency_hz * 1e3, "ms", "simulated", note))
    return found


def micro_rows() -> list[Row]:
    """Single layers."""
    return []
