"""What an execution gives back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from match_aie.errors import InternalError
from match_aie.targets.aie_ml.array.program import Tile
from match_aie.targets.aie_ml.graph.plan import Outside


@dataclass(frozen=True)
class BufferUse:
    """What happened to a buffer in all runs.

    Attributes:
        tile: whose memory.
        buffer: its name.
        fills: how often all writers had written a copy.
        written: 32-bit words that were written.
        read: 32-bit words that were read, by channels and by the kernel.
        untouched: words of a copy that nothing ever wrote.
    """

    tile: Tile
    buffer: str
    fills: int
    written: int
    read: int
    untouched: int


@dataclass(frozen=True, eq=False)
class Executed:
    """An execution.

    Attributes:
        outputs: elements that each way out has carried, run after run, by its name.
        buffers: in the order of the program's.
        calls: of kernels.
        ways: what each way out of the array carries.
    """

    outputs: Mapping[str, np.ndarray]
    buffers: tuple[BufferUse, ...]
    calls: int
    ways: tuple[Outside, ...]

    def tensor(self, like: np.ndarray, operand: str = "y", run: int = 0) -> np.ndarray:
        """A tensor that left, put together from the ways that carried it.

        Args:
            like: an array of its shape and element type.
            operand: which; ways that carry a whole tensor carry it.
            run: of several.

        Raises:
            InternalError: no way carries it.
        """
        made = np.zeros_like(like)
        found = False
        for outside in self.ways:
            held = outside.part or outside.blocks
            if held is not None and held.operand != operand:
                continue
            size = outside.elements
            carried = self.outputs[outside.name][run * size : (run + 1) * size]
            if held is None:
                made.reshape(-1)[...] = carried
            else:
                held.paste(carried, made)
            found = True
        if not found:
            raise InternalError(f"no way carries {operand!r} out of the array")
        return made
