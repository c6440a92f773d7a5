"""The array with recurrent layers of 8-bit products alone.

`VersalAIEML(floats="int8")` takes products of bfloat16 for a GRU or an LSTM where these are
modelled cheaper. Here there are none to choose.
"""

from collections.abc import Sequence
from typing import Any

from match_aie.hardware.pattern import Pattern
from match_aie.targets.versal import VersalAIEML
from match_aie.targets.versal.choices import Floats
from match_aie.targets.versal.module import AieArray


class _IntegerArray(AieArray):
    def patterns(self) -> Sequence[Pattern]:
        """Those of the array, but recurrent layers in bfloat16."""
        return [one for one in super().patterns() if one.name not in ("bf16_gru", "bf16_lstm")]


class IntegerCells(VersalAIEML):
    """`VersalAIEML` whose GRUs and LSTMs multiply integers, or do not run on the array."""

    def _array_kind(self) -> type[AieArray]:
        return _IntegerArray


def recurrent_target(floats: Floats, **options: Any) -> VersalAIEML:
    """The target whose recurrent layers have products of `floats`, and no others."""
    kind = IntegerCells if floats == "int8" else VersalAIEML
    return kind(floats=floats, **options)
