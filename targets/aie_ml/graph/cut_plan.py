"""Plans of all layers but dense ones: what a module asks of one before its numbers are known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from collections.abc import Mapping as MappingOf
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, ClassVar

from match_aie.cost_models.aie_image import BandCost
from match_aie.errors import Infeasible, InternalError, TargetError
from match_aie.hardware import Mapping
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.graph.candidates import Candidates, Cuts
from match_aie.targets.aie_ml.graph.choose import WindowCuts
from match_aie.targets.aie_ml.graph.choose_rows import RowCuts
from match_aie.targets.aie_ml.graph.float_attention_cuts import attention_kind
from match_aie.targets.aie_ml.graph.kinds import IMAGE_KINDS, ROW_KINDS
from match_aie.targets.aie_ml.graph.layer import Arrays, LayerPlan, by_width, crossing, zeros_of
from match_aie.targets.aie_ml.graph.plan import LayerGraph, MemoryKind
from match_aie.targets.aie_ml.graph.product_cuts import ProductCuts
from match_aie.targets.aie_ml.graph.proof import Unwritten
from match_aie.targets.aie_ml.graph.recurrent import RecurrentCuts
from match_aie.targets.aie_ml.graph.recurrent_single import SingleCuts
from match_aie.targets.aie_ml.kernels.spec import BYTES
from match_aie.targets.aie_ml.known import device as known
from match_aie.workload import Kind, Operand, Workload, product_type


def recurrent_cuts(workload: Workload, device: Device) -> Cuts[Any]:
    """A recurrent layer in float32, in bfloat16, or with products of 8 bits."""
    single = product_type(workload) == "float32"
    return (SingleCuts if single else RecurrentCuts)(workload, device)


#: Layers of products of activations, and recurrent ones: of a workload on a device.
WHOLE_KINDS: MappingOf[Kind, Callable[..., Cuts[Any]]] = {
    "matmul": ProductCuts,
    "attention": attention_kind,
    "gru": recurrent_cuts,
    "lstm": recurrent_cuts,
}


def refuses(workload: Workload) -> str | None:
    """Why the array has no kernel for an image layer or rows; None where it has one."""
    if workload.kind in ROW_KINDS:
        return ROW_KINDS[workload.kind].refuses(workload)
    if workload.kind not in IMAGE_KINDS:
        return f"it is a {workload.kind}, no image layer"
    return IMAGE_KINDS[workload.kind].refuses(workload)


@dataclass(frozen=True)
class CutPlan:
    """How a layer that is no dense one runs on the array.

    Attributes:
        cut: how it is spread.
        columns: of the array that it takes.
        cost: of one run, modelled.
        nest: all of the cut as loops: the plan is read from it without a search.
        ways: channels from the chip's memory into the array, and back.
        kind: what made the cut.
    """

    cut: Any
    columns: int
    cost: BandCost
    nest: Mapping
    ways: tuple[int, int]
    kind: Cuts[Any] = field(compare=False, repr=False)

    #: The chip's.
    memory: ClassVar[MemoryKind] = "ddr"

    @property
    def cycles(self) -> float:
        """Of the array's clock, first word in to last word out; modelled."""
        return self.cost.latency

    @property
    def legs(self) -> tuple[float, float]:
        """Of `cycles`, the way of the inputs into memory tiles, and that of the result out."""
        return self.cost.legs

    @property
    def requests(self) -> tuple[float, float]:
        """Of `cycles`, what the chip's memory takes from requests on; see `BandCost`."""
        return self.cost.requests

    @property
    def starting(self) -> float:
        """Starting the kernels."""
        return self.cost.starting

    def graph(self, name: str, workload: Workload, constants: Arrays) -> LayerGraph:
        """The graph, called `name`, with the numbers of `constants`.

        Raises:
            TargetError: a bias that carries the input's zero point leaves int32.
        """
        graph = self.kind.graph(self.cut, self.columns, name, workload, constants)
        if isinstance(graph, Infeasible):
            raise InternalError(f"layer {name} was planned and has no graph: {graph}")
        return graph


def copied(plan: LayerPlan, workload: Workload, operand: Operand) -> int:
    """Bytes of an operand that the processor copies: all that the array's buffers hold of it.

    Rows and channels are filled up there, and groups of tiles have rows that others have, too.
    """
    if not isinstance(plan, CutPlan):
        return crossing(workload, operand)
    return _buffered(plan, workload)[operand.name]


@lru_cache(maxsize=4096)
def _buffered(plan: CutPlan, workload: Workload) -> MappingOf[str, int]:
    """Bytes of each operand in buffers between the chip's memory and the array."""
    graph = plan.graph("layer", workload, zeros_of(workload))
    # Whole tensors come in the workload's order, and where they do all do.
    ways = [(o, workload.inputs[at : at + 1]) for at, o in enumerate(graph.inputs)]
    ways += [(o, (workload.output,)) for o in graph.outputs]
    found = Counter[str]()
    for outside, whole in ways:
        held = outside.part or outside.blocks
        if outside.values is None:
            name = whole[0].name if held is None else held.operand
            found[name] += outside.elements * BYTES[outside.dtype]
    return found


def share(name: str, ways: int) -> Device:
    """Device `name` with so many ways in for each input of a layer, and out of it."""
    return replace(known(name), gmio_in=2 * ways, gmio_out=ways)


def cut_plans(workload: Workload, name: str, most: int) -> tuple[CutPlan, ...] | Infeasible:
    """Plans of a layer on up to `most` columns, the best of every width.

    No plan is as good as one of fewer columns.

    Raises:
        TargetError: as `plan_cut`.
    """
    return by_width(most, lambda width, _: _planned(workload, name, width, most))


@lru_cache(maxsize=4096)
def cut_plan(workload: Workload, name: str, nest: Mapping) -> CutPlan:
    """The plan that a nest says, of `cut_plans` or another one.

    Raises:
        TargetError: it says none, or one that a tile or the array has no room for.
    """
    kind = _kind(workload, name, 1)
    try:
        priced = kind.read(nest, workload)
    except (IndexError, ValueError) as error:
        raise TargetError(f"{nest} is no nest of a {workload.kind}") from error
    if priced is None or isinstance(priced, Infeasible):
        raise TargetError(f"{nest} does not fit {name}: {priced or 'no kernel'}")
    cut, cost = priced
    columns = kind.lay_out(cut, known(name).columns)
    if isinstance(columns, Unwritten):
        columns = columns.columns
    if isinstance(columns, Infeasible):
        raise TargetError(f"{nest} does not fit {name}: {columns}")
    return CutPlan(cut, columns, cost, nest, kind.ways(cut), kind)


def plan_cut(workload: Workload, name: str, columns: int, ways: int = 1) -> CutPlan | Infeasible:
    """How a layer in fixed point, or a recurrent one in bfloat16, runs on some columns.

    Args:
        workload: in the fixed point that `arithmetic.in_fixed_point` gave.
        name: of the device.
        columns: at most.
        ways: of an image layer or rows from the chip's memory for each input, and back to it.

    Raises:
        TargetError: `refuses` says why there is no kernel, cores have no product of its element
            types, or facts of the device are not known.
    """
    return _planned(workload, name, columns, columns, ways)


@lru_cache(maxsize=4096)
def _planned(
    workload: Workload, name: str, columns: int, most: int, ways: int = 1
) -> CutPlan | Infeasible:
    """The best plan on `columns` of `most` columns that are looked at together."""
    kind, candidates = _candidates(workload, name, most, ways)
    found = candidates.best(columns)
    if isinstance(found, Infeasible):
        return found
    nest = kind.nest(found.plan, workload)
    return CutPlan(found.plan, found.columns, found.cost, nest, kind.ways(found.plan), kind)


#: Cuts are many: those of a layer are kept while its widths are asked for, one after the other.
@lru_cache(maxsize=2)
def _candidates(
    workload: Workload, name: str, most: int, ways: int
) -> tuple[Cuts[Any], Candidates[Any]]:
    """The layer with all its cuts."""
    kind = _kind(workload, name, ways)
    return kind, Candidates(kind, most)


def _kind(workload: Workload, name: str, ways: int) -> Cuts[Any]:
    if workload.kind in WHOLE_KINDS:
        return WHOLE_KINDS[workload.kind](workload, known(name))
    reason = refuses(workload)
    if reason is not None:
        raise TargetError(reason)
    device, zeros = share(name, ways), zeros_of(workload)
    if workload.kind in IMAGE_KINDS:
        return WindowCuts(IMAGE_KINDS[workload.kind].layer(workload, zeros, "layer"), device)
    return RowCuts(ROW_KINDS[workload.kind].layer(workload, zeros, "layer"), device)
