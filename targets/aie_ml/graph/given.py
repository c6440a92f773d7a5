"""Mappings that a caller gives, or the search finds, as programs: the same builder as for networks.

No layer's numbers are known here: programs are laid out and timed. Activations come and results go
by streams of programmable logic where the device has them, else by DMA channels to memory.
"""

from __future__ import annotations

from dataclasses import replace

from match_aie.errors import Infeasible, TargetError
from match_aie.targets.aie_ml.array.assumed import Assumed
from match_aie.targets.aie_ml.array.fit import fit
from match_aie.targets.aie_ml.array.layer import ArrayMapping, DenseLayer
from match_aie.targets.aie_ml.array.layout import lay_out
from match_aie.targets.aie_ml.array.price import Priced, price, way_rate
from match_aie.targets.aie_ml.array.program import ArrayProgram
from match_aie.targets.aie_ml.array.search import VARIANTS, Given, search
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.graph.constants import Blank
from match_aie.targets.aie_ml.graph.proof import broken_rule
from match_aie.targets.aie_ml.graph.timed import Timed
from match_aie.targets.aie_ml.graph.timed_graph import TimedGraph
from match_aie.targets.aie_ml.schedule import Variant

#: Ways for the weights of a column of tiles that are tried: as many as there are.
FEEDS = (6, 3, 2, 1)

#: Mappings that are laid out until one keeps all rules.
KEPT = 6

#: Parts of the rows that are tried where no finer split has a program.
FEW_PARTS = (4, 2, 1)


def timed_of(mapping: ArrayMapping, device: Device) -> Timed | None:
    """The sizes of everything; None where no graph has such a nest.

    Rows go by in passes, a call of each chain, where nothing else changes from call to call.
    """
    if mapping.outer == "m":
        return None
    rows = mapping.layer.rows
    if not mapping.streamed and mapping.column_steps == mapping.reduction_steps == 1:
        part = replace(mapping.layer, rows=min(rows, mapping.call_rows * mapping.row_parts))
        try:
            mapping = replace(mapping, layer=part)
        except TargetError:
            return None
    for feeds in FEEDS if mapping.streamed else FEEDS[-1:]:
        timed = Timed(mapping, device, rows, feeds, "ddr" if device.plio_in is None else "plio")
        if _ways(timed, device) and timed.fits:
            return timed
    return None


def _ways(timed: Timed, device: Device) -> bool:
    """Whether there are as many ways in and out."""
    if timed.memory == "plio":
        most = device.plio_in, device.plio_out
    else:
        most = device.gmio_in, device.gmio_out
    pairs = zip(timed.ways, most, strict=True)
    return all(have is not None and want <= have for want, have in pairs)


def program_of(mapping: ArrayMapping, device: Device) -> ArrayProgram | Infeasible:
    """The program of `mapping` on `device`.

    Raises:
        TargetError: a fact that it needs is not known, or a kernel has no schedule.
    """
    fitted = fit(mapping, device)
    if isinstance(fitted, Infeasible):
        return fitted
    timed = timed_of(mapping, device)
    if timed is None:
        return _refusal(mapping)
    layer = mapping.layer
    return lay_out(
        TimedGraph("layer", timed, Blank(timed)).graph,
        device,
        macs=layer.macs,
        core_macs=device.architecture.core.macs_of(layer.a, layer.w) or 1,
    )


def _refusal(mapping: ArrayMapping) -> Infeasible:
    levers = ("fewer parts of rows in a column",)
    return Infeasible("a graph of such a nest", mapping.tiles, 0, "tiles", levers)


def find(
    layer: DenseLayer,
    device: Device,
    *,
    keep: int = 1,
    given: Given | None = None,
    most_tiles: int | None = None,
    variants: tuple[Variant, ...] = VARIANTS,
) -> tuple[Priced, ...] | Infeasible:
    """The mappings of least interval whose programs keep all rules, best first.

    Args:
        layer: what to run.
        device: the array.
        keep: how many.
        given: parts that are prescribed.
        most_tiles: cores that may be used; all of them where None.
        variants: epilogues that the kernels may have.

    Raises:
        TargetError: element types without a product on this array, or facts not known.
    """
    given = given or Given()
    # The search splits rows finely; the results of a column of tiles may need more streams then.
    coarser = () if given.row_parts is not None else FEW_PARTS
    for parts in (given, *(replace(given, row_parts=few) for few in coarser)):
        found = _kept(layer, device, keep, parts, most_tiles, variants)
        if not isinstance(found, Infeasible):
            return found
    return found


def _kept(
    layer: DenseLayer,
    device: Device,
    keep: int,
    given: Given,
    most_tiles: int | None,
    variants: tuple[Variant, ...],
) -> tuple[Priced, ...] | Infeasible:
    """As `find`, of what the search offers."""
    answer = search(
        layer,
        device,
        keep=keep + KEPT - 1,
        given=given,
        most_tiles=most_tiles,
        variants=variants,
        express=lambda mapping: mapping if timed_of(mapping, device) is not None else None,
    )
    if isinstance(answer, Infeasible):
        return answer
    found: list[Priced] = []
    refused: Infeasible | None = None
    for priced in answer:
        reason = broken_rule(program_of(priced.mapping, device), device)
        if reason is not None:
            refused = reason
        elif len(found) < keep:
            found.append(modelled(priced, device))
    return tuple(found) or refused or Infeasible("tiles", 1, 0, "tiles")


def priced_of(mapping: ArrayMapping, device: Device) -> Priced | Infeasible:
    """What a mapping costs; why it has no program.

    Raises:
        TargetError: a kernel has no schedule.
    """
    if timed_of(mapping, device) is None:
        return _refusal(mapping)
    priced = price(mapping, device, Assumed())
    return priced if isinstance(priced, Infeasible) else modelled(priced, device)


def modelled(priced: Priced, device: Device) -> Priced:
    """The cost of the program of a mapping: what its graph shares, and starts once.

    A way brings the weights of several columns of tiles, or takes results of several chains, one
    after the other, where there are fewer ways than that; the array's view (`price`) only knows
    their sum. Where memory tiles hold activations once, they are filled while nothing reads them.
    """
    timed = timed_of(priced.mapping, device)
    if timed is None:
        return priced
    rate, cost = way_rate(device), priced.cost
    parts = dict(cost.parts)
    if timed.walks_passes:
        parts["compute"] -= _starts_spared(priced.mapping, device)
    loads = {"activations": timed.x_loads, "weights": timed.w_loads, "results": timed.y_loads}
    for what, bytes_by_way in loads.items():
        parts[f"way of {what}"] = timed.passes * max(bytes_by_way, default=0) / rate
    if timed.x_copies == 1:
        _fill_apart(parts, timed)
    interval = max(parts.values())
    latency = cost.latency - cost.interval + interval
    changed = replace(cost, parts=tuple(parts.items()), interval=interval, latency=latency)
    return replace(priced, cost=changed)


def _starts_spared(mapping: ArrayMapping, device: Device) -> int:
    """Cycles of starts that a function spares which is started once for all passes."""
    ports, assumed = 2 if mapping.cas_length == 1 else 1, Assumed()
    start = assumed.start + ports * assumed.start_port - device.call_cycles
    return (mapping.calls - 1) * start


def _fill_apart(parts: dict[str, float], timed: Timed) -> None:
    """Streams of activations wait for every fill, cores but for what they hold meanwhile.

    A tile holds two calls' activations: when the last of them has come, one call is yet to begin,
    and one has gone on for the time of that transfer.
    """
    m = timed.mapping
    fill, sends = parts["way of activations"], m.input_sends() * timed.passes
    transfer, call = parts["activation streams"] / sends, parts["compute"] / sends
    parts["activation streams"] += fill
    parts["compute"] += max(0.0, fill + 2 * timed.passes * (transfer - call))
