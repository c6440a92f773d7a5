"""Plans of image layers by workload: what a module asks of a layer before its numbers are known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from match_aie.errors import Infeasible, InternalError, TargetError
from match_aie.hardware import Loop
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.graph.choose import choose_image
from match_aie.targets.aie_ml.graph.choose_sum import choose_sum
from match_aie.targets.aie_ml.graph.image import CutLayer, ImageCut
from match_aie.targets.aie_ml.graph.layers import IMAGE_KINDS, image_layer, refuses_image
from match_aie.targets.aie_ml.graph.plan import LayerGraph
from match_aie.targets.aie_ml.graph.sum import CutSum, SumCut, SumLayer, sum_graph
from match_aie.targets.aie_ml.graph.window import window_graph
from match_aie.targets.aie_ml.kernels.arithmetic import add_kernel
from match_aie.workload import Workload

Arrays = Mapping[str, np.ndarray]


def refuses(workload: Workload) -> str | None:
    """Why the array has no kernel for an image layer or a sum; None where it has one."""
    if workload.kind != "add":
        return refuses_image(workload)
    x, x1 = workload.inputs
    if (x.dtype, x.shape) != (x1.dtype, x1.shape) or x.shape != workload.output.shape:
        return f"it adds {x.dtype}{x.shape} and {x1.dtype}{x1.shape}; sums take equal operands"
    for dtype in (x.dtype, workload.output.dtype):
        if dtype not in ("int8", "uint8", "int16"):
            return f"it adds into {dtype}; sums read and store int8, uint8, int16"
    return None


@dataclass(frozen=True, eq=False)
class ImagePlan:
    """How an image layer or a sum runs on the array.

    Attributes:
        cut: how it is spread.
        device: that it is for.
        columns: of the array that it takes.
        cycles: of the array's clock, first word in to last word out; modelled.
        interval: between the ends of repeated runs; modelled.
    """

    cut: ImageCut | SumCut
    device: Device
    columns: int
    cycles: float
    interval: float

    @property
    def spatial(self) -> tuple[Loop, ...]:
        """Tiles first, then the lanes of one; nothing for sums, whose loops have many names."""
        if isinstance(self.cut, SumCut):
            return ()
        c, t = self.cut, self.cut.tiling
        parts = (("OY", c.bands), ("K", c.parts), ("C", c.length))
        lanes = (("OX", t.m), ("K", t.n), ("C", t.k))
        return tuple(Loop(dim, size) for dim, size in (*parts, *lanes) if size > 1)

    def graph(self, name: str, workload: Workload, constants: Arrays) -> LayerGraph:
        """The graph, called `name`, with the numbers of `constants`.

        Raises:
            TargetError: a bias that carries the input's zero point leaves int32.
        """
        if isinstance(self.cut, SumCut):
            layer = sum_layer(workload, constants, name)
            graph = sum_graph(CutSum(layer, self.cut), self.device, self.columns)
        else:
            plan = CutLayer(image_layer(workload, constants, name), self.cut)
            graph = window_graph(plan, self.device, self.columns)
        if isinstance(graph, Infeasible):
            raise InternalError(f"layer {name} was planned and has no graph: {graph}")
        return graph


def sum_layer(workload: Workload, constants: Arrays, name: str) -> SumLayer:
    """The sum of a workload in fixed point.

    Raises:
        TargetError: it is not in the fixed point of its kernel.
    """
    spec, numbers = add_kernel(workload, constants)
    return SumLayer(name, spec, numbers, workload.output.size)


@lru_cache(maxsize=4096)
def plan_image(workload: Workload, device: Device, columns: int) -> ImagePlan | Infeasible:
    """How an image layer or a sum in fixed point runs on at most `columns` columns of `device`.

    Raises:
        TargetError: `refuses` says why there is no kernel, or facts of the device are not known.
    """
    reason = refuses(workload)
    if reason is not None:
        raise TargetError(reason)
    zeros = {o.name: np.zeros(o.shape, o.dtype) for o in workload.constants}
    if workload.kind in IMAGE_KINDS:
        chosen = choose_image(image_layer(workload, zeros, "layer"), device, columns)
        if isinstance(chosen, Infeasible):
            return chosen
        cost, taken = chosen.cost, chosen.columns
        return ImagePlan(chosen.plan.cut, device, taken, cost.latency, cost.interval)
    summed = choose_sum(sum_layer(workload, zeros, "layer"), device, columns)
    if isinstance(summed, Infeasible):
        return summed
    cost, taken = summed.cost, summed.columns
    return ImagePlan(summed.plan.cut, device, taken, cost.latency, cost.interval)
