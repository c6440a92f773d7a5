"""Which layers on the array run as one graph, each reading in memory tiles what others left there.

Layers whose calls come one after the other may be joined. A layer's result stays on the array
where all that read it are in its chain; else it is the last of it. A chain must fit the array as a
whole: buffers, descriptors, channels and streams of all its layers are laid out together and held
to all rules. One that cannot be is halved.

Chains are blocks of columns that are placed (`floorplan`). The layers of one lie side by side in
their order, unless their user says where one of them is.

Dense layers that are planned together are the stages of a pipeline instead (`graph/pipeline.py`):
each reads what the one before it wrote in the run before. Or they share tiles (`graph/stack.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import accumulate, pairwise

from match_aie.errors import Infeasible, InfeasibleError
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.graph.join import Joined, Link, Member, join
from match_aie.targets.aie_ml.graph.layer import zeros_of
from match_aie.targets.aie_ml.graph.moved import moved
from match_aie.targets.aie_ml.graph.overlay_nest import is_overlay_nest
from match_aie.targets.aie_ml.graph.pipeline import join_stages
from match_aie.targets.aie_ml.graph.plan import LayerGraph
from match_aie.targets.aie_ml.graph.proof import cannot_be_written, cannot_lie
from match_aie.targets.aie_ml.graph.row_stage import RowStage
from match_aie.targets.aie_ml.graph.seams import held_copies
from match_aie.targets.aie_ml.graph.stack import columns_of, join_stack, stacked
from match_aie.targets.aie_ml.known import device as known
from match_aie.targets.versal.attended import Standing, projecting
from match_aie.targets.versal.chained import Chain, Given
from match_aie.targets.versal.floorplan import first_columns
from match_aie.targets.versal.follows import as_member, follows, keys_follow, paired
from match_aie.targets.versal.module import plan_of
from match_aie.targets.versal.phases import hosts, kind
from match_aie.workload import Kind, heads_joined

#: Kinds that are no part of chains. Operands of products and attention are filled up with zeros by
#: the Arm core. So are a recurrent layer's inputs, and its states leave filled up: to whole groups
#: of steps, and to whole tiles of inputs or lanes of units, which neighbours do not carry.
ALONE: frozenset[Kind] = frozenset({"matmul", "attention", "gru", "lstm"})


def _alone(layer: Given) -> bool:
    """Whether it is no part of chains; attention of joined heads is a stage of pipelines."""
    apart = layer.workload.kind in ALONE and not heads_joined(layer.workload)
    return apart or is_overlay_nest(layer.mapping)


@lru_cache(maxsize=64)
def chains(layers: tuple[Given, ...], device: str, *, whole: bool = True) -> tuple[Chain, ...]:
    """Chains of a network's layers on the array, in order; most of them as long as they can be.

    Args:
        layers: of the array, in execution order.
        device: its name.
        whole: whether to join at all.

    Raises:
        InfeasibleError: columns lack for the layers, or for one where its user wants it.
    """
    members = [_member(f"layer{at}", layer, device) for at, layer in enumerate(layers)]
    cuts = {
        at
        for at in range(1, len(layers))
        if not whole
        or layers[at].flow.step != layers[at - 1].flow.step + 1
        or any(_alone(each) for each in layers[at - 1 : at + 1])
        or members[at].graph.memory != members[at - 1].graph.memory
        or _pinned_tiles(layers[at - 1 : at + 1], members[at - 1 : at + 1])
    }
    while True:
        found = _placed(_cut(layers, members, cuts), layers, members, known(device))
        if isinstance(found, Infeasible):
            # Pinned layers may lie where they only fit apart.
            cuts |= _apart(_cut(layers, members, cuts), layers, found)
            continue
        bad = [chain for chain in found if not _fits(chain, members, device)]
        if not bad:
            return tuple(found)
        cuts |= {(chain.first + chain.last + 1) // 2 for chain in bad}


def _placed(
    found: Sequence[Chain], layers: Sequence[Given], members: Sequence[Member], device: Device
) -> list[Chain] | Infeasible:
    """Chains with their columns; of those that run as another one's graph, or by turns, its."""
    hosts = _hosts(found, layers, members, device)
    overlaid = [at for at, chain in enumerate(found) if _overlaid(chain, layers)]
    for at in overlaid[1:]:
        hosts[at] = overlaid[0]
    own = [number for number, host in enumerate(hosts) if host == number]
    placed = _blocks_placed([found[at] for at in own], layers, members, device)
    if isinstance(placed, Infeasible):
        return placed
    of = dict(zip(own, placed, strict=True))
    return [
        of[number]
        if host == number
        else replace(
            chain,
            column=of[host].column,
            offsets=(0,),
            host=None if number in overlaid else of[host].first,
            beside=of[host].first if number in overlaid else None,
        )
        for number, (chain, host) in enumerate(zip(found, hosts, strict=True))
    ]


def _overlaid(chain: Chain, layers: Sequence[Given]) -> bool:
    """Whether it runs by the network's overlay, on the columns of all that do."""
    return is_overlay_nest(layers[chain.first].mapping)


def _hosts(
    found: Sequence[Chain], layers: Sequence[Given], members: Sequence[Member], device: Device
) -> list[int]:
    """Number of the chain as whose graph each runs; joined and pinned layers have their own."""
    kinds, needs = [], []
    for chain in found:
        layer, mine = layers[chain.first], [members[at] for at in chain.layers]
        plan = plan_of(layer.workload, device.name, layer.mapping)
        alone = len(mine) == 1 and layer.pin is None
        kinds.append(kind(layer.workload, layer.mapping, plan, device) if alone else None)
        first, last = mine[0].graph, mine[-1].graph
        side_by_side = sum(member.graph.columns for member in mine)
        wide = columns_of(mine, device) if _share_tiles(mine) else side_by_side
        ways = (len(first.inputs), len(last.outputs)) if first.memory == "ddr" else (0, 0)
        needs.append((wide, *ways))
    return hosts(kinds, needs, device)


def _blocks_placed(
    found: Sequence[Chain], layers: Sequence[Given], members: Sequence[Member], device: Device
) -> list[Chain] | Infeasible:
    """Chains with columns of their own."""
    inside: list[tuple[int, ...]] = []
    blocks, pins = [], {}
    for number, chain in enumerate(found):
        mine = [members[at] for at in chain.layers]
        if _share_tiles(mine):
            inside.append(())
            blocks.append((_name(layers, chain.first), columns_of(mine, device)))
            continue
        columns = _inside(chain, layers, members, device)
        if isinstance(columns, Infeasible):
            return columns
        first = min(columns)
        if any(layers[at].pin is not None for at in chain.layers):
            pins[number] = first
        inside.append(tuple(column - first for column in columns))
        ends = [
            at + members[layer].graph.columns
            for layer, at in zip(chain.layers, inside[-1], strict=True)
        ]
        blocks.append((_name(layers, chain.first), max(ends)))
    edges = _edges(found, layers)
    placed = first_columns(blocks, edges, pins, device)
    if isinstance(placed, Infeasible):
        return placed
    made = zip(found, placed, inside, strict=True)
    return [replace(chain, column=column, offsets=at) for chain, column, at in made]


def _share_tiles(members: Sequence[Member]) -> bool:
    """Whether layers in a row run on tiles that several of them share."""
    beside = members[0].graph.memory == "plio" or not members[0].graph.shared
    return len(members) > 1 and beside and stacked(members)


def _pinned_tiles(layers: Sequence[Given], members: Sequence[Member]) -> bool:
    """Whether neighbours would share tiles, though a user says where one of them is."""
    return any(layer.pin is not None for layer in layers) and _share_tiles(members)


def _name(layers: Sequence[Given], at: int) -> str:
    """Of a layer, in messages."""
    same = sum(layer.label == layers[at].label for layer in layers)
    return layers[at].label if layers[at].label and same == 1 else f"{layers[at].label}#{at}"


def _inside(
    chain: Chain, layers: Sequence[Given], members: Sequence[Member], device: Device
) -> tuple[int, ...] | Infeasible:
    """Columns of a chain's layers.

    Nothing is nearer than neighbours: side by side where nobody pins one.
    """
    mine = list(chain.layers)
    pins = {number: pin for number, at in enumerate(mine) if (pin := layers[at].pin) is not None}
    if not pins:
        widths = [members[at].graph.columns for at in mine]
        return tuple(accumulate(widths[:-1], initial=0))
    blocks = [(_name(layers, at), members[at].graph.columns) for at in mine]
    edges = [(link.writer, link.reader) for link in chain.links]
    return first_columns(blocks, edges, pins, device)


def _edges(found: Sequence[Chain], layers: Sequence[Given]) -> list[tuple[int, int]]:
    """Which chains read what others write."""
    of = {layers[at].flow.step: number for number, c in enumerate(found) for at in c.layers}
    return [
        (of[source], number)
        for number, chain in enumerate(found)
        for at in chain.layers
        for source in layers[at].flow.sources
        if source is not None and of.get(source, number) != number
    ]


def _apart(found: Sequence[Chain], layers: Sequence[Given], reason: Infeasible) -> set[int]:
    """Cuts of the first chain with a pinned layer, so that less lies together.

    Raises:
        InfeasibleError: there is none: the layers do not fit whoever they are joined with.
    """
    several = [chain for chain in found if len(chain.layers) > 1]
    pinned = [c for c in several if any(layers[at].pin is not None for at in c.layers)]
    if not several or all(layer.pin is None for layer in layers):
        raise InfeasibleError(reason)
    chain = (pinned or several)[0]
    return {(chain.first + chain.last + 1) // 2}


def _member(name: str, layer: Given, device: str) -> Member:
    """A layer's graph, its numbers apart."""
    workload = layer.workload
    zeros = zeros_of(workload)
    plan = plan_of(workload, device, layer.mapping)
    return as_member(plan, plan.graph(name, workload, zeros), workload)


def _cut(layers: Sequence[Given], members: Sequence[Member], cuts: set[int]) -> list[Chain]:
    """Chains between `cuts` and all others that follow from these."""
    number = {layer.flow.step: at for at, layer in enumerate(layers)}
    while True:
        edges = [0, *sorted(cuts), len(layers)]
        of = {at: (a, b) for a, b in pairwise(edges) for at in range(a, b)}
        more = {
            at + 1
            for at in range(len(layers) - 1)
            if at + 1 not in cuts and not _stays(at, layers, members, of[at], number)
        }
        if not more:
            break
        cuts |= more
    return [
        Chain(a, b - 1, _links(range(a, b), layers, number)) for a, b in pairwise(edges) if a < b
    ]


def _stays(
    at: int,
    layers: Sequence[Given],
    members: Sequence[Member],
    inside: tuple[int, int],
    number: dict[int, int],
) -> bool:
    """Whether all that read a layer's result are in its chain, and can."""
    flow, links = layers[at].flow, _links(range(*inside), layers, number)
    copies, feeding = held_copies(links), projecting([_standing(each, number) for each in layers])
    readers = [number.get(step) for step in flow.readers]
    if flow.leaves or not readers:
        return False
    for reader in readers:
        if reader is None or not inside[0] <= reader < inside[1]:
            return False
        again = isinstance(members[reader].stage, RowStage) or reader in feeding
        if members[at].stage is not None and reader != at + 1 and not again:
            return False
        mine = [link for link in links if link.reader == reader - inside[0]]
        of = {link.operand: members[inside[0] + link.writer] for link in mine}
        pair = [link for link in mine if paired(members[reader], link.operand)]
        for link in (link for link in mine if link.writer == at - inside[0]):
            if link not in pair:
                able = follows(members[at], members[reader], link.operand, copies[link])
            else:
                held = max(copies[each] for each in pair)
                able = len(pair) > 1 and keys_follow(of["x1"], of["x2"], members[reader], held)
            if not able:
                return False
    return True


def _standing(layer: Given, number: dict[int, int]) -> Standing:
    sources = (None if step is None else number.get(step) for step in layer.flow.sources)
    return Standing(layer.workload, tuple(sources))


def _links(inside: range, layers: Sequence[Given], number: dict[int, int]) -> tuple[Link, ...]:
    """What the layers of a chain read of each other."""
    found = []
    for reader in inside:
        inputs = layers[reader].workload.inputs
        for operand, source in zip(inputs, layers[reader].flow.sources, strict=True):
            writer = None if source is None else number.get(source)
            if writer is not None and writer in inside:
                found.append(Link(writer - inside[0], reader - inside[0], operand.name))
    return tuple(found)


def _fits(chain: Chain, members: Sequence[Member], device: str) -> bool:
    if chain.first == chain.last:
        return True
    whole = _join("chain", [members[at] for at in chain.layers], chain, device)
    array = known(device)
    reason = cannot_lie(whole.graph, array, chain.column) or cannot_be_written(whole.graph, array)
    return reason is None


def _join(name: str, members: Sequence[Member], chain: Chain, device: str) -> Joined:
    if _share_tiles(members):
        return join_stack(name, members, known(device))
    if members[0].stage is not None:
        whole = join_stages(name, members, known(device), chain.links)
    else:
        whole = join(name, members, chain.links, known(device))
    return moved(whole, [member.graph.columns for member in members], chain.offsets)


def joined(
    name: str, chain: Chain, graphs: Sequence[LayerGraph], layers: Sequence[Given], device: str
) -> Joined:
    """The graph of a chain.

    Args:
        name: of it.
        chain: of several layers.
        graphs: of all the network's layers on the array.
        layers: likewise.
        device: name of the array.
    """
    members = []
    for at in chain.layers:
        workload = layers[at].workload
        plan = plan_of(workload, device, layers[at].mapping)
        members.append(as_member(plan, graphs[at], workload))
    return _join(name, members, chain, device)
