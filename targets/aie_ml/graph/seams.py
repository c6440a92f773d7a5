"""What stages of a pipeline have in common where they meet: what goes, what stays, how often."""

from __future__ import annotations

from collections.abc import Sequence

from match_aie.errors import InternalError
from match_aie.targets.aie_ml.graph.blocks import Blocks
from match_aie.targets.aie_ml.graph.faces import Face, Key, Piece
from match_aie.targets.aie_ml.graph.join import Joining, Link, Member
from match_aie.targets.aie_ml.graph.plan import Outside
from match_aie.targets.aie_ml.graph.row_stage import RowStage
from match_aie.targets.aie_ml.graph.timed import Timed

#: Sizes of a stage.
Stage = Timed | RowStage


def stage_of_member(member: Member) -> Stage:
    """Sizes of a stage.

    Raises:
        InternalError: it is none.
    """
    if member.stage is None:
        raise InternalError(f"{member.graph.name}: a stage without sizes")
    return member.stage


def held_copies(links: Sequence[Link]) -> dict[Link, int]:
    """Copies of the buffers of each link: two, and one for each stage that a run passes meanwhile.

    Args:
        links: all of a pipeline.
    """
    depth: dict[int, int] = {}
    for link in sorted(links, key=lambda each: each.reader):
        depth[link.reader] = max(depth.get(link.reader, 0), depth.get(link.writer, 0) + 1)
    return {each: 1 + depth[each.reader] - depth.get(each.writer, 0) for each in links}


def unpick(mine: Joining, writer: int, reader: int, operands: Sequence[str]) -> None:
    """No ways out of the one stage, nor in for the other's operands, and no buffers of these.

    Args:
        mine: the graph in the making.
        writer: number of the stage whose results stay.
        reader: of the one that takes them.
        operands: of the latter, by name.
    """
    entries = [at for name in operands for at in mine.members[reader].entries(name)]
    outside = {
        at
        for at, (of, way) in enumerate(mine.outside)
        if (of == writer and way >= len(mine.members[of].graph.inputs))
        or (of == reader and way in entries)
    }
    gone = {
        end.of
        for link in mine.connections
        for end, other in ((link.source, link.sink), (link.sink, link.source))
        if end.kind == "shared" and other.kind == "outside" and other.of in outside
    }
    mine.dropped |= gone
    mine.connections = [
        link
        for link in mine.connections
        if not any(end.kind == "shared" and end.of in gone for end in (link.source, link.sink))
    ]


def kept_of(face: Face, writer: Key, piece: Piece, copy: int = 0) -> Outside:
    """Where in a stage's result a piece belongs that stays on the array.

    Args:
        face: of the stage.
        writer: who stores the piece.
        piece: of the result.
        copy: of the stage, whose rows begin behind those of the copies before it.
    """
    (first, end), (wide, dtype) = piece.columns, face.stored
    rows = face.given[0]
    blocks = Blocks(
        "y",
        (rows, wide),
        piece.high,
        end - first,
        row=piece.first,
        row_step=piece.period,
        passes=piece.passes,
        column=first,
        first=copy * rows,
    )
    row, column = writer
    return Outside(f"y_{row}_{column}", dtype, blocks.elements, blocks=blocks)
