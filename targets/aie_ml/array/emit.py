"""What the generator emits for a mapping: the kernels of every tile, and the loops around them.

The schedules that a mapping is priced and simulated with are those of these kernels, operation for
operation: `schedule.generated.kernel_of(spec)` is `mapping.kernel(at, turn)` again.
"""

from __future__ import annotations

from dataclasses import replace

from match_aie.errors import TargetError
from match_aie.targets.aie_ml.array.layer import ArrayMapping
from match_aie.targets.aie_ml.kernels.call import LayerCall
from match_aie.targets.aie_ml.kernels.nest import Nest
from match_aie.targets.aie_ml.kernels.spec import Form, KernelSpec, Position, Requantise
from match_aie.targets.aie_ml.schedule.kernel import Requantise as Scheduled

#: The generator's name of how sums become results.
FORMS: dict[Scheduled, Form] = {
    "shift": "shift",
    "multiplier": "tensor",
    "channel": "channel",
    "narrow_channel": "channel",
    "none": "none",
}


def tail_of(mapping: ArrayMapping) -> Requantise:
    """The requantisation that the layer names, without zero points or bounds of its own."""
    layer = mapping.layer
    form: Form = "none" if layer.a == "bfloat16" else FORMS[layer.requantise]
    return Requantise(form, layer.out)


def call_spec(mapping: ArrayMapping, at: int, tail: Requantise | None = None) -> KernelSpec:
    """The kernel of a call of tile `at` of a chain, all turns of the reduction taken together.

    Args:
        mapping: that is emitted.
        at: tile of the chain, west to east.
        tail: requantisation with its zero point and bounds; as the layer names it where None.

    Raises:
        TargetError: the mapping is of another tool's kernels, or `tail` is not the layer's.
    """
    layer = mapping.layer
    wanted = tail_of(mapping)
    tail = tail or wanted
    if mapping.variant == "exposed":
        raise TargetError(
            "kernels whose epilogue waits are simulated, and not emitted",
            hint="variant 'flat' or 'overlapped'",
        )
    if (tail.form, tail.dtype) != (wanted.form, wanted.dtype):
        raise TargetError(f"a tail to {tail.dtype} by {tail.form} is not that of {layer}")
    place = mapping.position(at)
    position: Position = "only" if place == "single" else place
    return KernelSpec(
        a=layer.a,
        b=layer.w,
        tiling=mapping.tiling,
        rows=mapping.block[0],
        columns=mapping.block[1],
        m=mapping.call_rows,
        k=mapping.call_reduction,
        n=mapping.call_columns,
        requantise=tail,
        position=position,
        bias=layer.bias and position in ("only", "first"),
        relu=layer.relu and position in ("only", "last"),
        flat=mapping.variant == "flat",
    )


def tile_nest(mapping: ArrayMapping, call: LayerCall, at: int | None = None) -> Nest:
    """The function of a tile: all its calls, in the mapping's order; `call.spec` as `call_spec`.

    Args:
        mapping: the tile's.
        call: of a turn.
        at: tile of a chain; its numbers by column are run-time parameters where None.

    Raises:
        TargetError: the call is not of this mapping.
    """
    s = call.spec
    if (s.m, s.k, s.n) != (mapping.call_rows, mapping.call_reduction, mapping.call_columns):
        raise TargetError(f"call {call.symbol} of {s.m}x{s.k}x{s.n} is not one of the mapping")
    nest = replace(_nest(mapping, call), m_tiles=mapping.row_steps, n_tiles=mapping.column_steps)
    return nest if at is None else replace(nest, numbers=mapping.numbers(at))


def _nest(mapping: ArrayMapping, call: LayerCall) -> Nest:
    return Nest(
        call,
        k_tiles=mapping.reduction_steps,
        order="mn" if mapping.outer == "m" else "nm",
        streamed=mapping.streamed,
        last_block=mapping.last_block,
        first_block=mapping.first_block,
        rounded=mapping.layer.rounds,
    )
