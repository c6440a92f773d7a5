"""Plans of image layers by workload: what a module asks of a layer before its numbers are known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from match_aie.cost_models.aie_image import BandCost
from match_aie.errors import Infeasible, InternalError, TargetError
from match_aie.hardware import Loop
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.graph.candidates import Candidates
from match_aie.targets.aie_ml.graph.choose import WindowCuts, split_of
from match_aie.targets.aie_ml.graph.choose_rows import RowCuts
from match_aie.targets.aie_ml.graph.image import CutLayer, ImageCut
from match_aie.targets.aie_ml.graph.kinds import IMAGE_KINDS, ROW_KINDS
from match_aie.targets.aie_ml.graph.layer import by_width
from match_aie.targets.aie_ml.graph.plan import LayerGraph, MemoryKind
from match_aie.targets.aie_ml.graph.rows import CutRows, RowCut, row_graph
from match_aie.targets.aie_ml.graph.window import window_graph
from match_aie.targets.aie_ml.known import device as known
from match_aie.workload import Workload

Arrays = Mapping[str, np.ndarray]


def refuses(workload: Workload) -> str | None:
    """Why the array has no kernel for an image layer or rows; None where it has one."""
    if workload.kind in ROW_KINDS:
        return ROW_KINDS[workload.kind].refuses(workload)
    if workload.kind not in IMAGE_KINDS:
        return f"it is a {workload.kind}, no image layer"
    return IMAGE_KINDS[workload.kind].refuses(workload)


@dataclass(frozen=True, eq=False)
class ImagePlan:
    """How an image layer or rows runs on the array.

    Attributes:
        cut: how it is spread.
        device: that it is for.
        columns: of the array that it takes.
        cost: of one run, modelled.
        spatial: the split over tiles, then the lanes of one; no other plan of a layer has the same.
        ways: channels from the chip's memory into the array, and back.
    """

    cut: ImageCut | RowCut
    device: Device
    columns: int
    cost: BandCost
    spatial: tuple[Loop, ...]
    ways: tuple[int, int]

    @property
    def memory(self) -> MemoryKind:
        """The chip's."""
        return "ddr"

    @property
    def cycles(self) -> float:
        """Of the array's clock, first word in to last word out; modelled."""
        return self.cost.latency

    @property
    def legs(self) -> tuple[float, float]:
        """Of `cycles`, the way of the inputs into memory tiles, and that of the result out."""
        return self.cost.legs

    @property
    def starting(self) -> float:
        """Of `cycles`, starting the kernels."""
        return self.cost.starting

    def graph(self, name: str, workload: Workload, constants: Arrays) -> LayerGraph:
        """The graph, called `name`, with the numbers of `constants`.

        Raises:
            TargetError: a bias that carries the input's zero point leaves int32.
        """
        if isinstance(self.cut, RowCut):
            layer = ROW_KINDS[workload.kind].layer(workload, constants, name)
            graph = row_graph(CutRows(layer, self.cut), self.device, self.columns)
        else:
            layer_of = IMAGE_KINDS[workload.kind].layer
            plan = CutLayer(layer_of(workload, constants, name), self.cut)
            graph = window_graph(plan, self.device, self.columns)
        if isinstance(graph, Infeasible):
            raise InternalError(f"layer {name} was planned and has no graph: {graph}")
        return graph


def share(name: str, ways: int) -> Device:
    """Device `name` with so many ways in for each input of a layer, and out of it."""
    return replace(known(name), gmio_in=2 * ways, gmio_out=ways)


def image_plans(workload: Workload, name: str, most: int) -> tuple[ImagePlan, ...] | Infeasible:
    """Plans of an image layer or rows on up to `most` columns, the best of every width.

    No plan is as good as one of fewer columns.

    Raises:
        TargetError: as `plan_image`.
    """
    return by_width(most, lambda width: _planned(workload, name, width, most))


def image_plan(workload: Workload, name: str, spatial: Sequence[Loop]) -> ImagePlan:
    """The plan that `image_plans` gave for these spatial loops.

    Raises:
        TargetError: there is none.
    """
    sizes = tuple(loop.size for loop in spatial)
    most = known(name).columns
    plan = _planned(workload, name, most, most, sizes=sizes)
    if isinstance(plan, Infeasible):
        raise TargetError(f"a {workload.kind} has no plan for the spatial loops {sizes}: {plan}")
    return plan


def plan_image(
    workload: Workload, name: str, columns: int, ways: int = 1
) -> ImagePlan | Infeasible:
    """How an image layer or rows in fixed point runs on some columns of the array.

    Args:
        workload: in the fixed point that `arithmetic.in_fixed_point` gave.
        name: of the device.
        columns: at most.
        ways: from the chip's memory for each input, and back to it, at most.

    Raises:
        TargetError: `refuses` says why there is no kernel, or facts of the device are not known.
    """
    return _planned(workload, name, columns, columns, ways)


@lru_cache(maxsize=4096)
def _planned(
    workload: Workload,
    name: str,
    columns: int,
    most: int,
    ways: int = 1,
    sizes: tuple[int, ...] = (),
) -> ImagePlan | Infeasible:
    """The best plan on `columns` of `most` columns that are looked at together.

    That of one split where `sizes` of spatial loops are given.
    """
    kind, candidates = _candidates(workload, name, most, ways, sizes)
    found = candidates.best(columns)
    if isinstance(found, Infeasible):
        return found
    cut = found.plan
    return ImagePlan(
        cut.cut,
        kind.device,
        found.columns,
        found.cost,
        kind.loops(cut, workload),
        kind.ways(cut),
    )


#: Cuts are many: those of a layer are kept while its widths are asked for, one after the other.
@lru_cache(maxsize=2)
def _candidates(
    workload: Workload, name: str, most: int, ways: int, sizes: tuple[int, ...]
) -> tuple[Any, Candidates[Any]]:
    """The layer with all its cuts."""
    reason = refuses(workload)
    if reason is not None:
        raise TargetError(reason)
    device = share(name, ways)
    zeros = {o.name: np.zeros(o.shape, o.dtype) for o in workload.constants}
    kind: WindowCuts | RowCuts
    if workload.kind in IMAGE_KINDS:
        layer = IMAGE_KINDS[workload.kind].layer(workload, zeros, "layer")
        kind = WindowCuts(layer, device, split_of(sizes) if sizes else None)
    else:
        rows = ROW_KINDS[workload.kind].layer(workload, zeros, "layer")
        kind = RowCuts(rows, device, sizes[0] if sizes else None)
    return kind, Candidates(kind, most)
