"""Layers of Whisper-base's whole encoder in bfloat16 on Ryzen AI arrays.

Sizes, plans, execution and simulation are those of `xdna_whisper.py`; weights are seeded. Tensors
lie in the chip's memory as bfloat16 between layers, also those of rows that the processor has.
Attention's keys and values go by as well; its softmax is unshifted, or less each row's largest
score.
Dense layers have the fastest program of each shape, or share one configuration of the array
(`xdna_overlay.py`). `xdna_strategies.py` adds everything up.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
from xdna_encoder import FRAMES, INNER, LAYERS, WIDTH, floats
from xdna_layers import HEADS, PARTS, Kind, dense_kind
from xdna_overlay import SIZES, SPECTRA

from match_aie.hardware import Mapping as Mapped
from match_aie.targets.aie_ml.graph.overlay import Overlay
from match_aie.targets.aie_ml.kernels.arithmetic import in_fixed_point
from match_aie.targets.cpu import CPU
from match_aie.targets.cpu.float_module import FloatRows
from match_aie.workload import Converted, Workload, function, narrow, real_pair
from match_aie.workload.real import attention, layer_norm

#: Bytes of an element in the chip's memory.
NARROW = 2


def _plain(workload: Workload) -> Converted | str:
    return in_fixed_point(workload, {})


def attention_of(*, unshifted: bool, blocks: bool = False) -> Kind:
    """Attention of all layers; with `blocks` its products are of block floating point."""
    return Kind("attention", LAYERS, lambda _: _attention(unshifted=unshifted, blocks=blocks))


def _attention(*, unshifted: bool, blocks: bool) -> Converted | str:
    """All heads of a layer; queries are a root of 64 smaller."""
    head = WIDTH // HEADS
    return in_fixed_point(
        attention(
            batch=1,
            heads=HEADS,
            queries=FRAMES,
            keys=FRAMES,
            size=head,
            value_size=head,
            factor=head**-0.5,
        ),
        {},
        unshifted=unshifted,
        blocks=blocks,
    )


def _norm(runs: int) -> Converted | str:
    rng = np.random.default_rng(1)
    workload = layer_norm(rows=FRAMES // runs, columns=WIDTH, epsilon=1e-5)
    numbers = rng.uniform(0.5, 1.5, WIDTH), rng.standard_normal(WIDTH)
    both = (values.astype(np.float32) for values in numbers)
    return in_fixed_point(workload, dict(zip(("weight", "bias"), both, strict=True)))


def _sum(runs: int) -> Converted | str:
    return _plain(real_pair("add", elements=FRAMES * WIDTH // runs))


def _gelu(elements: int) -> Callable[[int], Converted | str]:
    return lambda runs: _plain(function("gelu", elements=elements // runs))


def kinds(shared: Overlay | None = None, types: str = "bf16") -> tuple[Kind, ...]:
    """All layers of the encoder, dense ones as an overlay runs them, or each shape by its own best.

    The processor brings a convolution's windows together.

    Args:
        shared: the overlay, if there is one.
        types: "bf16"; or "bfp16", whose products in dense layers and attention are of block
            floating point.
    """
    tensor = FRAMES * WIDTH

    def dense(name: str, *, gathered: bool = False) -> Kind:
        return _dense(name, shared, gathered=gathered, blocks=types == "bfp16")

    return (
        dense("convolution 1", gathered=True),
        Kind("GELU 1", 1, _gelu(SPECTRA * WIDTH), runs=PARTS),
        dense("convolution 2", gathered=True),
        Kind("GELU 2", 1, _gelu(tensor), runs=PARTS),
        Kind("sum", 1 + 2 * LAYERS, _sum, runs=PARTS),
        Kind("norm", 1 + 2 * LAYERS, _norm, runs=PARTS),
        dense("dense, into heads"),
        attention_of(unshifted=True, blocks=types == "bfp16"),
        dense("dense, of heads"),
        replace(dense("dense, wide"), wide=INNER),
        Kind("GELU", LAYERS, _gelu(FRAMES * INNER), runs=PARTS),
        dense("dense, back"),
    )


def _dense(name: str, shared: Overlay | None, *, gathered: bool, blocks: bool) -> Kind:
    """A dense layer; runs of one are for as many columns as the model is wide."""
    if shared is not None:
        return dense_kind(name, shared, gathered=gathered)
    size = SIZES[name.removeprefix("dense, ").replace(" ", "_")]
    return Kind(
        name,
        size.many,
        lambda _: floats(size.reduction, WIDTH, size.rows, blocks=blocks),
        NARROW * size.rows * size.reduction if gathered else 0,
        runs=(size.runs,),
    )


def rows_of(name: str, rows: int, columns: int) -> Workload:
    """A layer of rows as the processor has it, its tensors bfloat16 as the array leaves them."""
    if name == "sum":
        return narrow(real_pair("add", elements=rows * columns))
    if name == "norm":
        return narrow(layer_norm(rows=rows, columns=columns, epsilon=1e-5))
    return narrow(function("gelu", elements=rows * columns))


def from_memory(target: CPU, cycles: float, nbytes: int, clock: float) -> float:
    """Milliseconds of a layer whose tensors the array left in the chip's memory: no faster than it.

    Its rate is that of the facts, for one core and for several.

    Args:
        target: the processor.
        cycles: modelled, of the layer.
        nbytes: of its operands.
        clock: in Hz.
    """
    return 1e3 * max(cycles, nbytes / target.machine.memory_bytes_per_cycle) / clock


def by_processor(
    sizes: Mapping[str, tuple[int, int]], clock: float, cores: int = 1
) -> dict[str, float]:
    """Milliseconds of each layer of rows on the processor, modelled at its clock.

    Args:
        sizes: rows and columns by name.
        clock: in Hz.
        cores: that a layer may be divided over.
    """
    found = {}
    for name, size in sizes.items():
        target, layer = CPU("x86-64-v3", cores=cores), rows_of(name, *size)
        module = next(each for each in target.modules() if each.name == "cpu_rows")
        assert isinstance(module, FloatRows)
        cycles = module.cost_model(layer).cost(layer, Mapped((), ())).cycles
        found[name] = from_memory(target, cycles, layer.nbytes, clock)
    return found
