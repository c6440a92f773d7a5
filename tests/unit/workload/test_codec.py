import json

import pytest
from hypothesis import given
from workload_cases import workloads

from match_aie.errors import ProjectError
from match_aie.workload import Quantized, RealTail, dense, full_range, real_dense, with_sum
from match_aie.workload.codec import from_json, to_json


@given(workloads())
def test_round_trip_through_text(workload):
    assert from_json(json.loads(json.dumps(to_json(workload), allow_nan=False))) == workload


def test_precisions_travel():
    w = real_dense(rows=1, inputs=1, outputs=1, tail=RealTail("relu", precision="bfloat16"))
    data = to_json(w)
    assert from_json(data) == w
    data["real"]["precision"] = "float99"
    with pytest.raises(ProjectError, match="unknown precision 'float99'"):
        from_json(data)


def test_sums_travel_exactly():
    x, tail = Quantized("int8", 0.1, 3), full_range("int8", 3)
    w = dense(x, x, rows=2, inputs=1, outputs=4, tail=tail, scales=1)
    taken = with_sum(with_sum(w, x, x, tail=tail, per_channel=True), x, x, tail=tail, scale=0.3)
    data = to_json(taken)
    assert from_json(json.loads(json.dumps(data, allow_nan=False))) == taken
    assert "added" not in to_json(w)
    data["added"][0].pop("to")
    with pytest.raises(ProjectError, match="not a stored workload"):
        from_json(data)


def test_scales_travel_exactly():
    w = dense(Quantized("int8", 0.1), Quantized("int32"), rows=1, inputs=1, outputs=1)
    assert to_json(w)["operands"][0]["scale"] == (0.1).hex()


@pytest.mark.parametrize(
    "spoil",
    [
        lambda d: d.pop("dims"),
        lambda d: d.update(kind="conv9d"),
        lambda d: d.update(tail={"lo": 1}),
        lambda d: d["operands"][0].update(scale="0.x"),
        lambda d: d["operands"][0].update(dtype="int7"),
        lambda d: d["operands"].reverse(),
        lambda d: d["dims"].clear(),
    ],
)
def test_other_objects_are_refused(spoil):
    data = to_json(dense(Quantized("int8", 0.1), Quantized("int32"), rows=1, inputs=1, outputs=1))
    spoil(data)
    with pytest.raises(ProjectError, match="not a stored workload"):
        from_json(data)
