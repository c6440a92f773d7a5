"""Keys and values between stages of a pipeline, as buffers of a graph in the making."""

from __future__ import annotations

from collections.abc import Sequence

from match_aie.errors import Infeasible, InternalError
from match_aie.targets.aie_ml.graph.attention_keys import PAIRED, KeyGate, key_gates
from match_aie.targets.aie_ml.graph.attention_stage import AttentionStage
from match_aie.targets.aie_ml.graph.faces import DenseFace, Face, Key, face_of
from match_aie.targets.aie_ml.graph.join import Joining, Link
from match_aie.targets.aie_ml.graph.plan import Connection, End, Outside, Shared
from match_aie.targets.aie_ml.graph.seams import kept_of, stage_of_member, unpick
from match_aie.targets.aie_ml.kernels.block import Access


def sew_keys(joining: Joining, links: Sequence[Link], held: int) -> None:
    """Buffers of keys and values, which two stages write, before attention.

    Args:
        joining: the graph in the making.
        links: of both operands.
        held: copies of each buffer.

    Raises:
        InternalError: they do not fit, or come from outside.
    """
    of = {link.operand: link.writer for link in links}
    reader = links[0].reader
    stage = stage_of_member(joining.members[reader])
    if set(of) != set(PAIRED) or not isinstance(stage, AttentionStage):
        raise InternalError(f"{joining.name}: attention without keys or values of other stages")
    keys, values = (face_of(stage_of_member(joining.members[of[name]])) for name in PAIRED)
    found = key_gates(keys, values, stage, held)
    if isinstance(found, Infeasible):
        raise InternalError(f"{joining.name}: keys and values that do not fit: {found}")
    for writer in of.values():
        unpick(joining, writer, reader, PAIRED)
    seam = _Pairs(joining, stage, reader, held, {of["x1"]: keys, of["x2"]: values})
    for gate in found:
        seam.open(gate)
    for writer, kept in seam.kept.items():
        joining.held[writer] = [kept[key] for key in sorted(kept)]
    joining.in_place |= set(links)


class _Pairs:
    """The buffers before one stage of attention.

    Args:
        joining: the graph in the making.
        stage: that reads them.
        reader: its number.
        held: copies of each buffer.
        faces: of the stages that write keys and values, by their numbers.
    """

    def __init__(
        self,
        joining: Joining,
        stage: AttentionStage,
        reader: int,
        held: int,
        faces: dict[int, Face],
    ) -> None:
        self.joining, self.stage, self.reader, self.held = joining, stage, reader, held
        self.faces, self.made = faces, 0
        self.kept: dict[int, dict[Key, tuple[int, Access, Outside]]] = {at: {} for at in faces}

    def open(self, gate: KeyGate) -> None:
        """One buffer, with all that write and read it."""
        mine, stage, heads = self.joining, self.stage, gate.heads
        buffer = len(mine.shared)
        writes: list[Access] = []
        for (writer, face), pieces in zip(
            self.faces.items(), (gate.keys, gate.values), strict=True
        ):
            rows = face.timed.mapping.tiling.m if isinstance(face, DenseFace) else 0
            for key, piece in pieces.items():
                kernel = mine.first[writer]["buffer"] + face.kernel(key)
                mine.connections.append(
                    Connection(End("buffer", kernel), End("shared", buffer, len(writes)))
                )
                if rows:
                    writes.append(heads.values(piece, rows))
                    left = heads.values(piece, rows, by_row=True)
                else:
                    writes.append(heads.keys(piece))
                    left = heads.keys(piece, by_row=True)
                self.kept[writer].setdefault(key, (buffer, left, kept_of(face, key, piece)))
        base, reads = mine.first[self.reader], list[Access]()
        for part in gate.parts:
            ways = stage.read_pairs(heads.count, part * stage.heads - heads.first)
            for side, way in enumerate(ways):
                source = End("shared", buffer, len(reads))
                reads.append(way)
                for row in range(stage.row_parts):
                    kernel = base["buffer"] + stage.number(row, part)
                    sink = End("buffer", kernel, 1 + side)
                    mine.connections.append(Connection(source, sink))
        middle = stage.number(stage.row_parts // 2, gate.parts[len(gate.parts) // 2])
        name = f"{mine.members[self.reader].graph.name}_keys{self.made}"
        self.made += 1
        dtype = stage.workload.operand("x1").dtype
        column = base["column"] + stage.place(middle)[0]
        mine.shared.append(
            Shared(
                name,
                dtype,
                stage.pair(heads.count),
                tuple(writes),
                tuple(reads),
                self.held,
                column,
            )
        )
