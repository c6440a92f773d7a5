"""The array simulator behind `match_aie.simulation.simulate_spread`."""

from __future__ import annotations

from dataclasses import replace
from typing import cast, get_args

from match_aie.errors import Infeasible, InfeasibleError, TargetError
from match_aie.simulation import SpreadLayer, SpreadResult
from match_aie.targets.aie_ml.array.layer import ArrayMapping, DenseLayer
from match_aie.targets.aie_ml.array.search import Given
from match_aie.targets.aie_ml.array.shapes import blocks
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.graph.given import find
from match_aie.targets.aie_ml.known import device, devices
from match_aie.targets.aie_ml.schedule import Requantise, Variant
from match_aie.targets.aie_ml.simulate.layer import simulate


def spread(question: SpreadLayer) -> SpreadResult | None:
    """The answer for AI Engine devices; None for others.

    Raises:
        InfeasibleError: the mapping does not fit.
        TargetError: facts are missing, or names are not known.
    """
    if question.device not in devices():
        return None
    array = device(question.device)
    mapping = _mapping(question, array)
    result = simulate(mapping, array, trace=question.trace)
    return SpreadResult(
        interval=result.interval,
        latency=result.latency,
        frequency=array.clock_ghz * 1e9,
        operations=2 * result.macs,
        tiles=mapping.tiles,
        utilisation=tuple((f"{c},{r}", share) for (c, r), share in result.busy.items()),
        mapping=f"K/{mapping.cas_length} N/{mapping.column_parts} M/{mapping.row_parts}, calls of "
        f"{mapping.call_rows}x{mapping.part_reduction}x{mapping.call_columns}, {mapping.variant}",
        timeline=result.timeline,
    )


def _mapping(question: SpreadLayer, array: Device) -> ArrayMapping:
    for value, known in ((question.requantise, Requantise), (question.epilogue, Variant)):
        if value is not None and value not in get_args(known):
            raise TargetError(f"{value!r} is none of {get_args(known)}")
    layer = DenseLayer(
        question.rows,
        question.reduction,
        question.columns,
        question.a,
        question.w,
        question.out,
        question.bias,
        question.relu,
        cast(Requantise, question.requantise),
    )
    given = Given(question.reduction_parts, question.column_parts, question.row_parts)
    found = find(layer, array, given=given)
    if isinstance(found, Infeasible):
        raise InfeasibleError(found, where=f"{question.device}, {given}")
    mapping = found[0].mapping
    if question.epilogue is not None:
        mapping = replace(mapping, variant=cast(Variant, question.epilogue))
    if question.call_rows is not None or question.call_columns is not None:
        # Blocks of accumulators divide a call: the search's own where it does, else the first.
        sized = replace(
            mapping,
            call_rows=question.call_rows or mapping.call_rows,
            call_columns=question.call_columns or mapping.call_columns,
            block=(1, 1),
        )
        fitting = blocks(sized)
        block = mapping.block if mapping.block in fitting else fitting[0]
        mapping = replace(sized, block=block)
    return mapping
