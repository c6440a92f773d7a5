"""Attention with the stages that only feed it, as one candidate of a pipeline's plan.

Three dense layers project what attention reads, and a transpose turns the keys. They are chosen
together: the projections are split alike, and what they store fits the buffers before attention.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.graph.attention_keys import by_heads
from match_aie.targets.aie_ml.graph.attention_stage import AttentionStage
from match_aie.targets.aie_ml.graph.pipeline_candidates import Candidate
from match_aie.targets.aie_ml.graph.pipeline_rows import (
    Grid,
    Offer,
    RowCandidate,
    Rows,
    meet,
    stored,
    taken,
)
from match_aie.targets.aie_ml.kernels.turned import SIDE


@dataclass(frozen=True)
class Attended(Rows):
    """Attention as a stage.

    Attributes:
        feeds: numbers of the stages that give queries, keys, transposed keys and values, counted
            from the first of them; attention is the fifth.
    """

    feeds: tuple[int, int, int, int] = (0, 1, 3, 2)


@dataclass(frozen=True, eq=False)
class GroupCandidate:
    """Stages that are chosen together, in their order."""

    parts: tuple[Offer, ...]
    first: Candidate

    @cached_property
    def columns(self) -> int:
        """That they take."""
        return sum(part.columns for part in self.parts)

    @cached_property
    def bound(self) -> float:
        """Cycles of a run of the slowest."""
        return max(part.bound for part in self.parts)

    @cached_property
    def streams(self) -> tuple[int, int]:
        """From attention into memory tiles, and from these to projections."""
        return self.parts[-1].streams[0], self.first.streams[1]


def group_candidates(
    offered: Sequence[Sequence[Offer]], attended: Attended, streams: int, room: int
) -> tuple[GroupCandidate, ...]:
    """Choices of the five stages: of each split of attention and projections the narrowest.

    Args:
        offered: of each stage, in their order.
        attended: which of them is what.
        streams: that a memory tile takes from cores.
        room: its bytes.
    """
    queries, keys, turned, values = attended.feeds
    alike = [{_split(each): each for each in offered[at]} for at in (queries, keys, values)]
    turns = sorted(offered[turned], key=lambda each: (each.columns, each.bound))
    found: list[GroupCandidate] = []
    for attention in offered[-1]:
        assert isinstance(attention, RowCandidate)
        stage = attention.stage
        assert isinstance(stage, AttentionStage)
        fitting = [(each, many) for each in turns if (many := _of_keys(each, stage))]
        for split, query in alike[0].items():
            others = [of.get(split) for of in alike[1:]]
            if query is None or None in others or not isinstance(query, Candidate):
                continue
            mine = _of_values(stored(query), stage)
            if not mine or not meet(stored(query), taken(attention), streams, room):
                continue
            able = (
                each
                for each, many in fitting
                if many + mine <= streams and meet(stored(query), taken(each), streams, room)
            )
            turn = _least(able, max(query.bound, attention.bound))
            if turn is not None:
                parts: dict[int, Offer | None] = {queries: query, turned: turn, 4: attention}
                parts |= dict(zip((keys, values), others, strict=True))
                found.append(GroupCandidate(tuple(p for _, p in sorted(parts.items()) if p), query))
    return tuple(found)


def _split(offer: Offer) -> tuple[int, ...]:
    """What tells candidates of equal layers apart."""
    if isinstance(offer, RowCandidate):
        return ()
    m = offer.mapping
    return m.cas_length, m.column_parts, m.row_parts, m.call_rows, m.layer.rows


def _least(able: Iterator[Offer], slowest: float) -> Offer | None:
    """The first that is no slower than others of the group; else the fastest."""
    found: Offer | None = None
    for each in able:
        if each.bound <= slowest:
            return each
        if found is None or each.bound < found.bound:
            found = each
    return found


def _of_keys(offer: Offer, stage: AttentionStage) -> int:
    """Streams of transposed keys that a part of attention's heads takes; 0 where it cannot."""
    grid = stored(offer)
    whole = grid.parts * grid.high == stage.wide
    if not whole or not by_heads(grid.high, stage.size) or grid.wide % SIDE:
        return 0
    if stage.keys % grid.wide or stage.keys < grid.end:
        return 0
    return _met(grid.high, stage) * (stage.keys // grid.wide)


def _of_values(grid: Grid, stage: AttentionStage) -> int:
    """Likewise of values."""
    even = grid.end % grid.wide == 0 and by_heads(grid.wide, stage.size)
    if grid.padded != stage.keys or not even or grid.high % SIDE or grid.wide % SIDE:
        return 0
    return _met(grid.wide, stage) * grid.parts


def _met(wide: int, stage: AttentionStage) -> int:
    """Pieces of so many elements that a part of the heads meets at most."""
    own = stage.part_columns
    return max((first + own - 1) // wide - first // wide + 1 for first in range(0, stage.wide, own))


#: What a plan chooses at a time: a stage, or stages that are chosen together.
Entry = Offer | GroupCandidate


def parts_of(entry: Entry) -> tuple[Offer, ...]:
    """The stages of an entry."""
    return entry.parts if isinstance(entry, GroupCandidate) else (entry,)


def grids(entry: Entry) -> tuple[Grid, Grid]:
    """What an entry's last stage stores, and what its first ones read."""
    first = entry.first if isinstance(entry, GroupCandidate) else entry
    return stored(parts_of(entry)[-1]), taken(first)


def grouped(
    offered: Sequence[tuple[Entry, ...]], layers: Sequence[object], device: Device
) -> list[tuple[Entry, ...]]:
    """Candidates, those of attention and of what feeds it as one list.

    Args:
        offered: of each stage.
        layers: what each is.
        device: the array.
    """
    mem, ports = device.architecture.mem, device.architecture.switch_ports
    found = list(offered)
    for at in reversed(range(len(layers))):
        layer = layers[at]
        if isinstance(layer, Attended) and mem is not None:
            mine = [
                [part for one in each for part in parts_of(one)] for each in found[at - 4 : at + 1]
            ]
            streams = min(mem.dma.s2mm, ports[("core_tile", "master", "S")])
            found[at - 4 : at + 1] = [group_candidates(mine, layer, streams, mem.bytes)]
    return found
