"""The execution module of NE16."""

from __future__ import annotations

from collections.abc import Mapping as MappingOf
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from match_aie.cost_models.ne16 import Ne16Cost, peak_macs
from match_aie.cost_models.ne16_form import strides_by_jobs
from match_aie.hardware import (
    Array,
    Blocked,
    Company,
    Concurrent,
    Constants,
    Converted,
    ExecModule,
    Loop,
    Mapping,
    Memory,
    OwnArithmetic,
    Packed,
    Pattern,
    Priced,
    Roof,
    Tile,
    Tiled,
)
from match_aie.targets.gap9.facts import facts
from match_aie.targets.gap9.ne16 import layer
from match_aie.targets.gap9.ne16.patterns import PATTERNS
from match_aie.workload import FixedPoint, Workload, to_fixed_point

#: (sum * M + B) >> S: 16-bit factors per channel, floor, 32 bits, padding with 0. Factors of 8 bits
#: cost up to 24 LSB on the MLPerf Tiny networks, 32-bit ones take twice the time to read.
REQUANTISATION = FixedPoint(
    multiplier_bits=layer.SCALE_BITS,
    per_channel=True,
    max_shift=facts().ne16.most_shift,
    bits=32,
    rounding="floor",
    offset=True,
    inputs="raw",
)

#: More than any L1 has: a kernel on such a tile fits nowhere.
_NOWHERE = 1 << 40


class Ne16(ExecModule, Packed, Tiled, OwnArithmetic, Concurrent, Priced):
    """Convolutions 3x3 and 1x1, depthwise 3x3, and dense layers, uint8 in, on tiles in L1.

    Args:
        l1_bytes: of L1 that tiles may take.
        l2_bytes: of L2; None where nothing limits it.
        beside: as `ExecModule` says.
    """

    name = "ne16"
    arithmetic = "module"

    def __init__(
        self,
        l1_bytes: int = facts().memory.l1_usable_bytes,
        l2_bytes: int | None = None,
        beside: Company | None = None,
    ) -> None:
        """Take the sizes; the constants of transfers are the cost model's."""
        self.beside = beside
        self._model = Ne16Cost(charges=facts().energy.charges("ne16"))
        port, dma = facts().ne16.port_bytes, facts().dma
        self.memories = (
            Memory("L1", l1_bytes, float(port), double_buffered=None, alignment=16),
            Memory("L2", l2_bytes, float(dma.bytes_per_cycle), transfer_cycles=self._model.alone),
        )

    def patterns(self) -> Sequence[Pattern]:
        """Convolutions and dense layers with constant weights; `refuses` says the rest."""
        return PATTERNS

    def convert(self, workload: Workload, constants: Constants) -> Converted | str:
        """The layer in NE16's arithmetic, `(sum * M + B) >> S`, or why not."""
        how = REQUANTISATION
        if layer.bordered(workload):
            if workload.tail is None:
                return "it stores sums, and is padded with a zero point that is not 0"
            # Zero points stay: what they add depends on how much padding an output sees.
            how = replace(how, inputs="centred")
        found = to_fixed_point(workload, constants, how)
        return found if isinstance(found, str) else layer.narrowed(found)

    def spatial(self, workload: Workload) -> Sequence[Loop]:
        """32 outputs (16 depthwise channels) of 3x3 pixels; of 2x2 where a job is that."""
        return self._model.spatial(workload)

    def cost_model(self, workload: Workload) -> Ne16Cost:
        """The published closed form, trimmed; see `match_aie.cost_models.ne16`."""
        return self._model.of(workload)

    def roof(self, workload: Workload) -> Roof:
        """Products of the filter that the layer is, and the DMA between L2 and L1."""
        rate = float(facts().dma.bytes_per_cycle)
        source = "products: plinio's closed form for NE16; DMA: counted on GVSoC"
        return Roof(peak_macs(workload), rate, "L2", workload.nbytes, source)

    def template(self, workload: Workload) -> str:
        """One for all."""
        del workload
        return "gap9/ne16.c.mako"

    def kernel(self, workload: Workload, mapping: Mapping) -> layer.Ne16Kernel:
        """What all jobs of the layer share, and whether it is bordered."""
        del mapping
        return layer.Ne16Kernel(layer.ne16_layer(workload), layer.bordered(workload))

    def reserved_bytes(self, workload: Workload, memory: Memory, tile: Tile) -> Array:
        """What lies before a padded image.

        NE16 reads where the zeros above and left of an image would be, and drops what it finds;
        that must be L1. Tiles that NE16 has no job for fit nowhere: odd numbers of channels with
        stride 2, and a part of the channels where offsets are those of all.
        """
        none = np.zeros_like(next(iter(tile.values())))
        if memory.name != "L1":
            return none
        channels = tile["G"] if workload.depthwise else tile["K"]
        whole = workload.sizes["G" if workload.depthwise else "K"]
        step = 2 if strides_by_jobs(workload) and not workload.depthwise else 1
        divided = whole % step == 0 and not layer.bordered(workload)
        legal = ((channels % step == 0) & divided) | (channels == whole)
        reserved = -(-_before(workload) // 16) * 16
        return np.where(legal, none + reserved, _NOWHERE)

    def layouts(self, workload: Workload) -> MappingOf[str, Blocked]:
        """A row of weights for every output channel, or 16 depthwise ones; factors of 16 bits."""
        return layer.layouts(workload)

    def pack(self, workload: Workload, constants: Constants) -> Constants:
        """Weights and factors as NE16 reads them."""
        return layer.pack(workload, constants)


def _before(workload: Workload) -> int:
    """Bytes before the image that NE16 reads, where it pads above or to the left."""
    window = workload.window
    if window is None or not any(window.padding[:2]):
        return 0
    _, _, columns, channels = workload.operand("x").shape
    return (window.padding[0] * columns + window.padding[1]) * channels
