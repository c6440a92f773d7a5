"""Generated kernels in numpy, and their matrices and images as they lie in a tile's memory."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from match_aie.errors import TargetError
from match_aie.targets.aie_ml.array.emit import call_spec, tile_nest
from match_aie.targets.aie_ml.array.layer import ArrayMapping
from match_aie.targets.aie_ml.devices import CoreTile, Tiling
from match_aie.targets.aie_ml.kernels import reference
from match_aie.targets.aie_ml.kernels.call import LayerCall
from match_aie.targets.aie_ml.kernels.layout import padded, tiled, untiled
from match_aie.targets.aie_ml.kernels.numeric import from_bfloat16, wrap
from match_aie.targets.aie_ml.kernels.reference import float_sums, requantised
from match_aie.targets.aie_ml.kernels.spec import BYTES, KernelSpec, Requantise, lane_product_bits
from match_aie.targets.aie_ml.kernels.window import Walk


@dataclass(frozen=True)
class Numbers(reference.Numbers):
    """What one call of a kernel takes beside its matrices.

    Attributes:
        bias: [N] int32 (float32 for float sums), zero points folded in; None without.
        received: sums from the cascade or an earlier call, [M, N] int64 (float32); None without.
    """

    bias: np.ndarray | None = None
    received: np.ndarray | None = None


def dense_sums(spec: KernelSpec, x: np.ndarray, w: np.ndarray, numbers: Numbers) -> np.ndarray:
    """Sums [M, N] of x [M, K] and w [K, N]: int64 within the lane's width, or float32.

    bfloat16 operands are bit patterns, uint16.
    """
    start = _start(spec, numbers)
    if not spec.floating:
        product = x.astype(np.int64) @ w.astype(np.int64)
        return wrap(product + start, spec.lane_bits)
    return float_sums(spec, start, from_bfloat16(x), from_bfloat16(w))


def dense_reference(spec: KernelSpec, x: np.ndarray, w: np.ndarray, numbers: Numbers) -> np.ndarray:
    """What the kernel stores, [M, N] of `spec.requantise.dtype` (bfloat16 as uint16 patterns).

    Raises:
        TargetError: the kernel stores nothing, or lacks a number that its form needs.
    """
    if not spec.stores:
        raise TargetError(f"a {spec.position} kernel stores nothing")
    return requantised(spec, dense_sums(spec, x, w, numbers), numbers)


def _start(spec: KernelSpec, numbers: Numbers) -> np.ndarray:
    if spec.receives or spec.resumes:
        if numbers.received is None:
            raise TargetError(f"a {spec.position} kernel needs the sums that it starts from")
        return numbers.received
    if spec.bias:
        if numbers.bias is None:
            raise TargetError("the kernel needs a bias")
        return numbers.bias
    return np.zeros(1, dtype=np.float32 if spec.floating else np.int64)


def pack_x(x: np.ndarray, spec: KernelSpec) -> np.ndarray:
    """Activations [<= M, <= K] as the kernel reads them, flat, padded with zeros."""
    whole = padded(x, spec.m, spec.k)
    return (
        np.ascontiguousarray(whole.T).reshape(-1)
        if spec.upright
        else tiled(whole, spec.tiling.m, spec.tiling.k)
    )


def unpack_y(flat: np.ndarray, spec: KernelSpec) -> np.ndarray:
    """What the kernel stored, as [M, N]."""
    return untiled(flat, (spec.m, spec.n), spec.tiling.m, spec.tiling.n)


def pack_image(x: np.ndarray, walk: Walk) -> np.ndarray:
    """Image [H, W, C] as the kernel reads it, flat; halo and padding are zero."""
    g = walk.geometry
    blocks, high, phases, columns, lanes = walk.shape
    top, left, _, _ = g.padding
    left += walk.lead
    whole = np.zeros((high, columns * phases, blocks * lanes), dtype=x.dtype)
    rows = min(g.height, high - top)
    wide = min(g.width, columns * phases - left)
    whole[top : top + rows, left : left + wide, : g.channels] = x[:rows, :wide]
    parts = whole.reshape(high, columns, phases, blocks, lanes)
    return np.ascontiguousarray(parts.transpose(3, 0, 2, 1, 4)).reshape(-1)


def unpack_image(flat: np.ndarray, walk: Walk) -> np.ndarray:
    """What the kernel stored, [N/n][M/m][m][n], as an image [OH, OW, N]."""
    g, t = walk.geometry, walk.tiling
    parts = flat.reshape(walk.n // t.n, walk.m, t.n).transpose(1, 0, 2).reshape(walk.m, walk.n)
    pitch = walk.tiles_per_row * t.m
    image = parts[: g.out_height * pitch].reshape(g.out_height, pitch, walk.n)
    return np.ascontiguousarray(image[:, : g.out_width, : g.outputs])


def block_shapes(a: str, b: str, tiling: Tiling, core: CoreTile) -> tuple[tuple[int, int], ...]:
    """(rows, columns) of blocks that fit the registers, fewest loaded bytes per `mmul` first.

    Two blocks' accumulators must fit, and two K steps' operands, since loads run ahead. A K step
    loads rows * A + columns * B bytes. Empty where the number of registers is not known.
    """
    if core.accumulators is None or core.vector_registers is None or core.vector_bits is None:
        return ()
    lane = tiling.lane_bits if tiling.k > 1 or a == "bfloat16" else lane_product_bits(a, b)
    sets = 1 if tiling.lanes else 2
    most = core.accumulators.count * core.accumulators.bits // (sets * tiling.m * tiling.n * lane)
    shapes = [(r, c) for r in range(1, most + 1) for c in range(1, most // r + 1)]
    if tiling.lanes:  # vectors of single steps are loaded as they are needed
        return tuple(shapes)
    bytes_a, bytes_b = tiling.m * tiling.k * BYTES[a], tiling.k * tiling.n * BYTES[b]
    wide = core.vector_bits // 8
    registers_a, registers_b = -(-bytes_a // wide), -(-bytes_b // wide)
    shapes = [
        (r, c)
        for r, c in shapes
        if 2 * (r * registers_a + c * registers_b) <= core.vector_registers
    ]

    def loads(shape: tuple[int, int]) -> tuple[float, int]:
        rows, columns = shape
        return (rows * bytes_a + columns * bytes_b) / (rows * columns), -rows * columns

    return tuple(sorted(shapes, key=loads))


def turn_specs(
    mapping: ArrayMapping, at: int, tail: Requantise | None = None
) -> tuple[KernelSpec, ...]:
    """The kernels of tile `at`, turn by turn of a call.

    Raises:
        TargetError: as `call_spec`.
    """
    different = tile_nest(mapping, LayerCall("tile", "", call_spec(mapping, at, tail))).kernels
    first, last = different[0], different[-1]
    between = different[1:-1] * (mapping.reduction_steps - 2)
    return (first, *between, last)[: mapping.reduction_steps]
