"""GAP9's kernel with products of floats of 16 bits, for rv32imfc, counted on an emulated core.

    python benchmarks/gap9_short_floats.py [--of float16] [--tiles N]

As `gap9_kernels.py`, with one instruction in the place of each of theirs, of the first
worker. `cost_models/pulp_short_floats.py` has what its parts take: least squares of layers with
even numbers; printed are the same anew, and how far they are off these and those with odd numbers.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from pathlib import Path

import gap9_kernels
import numpy as np
from gap9_kernels import Workers

from match_aie.cost_models.pulp_half import reads_in_place
from match_aie.targets.gap9.timing.workers import divide, up
from match_aie.workload import (
    BFLOAT16,
    FLOAT16,
    SHORT_PAIRS,
    RealTail,
    ShortFloat,
    Window,
    Workload,
    real_conv2d,
    real_dense,
    short_float,
    stored_as,
)
from tests.cc.gap9 import cluster_harness as harness
from tests.riscv import ISAS

#: An instruction of the same operands for each of theirs.
INSTEAD = """#ifndef __ASSEMBLER__
#define MA_FVEC 1
#define ma_vfmac_h(x, w, sum) __asm__("add %0, %1, %2" : "+r"(sum) : "r"(x), "r"(w))
#define ma_vfcpka_h_s(to, a, b) __asm__("fmv.x.w %0, %1" : "=r"(to) : "f"(a), "f"(b))
#define ma_fcvt_h_s(to, a) __asm__("fmv.x.w %0, %1" : "=r"(to) : "f"(a))
#define ma_fcvt_s_h(to, a) __asm__("fmv.w.x %0, %1" : "=f"(to) : "r"(a))
#define ma_vfmac_ah ma_vfmac_h
#define ma_vfcpka_ah_s ma_vfcpka_h_s
#define ma_fcvt_ah_s ma_fcvt_h_s
#endif
"""

#: What products may be of.
OF = {each.dtype: each for each in (FLOAT16, BFLOAT16)}

#: Random layers, and where random numbers begin.
TILES, SEED = 500, 3


class FloatWorkers(Workers):
    """Workers with an FPU."""

    def cycles(self, name: str, core: int, tile: int) -> float:
        """Of one call of a kernel by one core, whose FPU is on."""
        from unicorn import riscv_const

        self._core.reg_write(riscv_const.UC_RISCV_REG_MSTATUS, 0x6000)
        return super().cycles(name, core, tile)

    def first(self, layer: Workload, rng: np.random.Generator) -> float:
        """Cycles of the first worker in a call that does all of `layer`."""
        arrays = {o.name: rng.normal(0, 1, o.shape) for o in layer.operands[:-1]}
        arrays = {name: array.astype(np.float32) for name, array in arrays.items()}
        of = short_float(layer) or FLOAT16
        narrow = layer.operand("x").dtype != "float32"
        inputs = [of.stored(arrays.pop("x")) if narrow else arrays.pop("x")]
        name, tile = self._placed(harness.whole(layer, inputs, arrays))
        return self.cycles(name, 0, tile)


def random_layer(of: ShortFloat, number: int, rng: np.random.Generator) -> Workload:
    """A dense layer, or one of two convolutions; some with an x, or a result, of 16 bits."""
    types = {name: of.dtype for name in ("x", "y") if rng.integers(0, 2)}
    return stored_as(_layer(of, number, rng), types)


def _layer(of: ShortFloat, number: int, rng: np.random.Generator) -> Workload:
    draw = lambda low, high: int(rng.integers(low, high))  # noqa: E731
    tail, bias = RealTail("relu", precision=of.precision), bool(draw(0, 2))
    if number % 3 == 0:
        sizes = {"rows": draw(1, 40), "inputs": draw(1, 300), "outputs": draw(1, 40)}
        return real_dense(**sizes, bias=bias, tail=tail)
    taps, step, apart = draw(1, 5), draw(1, 3), 1 if draw(0, 4) else 2
    channels, size = draw(1, 40), draw(8, 14)
    pads = (draw(0, 3), draw(0, 3), draw(0, 3), draw(0, 3))
    return real_conv2d(
        shape=(1, size, size, channels),
        weight_shape=(draw(1, 34), taps, taps, channels),
        window=Window((step, step), (apart, apart), pads),
        bias=bias,
        tail=tail,
    )


def parts(layer: Workload) -> Counter[str]:
    """How often the first of eight workers does what."""
    d, pixels = layer.sizes, layer.output.size // layer.sizes["K"]
    words = up(d["FY"] * d["FX"] * d["C"], 2)
    share = divide(8, pixels, up(d["K"], 4), 2 * words + 100, 10 * words + 100)[0]
    mine = min(d["K"], 4 * share.blocks[1]) - 4 * share.blocks[0]
    found = Counter(once=1)
    for pixel in range(*share.units):
        found["direct pixel" if in_place(layer) else "pixel"] += 1
        found["rounded"] += mine if layer.output.dtype != "float32" else 0
        for blocks, name in ((mine // 4, "four"), (mine % 4, "one")):
            found[name] += blocks
            found[f"{name} sums"] += blocks * up(words, SHORT_PAIRS)
            found[f"{name} words"] += blocks * words
        found += Counter() if in_place(layer) else gathered(layer, pixel)
    return found


def in_place(layer: Workload) -> bool:
    """Whether windows are read where they lie."""
    return layer.operand("x").dtype != "float32" and reads_in_place(layer)


def gathered(layer: Workload, pixel: int) -> Counter[str]:
    """The same of a window's rounding: rows inside, stretches, pairs."""
    d, window, found = layer.sizes, layer.window or Window(), Counter()
    place = {"OY": pixel // d["OX"] % d["OY"], "OX": pixel % d["OX"]}
    seen = []
    for axis, (out, filter_) in enumerate((("OY", "FY"), ("OX", "FX"))):
        size = layer.operand("x").shape[1 + axis] if layer.window else 1
        at = place[out] * window.stride[axis] - window.padding[axis]
        taps = range(at, at + d[filter_] * window.dilation[axis], window.dilation[axis])
        seen.append(sum(0 <= one < size for one in taps))
    rows, columns = seen if all(seen) else (0, 0)
    found["row"] = rows
    found["copy"] = rows * (1 if window.dilation[1] == 1 else columns)
    found["fill"] = 2 * rows + d["FY"] - rows
    narrow = layer.operand("x").dtype != "float32"
    found["word" if narrow else "pair"] = rows * (columns * d["C"] // 2)
    found["zeros"] = rows * ((d["FX"] - columns) * d["C"] // 2)
    found["zeros"] += (d["FY"] - rows) * (d["FX"] * d["C"] // 2)
    return found


def fitted(matrix: np.ndarray) -> np.ndarray:
    """Least squares of relative errors; no part below zero."""
    left, found = list(range(matrix.shape[1])), np.zeros(matrix.shape[1])
    while True:
        values = np.linalg.lstsq(matrix[:, left], np.ones(len(matrix)), rcond=None)[0]
        if values.min() >= 0:
            found[left] = values
            return found
        left.pop(int(values.argmin()))


def main() -> None:
    """Print what every part takes, and how far that is off."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tiles", type=int, default=TILES)
    parser.add_argument("--of", choices=OF, default="float16")
    given = parser.parse_args()
    of, rng, rows, cycles = OF[given.of], np.random.default_rng(SEED), [], []
    with tempfile.TemporaryDirectory() as folder:
        header = Path(folder) / "instead.h"
        header.write_text(INSTEAD)
        flags = (*ISAS["rv32imfc"], "-include", str(header))
        workers = FloatWorkers(gap9_kernels.build(Path(folder), *flags))
        for number in range(given.tiles):
            layer = random_layer(of, number, rng)
            rows.append(parts(layer))
            cycles.append(workers.first(layer, rng))
    names = sorted(set().union(*rows))
    matrix = np.array([[row[name] for name in names] for row in rows]) / np.array(cycles)[:, None]
    each = fitted(matrix[0::2])
    print({name: round(float(value), 1) for name, value in zip(names, each, strict=True)})
    for name, half in (("fitted", matrix[0::2]), ("held back", matrix[1::2])):
        off = abs(100 * (half @ each - 1))
        print(f"{name}: {off.mean():.1f} % off, {off.max():.1f} at worst")


if __name__ == "__main__":
    main()
