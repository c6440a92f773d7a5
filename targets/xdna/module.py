"""The array of a Ryzen AI processor, whose dense layers round sums that wait."""

from __future__ import annotations

from dataclasses import replace

from match_aie.errors import InternalError, TargetError
from match_aie.hardware import Constants, Mapping
from match_aie.targets.aie_ml.array.shapes import native_tilings
from match_aie.targets.aie_ml.graph.dense_plan import DensePlan, dense_layer
from match_aie.targets.aie_ml.graph.timed_plan import TimedPlan
from match_aie.targets.aie_ml.known import device
from match_aie.targets.versal.module import AieArray
from match_aie.workload import Converted, Turns, Workload, rounds_sums, with_rounded_sums


class RoundingArray(AieArray):
    """Layers as graphs of the array's tiles; sums of dense ones are rounded while they wait.

    That is another arithmetic, which hangs on the mapping.
    """

    def convert(self, workload: Workload, constants: Constants) -> Converted | str:
        """As of the other array; dense layers with partial sums that are rounded.

        With results of 32 bits nothing is lost: those stay as they are. A layer without kernels
        that round so is refused, since its sums would be others than asked for.
        """
        made = super().convert(workload, constants)
        if isinstance(made, str) or made.workload.kind != "dense":
            return made
        if made.workload.output.dtype == "int32":
            return made
        rounded = with_rounded_sums(made.workload)
        try:
            native_tilings(dense_layer(rounded), device(self.device))
        except TargetError as refused:
            return f"{refused.what} (try {refused.hint})"
        return replace(made, workload=rounded, error_lsb=None)

    def mapped(self, workload: Workload, mapping: Mapping) -> Workload:
        """A dense layer whose sums are rounded, with the turns in which its mapping sums up."""
        if not rounds_sums(workload):
            return workload
        plan = self.plan(workload, mapping)
        if isinstance(plan, TimedPlan):
            m = plan.timed.mapping
        elif isinstance(plan, DensePlan):
            m = plan.mapping
        else:
            raise InternalError(f"a plan without turns, a {type(plan).__name__}, that rounds sums")
        turns = Turns(m.call_reduction, m.reduction_steps, m.cas_length)
        return with_rounded_sums(workload, turns)
