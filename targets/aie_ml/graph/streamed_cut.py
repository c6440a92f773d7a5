"""How attention whose keys and values go by is spread over tiles and cut over time."""

from __future__ import annotations

from dataclasses import dataclass

from match_aie.targets.aie_ml.devices import Tiling
from match_aie.targets.aie_ml.graph.attention import ProductForm

#: Rounds of a head up to which the next head's keys and values come meanwhile: a channel of a
#: memory tile has some twenty descriptors.
TWICE = 9

#: Bytes of two heads' keys and values: three quarters of a memory tile of 512 KB, which has queries
#: or results, too. Longer heads come one after the other.
BOTH = 3 << 17


@dataclass(frozen=True)
class StreamedCut:
    """How attention is spread and cut over time.

    Attributes:
        heads: matrices of the batch.
        rows: of queries.
        keys: of a head.
        wide: elements of a query, and of a value.
        tiling: the `mmul` shape.
        block: rows of queries that a tile holds.
        part: keys of a part.
        groups: of columns, each with its own heads.
        columns: of a group.
        high: tiles of a column.
        pieces: in which a block of queries comes.
        forms: of both products' kernels.
    """

    heads: int
    rows: int
    keys: int
    wide: tuple[int, int]
    tiling: Tiling
    block: int
    part: int
    groups: int = 1
    columns: int = 1
    high: int = 1
    pieces: int = 1
    forms: tuple[ProductForm, ProductForm] = (ProductForm(), ProductForm())

    @property
    def together(self) -> int:
        """Heads of a group, one after the other."""
        return self.heads // self.groups

    @property
    def w(self) -> int:
        """Elements of queries, keys and values, padded to one number."""
        return -(-max(self.wide) // self.tiling.k) * self.tiling.k

    @property
    def blocks(self) -> int:
        """Of a head, that a tile goes through."""
        return -(-self.rows // (self.block * self.columns * self.high))

    @property
    def parts(self) -> int:
        """Of a head's keys."""
        return -(-self.keys // self.part)

    @property
    def parted(self) -> dict[str, int]:
        """What a tile's function goes through, by its fields."""
        return {
            "columns": self.keys,
            "parts": self.parts,
            "blocks": self.together * self.blocks,
            "together": self.high,
            "pieces": self.pieces,
        }

    #: How often keys go by for a block of queries.
    rounds = 3

    @property
    def copies(self) -> int:
        """Heads whose keys and values a memory tile holds.

        Of two, each is read by descriptors of its own, as many as rounds of all blocks; of one by
        the same.
        """
        both = 4 * self.w * self.part * self.parts
        return 2 if self.blocks * self.rounds <= TWICE and both <= BOTH else 1

    @property
    def column_rows(self) -> int:
        """Rows of a head that a column takes."""
        return self.block * self.high * self.blocks

    @property
    def tiles(self) -> int:
        """At work."""
        return self.groups * self.columns * self.high
