"""Energy of networks on GAP9, by what they are compiled for, beside the chip's published figures.

    python benchmarks/gap9_energy.py [--networks NAME ...] [--json FILE]

Modelled and simulated joules are of the same figures (`targets/gap9/facts.json`), whose ranges the
notes state; published ones are medians of GreenWaves' own submission. Nothing is fitted to them.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Iterator
from pathlib import Path

from gap9_bench import NETWORKS, Row, row
from generated import network
from machine import machine_row

import match_aie as match
from match_aie.cli.simulating import picojoules
from match_aie.options import OBJECTIVES
from match_aie.targets.gap9 import GAP9

#: uJ an inference, measured by GreenWaves at 0.65 V and 240 MHz (mlcommons/tiny_results_v1.0,
#: closed/greenwaves-technologies/results/gap9_650_240/*/energy/results.txt, median), with its own
#: tool and trained networks.
PUBLISHED = {"mobilenet": 40.801, "resnet8": 27.711, "dscnn": 18.561, "dae": 5.252}


def energy_rows(name: str) -> Iterator[Row]:
    """Cycles and microjoules of the plans for each objective; then what is published."""
    for objective in OBJECTIVES:
        path = network(f"{NETWORKS[name]}.onnx")
        net = match.compile(path, GAP9(), integer_io=True, objective=objective)
        run = net.simulate(record=False)
        modelled, simulated = net.picojoules, picojoules(run)
        assert modelled is not None
        assert simulated is not None
        note = f"compiled for {objective}, integers to integers"
        for metric, value, unit, how in (
            (f"energy_uj_{objective}", modelled / 1e6, "uJ", "modelled"),
            (f"simulated_uj_{objective}", simulated / 1e6, "uJ", "simulated"),
            (f"simulated_ms_{objective}", run.microseconds / 1e3, "ms", "simulated"),
        ):
            yield row(name, metric, value, unit, how, note)
    note = "MLPerf Tiny v1.0, GreenWaves, 0.65 V and 240 MHz, whole chip"
    yield row(name, "energy_uj", PUBLISHED[name], "uJ", "published", note)


def main() -> None:
    """Print the rows, and write them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--networks", nargs="*", default=list(NETWORKS), choices=NETWORKS)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")  # an assumed batch of 1
    rows: list[Row] = [machine_row()]
    for name in arguments.networks:
        for found in energy_rows(name):
            rows.append(found)
            print(found["case"], found["metric"], found["value"], found["unit"], flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
