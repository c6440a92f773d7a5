"""Constants in the order in which the array reads them.

From MATCH's sources for DIANA; read there, not tried on a chip. Output channels are blocks of 16
lanes, the last one filled up with zeros, and input channels are filled up to 16.

- Weights of convolutions: [block][input channel][filter row][filter column][lane]; of dense layers
  [block][lane][input channel].
- Depthwise layers have 4 channels a block, in every fourth lane:
  [block][filter row][filter column][lane].
- Offsets are planes of bytes, least first: [block][4][lane]; of dense layers a sign-extended
  16-byte word per channel: [block][lane][16].

The bytes of every 4-byte word are then reversed. `runtime/emulation/ma_diana_host.c` is the
counterpart.
"""

from __future__ import annotations

import numpy as np

from match_aie.hardware import Constants
from match_aie.targets.diana.facts import FACTS
from match_aie.workload import Workload

LANES = FACTS.lanes

#: Lanes from channel to channel of a depthwise layer.
SPREAD = FACTS.lanes // FACTS.depthwise_channels


def pack(workload: Workload, constants: Constants) -> Constants:
    """`constants` of a layer in the array's arithmetic, a row a block; of an `add` as they are."""
    if workload.kind == "add":
        return constants
    weight, offset = constants["weight"], constants["offset"]
    if workload.kind == "dense":
        packed = pack_dense(weight), pack_dense_offset(offset)
    else:
        spread = SPREAD if workload.depthwise else 1
        packed = pack_filters(weight, spread), pack_offset(offset, spread)
    return {**constants, "weight": packed[0], "offset": packed[1]}


def pack_filters(weight: np.ndarray, spread: int = 1) -> np.ndarray:
    """int8 [K, FY, FX, C] as [blocks, bytes]; depthwise ones spread over lanes, C being 1."""
    lanes = _lanes(weight, spread)
    more = 0 if spread > 1 else -lanes.shape[-1] % LANES
    filled = np.pad(lanes, (*[(0, 0)] * 4, (0, more)))
    return swap_words(filled.transpose(0, 4, 2, 3, 1).reshape(len(filled), -1))


def pack_dense(weight: np.ndarray) -> np.ndarray:
    """int8 [K, C] as [blocks, bytes]."""
    filled = np.pad(_lanes(weight), ((0, 0), (0, 0), (0, -weight.shape[1] % LANES)))
    return swap_words(filled.reshape(len(filled), -1))


def pack_offset(offset: np.ndarray, spread: int = 1) -> np.ndarray:
    """int32 [K] as int8 [blocks, 64]."""
    planes = _bytes(_lanes(offset, spread)).transpose(0, 2, 1)
    return swap_words(planes.reshape(len(planes), -1))


def pack_dense_offset(offset: np.ndarray) -> np.ndarray:
    """int32 [K] as int8 [blocks, 256]."""
    lanes = _lanes(offset)
    words = _bytes(np.stack([lanes, *[lanes >> 31] * 3], axis=-1))
    return swap_words(words.reshape(len(words), -1))


def _lanes(values: np.ndarray, spread: int = 1) -> np.ndarray:
    """[channels, ...] as [blocks, LANES, ...], a channel in every `spread` lanes, zeros else."""
    channels = LANES // spread
    found = np.zeros((-(-len(values) // channels), channels, spread, *values.shape[1:]), np.int64)
    found.reshape(-1, spread, *values.shape[1:])[: len(values), 0] = values
    return found.reshape(len(found), LANES, *values.shape[1:]).astype(values.dtype)


def _bytes(values: np.ndarray) -> np.ndarray:
    """int32 with one axis more, of its bytes, least first."""
    return np.ascontiguousarray(values, "<i4").view(np.int8).reshape(*values.shape, 4)


def swap_words(rows: np.ndarray) -> np.ndarray:
    """Rows of bytes with every 4 of them reversed.

    >>> swap_words(np.arange(8, dtype=np.int8)[None])
    array([[3, 2, 1, 0, 7, 6, 5, 4]], dtype=int8)
    """
    words = rows.reshape(len(rows), -1, 4)[..., ::-1]
    return np.ascontiguousarray(words.reshape(rows.shape))
