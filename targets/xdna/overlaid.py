"""What the open tool chain gets of layers that one configuration of the array serves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from match_aie.errors import Infeasible, InfeasibleError, TargetError
from match_aie.hardware import ChosenLayer
from match_aie.targets.aie_ml.array.layout import lay_out
from match_aie.targets.aie_ml.array.program import ArrayProgram
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.graph.layer import LayerPlan
from match_aie.targets.aie_ml.graph.plan import LayerGraph
from match_aie.targets.xdna.direct import direct
from match_aie.targets.xdna.mlir.dialect import Dialect
from match_aie.targets.xdna.mlir.linking import crowded
from match_aie.targets.xdna.mlir.objects import ObjectFile
from match_aie.targets.xdna.mlir.overlay import objects_of_overlay, overlay
from match_aie.targets.xdna.mlir.tensors import GraphHost, graph_host


@dataclass(frozen=True, eq=False)
class Seated:
    """A layer by an overlay.

    Attributes:
        layer: what runs.
        plan: how.
    """

    layer: ChosenLayer
    plan: LayerPlan

    def graph(self, name: str, array: Device) -> LayerGraph:
        """Its graph, under the name that all layers of the overlay have, as the text moves it."""
        one = self.plan.graph(name, self.layer.workload, self.layer.constants)
        return direct(one, None, array)


@dataclass(frozen=True, eq=False)
class OverlayText:
    """A configuration and its sequences.

    Attributes:
        text: of the device.
        objects: files that its cores link.
        hosts: of each layer, by the name of its sequence.
        lacks: what the text lacks; empty where nothing.
    """

    text: str
    objects: Sequence[ObjectFile]
    hosts: Sequence[GraphHost]
    lacks: str = ""


def overlay_text(
    name: str, seated: Sequence[Seated], column: int, array: Device, dialect: Dialect
) -> OverlayText:
    """The text of layers that share a configuration, a sequence for each.

    Args:
        name: of all graphs, a C identifier: layers have their functions in common.
        seated: layers of the overlay.
        column: of the array, the first that they take.
        array: the device.
        dialect: version of the text.

    Raises:
        InfeasibleError: a layer's program does not fit the array, or its text.
        TargetError: they are not one configuration.
    """
    programs: dict[str, ArrayProgram] = {}
    hosts = []
    for one in seated:
        graph, symbol = one.graph(name, array), one.layer.symbol
        program = lay_out(graph, array, column)
        if isinstance(program, Infeasible):
            raise InfeasibleError(program, where=one.layer.label)
        programs[symbol] = program
        host = graph_host(program, graph, None, [(symbol, one.layer.workload)])
        hosts.append(replace(host, name=symbol))
    first = programs[seated[0].layer.symbol]
    made = overlay(programs, array, dialect)
    return OverlayText(made, objects_of_overlay(first), hosts, crowded(first, array, dialect))


def why_not(error: InfeasibleError | TargetError) -> str:
    """An error as one sentence."""
    why = f"{error.where}: {error.what}" if error.where else error.what
    return " ".join(why.split())
