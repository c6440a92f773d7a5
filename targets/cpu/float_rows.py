"""What the templates of row-wise float32 layers read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from match_aie.hardware import Constants
from match_aie.targets.cpu.byte_recurrent import ByteKernel, byte_kernel, in_bytes, pack_bytes
from match_aie.targets.cpu.cores import Split, Way, over, part_bytes
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
from match_aie.targets.cpu.float_elements import ElementKernel, element_kernel
from match_aie.targets.cpu.float_kernel import Ending, Product, literal
from match_aie.targets.cpu.float_recurrent import (
    RecurrentKernel,
    gates_of,
    pack_recurrent,
    panels_of,
    recurrent_kernel,
)
from match_aie.targets.cpu.float_tile import choose, padded
from match_aie.targets.cpu.machine import Machine
from match_aie.workload import (
    Word,
    Workload,
    is_narrow,
    loop_sizes,
)


@dataclass(frozen=True)
class NormKernel:
    """A softmax or norm of rows.

    Attributes:
        epsilon: a C literal.
        split: rows over cores; None for one.
        wide: elements of a row of float32 in a core's scratch, where rows are stored as bfloat16.
    """

    epsilon: str = ""
    split: Split | None = None
    wide: int = 0

    @property
    def part_bytes(self) -> int:
        """Scratch of one core where there are more."""
        return part_bytes(self.split, self.wide)

    def places(self, columns: Word | int) -> tuple[str, str]:
        """C expressions of where row b is read, and where it is computed."""
        if self.wide:
            return "row", "row"
        return f"x + b * {columns}", f"y + b * {columns}"


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


RowKernel = (
    ElementKernel
    | NormKernel
    | AttentionKernel
    | RecurrentKernel
    | ByteKernel
    | ConvKernel
    | DepthwiseKernel
    | PoolKernel
)


def row_kernel(workload: Workload, machine: Machine, split: Split | None = None) -> RowKernel:
    """What the template of `workload` reads."""
    match workload.kind:
        case "function" | "add" | "mul":
            return element_kernel(workload, split)
        case "layer_norm" | "rms_norm":
            return NormKernel(literal(workload.parameter("epsilon")), split, _wide(workload))
        case "conv2d":
            if channelwise(workload):
                return depthwise_kernel(workload, machine, ending_of(workload, 0), split)
            return conv_kernel(workload, machine, split)
        case "avg_pool2d" | "max_pool2d":
            return pool_kernel(workload, machine, split)
        case "attention":
            return attention_kernel(workload, machine, split)
        case "gru" | "lstm":
            make = byte_kernel if in_bytes(workload, machine) else recurrent_kernel
            return make(workload, machine, split)
        case _:
            return NormKernel(split=split, wide=_wide(workload))


def _wide(workload: Workload) -> int:
    return workload.sizes["K"] if is_narrow(workload) else 0


def row_ways(workload: Workload, machine: Machine) -> tuple[Way, ...]:
    """What a layer can be divided along: rows, heads, lines of an image, hidden units."""
    d = workload.sizes
    match workload.kind:
        case "conv2d" | "avg_pool2d" | "max_pool2d":
            return (Way("OY", d["OY"]), Way("B", d["B"]))
        case "attention":
            return (Way("B", d["B"]), Way("G", d["G"]))
        case "gru" | "lstm":
            _, units = panels_of(machine, gates_of(workload), d["K"], d["B"])
            return (Way("K", d["K"], units[0].width),)
        case "function" | "add" | "mul":
            return (Way("K", d["K"], machine.lanes),)
        case _:
            return (Way("B", d["B"]),)


def pack(workload: Workload, machine: Machine, constants: Constants) -> Constants:
    """Constants in the layout of the template."""
    kernel = row_kernel(workload, machine)
    if isinstance(kernel, ByteKernel):
        return pack_bytes(kernel, workload, constants)
    if isinstance(kernel, RecurrentKernel):
        return pack_recurrent(kernel, workload, constants)
    if isinstance(kernel, ConvKernel):
        return pack_conv(kernel, workload, constants)
    if isinstance(kernel, DepthwiseKernel):
        return pack_depthwise(kernel, constants)
    return constants


def scratch_elements(workload: Workload, machine: Machine, split: Split | None = None) -> int:
    """Packed keys and values with scores; inputs' products and states; a framed image; a row."""
    kernel = row_kernel(workload, machine, split)
    if isinstance(kernel, NormKernel):
        return kernel.part_bytes // 4 * split.parts if split else kernel.wide
    if isinstance(kernel, AttentionKernel | ConvKernel):
        own = kernel.part_bytes
        return own // 4 * split.parts if split and own else kernel.scratch
    if isinstance(kernel, RecurrentKernel | ByteKernel):
        return kernel.scratch
    return 0
