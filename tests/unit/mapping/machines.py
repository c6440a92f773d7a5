"""Small machines with nested memories, for tests of the mapping search."""

from dataclasses import dataclass, replace

import numpy as np

from match_aie.cost_models.transfers import MemoryTransfers
from match_aie.hardware import ExecModule, Memory, Tiled
from match_aie.workload import Quantized, Tail, Window, conv2d, dense, elementwise, matmul, pool2d

U8 = Quantized("uint8", 0.5, 3)
TAIL = Tail(0, 0, 255)


@dataclass(frozen=True)
class Kernel(MemoryTransfers):
    """Two rows and two channels at a time, and a price for every call."""

    mode: str = "sum"
    overhead: float = 40.0
    per_step: float = 0.0

    def kernel_cycles(self, workload, tile):
        total = 1
        for dim, size in tile.items():
            total = total * (-(-size // 2) if dim in ("K", "OY") else size)
        return self.overhead + total

    def kernel_energy(self, workload, tile):
        total = 1
        for size in tile.values():
            total = total * size
        return 5.0 + self.per_step * total


class Machine(ExecModule, Tiled):
    """`sizes` bytes of the memories, innermost first; the home memory follows, unlimited."""

    name = "machine"

    def __init__(
        self,
        sizes,
        mode="sum",
        *,
        unroll=(),
        double=None,
        chunk=3.0,
        setup=2.0,
        scratch=0,
        reductions=(),
        spills=False,
        align=1,
        store=None,
        padded=False,
        split=False,
        per_step=0.0,
        sums=False,
        legal=None,
    ):
        facts = {
            "transfer_cycles": setup,
            "chunk_cycles": chunk,
            "double_buffered": double,
            "alignment": align,
            "store_bytes_per_cycle": store,
        }
        inner = [
            Memory(f"L{at + 1}", size, 4.0 / (at + 1), picojoules_per_byte=1.0 + at, **facts)
            for at, size in enumerate(sizes)
        ]
        if split:
            inner[0] = Memory("LW", sizes[0], 4.0, operands=("weight", "bias", "scale"), **facts)
            rest = ("x", "x1", "y")
            inner.insert(1, Memory("LA", sizes[0], 4.0, operands=rest, **facts))
        if sums:
            every = ("x", "x1", "y", "weight", "bias", "scale", "sums")
            inner[0] = replace(inner[0], operands=every)
        self.legal = legal
        home = Memory("home", None, 2.0, picojoules_per_byte=7.0, **facts)
        self.memories = (*inner, home)
        self.model = Kernel(mode, per_step=per_step)
        self.unroll = tuple(unroll)
        self.scratch = scratch
        self.reductions, self.spills = reductions, spills
        self.padded_tiles = padded

    def patterns(self):
        return ()

    def spatial(self, workload):
        return tuple(loop for loop in self.unroll if loop.dim in dict(workload.dims))

    def cost_model(self, workload):
        return self.model

    def template(self, workload):
        return ""

    def tiled_reductions(self, workload):
        return tuple(d for d in self.reductions if d in workload.reductions)

    def constrain(self, workload, tile):
        limits = (self.legal or {}).items()
        return np.all([tile[dim] <= most for dim, most in limits if dim in tile] or [True], axis=0)

    def stores_partial_sums(self, workload):
        return self.spills

    def reserved_bytes(self, workload, memory, tile):
        if not self.scratch or memory.name not in ("L1", "LA"):
            return np.zeros_like(next(iter(tile.values())))
        sizes = workload.sizes
        return self.scratch * sizes["FY"] * sizes["FX"] * tile.get("OX", np.asarray(1))


def conv(oy=4, ox=4, k=4, c=2, f=3, stride=1, pad=1, dilation=1, groups=1, scales=None, batch=1):
    """A square convolution with `oy` x `ox` outputs."""
    span = dilation * (f - 1) + 1
    shape = (
        batch,
        (oy - 1) * stride + span - 2 * pad,
        (ox - 1) * stride + span - 2 * pad,
        c * groups,
    )
    window = Window((stride, stride), (dilation, dilation), (pad,) * 4)
    return conv2d(
        U8,
        U8,
        shape=shape,
        weight_shape=(k * groups, f, f, c),
        groups=groups,
        window=window,
        tail=TAIL,
        scales=k * groups if scales is None else scales,
    )


def fully_connected(rows=1, inputs=6, outputs=6):
    return dense(U8, U8, rows=rows, inputs=inputs, outputs=outputs, tail=TAIL, scales=outputs)


def product(batch=1, rows=4, inner=3, columns=4):
    return matmul(U8, U8, U8, batch=batch, rows=rows, inner=inner, columns=columns, tail=TAIL)


def addition(oy=4, ox=4, k=4):
    shape = (1, oy, ox, k)
    return elementwise("add", U8, U8, U8, shape=shape, shape1=shape, out=shape, tail=TAIL)


def pooling(oy=3, ox=3, channels=4, f=2):
    shape = (1, oy * f, ox * f, channels)
    return pool2d(
        "max_pool2d", U8, U8, shape=shape, filter_shape=(f, f), window=Window((f, f)), tail=TAIL
    )
