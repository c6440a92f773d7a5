"""What holds of every kind of attention whose keys and values go by, and of loops on a core."""

from collections import defaultdict

import numpy as np
import pytest

from match_aie.errors import Infeasible, TargetError
from match_aie.hardware import Mapping
from match_aie.targets.aie_ml.array.check import violations
from match_aie.targets.aie_ml.array.layout import lay_out
from match_aie.targets.aie_ml.execute import execute
from match_aie.targets.aie_ml.graph.cut_plan import cut_plan, plan_cut
from match_aie.workload import reference


def executed(kind, cut, workload, constants, inputs) -> int:
    """A cut's program in the interpreter, two runs equal to the reference; tiles that it takes."""
    array = kind.device
    program = lay_out(kind.graph(cut, 4, "layer", workload, constants), array)
    assert not isinstance(program, Infeasible), program
    assert violations(program, array) == ()
    wanted = reference(workload, [inputs[o.name] for o in workload.inputs], constants)
    backward = {name: np.flip(x) for name, x in inputs.items()}
    done = execute(program, array, [backward, inputs])
    np.testing.assert_array_equal(done.tensor(wanted, run=1), wanted)
    return cut.tiles


def read_from_its_nest(workload, cuts, monkeypatch) -> None:
    """A plan is found by its loops without a search among `cuts`, and other loops are refused."""
    plan = plan_cut(workload, "npu1", 4)
    assert not isinstance(plan, Infeasible)
    monkeypatch.setattr(cuts, "all", lambda *_: pytest.fail("searched again"))
    cut_plan.cache_clear()
    assert cut_plan(workload, "npu1", plan.nest).cut == plan.cut
    with pytest.raises(TargetError, match="is no nest of"):
        cut_plan(workload, "npu1", Mapping(plan.nest.spatial, ()))


def overlap_rightly(loop, *, writes_once: bool = False) -> None:
    """No slot or bank of a cycle is taken twice by turns of a loop, and nothing is read early.

    Args:
        loop: of a schedule.
        writes_once: whether conversions and loads on the first port share a register file's port.
    """
    taken, ready = set(), defaultdict(int)
    for p in loop.placed:
        op, row = p.operation, p.cycle % loop.interval
        assert p.slot in op.slots
        places = {(p.slot, row)} | ({(op.bank, row)} if op.bank else set())
        if writes_once and (op.kind == "srs" or (op.kind == "load" and p.slot == "load_a")):
            places.add(("write port", (p.cycle + op.latency) % loop.interval))
        assert not places & taken
        taken |= places
        assert all(p.cycle >= ready[name] for name in op.reads)
        ready[op.writes] = max(ready[op.writes], p.cycle + op.latency)
    if writes_once:
        assert loop.span >= max(ready.values())
