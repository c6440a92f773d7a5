"""Weights in the order of bits that NE16 streams from L1.

A signed q-bit weight w is stored as u = w + 2^(q-1), and register 21 gives the offset back; weights
that are unsigned are stored as they are, and the register holds their zero point. Bytes run over
output channel, 16 input channels, bit (least first), tap (row by row), and two bytes whose bits are
the 16 channels (pulp-nnx test/Ne16Weight.py describes the format; the golden cases of
`ne16_golden.npz` hold it). Depthwise weights are one such block per 16 channels. Input channels
are filled up to 16 with u = 0; their activations are zero.
"""

from __future__ import annotations

import numpy as np

from match_aie.errors import ModelError

#: Input channels of a block, one bit each.
LANES = 16


def packed_bytes(outputs: int, inputs: int, taps: int, bits: int, depthwise: bool = False) -> int:
    """Bytes of packed weights; for depthwise ones `inputs` is ignored.

    >>> packed_bytes(32, 20, 9, 8), packed_bytes(64, 1, 9, 4, depthwise=True)
    (9216, 288)
    """
    if depthwise:
        return -(-outputs // LANES) * bits * taps * 2
    return outputs * -(-inputs // LANES) * bits * taps * 2


def pack_weights(weight: np.ndarray, bits: int, depthwise: bool = False) -> np.ndarray:
    """Packed weights as uint8, one dimension.

    Args:
        weight: int8 or uint8, [K, FY, FX, C], 3x3 or 1x1; [channels, FY, FX, 1] if depthwise.
        bits: of a weight, 2 to 8.
        depthwise: whether every output channel has one input channel, its own.

    Raises:
        ModelError: a weight does not fit `bits`, or the shape is not one of these.
    """
    if weight.ndim != 4 or (depthwise and weight.shape[3] != 1):
        raise ModelError(f"weights of shape {weight.shape} are not what NE16 packs")
    low = 0 if weight.dtype == np.uint8 else -(1 << bits - 1)
    if weight.size and (weight.min() < low or weight.max() >= low + (1 << bits)):
        raise ModelError(
            f"weights from {weight.min()} to {weight.max()} do not fit {bits} bits",
            hint="quantise the weights to fewer bits, or pack them with more",
        )
    lanes = _Lanes(weight, depthwise)
    unsigned = np.where(lanes.used, lanes.values.astype(np.int16) - low, 0).astype(np.uint8)
    planes = unsigned[:, :, None] >> np.arange(bits, dtype=np.uint8)[:, None, None] & 1
    return np.packbits(planes, axis=-1, bitorder="little").reshape(-1)


class _Lanes:
    """Weights as [rows, blocks, taps, LANES], and which lanes hold one."""

    def __init__(self, weight: np.ndarray, depthwise: bool) -> None:
        flat = weight.reshape(len(weight), -1, weight.shape[3])
        flat = flat.transpose(2, 1, 0) if depthwise else flat
        rows, taps, channels = flat.shape
        blocks = -(-channels // LANES)
        padded = np.zeros((rows, taps, blocks * LANES), weight.dtype)
        padded[..., :channels] = flat
        self.values = padded.reshape(rows, taps, blocks, LANES).transpose(0, 2, 1, 3)
        self.used = (np.arange(blocks * LANES) < channels).reshape(blocks, 1, LANES)


def unpack_weights(
    packed: np.ndarray, shape: tuple[int, int, int, int], bits: int, depthwise: bool = False
) -> np.ndarray:
    """The weights that `pack_weights` packed, int8 of `shape`.

    Raises:
        ModelError: `packed` is not as long as weights of `shape` are.
    """
    outputs, rows, columns, inputs = shape
    taps = rows * columns
    length = packed_bytes(outputs, inputs, taps, bits, depthwise)
    if packed.size != length:
        raise ModelError(f"{packed.size} bytes of packed weights, {length} for shape {shape}")
    lead = 1 if depthwise else outputs
    planes = np.unpackbits(packed.reshape(lead, -1, bits, taps, 2), axis=-1, bitorder="little")
    values = (planes.astype(np.int16) << np.arange(bits)[:, None, None]).sum(axis=2)
    values = values.transpose(0, 2, 1, 3).reshape(lead, taps, -1) - (1 << bits - 1)
    if depthwise:
        values = values[..., :outputs].transpose(2, 1, 0)
    return np.ascontiguousarray(values[..., :inputs].reshape(shape).astype(np.int8))
