"""Lines of instructions that GAP9's controller fetches anew, counted step by step in emitted C.

    python benchmarks/gap9_fetches.py [--model FILE] [--project FOLDER]

The C runs on an emulated core as in `gap9_controller.py`, once, and every line of 16 bytes that it
enters goes through two caches, cold at the begin: the controller's own, of each of `FIRST` bytes,
and one of 4 KiB that the cluster's cores share; kernels of these are not run, nor is PMSIS, a
stub. Ways, line and replacement are those of GVSoC's public model of pulp-open
(pulp/chips/pulp_open/cluster.json, gvsoc/gvsoc-pulp@a92764c; models/cache/cache_impl.cpp,
gvsoc/gvsoc-core@0148c68), where workers have 512 bytes of their own and a ninth core (`l0_cc`) 2
KiB. GAP9's own sizes are not published. Cycles are what these files say that a line takes: 2
into the first cache, and 2 + 2 + 12 more from L2. Nothing is fitted; the simulator has none of it.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from gap9_count import Run, build
from generated import network

import match_aie
from match_aie.codegen.manifest import FILE
from match_aie.targets.gap9 import GAP9
from match_aie.toolchain.record import LayerRecord, parse

#: Bytes of the controller's own cache, and of the shared one.
FIRST, SHARED = (512, 2048), 4096
LINE, WAYS = 16, 4
#: Cycles of a line into the first cache, and more where the shared one lacks it.
NEAR, FAR = 2, 2 + 2 + 12


@dataclass
class Cache:
    """Lines by set; a way is replaced at random, by a shift register of eight bits.

    Attributes:
        nbytes: of all lines.
        misses: so far.
    """

    nbytes: int
    misses: int = 0
    _sets: list[list[int]] = field(init=False)
    _register: int = 0

    def __post_init__(self) -> None:
        """Empty."""
        self._sets = [[-1] * WAYS for _ in range(self.nbytes // (LINE * WAYS))]

    def holds(self, line: int) -> bool:
        """Whether the line is there; it is from now on."""
        ways = self._sets[line % len(self._sets)]
        if line in ways:
            return True
        taps = sum(self._register >> bit & 1 for bit in (7, 3, 2, 1))
        self._register = (self._register << 1 | (taps + 1) % 2) & 0xFF
        ways[self._register >> 1 & WAYS - 1] = line
        self.misses += 1
        return False


@dataclass(frozen=True)
class Step:
    """A layer, or two side by side: its name, and lines that missed each cache."""

    name: str
    near: int
    far: int

    @property
    def cycles(self) -> int:
        """That the controller waits, by the public model's figures."""
        return self.near * NEAR + self.far * FAR


class _Fetches(Run):
    """A program that runs behind its caches."""

    def __init__(self, elf: Path, layers: list[LayerRecord], first: int) -> None:
        super().__init__(elf, layers)
        self._own, self._shared = Cache(first), Cache(SHARED)
        self._line, self._before = -1, (0, 0)
        self.steps: list[Step] = []

    def _block(self, core: object, address: int, size: int, data: object) -> None:
        super()._block(core, address, size, data)
        for line in range(address // LINE, (address + size - 1) // LINE + 1):
            if line != self._line and not self._own.holds(line):
                self._shared.holds(line)
            self._line = line

    def _close(self) -> None:
        super()._close()
        found = self._own.misses, self._shared.misses
        near, far = (now - then for now, then in zip(found, self._before, strict=True))
        self._before = found
        self.steps.append(Step(self._found[-1].name, near, far))


def fetched(project: Path, first: int) -> list[Step]:
    """Steps of an emitted project's first run, with so many bytes of a first cache."""
    record = parse(json.loads((project / FILE).read_text()), project)
    layers = [record.layers[step.layer] for step in record.steps if step.layer]
    with tempfile.TemporaryDirectory() as folder:
        elf = build(project, Path(folder), record.network)
        run = _Fetches(elf, [layer for layer in layers if layer.tiles is not None], first)
        run.run()
    return run.steps


def lines(project: Path) -> Iterator[str]:
    """What is printed."""
    for first in FIRST:
        steps = fetched(project, first)
        yield f"{first} bytes: {sum(step.cycles for step in steps):,} cycles (counted)"
        for step in steps:
            yield f"  {step.name}: {step.near} lines, {step.far} from L2, {step.cycles:,} cycles"


def main() -> None:
    """Print the steps of a network, one engine at a time."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="resnet8_u8.onnx")
    parser.add_argument("--project", type=Path, help="an emitted folder instead")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        project = chosen.project or Path(folder) / "project"
        if chosen.project is None:
            target = GAP9(beside=False)
            match_aie.compile(str(network(chosen.model)), target, integer_io=True).write(project)
        print("\n".join(lines(project.resolve())))


if __name__ == "__main__":
    main()
