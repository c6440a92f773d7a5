"""The best mapping of a dense layer on a few columns, of those that a graph can express."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from match_aie.errors import Infeasible, TargetError
from match_aie.hardware import Loop
from match_aie.targets.aie_ml.array.assumed import Assumed
from match_aie.targets.aie_ml.array.floor import Floor
from match_aie.targets.aie_ml.array.layer import ArrayMapping, DenseLayer
from match_aie.targets.aie_ml.array.price import price
from match_aie.targets.aie_ml.array.search import search
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.graph.dense import DenseGraph
from match_aie.targets.aie_ml.graph.plan import LayerGraph
from match_aie.targets.aie_ml.known import device as known
from match_aie.targets.aie_ml.schedule.kernel import Requantise
from match_aie.workload import Workload

#: Mappings that are looked at: the best ones may need packets, or weights that are streamed.
CANDIDATES = 12


@dataclass(frozen=True)
class DensePlan:
    """A mapping that a graph can express.

    Attributes:
        mapping: how the layer is spread.
        device: with as many columns as the layer may take.
        cycles: of one run, modelled.
    """

    mapping: ArrayMapping
    device: Device
    cycles: float

    @property
    def columns(self) -> int:
        """Of the array that it takes."""
        return Floor(self.mapping, self.device).slots * self.mapping.cas_length

    @property
    def spatial(self) -> tuple[Loop, ...]:
        """Tiles first, then the lanes of one `mmul`."""
        m, t = self.mapping, self.mapping.tiling
        parts = (("B", m.row_parts), ("K", m.column_parts), ("C", m.cas_length))
        lanes = (("B", t.m), ("K", t.n), ("C", t.k))
        return tuple(Loop(dim, size) for dim, size in (*parts, *lanes) if size > 1)

    def graph(
        self, name: str, workload: Workload, constants: Mapping[str, np.ndarray]
    ) -> LayerGraph:
        """The graph, called `name`, with the numbers of `constants`."""
        return DenseGraph(name, self.mapping, self.device, workload, constants).graph


def dense_layer(workload: Workload) -> DenseLayer:
    """A dense workload in fixed point as the array's search sees it."""
    sizes, tail = workload.sizes, workload.tail
    names = {operand.name: operand for operand in workload.constants}
    form: Requantise = "none"
    if tail is not None and workload.output.dtype != "int32":
        multiplier = names.get("multiplier")
        form = "shift" if multiplier is None else "multiplier"
        if multiplier is not None and multiplier.size > 1:
            form = "channel"
    return DenseLayer(
        rows=sizes["B"],
        reduction=sizes["C"],
        columns=sizes["K"],
        a=workload.inputs[0].dtype,
        w=names["weight"].dtype,
        out=workload.output.dtype,
        bias=form in ("shift", "none") or workload.inputs[0].zero_point != 0,
        relu=tail is not None and tail.lo > np.iinfo(workload.output.dtype).min,
        requantise=form,
    )


def region(name: str, columns: int) -> Device:
    """Device `name` with so many columns, which one DMA channel feeds and one empties."""
    whole = known(name)
    return replace(
        whole,
        columns=min(columns, whole.columns),
        shim_noc_columns=None,
        plio_in=None,
        plio_out=None,
        gmio_in=1,
        gmio_out=1,
    )


@lru_cache(maxsize=1024)
def plan_dense(layer: DenseLayer, name: str, columns: int) -> DensePlan | Infeasible:
    """The mapping of least latency on at most `columns` columns of device `name`.

    Raises:
        TargetError: element types without a product there, or facts that are not known.
    """
    device = region(name, columns)
    found = search(layer, device, objective="latency", keep=CANDIDATES, variants=("overlapped",))
    if isinstance(found, Infeasible):
        return found
    able = [plan for p in found if (plan := _expressible(p.mapping, device)) is not None]
    if able:
        return min(able, key=lambda plan: (plan.cycles, plan.mapping.tiles))
    weights = found[0].mapping.weight_bytes * found[0].mapping.column_steps
    room = device.architecture.core.data_memory_bytes
    return Infeasible(
        "weights that stay in the tiles",
        weights,
        room,
        "bytes a tile",
        ("more columns for a layer (columns_per_layer)", "run the layer on the Arm core"),
    )


def _expressible(mapping: ArrayMapping, device: Device) -> DensePlan | None:
    """The mapping with one channel of activations a tile.

    None where weights are streamed, or slices of activations take turns on a lane.
    """
    if mapping.streamed:
        return None
    single = mapping.with_channels(1)
    if Floor(single, device).shares != (1, 1):
        return None
    try:
        priced = price(single, device, Assumed())
    except TargetError:
        return None
    if isinstance(priced, Infeasible):
        return None
    return DensePlan(single, device, priced.cost.latency)
