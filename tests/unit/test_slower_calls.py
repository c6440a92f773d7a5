"""Programs whose calls take at least what a rate says."""

from math import ceil
from pathlib import Path

import pytest

from match_aie.targets.aie_ml.known import device

NPU2 = device("npu2")
BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


def test_calls_have_a_rate_at_most(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import xdna_floats
    import xdna_slower  # scripts, not the package's
    import xdna_whisper

    (kind,) = (kind for kind in xdna_floats.kinds(None, "bfp16") if kind.name == "dense, of heads")
    best = xdna_whisper.best_of(kind, NPU2)
    program = best.program(NPU2, real=False)[1]
    calls = [work.schedule for core in program.cores for work in core.work]
    slow = xdna_slower.slower(program, 50.0)
    changed = [work.schedule for core in slow.cores for work in core.work]
    assert [call.body for call in changed] == [ceil(call.macs / 50) for call in calls]
    assert best.cycles(slow, NPU2) > 1.5 * best.cycles(program, NPU2)
    same = xdna_slower.slower(program, 1e9)
    assert best.cycles(same, NPU2) == pytest.approx(best.cycles(program, NPU2))
