"""Candidates of all stages of a pipeline, those of one of several copies side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from match_aie.targets.aie_ml.array.layer import DenseLayer
from match_aie.targets.aie_ml.array.shapes import native_tilings
from match_aie.targets.aie_ml.graph.attention_group import Entry, grouped
from match_aie.targets.aie_ml.graph.pipeline_candidates import Candidate, candidates
from match_aie.targets.aie_ml.graph.pipeline_links import heads_read
from match_aie.targets.aie_ml.graph.pipeline_rows import Rows, row_candidates
from match_aie.targets.aie_ml.known import device as known
from match_aie.workload import Workload

#: Whether a candidate may be taken.
Keeps = Callable[[Candidate], bool]


def offered_entries(
    stages: Sequence[tuple[DenseLayer | Rows, Workload]],
    name: str,
    columns: int,
    keeps: Sequence[Keeps],
    copies: int,
    *,
    near: bool = False,
) -> list[tuple[Entry, ...]] | None:
    """Candidates of the stages of one of so many pipelines; None where rows do not divide.

    Stages that are chosen together have one list.

    Args:
        stages: of all rows; those that are no dense layers have no copies.
        name: of the device.
        columns: that a stage of one may take.
        keeps: of each stage, which candidates may be taken; all where empty.
        copies: side by side.
        near: as `candidates`.
    """
    device = known(name)
    layers = [layer for layer, _ in stages if isinstance(layer, DenseLayer)]
    if copies > 1:
        whole = copies * native_tilings(layers[0], device)[0].m
        if layers[0].rows % whole or len(layers) < len(stages):
            return None
    parts = [replace(layer, rows=layer.rows // copies) for layer in layers]
    heads = heads_read(stages)
    dense = iter(
        [
            candidates(part, name, columns, size, filled=any(heads), near=near)
            for part, size in zip(parts, heads, strict=True)
        ]
    )
    offered: list[tuple[Entry, ...]] = [
        next(dense)
        if isinstance(layer, DenseLayer)
        else row_candidates(workload, name, layer.wide, layers[0], columns)
        for layer, workload in stages
    ]
    if keeps:
        pairs = zip(offered, keeps, strict=True)
        offered = [
            tuple(one for one in each if not isinstance(one, Candidate) or keep(one))
            for each, keep in pairs
        ]
    offered = grouped(offered, [layer for layer, _ in stages], device)
    if copies > 1:
        into, out = (device.need(much, "streams") for much in (device.plio_in, device.plio_out))
        offered[0] = tuple(one for one in offered[0] if copies * one.streams[1] <= into)
        offered[-1] = tuple(one for one in offered[-1] if copies * one.streams[0] <= out)
    return offered
