"""The only module that knows ZigZag (zigzag-dse 3.9.1): loop orders, and its own allocation.

Nothing of ZigZag's front end is imported (its parsers need undeclared packages, its API writes
files). A. Symons et al., "LOMA: Fast auto-scheduling on DNN accelerators through loop-order-based
memory allocation", AICAS 2021; L. Mei et al., "ZigZag", IEEE Trans. Computers 70(8), 2021.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from match_aie.errors import OptionError, TargetError
from match_aie.hardware import Memory
from match_aie.mapping.layout import Layout
from match_aie.workload import ITEMSIZE, Workload

#: The version whose interfaces this module uses; they change between minor releases.
VERSION = "3.9.1"

#: A loop order, innermost first: (dimension, iterations).
Order = tuple[tuple[str, int], ...]


@cache
def _zigzag() -> Any:
    """ZigZag's modules, imported when first needed (about half a second)."""
    from types import SimpleNamespace

    import zigzag
    from zigzag import datatypes
    from zigzag.hardware.architecture import (
        accelerator,
        memory_hierarchy,
        memory_instance,
        memory_level,
        memory_port,
        operational_array,
        operational_unit,
    )
    from zigzag.mapping import spatial_mapping, temporal_mapping
    from zigzag.opt.loma import engine
    from zigzag.stages.evaluation.cost_model_evaluation import CostModelStage
    from zigzag.stages.mapping.spatial_mapping_conversion import SpatialMappingConversionStage
    from zigzag.workload import layer_attributes, layer_node

    if zigzag.__version__ != VERSION:
        raise TargetError(
            f"zigzag-dse {zigzag.__version__} is installed, {VERSION} is needed",
            hint=f"pip install zigzag-dse=={VERSION}, or search with engine exact",
        )
    rooms = (
        datatypes, accelerator, memory_hierarchy, memory_instance, memory_level, memory_port,
        operational_array, operational_unit, spatial_mapping, temporal_mapping, engine,
        layer_attributes, layer_node,
    )  # fmt: skip
    names: dict[str, Any] = {}
    for room in rooms:
        names |= vars(room)
    names |= {"CostModelStage": CostModelStage, "Convert": SpatialMappingConversionStage}
    return SimpleNamespace(**names)


def orders(loops: Mapping[str, int], lpf_limit: int | None) -> Iterator[Order]:
    """Orders of the prime factors of temporal loops, as LomaEngine enumerates them.

    Args:
        loops: iterations by dimension.
        lpf_limit: factors to permute at most; ZigZag merges the smallest of the dimension that
            has most.
    """
    if all(size == 1 for size in loops.values()):
        yield ()
        return
    for order in _factored(loops, lpf_limit).ordering_generator():
        yield tuple((dim.name, int(size)) for dim, size in order)


def factors(loops: Mapping[str, int], lpf_limit: int | None) -> Order:
    """The loop prime factors that `orders` permutes."""
    if all(size == 1 for size in loops.values()):
        return ()
    return tuple((dim.name, int(size)) for dim, size in _factored(loops, lpf_limit).lpfs)


def _factored(loops: Mapping[str, int], lpf_limit: int | None) -> Any:
    """A LomaEngine whose temporal loops are given; the kernel's own loops are left out of them."""
    z = _zigzag()

    class Orders(z.LomaEngine):  # type: ignore[misc, name-defined]
        """LomaEngine as far as orders go: needs no accelerator and no layer."""

        def __init__(self) -> None:
            self.lpf_limit = lpf_limit
            self.layer = None
            self.constraints: list[Any] = []
            self.has_constraints = False
            self.temporal_loop_dim_size = {
                z.LayerDim(dim): size for dim, size in loops.items() if size > 1
            }
            self.update_min_lpf_factor(self.temporal_loop_dim_size)
            self.get_prime_factors()

    return Orders()


@dataclass(frozen=True)
class Allocation:
    """One order with ZigZag's cuts.

    Attributes:
        order: of all temporal loops, innermost first.
        cuts: by operand, how many loops of `order` lie inside its tile in each memory that holds
            tiles of it, innermost memory first.
    """

    order: Order
    cuts: tuple[tuple[str, tuple[int, ...]], ...]


#: By kind: equation, our operand -> ZigZag's, ZigZag's operand -> its memory port's operand.
_EQUATIONS: dict[str, tuple[str, dict[str, str], dict[str, str]]] = {
    "conv2d": (
        "O[b][g][k][oy][ox] = W[g][k][c][fy][fx] * I[b][g][c][iy][ix]",
        {"x": "I", "weight": "W", "y": "O"},
        {"I": "I1", "W": "I2", "O": "O"},
    ),
    "dense": (
        "O[b][k] = W[k][c] * I[b][c]",
        {"x": "I", "weight": "W", "y": "O"},
        {"I": "I1", "W": "I2", "O": "O"},
    ),
    "matmul": (
        "O[b][oy][k] = W[b][c][k] * I[b][oy][c]",
        {"x": "I", "x1": "W", "y": "O"},
        {"I": "I1", "W": "I2", "O": "O"},
    ),
    "add": (
        "O[b][oy][ox][k] = X[b][oy][ox][k] + Y[b][oy][ox][k]",
        {"x": "X", "x1": "Y", "y": "O"},
        {"X": "I1", "Y": "I2", "O": "O"},
    ),
}


def allocations(
    workload: Workload, layout: Layout, unroll: Mapping[str, int], lpf_limit: int | None
) -> Iterator[Allocation]:
    """Every order that stock LOMA tries, with the cuts that move the fewest bits.

    Args:
        workload: of kind conv2d, dense, matmul or add (without broadcasting).
        layout: memories.
        unroll: how much of each dimension the hardware does at a time; divides it.
        lpf_limit: as ZigZag's `loma_lpf_limit`.

    Raises:
        OptionError: ZigZag has no equation for this workload.
    """
    if workload.kind not in _EQUATIONS:
        raise OptionError(
            f"engine zigzag has no equation for {workload.kind}", hint="use engine exact or loma"
        )
    z = _zigzag()
    accelerator = _accelerator(layout, unroll, workload)
    layer = _layer(workload, unroll)
    layer.spatial_mapping.initialize_oa_dims(accelerator.operational_array.dimension_sizes)
    convert = z.Convert([z.CostModelStage], accelerator=accelerator, layer=layer)
    spatial, _ = convert.convert_user_spatial_mapping(layer.spatial_mapping)
    engine = z.LomaEngine(
        accelerator=accelerator,
        layer=layer,
        spatial_mapping=spatial,
        mapping_type=z.TemporalMappingType.UNEVEN,
        loma_lpf_limit=lpf_limit,
    )
    names = {theirs: ours for ours, theirs in _EQUATIONS[workload.kind][1].items()}
    try:
        for found in engine.run():
            yield _allocation(found.mapping_dic_origin, names)
    except z.NoValidLoopOrderingFoundException:
        return


def _allocation(levels: Mapping[Any, Sequence[Sequence[Any]]], names: dict[str, str]) -> Allocation:
    first = next(iter(levels.values()))
    order = tuple((d.name, int(s)) for level in first for d, s in level if int(s) > 1)
    cuts = []
    for operand, loops in levels.items():
        inside, total = [], 0
        for level in loops[:-1]:
            total += sum(1 for _, size in level if int(size) > 1)
            inside.append(total)
        cuts.append((names[operand.name], tuple(inside)))
    return Allocation(order, tuple(cuts))


def _accelerator(layout: Layout, unroll: Mapping[str, int], workload: Workload) -> Any:
    """Memories as ZigZag sees them, what is reserved taken off; an array of one unit a lane."""
    z = _zigzag()
    lanes = {z.OADimension(f"D{at + 1}"): n for at, n in enumerate(unroll.values())}
    lanes = lanes or {z.OADimension("D1"): 1}
    array = z.MultiplierArray(z.Multiplier(1.0, 1), lanes)
    hierarchy = z.MemoryHierarchy(array)
    _, ours, ports = _EQUATIONS[workload.kind]
    for memory in (*(m for tier in layout.tiers for m in tier), layout.home):
        served = [z.MemoryOperand(ports[theirs]) for o, theirs in ours.items() if memory.serves(o)]
        if served:
            hierarchy.add_memory(
                _memory(memory),
                served,
                _ports(served),
                z.ServedMemDimensions(set(lanes)),
            )
    return z.Accelerator(
        core_id=0, name="module", operational_array=array, memory_hierarchy=hierarchy
    )


def _memory(memory: Memory) -> Any:
    z = _zigzag()
    bits = 8 * ((1 << 40) if memory.bytes is None else memory.bytes - memory.reserved)
    width = max(1, int(8 * memory.bytes_per_cycle))
    ports = (
        z.MemoryPort("r_port_1", z.MemoryPortType.READ, width, width),
        z.MemoryPort("w_port_1", z.MemoryPortType.WRITE, width, width),
    )
    return z.MemoryInstance(
        memory.name, size=bits, r_cost=1.0, w_cost=1.0, ports=ports,
        force_double_buffering=memory.double_buffered is None,
    )  # fmt: skip


def _ports(served: Sequence[Any]) -> Any:
    z = _zigzag()
    way = z.DataDirection
    found = {}
    for operand in served:
        found[operand] = {way.WR_IN_BY_HIGH: "w_port_1", way.RD_OUT_TO_LOW: "r_port_1"}
        if operand.name == "O":
            found[operand] |= {way.WR_IN_BY_LOW: "w_port_1", way.RD_OUT_TO_HIGH: "r_port_1"}
    return z.PortAllocation(found)


def _layer(workload: Workload, unroll: Mapping[str, int]) -> Any:
    z = _zigzag()
    equation, ours, links = _EQUATIONS[workload.kind]
    sizes = workload.sizes
    used = [d for d in ("B", "G", "K", "C", "OY", "OX", "FY", "FX") if f"[{d.lower()}]" in equation]
    bits = {theirs: 8 * ITEMSIZE[workload.operand(o).dtype] for o, theirs in ours.items()}
    relations, padding = _window(workload)
    constant = [z.LayerOperand(ours[o.name]) for o in workload.constants if o.name in ours]
    attributes = z.LayerNodeAttributes(
        layer_type=workload.kind,
        equation=z.LayerEquation(equation),
        layer_dim_sizes=z.LayerDimSizes({z.LayerDim(d): sizes[d] for d in used}),
        operand_precision=z.LayerOperandPrecision(
            {z.LayerOperand(o): n for o, n in (bits | {"O_final": bits["O"]}).items()}
        ),
        dimension_relations=relations,
        constant_operands=constant,
        input_operand_source={},
        padding=padding,
        pr_layer_dim_sizes=None,
    )
    lanes = {
        z.OADimension(f"D{at + 1}"): z.MappingSingleOADim({z.LayerDim(d): n})
        for at, (d, n) in enumerate(unroll.items())
    }
    mapping = z.MappingAttributes(
        spatial_mapping=z.SpatialMapping(lanes),
        spatial_mapping_hint=z.SpatialMappingHint.empty(),
        memory_operand_links=z.MemoryOperandLinks(
            {z.LayerOperand(o): z.MemoryOperand(m) for o, m in links.items()}
        ),
        temporal_ordering=z.LayerTemporalOrdering([]),
    )
    return z.LayerNode(layer_id=0, node_name="layer", node_attr=attributes, mapping_attr=mapping)


def _window(workload: Workload) -> tuple[list[Any], Any]:
    """Relations between output, filter and input positions, and the padding."""
    z = _zigzag()
    if workload.window is None:
        return [], z.LayerPadding({})
    (sy, sx), (dy, dx) = workload.window.stride, workload.window.dilation
    top, left, bottom, right = workload.window.padding
    dim = z.LayerDim
    relations = [
        z.LayerDimRelation(dim("IX"), dim("OX"), dim("FX"), sx, dx),
        z.LayerDimRelation(dim("IY"), dim("OY"), dim("FY"), sy, dy),
    ]
    return relations, z.LayerPadding({dim("IY"): (top, bottom), dim("IX"): (left, right)})
