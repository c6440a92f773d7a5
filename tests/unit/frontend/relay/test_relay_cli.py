"""`match-aie compile` and `map` of a Relay file."""

import json

import numpy as np
import pytest
from relay_samples import param_bytes

from match_aie.cli.guard import run

TEXT = """#[version = "0.0.5"]
def @main(%x: Tensor[(1, 4, 6, 6), int8], %w: Tensor[(8, 4, 3, 3), int8], %b: Tensor[(8), int32]) {
  %0 = nn.conv2d(%x, %w, padding=[1, 1, 1, 1], out_dtype="int32");
  %1 = nn.bias_add(%0, %b);
  %2 = right_shift(%1, 6);
  %3 = clip(%2, a_min=-128f, a_max=127f);
  cast(%3, dtype="int8")
}
"""
FLOAT = """def @main(%x: Tensor[(2, 3), float32], %w: Tensor[(3), float32]) {
  %0 = multiply(%x, %w);
  nn.softmax(%0)
}
"""


def test_compile(tmp_path, capsys: pytest.CaptureFixture[str]):
    model, params = tmp_path / "net.relay", tmp_path / "net.params"
    model.write_text(FLOAT)
    params.write_bytes(param_bytes({"w": np.ones(3, np.float32)}))
    assert run(["compile", str(model), "--params", str(params), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["name"] == "net"
    assert found["layers"] or found["fallback"]
    assert run(["map", str(model), "%0", "--params", str(tmp_path / "none.npz")]) == 1
    assert "none.npz" in capsys.readouterr().err


def test_errors_are_shown_with_their_place(tmp_path, capsys: pytest.CaptureFixture[str]):
    model = tmp_path / "net.relay"
    model.write_text(TEXT.replace("%1, 6", "%1 6"))
    assert run(["compile", str(model)]) == 1
    shown = capsys.readouterr().err
    assert "line 5, column" in shown
    assert "expected" in shown
    model.write_text(TEXT)
    assert run(["compile", str(model), "--params", str(tmp_path / "none.npz")]) == 1
    assert "none.npz" in capsys.readouterr().err
