"""What the template of float32 depthwise convolution reads, and how its weights are packed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from match_aie.hardware import Constants
from match_aie.targets.cpu.cores import Split, over
from match_aie.targets.cpu.float_kernel import Ending
from match_aie.targets.cpu.machine import Machine
from match_aie.workload import Workload

#: Vectors of sums at once at most: more hide no more of a multiply-add's latency.
MOST_SUMS = 8
#: Registers beside the sums: a weight, and what the compiler needs.
SPARE = 4


@dataclass(frozen=True)
class Channels:
    """Vectors of channels.

    Attributes:
        start: the first channel.
        stop: where they end.
        valid: elements of a vector that exist.
    """

    start: int
    stop: int
    valid: int


@dataclass(frozen=True)
class DepthwiseKernel:
    """A depthwise convolution: pixels whose window lies in the image side by side, others alone.

    Attributes:
        lanes: of a vector.
        channels: whole vectors of them, then the rest.
        padded: channels in whole vectors.
        inside: columns of the output, (from, to), whose windows reach over neither side.
        together: pixels of a vector; more than 1 where all channels are a part of a vector, and the
            next pixel's lie behind them.
        sums: vectors at once, of neighbouring pixels; 0 where none are inside.
        ending: what happens to the sums.
        split: over cores; None for one.
    """

    lanes: int
    channels: tuple[Channels, ...]
    padded: int
    inside: tuple[int, int]
    together: int
    sums: int
    ending: Ending
    split: Split | None = None

    @property
    def blocks(self) -> tuple[Channels, ...]:
        """Vectors of several pixels, or the channels of one."""
        if self.together > 1:
            return (Channels(0, self.lanes, self.lanes),)
        return self.channels

    def over(self, dim: str, size: int) -> tuple[str, str]:
        """C expressions of where `dim` begins, and what it stays below."""
        return over(self.split, dim, size)


def vectors(count: int, lanes: int) -> tuple[Channels, ...]:
    """`count` channels as vectors.

    >>> vectors(20, 16)
    (Channels(start=0, stop=16, valid=16), Channels(start=16, stop=20, valid=4))
    """
    whole = count - count % lanes
    parts = [Channels(0, whole, lanes)] if whole else []
    if whole < count:
        parts.append(Channels(whole, count, count - whole))
    return tuple(parts)


def depthwise_kernel(
    workload: Workload, machine: Machine, ending: Ending, split: Split | None = None
) -> DepthwiseKernel:
    """Vectors of channels, and of pixels where there are few channels.

    Args:
        workload: the layer.
        machine: with its vectors.
        ending: what follows the sums.
        split: of the layer over cores.
    """
    d, lanes, window = workload.sizes, machine.lanes, workload.window
    assert window is not None
    (stride, reach), left = (
        (window.stride[1], (d["FX"] - 1) * window.dilation[1]),
        window.padding[1],
    )
    columns = workload.operand("x").shape[2]
    first = min(d["OX"], -(-left // stride))
    last = max(first, min(d["OX"], (columns - 1 - reach + left) // stride + 1))
    few = d["G"] < lanes and lanes % d["G"] == 0 and stride == 1
    together = lanes // d["G"] if few else 1
    if last - first < together:
        together = 1
    most = min(MOST_SUMS, machine.vector_registers - SPARE, (last - first) // together)
    # Blocks at the end of a line overlap: those that divide it repeat nothing.
    sums = min(range(1, most + 1), key=lambda n: (-(-(last - first) // (n * together)) * n, -n),
               default=0)  # fmt: skip
    return DepthwiseKernel(
        lanes=lanes,
        channels=vectors(d["G"], lanes),
        padded=-(-d["G"] // lanes) * lanes,
        inside=(first, last),
        together=together,
        sums=sums,
        ending=ending,
        split=split,
    )


def pack_depthwise(kernel: DepthwiseKernel, constants: Constants) -> Constants:
    """Weights [G, FY, FX, 1] as [FY, FX, padded G], bias padded; both again for pixels together."""
    weight = constants["weight"][..., 0].transpose(1, 2, 0)
    packed = {"weight": _padded(kernel, weight)}
    if "bias" in constants:
        packed["bias"] = _padded(kernel, constants["bias"])
    return packed


def _padded(kernel: DepthwiseKernel, values: np.ndarray) -> np.ndarray:
    if kernel.together > 1:
        return np.tile(values, (*[1] * (values.ndim - 1), kernel.together))
    pad = kernel.padded - values.shape[-1]
    return np.pad(values, [(0, 0)] * (values.ndim - 1) + [(0, pad)])
