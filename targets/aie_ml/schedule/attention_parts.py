"""Schedules of attention whose keys and values go by, of whichever kind."""

from __future__ import annotations

from match_aie.targets.aie_ml.devices import Architecture
from match_aie.targets.aie_ml.kernels.attention_parts import PartsCall
from match_aie.targets.aie_ml.kernels.float_attention import FloatAttention
from match_aie.targets.aie_ml.kernels.running_attention import RunningAttention
from match_aie.targets.aie_ml.kernels.streamed_attention import StreamedAttention
from match_aie.targets.aie_ml.schedule.float_attention import float_schedules
from match_aie.targets.aie_ml.schedule.running_attention import running_schedules
from match_aie.targets.aie_ml.schedule.streamed_attention import PhaseSchedules, streamed_schedules


def part_schedules(call: PartsCall, arch: Architecture) -> PhaseSchedules:
    """Modelled cycles of every kind of call.

    Raises:
        TargetError: registers do not suffice for a product, or facts are missing.
    """
    if isinstance(call, FloatAttention):
        return float_schedules(call, arch)
    if isinstance(call, RunningAttention):
        return running_schedules(call, arch)
    assert isinstance(call, StreamedAttention)
    return streamed_schedules(call, arch)
