"""What the parts of the GAP9 benchmark share: networks compiled once, rows, totals."""

from __future__ import annotations

import argparse
import json
import tempfile
import warnings
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import Any

import generated
from machine import machine_row

import match_aie as match
from match_aie.compilation import Compilation
from match_aie.hardware import SimulatedRun
from match_aie.simulating import simulate
from match_aie.targets.gap9 import GAP9
from match_aie.toolchain.record import parse

#: What is called how in the tables, and the file's name.
NETWORKS = {
    "mobilenet": "mobilenetv1_025_u8",
    "resnet8": "resnet8_u8",
    "dscnn": "dscnn_u8",
    "dae": "dae_u8",
}

Row = dict[str, Any]


def row(case: str, metric: str, value: float, unit: str, provenance: str, note: str = "") -> Row:
    """A row of the table."""
    found = {"case": case, "metric": metric, "value": round(value, 4), "unit": unit}
    return {**found, "provenance": provenance, "note": note}


class Bench:
    """Compiles networks, each once a target, with a cache of searches that begins empty."""

    def __init__(self, folder: Path) -> None:
        """`folder` is for the cache and for projects."""
        self.folder = folder
        self._made: dict[str, Compilation] = {}

    def path(self, network: str) -> Path:
        """The file of a network."""
        return generated.network(f"{NETWORKS.get(network, f'{network}_u8')}.onnx")

    def compile(
        self, network: str, target: GAP9 | None = None, *, floats: bool = False
    ) -> Compilation:
        """A network for `target`, by default GAP9 as it is.

        Its inputs are uint8, unless `floats`: then it quantises what it is given, and may load a
        layer's constants meanwhile.
        """
        chip = target or GAP9()
        key = f"{network} {type(chip).__name__} {sorted(chip.options().items())} {floats}"
        if key not in self._made:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                cache = self.folder / "cache"
                self._made[key] = match.compile(
                    self.path(network), chip, cache=cache, integer_io=not floats
                )
        return self._made[key]


def ends(net: Compilation) -> list[bool]:
    """For every step, whether it belongs to the float ends: floats in or out, or a softmax."""
    schedule = net.program.schedule
    found = []
    for step in schedule.steps:
        types = {schedule.tensor(name).dtype for name in (*step.reads(), *step.writes())}
        softmax = step.layer is not None and step.layer.workload.kind == "softmax"
        found.append("float32" in types or softmax)
    return found


def simulated_with(net: Compilation, **options: Any) -> SimulatedRun:
    """A compiled network, simulated on a GAP9 with other `options` than it was planned for."""
    chip = GAP9(**{**net.target.options(), **options})
    record = parse(json.loads(net.code()["match_aie.json"]), Path(net.symbol))
    return simulate(record, chip, record_events=False)


def inner_cycles(net: Compilation, run: SimulatedRun) -> tuple[float, float]:
    """Predicted and simulated cycles from uint8 input to the last integer tensor."""
    inside = [step for step, end in zip(run.steps, ends(net), strict=True) if not end]
    return sum(step.predicted for step in inside), sum(step.cycles for step in inside)


def by_network(
    about: str | None,
    cases: Collection[str],
    rows_in: Callable[[Path], Callable[[str], Iterable[Row]]],
) -> None:
    """Print the rows of the networks that the command line asks for, and write them.

    Args:
        about: the script's text of help.
        cases: names of networks.
        rows_in: by a scratch folder, what makes a network's rows.
    """
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--networks", nargs="*", default=list(cases), choices=list(cases))
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    rows: list[Row] = [machine_row()]
    with tempfile.TemporaryDirectory() as folder:
        rows_of = rows_in(Path(folder))
        for name in arguments.networks:
            for found in rows_of(name):
                rows.append(found)
                print(*found.values(), flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1) + "\n")
