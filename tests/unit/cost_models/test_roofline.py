import pytest

from match_aie.cost_models.roofline import Roofline
from match_aie.hardware import Mapping
from match_aie.workload import Quantized, dense, full_range, rowwise

ANY = Mapping((), ())
X = Quantized("int8", 1.0)


def test_arithmetic_hides_traffic():
    w = dense(X, Quantized("int32"), rows=100, inputs=10, outputs=10)
    # 10,000 MACs at 2 per cycle; 1000 + 100 + 40 + 4000 bytes at 4 per cycle.
    cost = Roofline(2, 1, 4, overhead=7).cost(w, ANY)
    assert cost.cycles == 5007
    assert dict(cost.parts) == {"compute": 5000, "memory": 0, "overhead": 7}


def test_traffic_beyond_the_arithmetic_stalls():
    w = rowwise(
        "quantize", Quantized("float32"), X, rows=1, columns=100, tail=full_range("int8", 0)
    )
    cost = Roofline(1, 10, 2).cost(w, ANY)
    assert cost.cycles == 500 / 2
    assert dict(cost.parts) == {"compute": 10, "memory": 240, "overhead": 0}


def test_rates_are_positive():
    with pytest.raises(ValueError, match="positive"):
        Roofline(1, 0, 1)
