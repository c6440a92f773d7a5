"""Functions of the fallback beside their reference, and elements that nothing writes."""

import json
import shutil

import numpy as np
import pytest
from tvm import relax
from tvm.relax import op

import match_aie
from match_aie.cli.guard import run
from match_aie.targets.cpu.machine import PORTABLE, native

pytestmark = pytest.mark.skipif(
    not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="no C compiler"
)
SHAPE = (2, 6)


def network():
    """Rows turned around, then joined with themselves and bounded: fallback functions only."""
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType(SHAPE, "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            turned = builder.emit(op.flip(x, 1))
            joined = builder.emit(op.concat([turned, x], 1))
            scaled = builder.emit(op.multiply(joined, relax.const(3.0)))
            y = builder.emit_output(op.maximum(scaled, relax.const(0.25)))
        builder.emit_func_output(y)
    return builder.get()


@pytest.fixture
def folder(tmp_path):
    match_aie.compile(network(), target="CPU").write(tmp_path / "net")
    return tmp_path / "net"


def edit(folder, old, new):
    (path,) = (p for p in folder.glob("src/*.c") if not p.stem.endswith("_main"))
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_functions_agree_with_their_reference(folder):
    x = np.random.default_rng(0).standard_normal(SHAPE).astype(np.float32)
    result = match_aie.load(folder).run(x, check_fallback=True)
    assert result.fallback.calls >= 1
    assert result.fallback.mismatches == result.fallback.unchecked == ()
    wanted = np.maximum(np.concatenate([x[:, ::-1], x], 1) * np.float32(3), np.float32(0.25))
    np.testing.assert_array_equal(result.outputs["output"], wanted)
    assert match_aie.load(folder).run(x).fallback is None


def test_a_wrong_function_is_named(folder, capsys):
    edit(folder, "0x1.8p+1f", "0x1.9p+1f")
    words = ["run", str(folder), "--edited", "--check-fallback", "--json"]
    assert run(words) == 4
    said = capsys.readouterr()
    (found,) = json.loads(said.out)["fallback"]["mismatches"]
    assert "multiply" in found["operators"]
    assert found["symbol"] in (folder / "match_aie.json").read_text()
    assert found["difference"]["count"] > 0
    assert run([*words[:-1]]) == 4
    text = capsys.readouterr().out
    assert "DIFFER" in text
    assert found["symbol"] in text


def test_what_is_never_written_shows(folder, capsys):
    """A result that lacks a column is not zero there by luck."""
    edit(folder, "< 6;", "< 5;")
    project = match_aie.load(folder, edited=True)
    x = np.ones(SHAPE, np.float32)
    first = project.run(x)
    assert np.isnan(first.outputs["output"]).any()
    other = project.run_sanitized(x, quick=True)["output"]
    assert other.tobytes() != first.outputs["output"].tobytes()
    assert run(["run", str(folder), "--edited", "--sanitize"]) == 4
    assert "sanitizers gives another output" in capsys.readouterr().err


@pytest.mark.skipif(native().name == PORTABLE, reason="this machine has no vectors")
def test_a_weight_in_parts_is_a_weight(tmp_path):
    rng = np.random.default_rng(1)
    parts = [rng.standard_normal((8, 6)).astype(np.float32) for _ in range(2)]
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((4, 8), "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            weight = builder.emit(op.concat([relax.const(part) for part in parts], 1))
            y = builder.emit_output(op.matmul(x, weight))
        builder.emit_func_output(y)
    project = match_aie.compile(builder.get(), target="CPU").write(tmp_path / "net")
    (layer,) = project.manifest["layers"]
    assert [layer["workload"]["kind"], project.manifest["fallback"]] == ["dense", []]
    image = rng.standard_normal((4, 8)).astype(np.float32)
    result = project.run(image)
    assert result.matches_reference
    wanted = image @ np.concatenate(parts, 1)
    np.testing.assert_allclose(result.outputs["output"], wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_a_layer_norm_of_another_type_runs_in_the_fallback(dtype, tmp_path):
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((3, 8), dtype))
    ones, zeros = (relax.const(np.full(8, n, dtype), dtype) for n in (1, 0))
    with builder.function("main", [x]):
        with builder.dataflow():
            y = builder.emit_output(op.nn.layer_norm(x, ones, zeros, [-1], 1e-5))
        builder.emit_func_output(y)
    project = match_aie.compile(builder.get(), target="CPU").write(tmp_path / "net")
    data = np.random.default_rng(2).standard_normal((3, 8)).astype(dtype)
    result = project.run(data, check_fallback=True)
    assert result.fallback.mismatches == result.fallback.unchecked == ()
    wide = data.astype(np.float64)
    centred = wide - wide.mean(1, keepdims=True)
    wanted = centred / np.sqrt((centred**2).mean(1, keepdims=True) + 1e-5)
    near = 1e-12 if dtype == "float64" else 2e-3
    np.testing.assert_allclose(result.outputs["output"], wanted, rtol=near, atol=near)
