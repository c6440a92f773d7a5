"""Lines of instructions that GAP9's controller fetches anew, counted step by step in emitted C.

    python benchmarks/gap9_fetches.py [--model FILE] [--project FOLDER]

The C runs on an emulated core as in `gap9_controller.py`, kernels on the first of the workers with
it; every line of 16 bytes goes through two caches, as the run before left them: one of `FIRST`
bytes, of `WORKER` for workers, and one of `SHARED` that the cluster's cores have together. Sizes
are those of GVSoC's public model of pulp-open (pulp/chips/pulp_open/cluster.json,
gvsoc/gvsoc-pulp@a92764c), which gives a ninth core 2 KiB (`l0_cc`). GAP9's own are not published.
PMSIS is a stub. What a line takes is `Access` of `targets/gap9/timing/controller.py`;
`Code.entered` there has the means that are printed last.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from gap9_core import Cache
from gap9_count import FIRST, Run, build, entered
from generated import network

import match_aie
from match_aie.codegen.manifest import FILE
from match_aie.targets.gap9 import GAP9
from match_aie.targets.gap9.timing.controller import Access
from match_aie.toolchain.record import LayerRecord, parse

#: Bytes of a worker's cache, and of the shared one.
WORKER, SHARED = 512, 4096
#: What is fetched where nothing else is named.
NETWORKS = ("resnet8_u8.onnx", "dscnn_u8.onnx", "dae_u8.onnx")


@dataclass(frozen=True)
class Step:
    """A layer: its name and module, and the controller's lines that missed each cache."""

    name: str
    module: str
    near: int
    far: int

    @property
    def cycles(self) -> float:
        """That the controller waits, by the public model's figures."""
        return self.near * Access().near + self.far * Access().far


class _Fetches(Run):
    """A program that runs behind its caches."""

    def __init__(self, elf: Path, layers: list[list[LayerRecord]], first: int) -> None:
        super().__init__(elf, layers)
        self._first = Cache(first)
        self._worker, self._shared = Cache(WORKER), Cache(SHARED)
        self._lines = [0, 0]
        self.steps: list[Step] = []

    def forget(self) -> None:
        """Begin again, with what caches and memories hold now."""
        self._found.clear()
        self.steps.clear()

    def _fetch(self, line: int) -> None:
        if self._frames[-1].part == "kernel":
            if not self._worker.holds(line):
                self._shared.holds(line)
        elif not self._first.holds(line):
            self._lines[0] += 1
            self._lines[1] += not self._shared.holds(line)

    def _close(self) -> None:
        super()._close()
        (layer,) = self._layers[len(self.steps)]
        self.steps.append(Step(layer.name, layer.module, *self._lines))
        self._lines = [0, 0]


def fetched(project: Path, first: int = FIRST) -> list[Step]:
    """Steps of an emitted project's second run, one engine at a time.

    Args:
        project: its folder.
        first: bytes of the controller's own cache.
    """
    record = parse(json.loads((project / FILE).read_text()), project)
    with tempfile.TemporaryDirectory() as folder:
        elf = build(project, Path(folder), record.network, kernels=True)
        run = _Fetches(elf, entered(record), first)
        run.run()
        run.forget()
        run.run()
    return run.steps


def situations(networks: Sequence[Sequence[Step]]) -> dict[tuple[str, str], float]:
    """Mean lines from L2 of a step, by its module and situation, as `Entered` names them."""
    found = defaultdict(list)
    for steps in networks:
        seen = [step.module for step in steps]
        for at, step in enumerate(steps):
            again = "same" if seen[at - 1] == step.module else "other"
            situation = again if step.module in seen[:at] else "first"
            found[step.module, situation].append(step.far)
            found[step.module, "mean"].append(step.far)
    return {key: sum(lines) / len(lines) for key, lines in sorted(found.items())}


def emitted(model: str, folder: Path) -> Path:
    """A generated network's project, one engine at a time."""
    match_aie.compile(str(network(model)), GAP9(beside=False), integer_io=True).write(folder)
    return folder


def lines(steps: Sequence[Step]) -> Iterator[str]:
    """What is printed of a network."""
    yield f"{sum(step.cycles for step in steps):,.0f} cycles (counted)"
    for step in steps:
        yield f"  {step.name}: {step.near} lines, {step.far} from L2, {step.cycles:,.0f} cycles"


def main() -> None:
    """Print the steps of networks, one engine at a time, and the means of situations."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", nargs="*", default=NETWORKS)
    parser.add_argument("--project", type=Path, help="an emitted folder instead")
    parser.add_argument("--first", type=int, default=FIRST, help="bytes of the controller's cache")
    chosen = parser.parse_args()
    networks = []
    with tempfile.TemporaryDirectory() as folder:
        projects = (
            [chosen.project.resolve()]
            if chosen.project
            else [emitted(model, Path(folder) / model) for model in chosen.models]
        )
        for project in projects:
            networks.append(fetched(project, chosen.first))
            print("\n".join(lines(networks[-1])))
    for (module, situation), far in situations(networks).items():
        print(f"{module} {situation}: {far:.1f}")


if __name__ == "__main__":
    main()
