"""One program for a range of sizes: built once, run at many."""

import ctypes
import re
import subprocess
from pathlib import Path

import numpy as np
import onnx
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import match_aie
from match_aie.errors import ModelError, OptionError
from match_aie.toolchain.sizes import named
from tests.networks import sized
from tests.networks.graph import Graph

RNG = np.random.default_rng(0)
LENGTHS = {"ids": ("1..3", "1..48"), "attention_mask": ("1..3", "1..48")}
NETWORKS = {
    "mlp": (sized.mlp, {"x": ("1..9", 20)}),
    "elementwise": (sized.elementwise, {"a": ("1..9", 3, 5), "b": ("1..9", 1, 5)}),
    "softmax": (sized.softmax, {"x": (2, "1..40")}),
    "mean": (sized.mean, {"x": (1, "1..20", 6)}),
    "cnn": (sized.cnn, {"x": ("1..6", 3, 11, 10)}),
    "encoder": (sized.encoder, LENGTHS),
    "causal": (sized.causal, {"x": (1, "1..48", sized.WIDTH)}),
}
FEW = settings(max_examples=4, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(scope="module")
def project(of_the_run):
    """Projects by name, each compiled once."""
    made = {}

    def of(name):
        if name not in made:
            model, shapes = NETWORKS[name]
            compiled = match_aie.compile(model(), "CPU", shapes=shapes)
            made[name] = compiled.write(of_the_run / f"sized_{name}")
        return made[name]

    return of


def floats(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def words(batch, length):
    """Numbers of words, and which of them count: the first one in any case."""
    counted = (RNG.random((batch, length)) < 0.7).astype(np.int64)
    counted[:, 0] = 1
    return {"ids": RNG.integers(0, sized.WORDS, (batch, length)), "attention_mask": counted}


def checked(project, inputs):
    """Outputs of a run in which every layer is within its bound, and near the model's."""
    result = project.run(inputs, quick=True)
    assert result.matches_reference is not False, result.mismatches
    for name, gap in result.max_abs_vs_model.items():
        assert gap <= 2e-6 * max(1.0, float(np.abs(result.outputs[name]).max()))
    return result.outputs


def the_same(project, name, values, inputs):
    """Whether a program for this size alone gives the same bytes."""
    shapes = {key: array.shape for key, array in inputs.items()}
    made = match_aie.compile(NETWORKS[name][0](), "CPU", shapes=shapes)
    alone = made.write(project.folder.with_name(f"sized_{name}_{'_'.join(map(str, values))}"))
    ours, theirs = project.run(inputs, check=False), alone.run(inputs, check=False)
    return all(ours.outputs[key].tobytes() == theirs.outputs[key].tobytes() for key in ours.outputs)


@pytest.mark.parametrize("rows", range(1, 10))
def test_dense_layers_of_any_number_of_rows(project, rows):
    (y,) = checked(project("mlp"), {"x": floats(rows, 20)}).values()
    assert y.shape == (rows, 7)


@pytest.mark.parametrize("rows", [1, 2, 5, 9])
def test_elementwise_operators_of_any_size(project, rows):
    outputs = checked(project("elementwise"), {"a": floats(rows, 3, 5), "b": floats(rows, 1, 5)})
    assert [array.shape for array in outputs.values()] == [(rows, 4, 5)]


@pytest.mark.parametrize("length", [1, 2, 15, 16, 17, 40])
def test_softmax_over_an_axis_that_a_run_gives(project, length):
    checked(project("softmax"), {"x": floats(2, length)})


@pytest.mark.parametrize("length", [1, 2, 19, 20])
def test_a_mean_divides_by_the_size(project, length):
    checked(project("mean"), {"x": floats(1, length, 6)})


@pytest.mark.parametrize("batch", [1, 2, 5, 6])
def test_images_of_any_number(project, batch):
    checked(project("cnn"), {"x": floats(batch, 3, 11, 10)})
    layers = project("cnn").record.layers.values()
    assert {layer.workload.kind for layer in layers} >= {"conv2d", "max_pool2d", "avg_pool2d"}
    assert all(layer.workload.run_time == ("B",) for layer in layers)


@FEW
@given(batch=st.integers(1, 3), length=st.integers(1, 48))
@example(batch=1, length=1)
@example(batch=3, length=48)
def test_an_encoder_with_words_and_a_mask(project, batch, length):
    outputs = checked(project("encoder"), words(batch, length))
    assert [array.shape for array in outputs.values()] == [(batch, length, sized.WIDTH)]


@FEW
@given(length=st.integers(1, 48))
@example(length=1)
@example(length=48)
def test_attention_to_words_before(project, length):
    checked(project("causal"), {"x": floats(1, length, sized.WIDTH)})


def test_all_of_it_runs_in_modules(project):
    """Nothing but words, positions and masks is left to the core."""
    kinds = [layer.workload.kind for layer in project("encoder").record.layers.values()]
    assert sorted(kinds) == ["attention"] + ["dense"] * 6 + ["layer_norm"] * 3
    assert [la.workload.kind for la in project("causal").record.layers.values()].count("attention")


@pytest.mark.parametrize(
    ("name", "values", "inputs"),
    [
        ("mlp", (1,), lambda: {"x": floats(1, 20)}),
        ("mlp", (8,), lambda: {"x": floats(8, 20)}),
        ("causal", (7,), lambda: {"x": floats(1, 7, sized.WIDTH)}),
        pytest.param("encoder", (2, 19), lambda: words(2, 19), marks=pytest.mark.slow),
        pytest.param(*("cnn", (3,), lambda: {"x": floats(3, 3, 11, 10)}), marks=pytest.mark.slow),
    ],
    ids=["mlp1", "mlp8", "causal", "encoder", "cnn"],
)
def test_the_same_bytes_as_a_program_of_that_size(project, name, values, inputs):
    assert the_same(project(name), name, values, inputs())


@pytest.mark.parametrize(
    ("name", "inputs"),
    [
        ("mlp", lambda: {"x": floats(2, 20)}),
        ("elementwise", lambda: {"a": floats(4, 3, 5), "b": floats(4, 1, 5)}),
        ("encoder", lambda: words(2, 17)),
        pytest.param(*("causal", lambda: {"x": floats(1, 5, sized.WIDTH)}), marks=pytest.mark.slow),
        pytest.param("cnn", lambda: {"x": floats(2, 3, 11, 10)}, marks=pytest.mark.slow),
        ("mean", lambda: {"x": floats(1, 7, 6)}),
    ],
    ids=["mlp", "elementwise", "encoder", "causal", "cnn", "mean"],
)
def test_nothing_beyond_the_size_is_read_or_written(project, name, inputs):
    """Buffers of the program with sanitizers are exactly as large as the run needs."""
    arrays = inputs()
    ours = project(name).run(arrays, check=False).outputs
    theirs = project(name).run_sanitized(arrays, quick=True)
    assert all(np.allclose(ours[key], theirs[key], rtol=0, atol=1e-5) for key in ours)


def test_a_wrong_size_is_an_error(project):
    with pytest.raises(OptionError, match="batch is 0, the network takes 1 to 9"):
        project("mlp").run({"x": floats(0, 20)})
    with pytest.raises(OptionError, match="batch is 10, the network takes 1 to 9"):
        project("mlp").run({"x": floats(10, 20)})
    with pytest.raises(OptionError, match=r"shape \[4, 21\], the network takes \[4, 20\]"):
        project("mlp").run({"x": floats(4, 21)})
    given = words(1, 7)
    given["attention_mask"] = words(1, 8)["attention_mask"]
    with pytest.raises(OptionError, match="length is 8 here and 7 at input ids, axis 1"):
        project("encoder").run(given)


def test_c_refuses_a_wrong_size_with_a_status(project):
    runner = project("mlp").runner(sizes={"batch": 3})
    assert runner.inputs["x"].shape == (3, 20)
    runner.inputs["x"][...] = floats(3, 20)
    runner()
    right = {name: array.copy() for name, array in runner.outputs.items()}
    call = runner._library.mlp_run
    call.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int32]
    for size in (0, -1, 10, 1 << 30):
        assert call(runner._in, runner._out, size) == 2
    assert all(array.tobytes() == right[name].tobytes() for name, array in runner.outputs.items())
    assert call(runner._in, runner._out, 3) == 0


def test_a_static_program_takes_the_sizes_first(project, tmp_path):
    made = project("mlp").build(static=True)
    x = floats(5, 20)
    x.tofile(tmp_path / "x")
    subprocess.run([made.path, "5", tmp_path / "x", tmp_path / "y"], check=True)
    (expected,) = project("mlp").run({"x": x}, check=False).outputs.values()
    assert (tmp_path / "y").read_bytes() == expected.tobytes()
    for sizes in (["10"], ["0"], ["x"], []):
        done = subprocess.run([made.path, *sizes, tmp_path / "x", tmp_path / "y"], check=False)
        assert done.returncode == 2
    (again,) = made.run({"x": x}, check=False).outputs.values()
    assert again.tobytes() == expected.tobytes()


def test_the_header_names_the_sizes(project):
    header = (project("encoder").folder / "include" / "encoder.h").read_text()
    for line in (
        "#define ENCODER_MAX_BATCH 3",
        "#define ENCODER_MIN_LENGTH 1",
        "/* in[0]: ids, int64[batch, length] */",
        "#define ENCODER_INPUT_0_ELEMENTS 144",
        "#define ENCODER_INPUT_0_ELEMENTS_AT(n_batch, n_length) ((n_batch) * (n_length))",
        "int encoder_run(const void *const in[], void *const out[], int32_t n_batch, "
        "int32_t n_length);",
    ):
        assert line in header


def test_work_grows_with_the_size(project):
    """The layers that a run is compared with are of its sizes, not of the largest."""
    record = project("encoder").record

    def macs(**sizes):
        return sum(layer.workload.macs for layer in named(record, sizes).layers.values())

    dense = macs(batch=2, length=10)
    assert macs(batch=1, length=10) * 2 == dense
    assert macs(batch=1, length=1) < macs(batch=3, length=48) / 144


@pytest.mark.slow
def test_the_example_of_the_page(tmp_path, monkeypatch):
    page = Path(__file__).parents[3] / "docs" / "sizes.md"
    (block,) = re.findall(r"^```python\n(.*?)^```", page.read_text(), re.M | re.S)
    assert page.name == "sizes.md"
    monkeypatch.chdir(tmp_path)
    onnx.save(sized.encoder(sized.Sizes(places=128)), "encoder.onnx")
    given = words(2, 100)
    space = {"match": match_aie, "ids": given["ids"], "mask": given["attention_mask"]}
    exec(block, space)
    assert space["result"].matches_reference


@pytest.mark.slow
def test_steps_of_a_recurrent_layer_are_fixed():
    with pytest.raises(ModelError, match=r"gru_0.*steps are written out"):
        match_aie.compile(sized.recurrent(), "CPU", shapes={"x": ("1..60", 1, 4)})


@pytest.mark.parametrize("high", [47, 127])
def test_a_largest_size_that_is_tried_itself_is_no_fixed_one(high):
    made = match_aie.compile(sized.softmax(), "CPU", shapes={"x": (2, f"1..{high}")})
    assert [layer.workload.run_time for layer in made.program.schedule.layers] == [("K",)]


def test_what_has_no_one_form_is_refused_by_name():
    graph = Graph(76)
    y = graph.add("AveragePool", "x", kernel_shape=[2], strides=[2])
    halves = graph.model("halves", {"x": (1, 3, "n")}, {y: (1, 3, "half")})
    with pytest.raises(ModelError, match=r"averagepool_0|output"):
        match_aie.compile(halves, "CPU", shapes={"x": (1, 3, "2..99")})


def test_other_targets_and_states_have_fixed_sizes():
    with pytest.raises(OptionError, match="GAP9 runs networks of fixed sizes only"):
        match_aie.compile(sized.mlp(), "GAP9", shapes={"x": ("1..9", 20)})
    with pytest.raises(OptionError, match="keeps a state"):
        match_aie.compile(sized.mlp(), "CPU", shapes={"x": ("1..9", 20)}, states={"x": "y"})
