"""What the templates of row-wise and recurrent float32 layers read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from match_aie.hardware import Constants
from match_aie.targets.cpu.cores import Split, Way, bounds, over, part_bytes
from match_aie.targets.cpu.float_conv import (
    ConvKernel,
    PoolKernel,
    channelwise,
    conv_kernel,
    ending_of,
    pack_conv,
    pool_kernel,
)
from match_aie.targets.cpu.float_depthwise import (
    DepthwiseKernel,
    depthwise_kernel,
    pack_depthwise,
)
from match_aie.targets.cpu.float_kernel import Ending, Product, literal
from match_aie.targets.cpu.float_tile import choose, pack_panels, padded, step_cycles
from match_aie.targets.cpu.machine import Machine
from match_aie.workload import Word, Workload, loop_sizes


@dataclass(frozen=True)
class NormKernel:
    """A softmax or layer norm: its rows over cores (None for one), epsilon as a C literal."""

    epsilon: str = ""
    split: Split | None = None


@dataclass(frozen=True)
class AttentionKernel:
    """Attention of one head at a time, a block of query rows at a time.

    Attributes:
        scores: queries by keys.
        values: weights by values.
        block: query rows whose scores are there at a time.
        line: elements between rows of the scores.
        mask: elements between neighbours of the mask along the dimensions that it has; {} for no
            mask.
        split: over cores; None for one.
        any_keys: whether a run gives the number of keys. Scores are then made for whole panels, and
            the mask is added to those of keys that exist.
    """

    scores: Product
    values: Product
    block: int
    line: int
    mask: Mapping[str, int | Word]
    split: Split | None = None
    any_keys: bool = False

    def masked(self, query: str, key: str) -> str:
        """C expression of where the mask of a query and a key lies, in head g of batch b."""
        at = {"B": "b", "G": "g", "OY": query}
        terms = (f"{index} * {self.mask[dim]}" for dim, index in at.items() if dim in self.mask)
        return " + ".join(("mask", *terms, key))

    @property
    def scratch(self) -> int:
        """Elements of one core: packed keys, packed values, scores, a factor per row."""
        return self.scores.packed + self.values.packed + self.block * (self.line + 1)

    def over(self, dim: str, size: int | Word) -> tuple[str, str]:
        """C expressions of where `dim` begins, and what it stays below."""
        return over(self.split, dim, size)

    @property
    def part_bytes(self) -> int:
        """Scratch of one core where there are more."""
        return part_bytes(self.split, self.scratch)


def attention_kernel(
    workload: Workload, machine: Machine, split: Split | None = None
) -> AttentionKernel:
    """Tiles, and as many rows as leave their scores in half of the first cache."""
    d = workload.sizes
    assert workload.real is not None
    any_keys = "OX" in workload.run_time
    first = choose(machine, d["OY"], d["OX"], d["C"])
    second = choose(machine, d["OY"], d["K"], d["OX"], first.mr)
    columns = padded(first, d["OX"]) if any_keys else d["OX"]
    line = -(-columns // machine.lanes) * machine.lanes
    rows = machine.caches[0].bytes // 2 // (4 * line)
    block = min(d["OY"], max(1, rows // first.mr) * first.mr)
    heights = (block, d["OY"] % block) if d["OY"] % block else (block,)
    factor = workload.real.factor
    mask = _mask_strides(workload)
    row = mask.get("OY", 0)
    weigh = Ending(
        factor="" if factor == 1.0 else literal(factor),
        length=d["C"],
        residual=bool(mask) and not any_keys,
        residual_row=row if isinstance(row, int) else 0,
    )
    any_rows = bool(workload.run_time)
    scores = Product(
        first, heights, columns, d["C"], d["G"] * d["C"], line, weigh, any_rows=any_rows
    )
    mean = Ending(row_scale=True, length=0 if any_keys else d["OX"])
    values = Product(
        second, heights, d["K"], d["OX"], line, d["G"] * d["K"], mean, any_rows=any_rows
    )
    return AttentionKernel(scores, values, block, line, mask, split, any_keys)


def _mask_strides(workload: Workload) -> dict[str, int | Word]:
    """Elements between neighbours of the mask along each dimension that it has; {} for none.

    A constant is as large as it becomes, whatever a run reads of it.
    """
    found: dict[str, int | Word] = {}
    step: int | Word = 1
    for mask in (o for o in workload.operands if o.name == "mask"):
        sizes = dict(workload.dims) if mask.constant else loop_sizes(workload)
        for axis in reversed(mask.axes):
            for dim, _ in axis.terms:
                found[dim], step = step, sizes[dim] * step
    return found


#: Time steps whose input products are made at a time: enough rows for whole register tiles.
CHUNK = 48


@dataclass(frozen=True)
class Units:
    """Hidden units `start` to `stop` in panels of `width`, all gates of a panel together.

    `valid` units of the last vector of a panel exist.
    """

    start: int
    stop: int
    vectors: int
    lanes: int
    valid: int

    @property
    def width(self) -> int:
        """Units of a panel as packed."""
        return self.vectors * self.lanes


@dataclass(frozen=True)
class RecurrentKernel:
    """A GRU or LSTM.

    Attributes:
        kind: which.
        gates: 3 or 4.
        product: of the inputs of a chunk of time steps with all gates' weights.
        units: panels of hidden units.
        ending: of the product with the state.
        chunk: time steps whose input products are made at a time.
        state_bias: elements of the packed bias before those of the state's product.
        split: of the hidden units over cores, which meet after every time step; None for one.
    """

    kind: str
    gates: int
    product: Product
    units: tuple[Units, ...]
    ending: Ending
    chunk: int
    state_bias: int
    split: Split | None = None

    @property
    def columns(self) -> tuple[int, ...]:
        """Where parts of the inputs' product begin and end."""
        parts = self.split.parts if self.split else 1
        return bounds(Way("", self.product.columns, self.product.tile.width), parts)

    @property
    def padded(self) -> int:
        """Hidden units of all panels, padding included."""
        return sum(-(-(u.stop - u.start) // u.width) * u.width for u in self.units)


def recurrent_kernel(
    workload: Workload, machine: Machine, split: Split | None = None
) -> RecurrentKernel:
    """Tiles for the inputs' product, panels for the state's."""
    d = workload.sizes
    chunk = min(d["OY"], max(1, CHUNK // d["B"]))
    heights = tuple({chunk * d["B"], d["OY"] % chunk * d["B"]} - {0})
    columns = d["G"] * d["K"]
    tile = choose(machine, max(heights), columns, d["C"])
    ending = Ending(bias="columns", length=d["C"])
    product = Product(tile, heights, columns, d["C"], d["C"], columns, ending)
    state = Ending(bias="columns", length=d["K"])
    units = _units(machine, d["G"], d["K"])
    before = padded(tile, columns)
    return RecurrentKernel(workload.kind, d["G"], product, units, state, chunk, before, split)


def _units(machine: Machine, gates: int, hidden: int) -> tuple[Units, ...]:
    """Panels of as many units as give the fewest modelled cycles per step of the reduction."""
    lanes, needed = machine.lanes, -(-hidden // machine.lanes)

    def cycles(vectors: int) -> float:
        one = np.asarray(1)
        whole, rest = divmod(needed, vectors)
        step = float(step_cycles(machine, one, np.asarray(gates * vectors)))
        last = float(step_cycles(machine, one, np.asarray(gates * rest))) if rest else 0.0
        return whole * step + last

    most = max(1, (machine.vector_registers - 1) // gates)
    vectors = min(range(1, most + 1), key=cycles)
    whole = hidden - hidden % (vectors * lanes)
    found = [Units(0, whole, vectors, lanes, lanes)] if whole else []
    if whole < hidden:
        rest = -(-(hidden - whole) // lanes)
        found.append(Units(whole, hidden, rest, lanes, hidden - whole - (rest - 1) * lanes))
    return tuple(found)


def pack_recurrent(
    kernel: RecurrentKernel, workload: Workload, constants: Constants
) -> dict[str, np.ndarray]:
    """Weights in panels; the state's with all gates of a panel side by side, bias[1] likewise."""
    d, product = workload.sizes, kernel.product
    columns = d["G"] * d["K"]
    pad = padded(product.tile, columns) - columns
    hidden = d["K"]
    matrices, biases = [], []
    gates = constants["recurrent"].reshape(kernel.gates, hidden, hidden)
    bias = constants["bias"][1].reshape(kernel.gates, hidden)
    for units in kernel.units:
        for start in range(units.start, units.stop, units.width):
            stop = min(start + units.width, hidden)
            width = units.width
            wide = np.zeros((hidden, kernel.gates, width), np.float32)
            wide[:, :, : stop - start] = gates[:, start:stop].transpose(2, 0, 1)
            tail = np.zeros((kernel.gates, width), np.float32)
            tail[:, : stop - start] = bias[:, start:stop]
            matrices.append(wide.reshape(-1))
            biases.append(tail.reshape(-1))
    return {
        "weight": pack_panels(constants["weight"].T, product.tile),
        "recurrent": np.concatenate(matrices),
        "bias": np.concatenate([np.pad(constants["bias"][0], (0, pad)), *biases]),
    }


def recurrent_scratch(kernel: RecurrentKernel, workload: Workload) -> int:
    """Elements: the inputs' products of a chunk, a zero state, an LSTM's cells."""
    d = workload.sizes
    states = d["B"] * d["K"]
    cells = states if workload.kind == "lstm" else 0
    zero = 0 if any(o.name == "x1" for o in workload.inputs) else states
    return kernel.chunk * d["B"] * d["G"] * d["K"] + zero + cells


RowKernel = (
    NormKernel | AttentionKernel | RecurrentKernel | ConvKernel | DepthwiseKernel | PoolKernel
)


def row_kernel(workload: Workload, machine: Machine, split: Split | None = None) -> RowKernel:
    """What the template of `workload` reads."""
    match workload.kind:
        case "layer_norm" | "rms_norm":
            return NormKernel(literal(workload.parameter("epsilon")), split)
        case "conv2d":
            if channelwise(workload):
                return depthwise_kernel(workload, machine, ending_of(workload, 0), split)
            return conv_kernel(workload, machine, split)
        case "avg_pool2d" | "max_pool2d":
            return pool_kernel(workload, machine, split)
        case "attention":
            return attention_kernel(workload, machine, split)
        case "gru" | "lstm":
            return recurrent_kernel(workload, machine, split)
        case _:
            return NormKernel(split=split)


def row_ways(workload: Workload, machine: Machine) -> tuple[Way, ...]:
    """What a layer can be divided along: rows, heads, lines of an image, hidden units."""
    d = workload.sizes
    match workload.kind:
        case "conv2d" | "avg_pool2d" | "max_pool2d":
            return (Way("OY", d["OY"]), Way("B", d["B"]))
        case "attention":
            return (Way("B", d["B"]), Way("G", d["G"]))
        case "gru" | "lstm":
            panel = _units(machine, d["G"], d["K"])[0]
            return (Way("K", d["K"], panel.width),)
        case _:
            return (Way("B", d["B"]),)


def pack(workload: Workload, machine: Machine, constants: Constants) -> Constants:
    """Constants in the layout of the template."""
    kernel = row_kernel(workload, machine)
    if isinstance(kernel, RecurrentKernel):
        return pack_recurrent(kernel, workload, constants)
    if isinstance(kernel, ConvKernel):
        return pack_conv(kernel, workload, constants)
    if isinstance(kernel, DepthwiseKernel):
        return pack_depthwise(kernel, constants)
    return constants


def scratch_elements(workload: Workload, machine: Machine, split: Split | None = None) -> int:
    """Packed keys and values with scores; inputs' products and states; a framed image."""
    kernel = row_kernel(workload, machine, split)
    if isinstance(kernel, AttentionKernel | ConvKernel):
        own = kernel.part_bytes
        return own // 4 * split.parts if split and own else kernel.scratch
    if isinstance(kernel, RecurrentKernel):
        return recurrent_scratch(kernel, workload)
    return 0
