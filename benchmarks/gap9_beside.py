"""Networks on GAP9 with both engines at the same time, and one after the other.

    python benchmarks/gap9_beside.py [--networks NAME ...] [--json FILE]

Simulated, from the uint8 input to the last integer tensor at 260 MHz; `branches` is a network of
two branches (`tests/networks`). Overlap is when NE16 and the cluster both work. Banks of L1 are
shared as by PULP's interconnect; both engines are also planned and simulated with GVSoC's banks,
and with the most favourable assumption (`gap9_banks.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import product

from gap9_bench import NETWORKS, Bench, Row, by_network, inner_cycles, row

from match_aie.hardware import SimulatedRun
from match_aie.lowering.near import list_bytes
from match_aie.lowering.program import Step
from match_aie.targets.gap9 import GAP9
from match_aie.targets.gap9.timing.banks import Banks
from match_aie.targets.gap9.timing.network import Gap9Timing

CASES = (*NETWORKS, "branches")


def overlap(run: SimulatedRun) -> float:
    """Cycles in which kernels of NE16 and the cluster are both running."""
    spans: dict[str, list[tuple[float, float]]] = {"NE16": [], "cluster": []}
    for event in run.timeline.events:
        if event.category == "kernel":
            spans[event.resource].append((event.start, event.end))
    both = product(*spans.values())
    return sum(max(0.0, min(a[1], b[1]) - max(a[0], b[0])) for a, b in both)


def near(step: Step) -> bool:
    """Whether its list of tiles lies in L1."""
    return step.layer is not None and step.layer.tiles is not None and step.layer.tiles.near


def beside_rows(bench: Bench, name: str) -> Iterator[Row]:
    """A network with both engines and with one at a time."""
    taken = {}
    for metric, on in (("simulated_ms", True), ("one_engine_ms", False)):
        net = bench.compile(name, GAP9(beside=on))
        run = net.simulate()
        ms = 1e3 / run.frequency_hz
        predicted, taken[on] = inner_cycles(net, run)
        pairs = len(net.program.schedule.beside)
        note = f"{pairs} pairs of {len(net.program.schedule.layers)} layers, 260 MHz"
        yield row(name, metric, taken[on] * ms, "ms", "simulated", note)
        modelled = "predicted_ms" if on else "one_engine_predicted_ms"
        yield row(name, modelled, predicted * ms, "ms", "modelled", note)
        if on:
            yield row(name, "overlap_ms", overlap(run) * ms, "ms", "simulated", note)
            yield row(name, "pairs", pairs, "", "simulated", note)
            nbytes = sum(list_bytes(step) for step in net.program.schedule.steps if near(step))
            more = Gap9Timing(run.frequency_hz).place(nbytes)
            placed = f"{nbytes} bytes of lists to L1, once, in no other figure"
            yield row(name, "first_run_more_ms", more * ms, "ms", "simulated", placed)
    shorter = 100 * (1 - taken[True] / taken[False])
    yield row(name, "shorter_percent", shorter, "%", "simulated", "of the time of one at a time")
    yield from bank_rows(bench, name, taken[False])


def bank_rows(bench: Bench, name: str, one: float) -> Iterator[Row]:
    """A network planned and simulated for other banks of L1 than the default's.

    Args:
        bench: of all networks.
        name: of the network.
        one: cycles of one engine at a time, which never wait for each other.
    """
    banks: Banks
    for banks, about in (("assumed", "an assumption"), ("in_turn", "GVSoC's banks")):
        net = bench.compile(name, GAP9(banks=banks))
        run = net.simulate(record=False)
        _, cycles = inner_cycles(net, run)
        note = f"{about}, {len(net.program.schedule.beside)} pairs"
        yield row(name, f"{banks}_ms", 1e3 * cycles / run.frequency_hz, "ms", "simulated", note)
        shorter = 100 * (1 - cycles / one)
        yield row(name, f"{banks}_shorter_percent", shorter, "%", "simulated", note)


def main() -> None:
    """Print the rows, and write them."""
    by_network(__doc__, CASES, lambda folder: partial(beside_rows, Bench(folder)))


if __name__ == "__main__":
    main()
