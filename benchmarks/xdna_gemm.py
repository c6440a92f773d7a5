"""Products on Ryzen AI arrays with the mapping that a publication names, as programs to be timed.

arXiv:2512.13282: every core keeps an m x n block of C while blocks of A (m x k) and B (k x n) go
by, two of each in its memory; A's are broadcast along rows of cores, B's along columns; C lies once
in a core, and leaves when the reduction is through. Memory tiles hold two blocks of each operand.
What the publication does not say, and is taken here: blocks pass the memory tiles as the cores take
them, and rows of A lie in every second column of the larger array.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil

from aie_calibration import added, plain

from match_aie.errors import TargetError
from match_aie.targets.aie_ml.array.program import (
    ArrayProgram,
    Buffer,
    Channel,
    Core,
    Route,
    Tile,
    Work,
)
from match_aie.targets.aie_ml.devices import Device, Tiling
from match_aie.targets.aie_ml.schedule import Kernel, schedule_call
from match_aie.targets.aie_ml.schedule.kernel import ELEMENT_BYTES

#: What operands and results of a row are called here.
TYPES = {"int8": "int8", "int16": "int16", "int32": "int32", "bf16": "bfloat16"}


@dataclass(frozen=True)
class Body:
    """A kernel call whose cycles are known as a whole."""

    body: int
    program_bytes: int = 0
    reads: tuple[int, ...] = ()
    writes: tuple[int, ...] = ()


@dataclass(frozen=True)
class Gemm:
    """A published product.

    Attributes:
        device: "npu1" or "npu2".
        size: M, K, N.
        block: m, k, n of a kernel call.
        a: element type of the operands.
        out: of the result.
    """

    device: str
    size: tuple[int, int, int]
    block: tuple[int, int, int]
    a: str
    out: str

    @property
    def name(self) -> str:
        """The row's."""
        return f"{self.device}_{'x'.join(map(str, self.size))}_{self.a}_{self.out}"


def kernel(a: str, out: str, device: Device) -> Kernel:
    """The publication's kernel: it adds to C, and its last rounding of a block is not hidden.

    Raises:
        TargetError: the device has no native product of these types.
    """
    if a == "bfloat16":
        made = replace(plain((a, a, out), _native(a, device), "exposed"), adds=True)
        return made.block(4, 4)
    return replace(added(out), tiling=_native(a, device))


def _native(a: str, device: Device) -> Tiling:
    for tiling in device.architecture.core.tilings_of(a, a):
        if tiling.native:
            return tiling
    raise TargetError(f"cores of {device.name} have no native product of {a}")


def call_cycles(gemm: Gemm, device: Device) -> int:
    """Of one kernel call, modelled."""
    one = kernel(gemm.a, gemm.out, device)
    return schedule_call(one, device.architecture, *gemm.block).cycles


def program(gemm: Gemm, device: Device, cycles: int) -> ArrayProgram:
    """One run: a block of C in every core, from the first blocks of A and B to C in memory.

    Args:
        gemm: what is computed.
        device: where.
        cycles: of a kernel call, with that of its function.
    """
    m, k, n = gemm.block
    steps = ceil(gemm.size[1] / k)
    size, wide = ELEMENT_BYTES[gemm.a], ELEMENT_BYTES[gemm.out]
    made = _Made(device, steps, (m * k * size, k * n * size, m * n * wide))
    made.build(Body(max(0, cycles - device.call_cycles)))  # the simulator has each turn's call
    rows, columns = device.core_rows, device.columns
    return ArrayProgram(
        device=device.name,
        cores=tuple(made.cores),
        buffers=tuple(made.buffers),
        locks=(),
        descriptors=(),
        routes=tuple(made.routes),
        cascades=(),
        crossings=(),
        macs=rows * m * columns * n * steps * k,
        core_macs=device.architecture.core.macs_of(gemm.a, gemm.a) or 1,
    )


class _Made:
    """Cores, buffers and streams of one run."""

    def __init__(self, device: Device, steps: int, sizes: tuple[int, int, int]) -> None:
        self.device, self.steps = device, steps
        self.a, self.b, self.c = sizes
        self.cores: list[Core] = []
        self.buffers: list[Buffer] = []
        self.routes: list[Route] = []
        self._used: dict[tuple[Tile, str], int] = {}

    def build(self, body: Body) -> None:
        """All of it."""
        rows, columns = self.device.core_rows, self.device.columns
        first = self.device.shim_rows + self.device.mem_rows
        for x in range(columns):
            for y in range(rows):
                self._core((x, first + y), body)
        for y in range(rows):
            tiles = [(x, first + y) for x in range(columns)]
            self._operand(f"a{y}", y * columns // rows, self.a, tiles, "in0")
        for x in range(columns):
            self._operand(f"b{x}", x, self.b, [(x, first + y) for y in range(rows)], "in1")
            self._result(x, [(x, first + y) for y in range(rows)])

    def _core(self, tile: Tile, body: Body) -> None:
        both = ("in0", "in1")
        works = [Work(body, both, both, starts=False) for _ in range(self.steps)]
        works[0] = replace(works[0], takes=(*both, "out"))
        works[-1] = replace(works[-1], gives=(*both, "out"))
        self.cores.append(Core(tile, tuple(works), 0))
        for name, size in (("in0", self.a), ("in1", self.b)):
            self.buffers.append(Buffer(name, tile, (), size, 2, "a", self.steps))
        self.buffers.append(Buffer("out", tile, (), self.c, 1, "out", 1))

    def _channel(self, tile: Tile, direction: str) -> Channel:
        index = self._used.get((tile, direction), 0)
        self._used[tile, direction] = index + 1
        return Channel(tile, direction, index)

    def _operand(self, name: str, column: int, size: int, cores: list[Tile], to: str) -> None:
        """Blocks from the chip's memory into a memory tile, and to all cores that read them."""
        shim, mem = (column, 0), (column, self.device.shim_rows)
        self.buffers.append(Buffer(name, mem, (), size, 2, "a", self.steps))
        self._route(f"{name} in", shim, [(mem, name)], size, self.steps, "")
        self._route(name, mem, [(core, to) for core in cores], size, self.steps, name)

    def _result(self, column: int, cores: list[Tile]) -> None:
        """Blocks of a column's cores into its memory tile, and from there together."""
        mem, name = (column, self.device.shim_rows), f"c{column}"
        self.buffers.append(Buffer(name, mem, (), self.c * len(cores), 2, "out", 1))
        for number, core in enumerate(cores):
            self._route(f"{name}_{number}", core, [(mem, name)], self.c, 1, "out")
        self._route(f"{name} out", mem, [((column, 0), "")], self.c * len(cores), 1, name)

    def _route(
        self,
        name: str,
        source: Tile,
        sinks: list[tuple[Tile, str]],
        size: int,
        sends: int,
        reads: str,
    ) -> None:
        self.routes.append(
            Route(
                name=name,
                source=self._channel(source, "mm2s"),
                sinks=tuple(self._channel(tile, "s2mm") for tile, _ in sinks),
                hops=(),
                bytes=size,
                sends=sends,
                packet=False,
                role="out" if name.startswith("c") else "a",
                reads=reads,
                writes=tuple(written for _, written in sinks),
            )
        )
