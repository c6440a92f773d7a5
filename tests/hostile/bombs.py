"""Every bomb, in one list."""

from __future__ import annotations

import random
from collections.abc import Iterator

from tests.hostile import files, lite, numbers, sizes, structure
from tests.hostile.case import Case

KINDS = (
    *(sizes.declared, sizes.computed, sizes.constants, sizes.doubling),
    *(structure.functions, structure.chains, structure.recurrent, structure.control),
    *(structure.edges, structure.names),
    *(numbers.scales, numbers.stored, numbers.attributes),
    *(files.external, files.broken, lite.lite),
)


def bombs(seed: int = 0) -> Iterator[Case]:
    """Model files of a few bytes that ask for too much, or for nothing that makes sense."""
    for kind in KINDS:
        yield from kind(random.Random(f"{seed} {kind.__name__}"))
