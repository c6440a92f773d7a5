"""DIANA's control core: portable layers of the CPU target, and what they cost there."""

from __future__ import annotations

from dataclasses import dataclass
from math import frexp

from match_aie.cost_models.roofline import Roofline
from match_aie.hardware import Cost, CostModel, Mapping
from match_aie.targets.cpu import CPUModule
from match_aie.workload import Workload

#: Quantised layers as portable C on one scalar RISC-V core. ASSUMPTIONS: two loads, a product, a
#: sum and a share of the loop per multiply-accumulate, 5 cycles; 60 per other element, as much as
#: the fallback's `quantize` (56 instructions and a division: `targets/gap9/core.py`, counted).
CORE = Roofline(macs_per_cycle=1 / 5, steps_per_cycle=1 / 60, bytes_per_cycle=4.0, overhead=200.0)


@dataclass(frozen=True)
class Counts:
    """A layer by the elements that it writes, and those that windows of a pool read.

    Attributes:
        written: cycles for each element of the output.
        read: cycles for each element of a window.
        overhead: cycles of a call.
    """

    written: float
    read: float = 0.0
    overhead: float = 200.0

    def cost(self, workload: Workload, mapping: Mapping) -> Cost:
        """Windows at a border count as whole ones; tiles do not change what is read."""
        del mapping
        outputs = workload.output.size
        reads = outputs * workload.sizes.get("FY", 1) * workload.sizes.get("FX", 1)
        parts = (
            ("compute", self.read * reads + self.written * outputs),
            ("overhead", self.overhead),
        )
        return Cost(sum(cycles for _, cycles in parts), parts)


#: Instructions of the emitted C, by GCC 12 at -O2 for rv32imfc, executed one by one
#: (`tests/slow/test_diana_core.py` counts them again): the mean of a whole image (and any of
#: TFLite's) is summed in integers, a window's of ONNX in float32; a maximum is one of integers.
#: A division is 14 cycles more (`targets/gap9/core.py`); by a power of two there is none.
INTEGERS, AVERAGE, MAXIMUM = Counts(6.0, 7.5), Counts(47.7, 17.5), Counts(7.5, 8.0)
QUANTIZE, DIVIDED, DEQUANTIZE = Counts(18.0), Counts(32.0), Counts(8.0)


class CoreModule(CPUModule):
    """The portable layers of the CPU target on DIANA's control core."""

    def cost_model(self, workload: Workload) -> CostModel:
        """Pools and conversions as they were counted, all else a roofline with `CORE`."""
        match workload.kind:
            case "max_pool2d":
                return MAXIMUM
            case "avg_pool2d":
                floats = self.template(workload) == "cpu/float_average.c.mako"
                return AVERAGE if floats else INTEGERS
            case "quantize":
                scale = workload.output.scale
                return QUANTIZE if scale is not None and frexp(scale)[0] == 0.5 else DIVIDED
            case "dequantize":
                return DEQUANTIZE
            case _:
                return CORE
