"""Layers in a row that may be planned together: each reads what the one before it wrote."""

from __future__ import annotations

from collections.abc import Mapping as MappingOf
from collections.abc import Sequence
from itertools import pairwise

from match_aie.hardware import Seat
from match_aie.targets.aie_ml.array.layer import DenseLayer
from match_aie.targets.aie_ml.graph.dense_plan import dense_layer
from match_aie.targets.aie_ml.graph.kinds import STAGE_KINDS
from match_aie.targets.aie_ml.graph.pipeline_candidates import candidates
from match_aie.targets.aie_ml.graph.pipeline_rows import Rows
from match_aie.targets.aie_ml.graph.spread_plan import SpreadPlan
from match_aie.targets.aie_ml.known import device
from match_aie.targets.versal.module import AieArray
from match_aie.targets.versal.wishes import Wish
from match_aie.workload import Workload


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
        if layer.module == array.name and layer.workload.kind in STAGE_KINDS:
            return array.pipelined and layer.label not in wishes
        if layer.module != array.name or layer.workload.kind != "dense":
            return False
        if array.memory == "ddr" and device(array.device).mem_rows:
            return bool(candidates(dense_layer(layer.workload), array.device, most))
        return isinstance(array.plan(layer.workload, layer.mapping), SpreadPlan)

    found: list[list[int]] = []
    for before, after in pairwise(range(len(layers))):
        a, b = layers[before], layers[after]
        run = found[-1] if found and found[-1][-1] == before else [before]
        follows = b.sources.count(before) == 1 and not a.leaves
        if not (follows and stage(a) and stage(b)):
            continue
        if len(run) == 1:
            found.append(run)
        run.append(after)
    closed: list[list[int]] = []
    for run in found:
        if any(layers[at].label in wishes for at in run):
            # What a user asks of a stage is asked of dense layers in a row.
            closed += _dense_rows(layers, run)
        else:
            closed += [run] if _closed(layers, run) else straight(layers, run)
    return [run for run in closed if any(layers[at].workload.kind == "dense" for at in run)]


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
        return [part for part in pieces if any(layers[at].workload.kind == "dense" for at in part)]
    return _dense_rows(layers, run)


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
    given = layers[at].sources.index(at - 1) if at != run[0] else 0
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
