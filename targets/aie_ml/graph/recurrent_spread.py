"""What graphs and costs of recurrent layers have in common, however tiles share the work.

x comes through a memory tile, a group of steps at a time, to all tiles that multiply it; results
are put together in memory tiles, and leave by one of these.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import accumulate
from math import ceil

import numpy as np

from match_aie.cost_models.aie_image import BandWork
from match_aie.errors import Infeasible
from match_aie.targets.aie_ml.array.assumed import Assumed
from match_aie.targets.aie_ml.array.recurrent import recurrent_banks
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.graph.assembly import Assembly, Joint, Request
from match_aie.targets.aie_ml.graph.layer import Arrays
from match_aie.targets.aie_ml.graph.plan import GraphKernel, LayerGraph, Part
from match_aie.targets.aie_ml.graph.timed_splits import REQUEST_CYCLES
from match_aie.targets.aie_ml.kernels.block import Access
from match_aie.targets.aie_ml.kernels.recurrent import GROUP, GROUPS, TILE_K, RecurrentCall
from match_aie.targets.aie_ml.kernels.recurrent_apart import StatesCall, inputs_call
from match_aie.targets.aie_ml.kernels.recurrent_cascade import AnyCascade, cascade_values, chain
from match_aie.targets.aie_ml.kernels.recurrent_gates import GatesCall, chain_of
from match_aie.targets.aie_ml.kernels.recurrent_hybrid import LogicCall
from match_aie.targets.aie_ml.kernels.recurrent_joined import AnyJoined, joined_values
from match_aie.targets.aie_ml.kernels.recurrent_neighbours import AnyNeighbour, ahead_call
from match_aie.targets.aie_ml.kernels.recurrent_packets import AnyPacket
from match_aie.workload import Workload


def functions_of(call: RecurrentCall) -> tuple[RecurrentCall, ...]:
    """The functions of tiles that differ in their code; `call` is one of them."""
    if isinstance(call, AnyCascade):
        return chain(call, call.tiles)
    if isinstance(call, GatesCall):
        return chain_of(call)
    if isinstance(call, AnyNeighbour):
        return ahead_call(call), call
    return (inputs_call(call), call) if isinstance(call, StatesCall) else (call,)


def kernel_of(call: RecurrentCall) -> GraphKernel:
    """A kernel of the function, without its numbers."""
    states = call.h_size if isinstance(call, AnyJoined) and not isinstance(call, AnyPacket) else 0
    inputs = tuple(size for size in (call.in_size, states) if size)
    sizes = call.out_size or None, call.sent_size or None
    return GraphKernel(call, (0, 0), inputs, sizes[0], 1, walks=True, sent=sizes[1])


def lengths(steps: int) -> Iterable[int]:
    """Steps of a call that are tried, longest first: as many as a run of `steps` has at most.

    Short calls begin earlier, long ones wait for locks less often.
    """
    whole = GROUP * ceil(steps / GROUP)
    return dict.fromkeys(min(group, whole) for group in GROUPS)


def has_room(call: RecurrentCall, device: Device) -> bool:
    """Whether tiles have room for the function, and for those that feed it."""
    banked = (recurrent_banks(each, device) for each in functions_of(call))
    return not any(isinstance(each, Infeasible) for each in banked)


def by_steps(width: int, each: int, times: int) -> Request:
    """The buffer of a whole run's results, which so many steps at a time are stored in.

    Args:
        width: units.
        each: steps.
        times: that so many are stored.
    """
    whole = width, each * times
    loops = ((1, each, times),) if times > 1 else ()
    stored = (Access(whole, (width, each), (0, 0), loops),)
    return Request("y", "bfloat16", whole, stored, (Access(whole, whole, (0, 0)),))


def gathered(
    dtype: str, each: tuple[int, ...], columns: Sequence[int]
) -> tuple[list[Request], tuple[Access, ...]]:
    """Buffers of what columns behind the first one store; and how that of all is filled.

    Args:
        dtype: of elements.
        each: elements that a tile stores, side by side with others' in dimension 0.
        columns: tiles of each column; those of the first one fill the buffer of all themselves.
    """

    def wide(many: int) -> tuple[int, ...]:
        return (many * each[0], *each[1:])

    def part(whole: int, many: int, first: int) -> Access:
        return Access(wide(whole), wide(many), (first * each[0], *(0 for _ in each[1:])))

    parts = [
        Request(
            f"part{column}_",
            dtype,
            wide(many),
            tuple(part(many, 1, at) for at in range(many)),
            (part(many, many, 0),),
        )
        for column, many in enumerate(columns[1:], 1)
    ]
    sizes = [1] * columns[0] + [*columns[1:]]
    begins = accumulate(sizes, initial=0)
    return parts, tuple(part(sum(sizes), *pair) for pair in zip(sizes, begins, strict=False))


class Spread:
    """A layer's graph in the making.

    Args:
        name: of the graph.
        workload: the layer.
        constants: its weights, and its bias.
        device: the array.

    Attributes:
        results: buffers of results: that of all, then those of columns behind the first one.
    """

    def __init__(self, name: str, workload: Workload, constants: Arrays, device: Device) -> None:
        """Nothing is placed."""
        self.device, self._workload = device, workload
        self._assembly = Assembly(name, device, 1)
        names = "weight", "recurrent", "bias"
        self._known = {each: constants[each].astype(np.float32) for each in names}
        self._origin, self._before = (0, 0), 0
        self.results: tuple[int, ...] = ()

    def place(
        self,
        call: RecurrentCall,
        size: tuple[int, int],
        results: Sequence[Request],
        down: int | None = None,
        fills: int = 1,
        *,
        mirrored: bool = False,
    ) -> Infeasible | None:
        """Cores, and buffers of inputs and results in their columns; what lacks for them.

        Args:
            call: a function of the layer: how inputs are read.
            size: rows and columns of cores.
            results: buffers of columns behind the first one, then that of all.
            down: streams from the cores; one from each row where None.
            fills: how often a run fills each of them.
            mirrored: whether the first column of results is the last one of the cores.
        """
        (high, wide), self._call = size, call
        x = call.x_width, call.group * call.passes
        octets, groups = (0, TILE_K, call.x_octets), (1, call.group, call.passes)
        loops = tuple(loop for loop in (octets, groups) if loop[2] > 1)
        read = Access(x, (TILE_K, call.group), (0, 0), loops)
        inputs = Request("x", call.x_type, x, (Access(x, x, (0, 0)),), (read,))
        self._assembly.columns = wide
        placed = self._assembly.place(high, wide, (inputs, *results), down)
        if isinstance(placed, Infeasible):
            return placed
        before, *parts, after = placed.buffers
        self._origin, self._before = (placed.column, placed.row), before
        self.results = (after, *parts)
        shared = self._assembly.shared
        for at, each in enumerate(self.results):
            column = placed.column + (wide - 1 - at if mirrored else at)
            shared[each] = replace(shared[each], fills=fills, column=column)
        return None

    def add(self, call: RecurrentCall, place: tuple[int, int], share: int = 0) -> None:
        """A tile.

        Args:
            call: its function.
            place: columns and rows from the first one.
            share: of the units, counted from the first ones on.
        """
        x = self._workload.inputs[0]
        if isinstance(call, AnyCascade):
            values = cascade_values(call, self._known, x)
        else:
            values = joined_values(call, share, self._known, x)
        core = self._origin[0] + place[0], self._origin[1] + place[1]
        kernel = replace(kernel_of(call), place=core, values=tuple(values.items()))
        self._assembly.kernels.append(kernel)

    def connect(self, source: Joint, sink: Joint) -> None:
        """See `Assembly.connect`."""
        self._assembly.connect(source, sink)

    def enter(self, *kernels: int) -> None:
        """Inputs come, and go to these kernels."""
        call = self._call
        rows = call.group * call.passes
        way = Part("x", (call.steps, 1, call.inputs), 0, rows, 1, call.x_width)
        outside = self._assembly.outside(way, call.x_type)
        self.connect(("in", outside, 0), ("shared", self._before, 0))
        self.feed(*kernels)

    def feed(self, *kernels: int) -> None:
        """Inputs go to these kernels."""
        for kernel in kernels:
            self.connect(("shared", self._before, 0), ("buffer", kernel, 0))

    def gather(self, tiles: Iterable[tuple[int, int]], columns: Sequence[int]) -> None:
        """Inputs go to kernels, and results of others into the buffer of their column.

        Args:
            tiles: pairs of both.
            columns: so many of these of each column.
        """
        for at, (reads, stores) in enumerate(tiles):
            column, port = divmod(at, columns[0])
            self.feed(reads)
            self.connect(("buffer", stores, 0), ("shared", self.results[column], port))
        for at, part in enumerate(self.results[1:], columns[0]):
            self.connect(("shared", part, 0), ("shared", self.results[0], at))

    def leave(
        self, rows: int, how: str, *, port: int = 0, logic: LogicCall | None = None
    ) -> LayerGraph:
        """The graph, whose results leave.

        Args:
            rows: steps that leave.
            how: it is spread, behind the graph's title.
            port: of the buffer of results.
            logic: that has the gates.
        """
        steps, hidden = self._call.steps, self._workload.sizes["K"]
        way = Part("y", (steps, 1, hidden), 0, rows, 1, self._call.whole)
        outside = self._assembly.outside(way, "bfloat16")
        self.connect(("shared", self.results[0], port), ("out", outside, 0))
        kind = self._call.spec.cell.partition("_")[0].upper()
        return self._assembly.graph(f"{kind} of {hidden} units, {steps} steps{how}", logic)


def bands_of(steps: int, device: Device, assumed: Assumed, ports: int) -> BandWork:
    """A band for each step, before what comes, what leaves and how far it goes are known.

    Args:
        steps: of a run.
        device: the array.
        assumed: times of the array that no document states.
        ports: of kernels, that a start waits for.
    """
    arch = device.architecture
    return BandWork(
        bands=steps,
        start=assumed.start + ports * assumed.start_port,
        rate=arch.core.dma.bytes_per_cycle,
        way_rate=arch.shim_dma.bytes_per_cycle,
        descriptor=assumed.descriptor,
    )


def run_work(call: RecurrentCall, device: Device, assumed: Assumed, ports: int) -> BandWork:
    """What a run costs beside its tiles' work, which is a band for each step.

    Args:
        call: a function of the layer.
        device: the array.
        assumed: times of the array that no document states.
        ports: of kernels, that a start waits for.
    """
    return replace(
        bands_of(call.steps, device, assumed, ports),
        input_bytes=call.x_bytes * call.x_width,
        output_bytes=2 * call.whole,
        entering=call.x_bytes * call.group * call.passes * call.x_width,
        leaving=2 * call.steps * call.whole,
        hops=device.architecture.hop_cycles * (device.mem_rows + call.tiles),
        request=REQUEST_CYCLES,
    )
