"""Lines of code that workers of GAP9's cluster fetch in kernels, counted on an emulated core.

    python benchmarks/gap9_workers.py [--kinds KIND ...] [--tiles N] [--plain]

The emitted kernels are compiled by GCC 12 at -O3 for rv32imc, with an instruction in the place of
each of Xpulp's builtins and of its shuffles, and run random layers on each of eight workers, each
with an empty cache (`gap9_core.py`). What hardware loops would save of code is not saved here.
`LINES` of `targets/gap9/timing/fetches.py` is what is printed: the different lines of a call, on
average of all layers, and the lines that a worker's own cache lacks, of the busiest worker, by what
it does how often (`cost_models/pulp_plain.py`): least squares, relative, of the layers with even
numbers, held against the others. With `--plain` only the different lines of a call, of kernels as
they are for rv32imc: `PLAIN_LINES`; what its own cache lacks is counted with their cycles.
"""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gap9_layers
import numpy as np
from gap9_core import LINE, Cache
from gap9_kernels import STACK, STEPS, STOP, WORKERS, Sample, Workers, build, counts

from match_aie.targets.gap9.timing.fetches import SIZES
from tests.cc.gap9 import cluster_harness as harness

KINDS = (
    *("conv2d", "depthwise", "dense", "max_pool2d", "avg_pool2d", "add", "mul", "table"),
    *("softmax", "softmax narrow", "softmax wide", "layer_norm", "matmul", "permute"),
)
TILES, SEED = 32, 7

#: Instructions that stand for Xpulp's: what they compute is of no use, and decides no branch.
STAND_IN = """#ifndef STAND_IN_H
#define STAND_IN_H
#include <stdint.h>
#define MA_XPULP 1
#define ONE(x, y) ({ uint32_t r_; __asm__("xor %0, %1, %2" : "=r"(r_) : "r"((uint32_t)(x)), \\
    "r"((uint32_t)(y))); r_; })
#define MORE(r, x, ...) __asm__("xor %0, %1, %2" : "+r"(r) : "r"((uint32_t)(x)), \\
    "r"((uint32_t)(__VA_ARGS__)))
#define __builtin_pulp_addN_r(x, y, n) ({ int32_t a_ = (x); MORE(a_, y, n); a_; })
#define __builtin_pulp_clipu_r(x, m) ((int32_t)ONE(x, m))
#define __builtin_pulp_pack4(a, b, c, d) ({ uint32_t p_ = 0; MORE(p_, a, b); MORE(p_, c, d); p_; })
#define __builtin_pulp_mac(x, y, s) ({ int32_t m_ = (s); MORE(m_, x, y); m_; })
#define __builtin_pulp_dotsp4(x, y) ((int32_t)ONE(x, y))
#define __builtin_pulp_dotusp4(x, y) ((int32_t)ONE(x, y))
#define __builtin_pulp_sdotsp4(x, y, s) ({ int32_t d_ = (s); MORE(d_, x, y); d_; })
#define __builtin_pulp_sdotusp4(x, y, s) __builtin_pulp_sdotsp4(x, y, s)
#define __builtin_pulp_sdotsp2(x, y, s) __builtin_pulp_sdotsp4(x, y, s)
#define __builtin_pulp_max4(x, y) ONE(x, y)
#define __builtin_pulp_maxu4(x, y) ONE(x, y)
#define __builtin_pulp_min4(x, y) ONE(x, y)
#define __builtin_pulp_minu4(x, y) ONE(x, y)
#define __builtin_shuffle(a, b, ...) ({ uint32_t v_ = (uint32_t)(a); \\
    MORE(v_, b, __VA_ARGS__); (__typeof__(__VA_ARGS__))v_; })
#endif
"""


@dataclass(frozen=True)
class Fetched:
    """A layer's call: lines of the busiest worker that its cache lacks, by size; and all lines."""

    sample: Sample
    misses: dict[int, int]
    lines: int


class Fetching(Workers):
    """Kernels behind a cache of each of `SIZES`."""

    def _block(self, core: Any, address: int, size: int, data: object) -> None:
        for line in range(address // LINE, (address + size - 1) // LINE + 1):
            if line != self._line:
                for cache in self._caches.values():
                    cache.holds(line)
                self._seen.add(line)
            self._line = line

    def lines(self, name: str, core: int, tile: int) -> tuple[dict[int, int], int]:
        """Of one call of a kernel by one core whose caches are empty."""
        from unicorn import riscv_const as r

        self._caches, self._seen, self._line = {n: Cache(n) for n in SIZES}, set[int](), -1
        self._core.mem_write(self._at["core"], core.to_bytes(4, "little"))
        registers = {r.UC_RISCV_REG_A0: tile, r.UC_RISCV_REG_SP: STACK, r.UC_RISCV_REG_RA: STOP}
        for register, value in registers.items():
            self._core.reg_write(register, value)
        self._core.emu_start(self._at[name], STOP)
        return {n: cache.misses for n, cache in self._caches.items()}, len(self._seen)

    def fetched(self, case: harness.Case) -> Fetched:
        """Of the worker that fetches most."""
        name, tile = self._placed(case)
        kernels = STEPS.get(name, (name,))
        found = [self.lines(kernel, core, tile) for kernel in kernels for core in range(WORKERS)]
        most = {n: max(misses[n] for misses, _ in found) for n in SIZES}
        sizes = {dim: size for dim, (_, size) in case.ranges.items()}
        sample = Sample(case.workload, sizes, 0.0, "xpulp")
        return Fetched(sample, most, max(lines for _, lines in found))


def stand_in(folder: Path) -> Path:
    """Kernels as an ELF, with an instruction in the place of each of Xpulp's."""
    (folder / "stand_in.h").write_text(STAND_IN)
    return build(folder, "-include", str(folder / "stand_in.h"))


def of_kind(kind: str, workers: Fetching, tiles: int) -> list[Fetched]:
    """Random layers of a kernel."""
    cases = (
        gap9_layers.random_case(kind, np.random.default_rng([SEED, number]))
        for number in range(tiles)
    )
    return [workers.fetched(case) for case in cases]


def fitted(found: list[Fetched], size: int) -> dict[str, float]:
    """Lines of each part that a cache of `size` lacks, none below zero; a call's lines apart."""
    rows = [counts(one.sample) for one in found]
    names = [name for name in rows[0] if any(row[name] for row in rows)]
    weight = np.array([one.misses[size] for one in found])
    wanted = np.array([one.misses[size] - one.lines for one in found]) / weight
    matrix = np.array([[row[name] for name in names] for row in rows]) / weight[:, None]
    left = list(range(len(names)))
    while left:
        values = np.linalg.lstsq(matrix[:, left], wanted, rcond=None)[0]
        if values.min() >= 0:
            found_by = zip(left, values.round(2).tolist(), strict=True)
            return {names[at]: value for at, value in found_by if value}
        left.remove(left[int(values.argmin())])
    return {}


def main() -> None:
    """Print what every kernel fetches, and how far that is off."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kinds", nargs="*", default=KINDS)
    parser.add_argument("--tiles", type=int, default=TILES)
    parser.add_argument("--plain", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        workers = Fetching((build if options.plain else stand_in)(Path(folder)))
        for kind in options.kinds:
            found = of_kind(kind, workers, options.tiles)
            lines = np.mean([one.lines for one in found])
            if options.plain:
                print(f"        {kind!r}: {lines:.0f},", flush=True)
                continue
            again = {size: fitted(found[0::2], size) for size in SIZES}
            print(f"        {kind!r}: Fetches({lines:.0f}, {again!r}),", flush=True)
            for size, each in again.items():
                told = [
                    lines + sum(each.get(name, 0.0) * n for name, n in counts(one.sample).items())
                    for one in found[1::2]
                ]
                wanted = np.array([one.misses[size] for one in found[1::2]])
                off = np.mean(abs(np.array(told) - wanted)) / wanted.mean()
                print(f"        # {size} bytes, held back: {100 * off:.0f} % off on average")


if __name__ == "__main__":
    main()
