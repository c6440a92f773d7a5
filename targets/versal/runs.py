"""Layers in a row that may be planned together: each reads what the one before it wrote."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from collections.abc import Mapping as MappingOf
from itertools import pairwise

from match_aie.hardware import Seat
from match_aie.targets.aie_ml.array.layer import DenseLayer
from match_aie.targets.aie_ml.graph.attention_group import Attended
from match_aie.targets.aie_ml.graph.dense_plan import dense_layer
from match_aie.targets.aie_ml.graph.kinds import STAGE_KINDS
from match_aie.targets.aie_ml.graph.pipeline_candidates import candidates
from match_aie.targets.aie_ml.graph.pipeline_rows import Rows
from match_aie.targets.aie_ml.graph.spread_plan import SpreadPlan
from match_aie.targets.aie_ml.known import device
from match_aie.targets.versal.attended import Fed, fed
from match_aie.targets.versal.module import AieArray
from match_aie.targets.versal.wishes import Wish
from match_aie.workload import Workload, heads_joined


def runs_of(
    layers: Sequence[Seat], array: AieArray, wishes: MappingOf[str, Wish], most: int
) -> list[list[int]]:
    """Numbers of layers in a row, at least two, of which each reads the one before it.

    For latency layers share tiles or stand alone, as one does of which its user asks something.

    Args:
        layers: that were selected.
        array: the module.
        wishes: of users, by label.
        most: columns of one stage.
    """

    def stage(layer: Seat) -> bool:
        if array.aim == "latency" and layer.label in wishes:
            return False
        own = layer.workload.kind in STAGE_KINDS or heads_joined(layer.workload)
        if layer.module == array.name and own:
            return array.pipelined and layer.label not in wishes
        if layer.module != array.name or layer.workload.kind != "dense":
            return False
        if array.memory == "ddr" and device(array.device).mem_rows:
            return bool(candidates(dense_layer(layer.workload), array.device, most))
        if isinstance(array.plan(layer.workload, layer.mapping), SpreadPlan):
            return True
        # Beside attention, weights that fit tiles stay there, whatever the layer alone would do.
        able = array.pipelined and layer.label not in wishes and bool(fed(layers))
        return able and bool(candidates(dense_layer(layer.workload), array.device, most))

    groups = [one for one in fed(layers).values() if _group(layers, one, stage)]
    found = [list(range(one.first, one.last + 1)) for one in groups]
    inside = {at for run in found for at in run[:-1]}
    firsts = {one.first: one for one in groups}
    for after in range(1, len(layers)):
        if (after in inside and after not in firsts) or after - 1 in inside:
            continue
        before, b = after - 1, layers[after]
        follows = b.sources.count(before) == 1 and not layers[before].leaves
        if not (follows and stage(layers[before]) and stage(b)):
            continue
        run = next((each for each in found if each[-1] == before), None)
        if run is None:
            run = [before]
            found.append(run)
        if after in firsts:
            found.remove(list(range(after, firsts[after].last + 1)))
            run += range(after, firsts[after].last + 1)
        else:
            run.append(after)
    found.sort()
    closed: list[list[int]] = []
    for run in found:
        if any(layers[at].label in wishes for at in run):
            # What a user asks of a stage is asked of dense layers in a row.
            closed += _dense_rows(layers, run)
        else:
            closed += [run] if _closed(layers, run) else straight(layers, run)
    closed = [part for run in closed for part in _without_unfed(layers, run)]
    return [run for run in closed if any(layers[at].workload.kind == "dense" for at in run)]


def _group(layers: Sequence[Seat], one: Fed, stage: Callable[[Seat], bool]) -> bool:
    """Whether five layers before and with attention are stages, and nobody else reads the four."""
    inside = range(one.first, one.last + 1)
    closed = all(
        not layers[at].leaves and set(layers[at].readers) <= set(inside) for at in inside[:-1]
    )
    source = one.source is None or one.source == one.first - 1
    return closed and source and all(stage(layers[at]) for at in inside)


def _closed(layers: Sequence[Seat], run: Sequence[int]) -> bool:
    """Whether nobody else reads what stages but the last give; sums may read it again later."""
    return all(set(layers[at].readers) <= set(run) for at in run[:-1])


def straight(layers: Sequence[Seat], run: Sequence[int]) -> list[list[int]]:
    """The parts of a run in which each stage is the only one that reads the one before it."""
    found = [[run[0]]]
    for before, after in pairwise(run):
        again = any(source in found[-1][:-1] for source in layers[after].sources)
        if layers[before].readers == (after,) and not again:
            found[-1].append(after)
        else:
            found.append([after])
    return [part for part in found if len(part) > 1]


def parts_of(layers: Sequence[Seat], run: Sequence[int]) -> list[list[int]]:
    """What may still be pipelines of a run that is none as a whole.

    These are its straight parts, or of a straight one the dense layers in a row.
    """
    if all(layers[at].workload.kind == "dense" for at in run):
        return []
    pieces = straight(layers, run)
    if pieces != [list(run)]:
        pieces = [each for part in pieces for each in _without_unfed(layers, part)]
        return [part for part in pieces if any(layers[at].workload.kind == "dense" for at in part)]
    return _dense_rows(layers, run)


def _without_unfed(layers: Sequence[Seat], run: Sequence[int]) -> list[list[int]]:
    """The parts of a run around attention that lacks a layer that feeds it."""
    groups = fed(layers)
    found: list[list[int]] = [[]]
    for at in run:
        unfed = heads_joined(layers[at].workload) and (
            at not in groups or groups[at].first not in run
        )
        if unfed:
            found.append([])
        else:
            found[-1].append(at)
    return [part for part in found if len(part) > 1]


def _dense_rows(layers: Sequence[Seat], run: Sequence[int]) -> list[list[int]]:
    """The dense layers of a run that follow each other, each the only reader of the one before."""
    dense = [at for at in run if layers[at].workload.kind == "dense"]
    found: list[list[int]] = []
    for at in dense:
        if found and found[-1][-1] == at - 1 and layers[at - 1].readers == (at,):
            found[-1].append(at)
        else:
            found.append([at])
    return [each for each in found if len(each) > 1]


def wanted_of(layers: Sequence[Seat], run: Sequence[int], at: int) -> DenseLayer | Rows:
    """What a pipeline's plan takes of a stage.

    Args:
        layers: that were selected.
        run: numbers of the stages, in a row.
        at: number of the stage.
    """
    workload = layers[at].workload
    if workload.kind == "dense":
        return dense_layer(workload)
    group = fed(layers).get(at)
    if group is not None and group.first in run:
        return Attended(workload.output.shape[1], "x", feeds=group.feeds)
    follows = at != run[0] and at - 1 in layers[at].sources
    given = layers[at].sources.index(at - 1) if follows else 0
    # A row is what the nearest layer that says its width takes or gives.
    sized = [n for n in run if layers[n].workload.kind in ("dense", "permute")]
    before = [n for n in sized if n < at]
    if before and workload.kind != "permute":
        wide = _widths(layers[before[-1]].workload)[1]
    else:
        wide = _widths(layers[next(n for n in sized if n >= at)].workload)[0]
    again = tuple(
        (run.index(source), workload.inputs[number].name)
        for number, source in enumerate(layers[at].sources)
        if number != given and source in run
    )
    return Rows(wide, workload.inputs[given].name, again)


def _widths(workload: Workload) -> tuple[int, int]:
    """Elements of a row of what a dense layer or a transpose takes, and gives."""
    if workload.kind == "dense":
        layer = dense_layer(workload)
        return layer.reduction, layer.columns
    rows, columns = (size for size in workload.operand("x").shape if size > 1)
    return columns, rows
