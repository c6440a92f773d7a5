"""Dense layers of Whisper's encoder by one configuration of the array, in 8 bits or bfloat16.

All of them share a program (`graph.overlay`): rows and reductions are padded to what its blocks
divide, as wide a part of a layer's columns is computed in a run as all have in common. Of some
sizes of calls and blocks the one is taken with which all layers together are simulated in the
fewest cycles. Its text, a sequence of the host for each layer, is printed at full size and each
program read back from it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import ceil

from xdna_encoder import FRAMES, INNER, LAYERS, WIDTH, floats, quantised
from xdna_own import run_of

from match_aie.errors import Infeasible, MatchError
from match_aie.targets.aie_ml.array import ArrayProgram
from match_aie.targets.aie_ml.array.layer import ArrayMapping, DenseLayer
from match_aie.targets.aie_ml.array.layout import lay_out
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.graph.layer import zeros_of
from match_aie.targets.aie_ml.graph.overlay import Overlay, OverlayPlan
from match_aie.targets.aie_ml.schedule import Variant
from match_aie.targets.aie_ml.simulate import simulate_program
from match_aie.targets.xdna.direct import direct
from match_aie.targets.xdna.mlir import read, text
from match_aie.targets.xdna.mlir.overlay import kernels_of_overlay, overlay, single
from match_aie.workload import Converted

SPECTRA, BANDS, TAPS = 3000, 80, 3

#: Nanoseconds of a number that the host's sequence writes into a core. ASSUMPTION: 24 bytes of an
#: instruction are read as slowly as the slowest published programs that a sequence writes (0.30 ms
#: for 120 KB on an HX 370; see `xdna_real_time.WRITTEN_MS`), and its execution hides behind.
WRITE_NS = 60


@dataclass(frozen=True)
class Size:
    """Layers of a shape.

    Attributes:
        rows: of a layer.
        reduction: of it.
        many: in the encoder.
        runs: of one layer, each of as many columns as the overlay has.
    """

    rows: int
    reduction: int
    many: int
    runs: int = 1

    def padded(self, shared: Overlay) -> tuple[int, int]:
        """Rows and reduction that an overlay runs; the fewest turns that it has."""
        each = shared.mapping.cas_length * shared.call_reduction
        fewest = ceil(self.reduction / each)
        whole = (n for n in range(2, shared.blocks + 1, 2) if shared.blocks % n == 0)
        turns = next(n for n in whole if n >= fewest and not n * shared.column_steps % shared.chunk)
        rows = shared.rows(turns * each)
        return ceil(self.rows / rows) * rows, turns * each


#: By the name of their sequence.
SIZES: Mapping[str, Size] = {
    "convolution_1": Size(SPECTRA, TAPS * BANDS, 1),
    "convolution_2": Size(FRAMES, TAPS * WIDTH, 1),
    "into_heads": Size(FRAMES, WIDTH, LAYERS, 3),
    "of_heads": Size(FRAMES, WIDTH, LAYERS),
    "wide": Size(FRAMES, WIDTH, LAYERS, INNER // WIDTH),
    "back": Size(FRAMES, INNER, LAYERS),
}


@dataclass(frozen=True)
class Form:
    """How tiles of a generation share dense layers.

    Attributes:
        block: tiles of `mmul` whose sums are in registers.
        variant: how epilogues meet the next block.
        splits: parts of the columns and of the rows that are tried.
        calls: rows, reduction and columns of a call, and blocks of a pass.
        feeds: ways for the weights that are tried.
        length: tiles of a chain.
        chunk: as of `Overlay`.
        spread: likewise.
        primed: likewise.
        halved: likewise; multipliers by column have 16 bits then.
        last_block: as `block`, of the turn that requantises, where that is too much code or has too
            many sums.
    """

    block: tuple[int, int]
    variant: Variant
    splits: tuple[tuple[int, int], ...]
    calls: tuple[tuple[int, int, int, int], ...]
    feeds: tuple[int, ...] = (1, 2)
    length: int = 2
    chunk: int = 2
    spread: bool = False
    primed: bool = False
    halved: bool = False
    last_block: tuple[int, int] | None = None


#: By generation and type. On XDNA2 streams are slow beside cores: no tile has a cascade, rows are
#: divided among all columns, and each part of the weights comes by a way of its own.
#: In bfloat16 calls of fewer rows wait for weights, and a memory tile has no room for more of
#: them; one way for the weights of both chains makes tiles wait twice as long. Three functions with
#: blocks of (3, 2) are more than program memory holds, each with an entry of its own.
FORMS: Mapping[tuple[str, str], Form] = {
    ("XDNA1", "int8"): Form(
        (2, 2), "flat", ((2, 4),), ((96, 64, 64, 16), (64, 128, 64, 8), (48, 128, 64, 16))
    ),
    ("XDNA1", "bf16"): Form((2, 2), "flat", ((2, 4),), ((48, 64, 64, 16),), (2,)),
    ("XDNA2", "int8"): Form(
        *((1, 2), "flat", ((4, 8),), ((48, 128, 64, 16),), (4,), 1),
        spread=True,
        primed=True,
        last_block=(1, 1),
    ),
    ("XDNA2", "bf16"): Form((1, 1), "overlapped", ((2, 8),), ((48, 64, 64, 16),), (2,)),
    ("XDNA2", "bfp16"): Form((2, 2), "overlapped", ((2, 8),), ((48, 64, 64, 16),), (2,)),
}

#: Of half of the columns, in 8 bits: tiles without a cascade, rows divided among all rows of cores,
#: and each memory tile has the weights of its part of the columns. On XDNA1 half of the sums of a
#: chain's calls wait, twice the products are made of them in a turn, and what the DMA brings of the
#: weights meets nothing; the way of the weights is the bound: numbers by column come in halves,
#: with multipliers of 16 bits, so that the last turn takes about as long as its weights. Program
#: memory has room for two such kernels, the last one of smaller blocks. On XDNA2 calls are as large
#: as sums have room.
HALVES: Mapping[str, Form] = {
    "XDNA1": Form(
        *((2, 2), "flat", ((2, 4),), ((48, 128, 64, 16),), (2,), 1, 4),
        spread=True,
        primed=True,
        halved=True,
        last_block=(3, 1),
    ),
    "XDNA2": Form(
        (1, 2), "flat", ((4, 4),), ((96, 64, 64, 32),), (4,), 1, spread=True, last_block=(1, 1)
    ),
}


def candidates(array: Device, types: str = "int8") -> Iterator[Overlay]:
    """Splits, sizes of calls and blocks that are tried."""
    yield from _shaped(FORMS[array.architecture.name, types], array, types)


def _shaped(form: Form, array: Device, types: str) -> Iterator[Overlay]:
    """Overlays of a form."""
    integers = types == "int8"
    one = "int8" if integers else "bfloat16"
    weights = types if types == "bfp16" else one
    tiling = array.architecture.core.tilings_of(one, weights)[0]
    layer = DenseLayer(
        *(FRAMES, WIDTH, WIDTH, one, weights, one),
        relu=False,
        requantise=("narrow_channel" if form.halved else "channel") if integers else "shift",
        resident=False,
        shared=True,
    )
    for across, above in form.splits:
        for rows, reduction, columns, blocks in form.calls:
            mapping = ArrayMapping(
                *(layer, tiling, form.block, form.variant, form.length, across, above),
                *(rows, columns),
                home="chip",
                reduction_steps=2,
                last_block=form.last_block,
            )
            steps = WIDTH // (across * columns)
            for feeds in form.feeds:
                size = reduction, blocks, steps, form.chunk, feeds
                yield Overlay(
                    *(mapping, *size), spread=form.spread, primed=form.primed, halved=form.halved
                )


def beside(array: Device) -> Iterator[Overlay]:
    """Overlays for half of the columns: without a cascade, then as of all with half the chains."""
    yield from _shaped(HALVES[array.architecture.name], array, "int8")
    for one in candidates(array):
        if one.feeds == 1:
            yield replace(one, mapping=replace(one.mapping, row_parts=one.mapping.row_parts // 2))


def made(size: Size, shared: Overlay) -> Converted:
    """A layer of this shape as the overlay runs it, or a run of some of its columns."""
    rows, reduction = size.padded(shared)
    return _layer(shared, rows, reduction)


def _layer(shared: Overlay, rows: int, reduction: int) -> Converted:
    """A layer of these sizes, of the overlay's element type."""
    layer = shared.mapping.layer
    if layer.a != "int8":
        return floats(reduction, shared.columns, rows, blocks=layer.w == "bfp16")
    narrow = layer.requantise == "narrow_channel"
    return quantised(reduction, shared.columns, rows, narrow=narrow)


def plan_of(shared: Overlay, layer: Converted, array: Device) -> OverlayPlan | Infeasible:
    """Of a layer of `made`."""
    timed = shared.timed(layer.workload, array.name)
    return timed if isinstance(timed, Infeasible) else OverlayPlan(timed)


def _cycles(shared: Overlay, array: Device) -> float | None:
    """Of all dense layers, simulated; None where the overlay does not fit.

    Raises:
        MatchError: it has no text, which adds a word to each core.
    """
    total = 0.0
    for rows, reduction in dict.fromkeys(size.padded(shared) for size in SIZES.values()):
        layer = _layer(shared, rows, reduction)
        plan = plan_of(shared, layer, array)
        if isinstance(plan, Infeasible):
            return None
        graph = direct(plan.graph("own", layer.workload, zeros_of(layer.workload)), None, array)
        program = lay_out(graph, array)
        if isinstance(program, Infeasible):
            return None
        alone, interval = run_of(program, array)[0], simulate_program(program, array).interval
        for size in SIZES.values():
            if size.padded(shared) == (rows, reduction):
                total += size.many * (alone + (size.runs - 1) * interval)
        text(program, array, turned=True)
    return total


def found(array: Device, types: str = "int8") -> Overlay:
    """The overlay of the fewest cycles, of layers with these element types.

    Raises:
        AssertionError: none fits.
    """
    every = []
    for number, shared in enumerate(candidates(array, types)):
        try:
            cycles = _cycles(shared, array)
        except MatchError:
            continue
        if cycles is not None:
            every.append((cycles, number, shared))
    assert every, f"no overlay fits {array.name}"
    return min(every, key=lambda each: each[:2])[2]


def configured_once(programs: Mapping[str, ArrayProgram], array: Device) -> str:
    """The text of all dense layers, from which each is read back.

    Raises:
        AssertionError: one is read as another program.
        TargetError: they are not one configuration.
    """
    module = overlay(programs, array)
    kernels = kernels_of_overlay(programs)
    for name, program in programs.items():
        assert read(single(module, name), array, kernels[name]) == program, name
    return module
