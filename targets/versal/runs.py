"""Layers in a row that may be planned together: each reads what the one before it wrote."""

from __future__ import annotations

from collections.abc import Mapping as MappingOf
from collections.abc import Sequence
from itertools import pairwise

from match_aie.hardware import Seat
from match_aie.targets.aie_ml.array.layer import DenseLayer
from match_aie.targets.aie_ml.graph.dense_plan import dense_layer
from match_aie.targets.aie_ml.graph.kinds import ROW_KINDS
from match_aie.targets.aie_ml.graph.pipeline_candidates import candidates
from match_aie.targets.aie_ml.graph.pipeline_rows import Rows
from match_aie.targets.aie_ml.graph.spread_plan import SpreadPlan
from match_aie.targets.aie_ml.known import device
from match_aie.targets.versal.module import AieArray
from match_aie.targets.versal.wishes import Wish


def runs_of(
    layers: Sequence[Seat], array: AieArray, wishes: MappingOf[str, Wish], most: int
) -> list[list[int]]:
    """Numbers of layers in a row, at least two, of which each reads the one before it alone.

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
        if layer.module == array.name and layer.workload.kind in ROW_KINDS:
            fed = array.memory == "plio" and array.aim == "throughput"
            return fed and device(array.device).mem_rows > 0 and layer.label not in wishes
        if layer.module != array.name or layer.workload.kind != "dense":
            return False
        if array.memory == "ddr" and device(array.device).mem_rows:
            return bool(candidates(dense_layer(layer.workload), array.device, most))
        return isinstance(array.plan(layer.workload, layer.mapping), SpreadPlan)

    found: list[list[int]] = []
    for before, after in pairwise(range(len(layers))):
        a, b = layers[before], layers[after]
        run = found[-1] if found and found[-1][-1] == before else [before]
        # What else a stage reads comes from outside.
        others = [source for source in b.sources if source != before]
        follows = len(others) == len(b.sources) - 1 and not any(each in run for each in others)
        follows = follows and a.readers == (after,) and not a.leaves
        if not (follows and stage(a) and stage(b)):
            continue
        if len(run) == 1:
            found.append(run)
        run.append(after)
    return [run for run in found if any(layers[at].workload.kind == "dense" for at in run)]


def dense_runs(layers: Sequence[Seat], run: Sequence[int]) -> list[list[int]]:
    """The dense layers in a row of a run that is no pipeline as a whole."""
    found: list[list[int]] = [[]]
    for at in run:
        if layers[at].workload.kind == "dense":
            found[-1].append(at)
        else:
            found.append([])
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
    # A row is what the nearest dense layer takes or gives.
    before = [n for n in run if n < at and layers[n].workload.kind == "dense"]
    if before:
        wide = dense_layer(layers[before[-1]].workload).columns
    else:
        after = next(n for n in run if layers[n].workload.kind == "dense")
        wide = dense_layer(layers[after].workload).reduction
    return Rows(wide, workload.inputs[given].name)
