"""Numbers by column that come behind the weights of turns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from match_aie.targets.aie_ml.kernels.nest import Nest
from match_aie.targets.aie_ml.kernels.spec import BYTES

#: What has not 32-bit integers, by its C++ type.
_TYPES = {"float": np.float32, "int16": np.int16}


class Behind:
    """What a function has read of them.

    Args:
        nest: the function; None where it is a single call.
    """

    def __init__(self, nest: Nest | None) -> None:
        """Nothing has come."""
        self._nest = nest
        self._halves: tuple[np.ndarray, ...] = ()

    def read(self, inputs: Sequence[np.ndarray], turn: int) -> dict[str, np.ndarray]:
        """By parameter, as a turn finds them; none where they do not come so.

        Args:
            inputs: of its call.
            turn: of a call; of those that bring halves the first and the last are kept.
        """
        if self._nest is None or not self._nest.behind:
            return {}
        s = self._nest.call.spec
        words = inputs[1][s.k * s.n * BYTES[s.b] :].view(np.int32)
        if self._nest.halved:
            self._halves = (self._halves[:1] if turn else ()) + (words.copy(),)
            words = np.concatenate((*self._halves, np.zeros_like(words)))[: 2 * words.size]
        return {
            p.name: row.view(_TYPES.get(p.c_type, np.int32))[: s.n]
            for p, row in zip(self._nest.behind, words.reshape(-1, s.n), strict=False)
        }
