"""Loads and stores of the kernels of GAP9's cluster, counted on an emulated core.

    python benchmarks/gap9_accesses.py [--kinds KIND ...] [--tiles N]

The emitted kernels are compiled by GCC 12 at -O3, for plain rv32imc and with an instruction in the
place of each of Xpulp's (`gap9_workers.py`), and run random layers on each of eight workers. All
that a worker loads or stores lies in L1. `ACCESSES` of `cost_models/pulp_accesses.py` is what is
printed: accesses of the busiest worker by what it does how often (`cost_models/pulp_plain.py`),
least squares, relative, of the layers with even numbers, held against the others.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gap9_layers
import numpy as np
from gap9_core import accesses
from gap9_kernels import Sample, Workers, build, errors, fitted
from gap9_workers import KINDS, stand_in

from match_aie.cost_models.pulp_accesses import accesses_of
from match_aie.cost_models.pulp_plain import InstructionSet

TILES, SEED = 96, 7


class Accessing(Workers):
    """Kernels whose cycles are their loads and stores."""

    def _block(self, core: Any, address: int, size: int, data: object) -> None:
        if (address, size) not in self._found:
            self._found[address, size] = accesses(bytes(core.mem_read(address, size)))
        self._cycles += self._found[address, size]

    def __init__(self, elf: Path) -> None:
        """Load them."""
        super().__init__(elf)
        self._found: dict[tuple[int, int], int] = {}


def of_kind(
    kind: str, workers: Accessing, tiles: int, instructions: InstructionSet
) -> dict[str, list[Sample]]:
    """Random layers of a kernel, by what makes its accesses: so many of each, if they are met."""
    found: dict[str, list[Sample]] = {}
    for number in range(8 * tiles):
        case = gap9_layers.random_case(kind, np.random.default_rng([SEED, number]))
        samples = found.setdefault(accesses_of(case.workload, instructions), [])
        if len(samples) < tiles:
            tile = {dim: size for dim, (_, size) in case.ranges.items()}
            taken = workers.busiest(case)
            samples.append(Sample(case.workload, tile, taken, instructions))
    return found


def main() -> None:
    """Print what every kernel's parts access, and how far that is off."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kinds", nargs="*", default=[kind for kind in KINDS if kind != "softmax"])
    parser.add_argument("--tiles", type=int, default=TILES)
    options = parser.parse_args()
    makers: dict[InstructionSet, Callable[[Path], Path]] = {"xpulp": stand_in, "rv32imc": build}
    for name, make in makers.items():
        with tempfile.TemporaryDirectory() as folder:
            workers = Accessing(make(Path(folder)))
            print(f"    {name!r}: {{")
            for kind in options.kinds:
                for known, found in of_kind(kind, workers, options.tiles, name).items():
                    each = {part: n for part, n in fitted(found[0::2]).items() if n}
                    off = abs(100 * errors(each, found[1::2]))
                    print(f"        {known!r}: {each!r},")
                    print(f"        # held back: {off.mean():.1f} % off, {off.max():.1f} at worst")
            print("    },", flush=True)


if __name__ == "__main__":
    main()
