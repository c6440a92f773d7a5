"""The cluster's kernels on cores of plain rv32imc: cycles of the busiest core in a call on a tile.

Counted, not timed: `benchmarks/gap9_kernels.py` runs the emitted kernels, compiled by GCC 12 at
-O3, on an emulated core, and finds what each of the things below takes by least squares. A cycle an
instruction, and what GVSoC's public model of a core adds to some. Without Xpulp a core takes a dot
product apart, byte by byte, and floats are computed in integers: how long these take depends on
the numbers, and is a mean over random ones. Waits at the banks of L1 are left out: of so many
instructions few are accesses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import Literal

import numpy as np

from match_aie.cost_models.pulp_counts import PLAIN
from match_aie.cost_models.pulp_rows import Workers, turned_axes, up, woven_step
from match_aie.cost_models.pulp_strips import is_three, strips
from match_aie.cost_models.pulp_windows import Pairs, pairs
from match_aie.hardware import Array, Tile
from match_aie.workload import RECURRENT, Workload, whole_image

Parts = dict[str, Array]

#: What the cluster's cores execute: with GAP9's extensions, or without any.
InstructionSet = Literal["xpulp", "rv32imc"]


def kernel_of(workload: Workload) -> str:
    """The key of `PLAIN` for the kernel that runs this layer."""
    kind = "depthwise" if workload.depthwise else str(workload.kind)
    if workload.real is not None and workload.kind not in RECURRENT:
        return f"real {'conv2d' if kind == 'dense' else kind}"
    tail = workload.tail
    if kind == "softmax" and workload.fixed_point and tail is not None:
        return "softmax narrow" if tail.bits == 32 else "softmax wide"
    if kind == "gru" and not workload.parameter("linear_before_reset"):
        return "gru before"
    if kind == "avg_pool2d" and not workload.fixed_point and tail is not None:
        if tail.rounding == "half_away":
            return "avg_pool2d away"
        return "avg_pool2d whole" if whole_image(workload) else "avg_pool2d float"
    return kind


def plain_cycles(workload: Workload, tile: Tile, cores: int = 8) -> Array:
    """Cycles of the busiest of `cores`.

    Args:
        workload: a layer that the cluster has a kernel for.
        tile: sizes of its loop dimensions.
        cores: a power of two.
    """
    one = np.asarray(1)
    filled = {d: tile.get(d, one) for d in ("B", "G", "K", "C", "OY", "OX", "FY", "FX")}
    each = PLAIN[kernel_of(workload)]
    found = parts(workload, {**filled, **tile}, cores)
    return np.asarray(sum(each.get(name, 0.0) * np.asarray(count) for name, count in found.items()))


def parts(
    workload: Workload, t: Tile, cores: int = 8, instructions: InstructionSet = "rv32imc"
) -> Parts:
    """How often the busiest core does what.

    Args:
        workload: a layer that the cluster has a kernel for.
        t: sizes of all loop dimensions.
        cores: a power of two.
        instructions: of the cores, by which depthwise kernels differ.
    """
    shared = Workers(cores, 1)
    real = workload.real is not None and workload.kind not in RECURRENT
    if workload.depthwise and not real:
        return _depthwise(shared, workload, t, instructions == "xpulp")
    if real:
        return _real(shared, workload, t)
    return {"call": np.asarray(1.0)} | _KINDS.get(workload.kind, _elements)(shared, workload, t)


def _blocks(units: Array, mine: Array, channels: Array, words: float) -> Parts:
    """Blocks of 2 x 4, 1 x 4, 2 x 1 and 1 x 1 sums, and what they do per four inputs."""
    found: Parts = {"unit": units}
    for pixels, at in ((2, mine // 2), (1, mine % 2)):
        for width, blocks in ((4, channels // 4), (1, channels % 4)):
            found[f"block {pixels}x{width}"] = at * blocks
            found[f"step {pixels}x{width}"] = at * blocks * words
    return found


def _conv2d(shared: Workers, workload: Workload, t: Tile) -> Parts:
    d, window = workload.sizes, workload.window
    taps = d["FY"] * d["FX"] * d["C"]
    words = -(-taps // 4)
    direct = taps == d["C"] and d["C"] % 4 == 0 and not any(window.padding if window else ())
    pixels = t["B"] * t["OY"] * t["OX"]
    each, block = np.asarray(16 if direct else 6 * words + 64), np.asarray(14 * words + 80)
    units, blocks = shared.divided(up(pixels, 2), up(t["K"], 4), each, block)
    mine, channels = np.minimum(2 * units, pixels), np.minimum(4 * blocks, t["K"])
    found = _blocks(units, mine, channels, words)
    if window is None:
        return found
    # Windows that are read where they lie are not gathered.
    gathered = np.zeros_like(units) if direct else units
    apart = window.dilation[1] != 1
    return found | _gathered(workload, apart, gathered, pairs(workload, t["OX"]))


def _gathered(workload: Workload, apart: bool, units: Array, of: Pairs) -> Parts:
    """Windows: two by two, rows of them and pairs of words; edges; others one by one."""
    d = workload.sizes
    together, alone = units * of.together, 2 * units * (1 - of.together)
    runs = d["FX"] if apart else 1
    length = d["FX"] // runs * d["C"]
    found: Parts = {"pair": together, "pair line": together * d["FY"]}
    found["pair eight"] = together * d["FY"] * (max(0, length - 1) // 8)
    found |= {"cut": units * of.cut, "edge": units * of.edges}
    found["edge line"] = units * of.edges * d["FY"]
    lines = alone * d["FY"]
    found |= {"pixel": alone, "line": lines, "run": lines * (runs - 1)}
    found |= {"eight": lines * runs * (length // 8), "byte": lines * runs * (length % 8)}
    return found


def _depthwise(shared: Workers, workload: Workload, t: Tile, ten: bool) -> Parts:
    """Strips, and lines of them; a step is a word of a window, of three columns all of them."""
    d, of = workload.sizes, strips(shared, workload, t, ten=ten)
    blocks, columns = of.units * up(of.channels, 4), of.units * of.words * of.columns
    found: Parts = {"call": np.asarray(1.0), "unit": of.units, "block": blocks}
    found["word"] = blocks * of.words
    found |= {"turn": columns * (of.channels // 4), "bytes": columns * (of.channels % 4)}
    lines = of.rows * of.channels
    found |= {"channel": of.units * of.channels, "line": lines, "output": lines * t["OX"]}
    three = is_three(workload)
    apart = workload.window is not None and workload.window.dilation[1] != 1
    windows = np.where(of.lines == 2, up(of.rows, 2), of.rows) if three else of.rows
    found["step"] = windows * of.channels * t["OX"] * (1 if three else of.words * d["FX"])
    found["row"] = lines * t["OX"] * (0 if three else d["FX"] if apart else 1)
    return found


def _dense(shared: Workers, workload: Workload, t: Tile) -> Parts:
    words, rest = divmod(workload.sizes["C"], 4)
    mine = up(t["K"], shared.cores)
    found: Parts = {"row": t["B"]}
    for width, blocks in ((4, t["B"] * (mine // 4)), (1, t["B"] * (mine % 4))):
        found[f"block {width}"] = blocks
        found[f"step {width}"] = blocks * words
        found[f"rest {width}"] = blocks * (rest > 0)
    return found


def _pool(shared: Workers, workload: Workload, t: Tile) -> Parts:
    d, kernel = workload.sizes, kernel_of(workload)
    per_position = {"max_pool2d": 3, "avg_pool2d float": 48}.get(kernel, 6)
    units, blocks = shared.divided(
        t["B"] * t["OY"] * t["OX"],
        up(t["G"], 4),
        np.asarray(64),
        np.asarray(per_position * d["FY"] * d["FX"] + 64),
    )
    channels = np.minimum(4 * blocks, t["G"])
    places = units * d["FY"] * d["FX"]
    found: Parts = {"unit": units, "block": units * up(channels, 4), "line": units * d["FY"]}
    found |= {"place": places * (channels // 4), "byte": places * (channels % 4)}
    found["channel"] = units * channels
    return found


def _elements(shared: Workers, workload: Workload, t: Tile) -> Parts:
    sizes, rows = [t[dim] for dim, _ in workload.dims], np.asarray(1)
    if any(operand.shape != workload.output.shape for operand in workload.data):
        *outer, last = sizes  # every core has some columns of all rows
        rows, sizes = np.asarray(prod(outer, start=np.asarray(1))), [last]
    mine = up(up(np.asarray(prod(sizes, start=np.asarray(1))), 4), shared.cores)
    return {"row": rows, "four": rows * mine}


def _rows(shared: Workers, workload: Workload, t: Tile) -> Parts:
    mine, columns = up(t["B"], shared.cores), workload.sizes["K"]
    if workload.fixed_point and workload.kind == "softmax":
        return {"row": mine, "four": mine * (columns // 4), "element": mine * (columns % 4)}
    return {"row": mine, "element": mine * columns}


def _matmul(shared: Workers, workload: Workload, t: Tile) -> Parts:
    words, strips = -(-workload.sizes["C"] // 4), up(t["K"], 4)
    units, blocks = shared.divided(
        t["B"] * strips, up(t["OY"], 2), np.asarray(20 * words + 60), np.asarray(14 * words + 100)
    )
    rows = np.minimum(2 * blocks, t["OY"])
    # Strips of four columns, on average of all; the last one's columns go one by one.
    wide, narrow = units * (t["K"] // 4) / strips, units * (t["K"] % 4) / strips
    found: Parts = {"unit": units, "turn": units * words}
    for pixels, at in ((2, rows // 2), (1, rows % 2)):
        found |= {f"block {pixels}": at * wide, f"step {pixels}": at * wide * words}
    return found | {"column": rows * narrow, "column step": rows * narrow * words}


def _permute(shared: Workers, workload: Workload, t: Tile) -> Parts:
    at = turned_axes(shared, workload, t)
    outer, lines, columns = at.outer, at.lines, at.columns
    least, most = np.minimum(lines, columns), np.maximum(lines, columns)
    single = up(outer * least, shared.cores)
    zero = np.zeros_like(single)
    found: Parts = {"line": single, "byte": single * most, "turn": zero, "eight": zero}
    found |= {"strip": zero, "piece": zero, "weave": zero}
    if at.turns:
        units = up(outer * up(lines, 4), shared.cores)
        blocks = np.where(lines % 4 == 0, columns // 4, columns // 4 * (lines // 4) / up(lines, 4))
        rest = (columns - 4 * blocks) * np.minimum(4, lines)
        turned = columns >= 4
        woven, step = (columns == 3) & at.weaves, woven_step(shared, outer, lines)
        pieces = up(outer * -(-lines // step), shared.cores)
        found["piece"] = np.where(woven, pieces, 0)
        found["weave"] = np.where(woven, pieces * (np.minimum(step, lines) // 4), 0)
        found["line"] = np.where(turned | woven, 0, found["line"])
        found["strip"] = np.where(turned, units, 0)
        found["turn"] = np.where(turned, units * blocks, 0)
        odd = pieces * 3 * (np.minimum(step, lines) % 4)
        found["byte"] = np.where(turned, units * rest, np.where(woven, odd, found["byte"]))
    elif at.kept:
        copied = up(outer * lines, shared.cores)
        found |= {"line": copied, "eight": copied * (columns // 8), "byte": copied * (columns % 8)}
    return found


def _recurrent(shared: Workers, workload: Workload, t: Tile) -> Parts:
    d = workload.sizes
    words = -(-d["C"] // 4) + -(-d["K"] // 4)
    units = d["OY"] * up(np.asarray(d["K"]), shared.cores)
    return {"start": np.asarray(d["OY"]), "unit": units, "word": units * words}


def _real(shared: Workers, workload: Workload, t: Tile) -> Parts:
    found: Parts = {"call": np.asarray(1.0)}
    if workload.kind in ("softmax", "layer_norm"):
        return found | _rows(shared, workload, t)
    if workload.kind == "add":
        rows, each = shared.divided(t["B"], t["K"], np.asarray(20), np.asarray(12))
        return found | {"unit": rows, "element": rows * each}
    d = workload.sizes
    product = workload.kind in ("conv2d", "dense") and not workload.depthwise
    channels, deep = (t["K"], d["C"]) if product else (t["G"], 1)
    window = d.get("FY", 1) * d.get("FX", 1)
    weight = (10 * deep if product else 32) * window + 32
    units, blocks = shared.divided(
        t["B"] * t["OY"] * t["OX"], up(channels, 4), np.asarray(64), np.asarray(weight)
    )
    mine = units * np.minimum(4 * blocks, channels)
    return found | {"unit": units, "output": mine, "place": mine * window * deep}


_KINDS: Mapping[str, Callable[[Workers, Workload, Tile], Parts]] = {
    "conv2d": _conv2d,
    "dense": _dense,
    "max_pool2d": _pool,
    "avg_pool2d": _pool,
    "softmax": _rows,
    "layer_norm": _rows,
    "matmul": _matmul,
    "permute": _permute,
    "gru": _recurrent,
    "lstm": _recurrent,
}
