"""Networks on GAP9 with both engines at the same time, and one after the other.

    python benchmarks/gap9_beside.py [--networks NAME ...] [--json FILE]

Simulated, from the uint8 input to the last integer tensor at 260 MHz; `branches` is a network of
two branches, `branches_even` one whose branches take about as long (`tests/networks`). Overlap is
when NE16 and the cluster both work. Banks of L1 are shared as by PULP's interconnect; the same plan
is also simulated with GVSoC's banks, and with seven workers beside NE16. Rows `priority_`,
`in_turn_` and `assumed_` are planned for and simulated with one rule alone (`gap9_banks.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import product

from gap9_bench import NETWORKS, Bench, Row, by_network, inner_cycles, row, simulated_with

from match_aie.hardware import SimulatedRun
from match_aie.lowering.near import list_bytes
from match_aie.lowering.program import NetworkProgram, Step
from match_aie.targets.gap9 import GAP9
from match_aie.targets.gap9.timing.banks import Banks
from match_aie.targets.gap9.timing.network import Gap9Timing

CASES = (*NETWORKS, "branches", "branches_even")

#: What a plan may be made for alone.
RULES: dict[Banks, str] = {
    "priority": "PULP's banks",
    "in_turn": "GVSoC's banks",
    "assumed": "an assumption",
}

#: Banks and cores with which the default's plan is simulated, too; its own are PULP's, and nine.
OTHERWISE: tuple[tuple[Banks, int], ...] = (("in_turn", 9), ("priority", 8), ("in_turn", 8))


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


def pairs_of(program: NetworkProgram) -> int:
    """Pairs of layers side by side; of more in two lanes half as many as these are."""
    return sum(len(one.lanes) // 2 for one in program.schedule.beside)


def beside_rows(bench: Bench, name: str) -> Iterator[Row]:
    """A network with both engines and with one at a time."""
    taken = {}
    for metric, on in (("simulated_ms", True), ("one_engine_ms", False)):
        net = bench.compile(name, GAP9(beside=on))
        run = net.simulate()
        ms = 1e3 / run.frequency_hz
        predicted, taken[on] = inner_cycles(net, run)
        pairs = pairs_of(net.program)
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
    both = bench.compile(name, GAP9())
    for banks, cores in OTHERWISE:
        run = simulated_with(both, banks=banks, cores=cores)
        about = f"the default's plan with banks {banks!r}, {cores} cores"
        yield from less(
            name, f"{banks}_{cores}_cores", inner_cycles(both, run)[1], taken[False], about
        )
    yield from bank_rows(bench, name, taken[False])


def less(name: str, case: str, cycles: float, one: float, note: str) -> Iterator[Row]:
    """Milliseconds of both engines, and by how much they are shorter.

    Args:
        name: of the network.
        case: of the metrics.
        cycles: of both engines.
        one: cycles of one engine at a time, which never wait for each other.
        note: on them.
    """
    yield row(name, f"{case}_ms", 1e3 * cycles / GAP9().frequency, "ms", "simulated", note)
    yield row(name, f"{case}_shorter_percent", 100 * (1 - cycles / one), "%", "simulated", note)


def bank_rows(bench: Bench, name: str, one: float) -> Iterator[Row]:
    """A network planned for one rule of L1's banks alone, and simulated with it.

    Args:
        bench: of all networks.
        name: of the network.
        one: cycles of one engine at a time, which never wait for each other.
    """
    for banks, about in RULES.items():
        net = bench.compile(name, GAP9(banks=banks))
        run = net.simulate(record=False)
        _, cycles = inner_cycles(net, run)
        note = f"{about}, {pairs_of(net.program)} pairs"
        yield from less(name, banks, cycles, one, note)


def main() -> None:
    """Print the rows, and write them."""
    by_network(__doc__, CASES, lambda folder: partial(beside_rows, Bench(folder)))


if __name__ == "__main__":
    main()
