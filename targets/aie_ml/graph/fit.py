"""What a tile's memory holds of an image layer, and what its descriptors must do."""

from __future__ import annotations

from math import ceil

from match_aie.errors import Infeasible
from match_aie.targets.aie_ml.array.local import Demand, logical_banks
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.graph.borders import Borders
from match_aie.targets.aie_ml.graph.image import CutLayer
from match_aie.targets.aie_ml.kernels.block import Access
from match_aie.targets.aie_ml.kernels.spec import BYTES

LEVERS = ("more bands of rows", "more parts of the channels", "a longer cascade")


def image_demand(plan: CutLayer, borders: Borders, device: Device) -> Demand:
    """Bytes of the fullest tile's buffers: the first of a chain has biases, the last results."""
    layer, walk = plan.layer, plan.walk
    stack = device.need(device.architecture.core.stack_default_bytes, "default stack")
    tables = walk.m // plan.cut.tiling.m + walk.k // plan.cut.tiling.k
    weights = biases = 0
    if layer.weight is not None:
        wide = plan.cut.tiling.m if layer.apart else 1
        weights = wide * walk.k * walk.n * layer.weight.itemsize
        biases = borders.classes * walk.n
    if layer.bordered:
        biases += min(len(borders.row_masks), plan.cut.firings) * walk.m + plan.cut.firings
    if layer.epilogue is not None:
        r = layer.epilogue.requantise
        biases += walk.n * ((r.form == "channel") + (r.addend == "channel"))
    return Demand(
        inputs=plan.x_elements * BYTES[layer.dtype],
        resident=weights,
        streamed=0,
        outputs=plan.y_elements * BYTES[layer.stored],
        fixed=stack + 4 * (tables + biases),
    )


def fits_local(demand: Demand, device: Device) -> Infeasible | None:
    """Why a tile's memory does not hold the buffers; None where it does."""
    banks, size = logical_banks(device)
    if demand.plan(banks, size) is not None:
        return None
    breakdown = (
        ("input bands, twice", 2 * demand.inputs),
        ("weights", demand.resident),
        ("result bands twice, biases, tables, stack", 2 * demand.outputs + demand.fixed),
    )
    taken = sum(ceil(much / size) for _, much in breakdown)
    return Infeasible(
        "memory banks of a tile",
        max(taken, banks + 1),
        banks,
        f"banks of {size} bytes",
        LEVERS,
        breakdown,
    )


def loops(access: Access) -> list[tuple[int, int]]:
    """(elements, stride in elements) of an access's loops, innermost first.

    Joined where they run on; a single turn is none.
    """
    pitch = [1]
    for extent in access.buffer[:-1]:
        pitch.append(pitch[-1] * extent)
    nest = [(size, pitch[d]) for d, size in enumerate(access.tile)]
    nest += [(wrap, stride * pitch[d]) for d, stride, wrap in access.traversal]
    padded = any(_reach(access))
    joined: list[tuple[int, int]] = []
    for size, stride in nest:
        if size == 1:
            continue
        # Loops with padding between their turns do not run on.
        if joined and stride == joined[-1][0] * joined[-1][1] and not padded:
            joined[-1] = joined[-1][0] * size, joined[-1][1]
        else:
            joined.append((size, stride))
    return joined


def _reach(access: Access) -> list[int]:
    """How far an access leaves its data, in elements, by dimension."""
    real = access.boundary or access.buffer
    found = []
    for d, extent in enumerate(real):
        last = access.offset[d] + access.tile[d]
        last += sum(stride * (wrap - 1) for at, stride, wrap in access.traversal if at == d)
        found.append(max(-access.offset[d], last - extent, 0))
    return found


def fits_descriptor(access: Access, itemsize: int, device: Device) -> Infeasible | None:
    """Why one chain of a memory tile's descriptors cannot do `access`; None where it can.

    Descriptors nest a few dimensions, of 32-bit words, in an iteration; those of bands at the
    image's border differ from the others in their padding alone.
    """
    limits = device.architecture.addressing["mem"]
    found = loops(access)
    levers = ("fewer bands of rows", "other parts of the channels")
    word = 4
    inner = found[0][0] * itemsize if found and found[0][1] == 1 else itemsize
    if inner % word or any(stride * itemsize % word for _, stride in found[1:]):
        return Infeasible("32-bit words of a DMA", inner, word, "bytes", levers)
    # A wrap that is too long takes two dimensions; the outermost has none.
    sizes = [size for size, _ in found]
    if sizes:
        sizes[0] = max(1, sizes[0] * itemsize // word)
    long = 2**limits.wrap_bits - 1 if limits.wrap_bits is not None else max(sizes, default=1)
    needed = len(found) + sum(size > long for size in sizes[:-1])
    if needed > limits.dims + 1:
        return Infeasible("DMA dimensions", needed, limits.dims + 1, "loops", levers)
    turns = 2**limits.iteration_wrap_bits if limits.iteration_wrap_bits is not None else 1
    if needed > limits.dims and sizes[-1] > turns:
        return Infeasible("iterations of a DMA", sizes[-1], turns, "turns", levers)
    pads = _reach(access)
    if pads and pads[0]:
        pads[0] = -(-pads[0] * itemsize // word)
    for reach, most in zip(pads, limits.pad, strict=False):
        if reach > most:
            return Infeasible("words of padding of a DMA", reach, most, "words", levers)
    if limits.step_bits is not None and found:
        widest = max(stride * itemsize // word for _, stride in found)
        if widest > 2**limits.step_bits:
            return Infeasible("step of a DMA", widest, 2**limits.step_bits, "words", levers)
    return None
