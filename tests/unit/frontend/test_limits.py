"""Models that ask for too much, or make no sense: a typed error, in bounded time and memory."""

import itertools

import pytest

import match_aie
from match_aie.errors import LimitError, ModelError, OptionError
from match_aie.frontend import load
from match_aie.limits import Limits
from match_aie.targets.cpu import CPU
from tests.hostile import attempt, bombs, mutations, samples
from tests.hostile.building import ints, model, node, value

#: Bombs that ended in something else than a typed error once, and are quick to try.
ONCE = """
    input_4294967296x4294967296 input_-5x4 rank_5000 outer_Add conv_of_2_40 resize_sizes
    output_of_range doubling_constants doubling_expand
    functions_30_2 functions_8_10 function_many_inputs function_calls_itself
    lstm_2147483648_1 output_twice input_type_-1 name_not_utf8
    stored_raw_long stored_floats_long stored_segment constant_raw_much relay_zeros
    external_8g_wanted external_fifo is_fifo links_to_zero sparse_8g
""".split()


@pytest.fixture(scope="module")
def cases():
    return {case.name: case for case in bombs(0)}


@pytest.mark.parametrize("name", ONCE)
def test_what_once_went_wrong_is_refused(cases, name):
    tried = attempt(cases[name])
    assert tried.verdict == "refused", tried


def test_branches_in_branches_are_no_endless_loop(cases):
    assert attempt(cases["if_straight"]).verdict == "passed"


def test_the_same_seed_gives_the_same_cases(cases, tmp_path):
    again = {case.name: case for case in bombs(0)}
    assert list(again) == list(cases)
    assert len(again) > 200
    name = "scale_nan"
    paths = [tmp_path / "a", tmp_path / "b"]
    for path in paths:
        path.mkdir()
    one, other = (c[name].build(p) for c, p in zip((cases, again), paths, strict=True))
    assert one.read_bytes() == other.read_bytes()
    data = samples()["floats.onnx"]
    first = [[c.name for c in itertools.islice(mutations(data, 3), 5)] for _ in range(2)]
    assert first[0] == first[1]


@pytest.mark.parametrize("name", sorted(samples()))
def test_the_samples_are_sound(name):
    assert load(samples()[name]).outputs


@pytest.mark.parametrize(
    ("limit", "changes"),
    [
        ("tensor_elements", {"tensor_elements": 3}),
        ("nodes", {"nodes": 1}),
        ("rank", {"rank": 1}),
        ("file_bytes", {"file_bytes": 100}),
        ("constant_bytes", {"constant_bytes": 7}),
    ],
)
def test_every_limit_names_itself(limit, changes):
    made = model([node("Add", ["x", "k"], ["y"])], {"k": ints(1, 2).astype("float32")[:1]})
    made.graph.initializer.append(model([], {"unused": ints(1, 2, 3)}).graph.initializer[0])
    data = made.SerializeToString()
    load(data)
    with pytest.raises(LimitError, match="accepted") as error:
        load(data, limits=Limits().changed(changes))
    assert f"--limit {limit}=N" in error.value.hint


def recurrent(op, steps, outputs=("y",)):
    """A recurrent layer of one unit."""
    gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[op]
    options = {"linear_before_reset": 1} if op == "GRU" else {}
    layer = node(op, ["x", "w", "r"], list(outputs), hidden_size=1, **options)
    held = {"w": ints(*range(gates)).astype("float32").reshape(1, gates, 1)}
    held["r"] = held["w"]
    return model([layer], held, inputs=[value("x", [steps, 1, 1])]).SerializeToString()


def test_steps_that_would_be_written_out_are_limited():
    data = recurrent("RNN", 20)
    match_aie.compile(data, cache=False)
    with pytest.raises(LimitError, match=r"onnx\.RNN.*20 steps, and 19") as error:
        match_aie.compile(data, cache=False, limits=Limits(recurrent_steps=19))
    assert error.value.where == "y"


@pytest.mark.parametrize("op", ["LSTM", "GRU"])
def test_a_module_takes_any_number_of_steps(op):
    """Nothing is written out; a step of the core may be cheaper, but the fallback has none."""
    long = match_aie.compile(recurrent(op, 100_000), CPU("x86-64-v3"), cache=False)
    assert [layer.pattern for layer in long.program.schedule.layers] == [op.lower()]
    assert not {"onnx.LSTM", "onnx.GRU"} & {
        name for function in long.program.schedule.functions for name in function.operators.split()
    }


@pytest.mark.parametrize(("op", "outputs"), [("LSTM", ["", "", "y"]), ("RNN", ["y", "h"])])
def test_where_no_module_takes_the_layer_many_steps_are_refused(op, outputs):
    with pytest.raises(LimitError, match="no module runs the"):
        match_aie.compile(recurrent(op, 100_000, outputs), cache=False)


NAMES = ("scale", "weight_scale", "output_scale", "qlinear")
STEPLESS = [
    (name, bad)
    for name in NAMES
    for bad in ("zero", "negative", "nan")
    if bad != "zero" or name in ("scale", "output_scale")
]


@pytest.mark.parametrize(("name", "bad"), STEPLESS)
def test_a_scale_is_a_step(cases, tmp_path, name, bad):
    with pytest.raises(ModelError, match=f"a scale is .*{'number' if bad == 'nan' else bad}") as e:
        load(cases[f"{name}_{bad}"].build(tmp_path))
    assert e.value.where


def test_every_channel_has_one(cases, tmp_path):
    with pytest.raises(ModelError, match="a scale is negative"):
        load(cases["channel_scale_negative"].build(tmp_path))


@pytest.mark.parametrize("bad", [{"nodes": 0}, {"nodes": -1}, {"nodes": True}, {"node": 1}])
def test_limits_that_mean_nothing(bad):
    with pytest.raises(OptionError, match="limit"):
        Limits().changed(bad)


@pytest.mark.parametrize("bad", ["nan", "inf", "-inf"])
def test_a_scale_must_be_finite(bad):
    import numpy as np

    pair = [
        node("QuantizeLinear", ["x", "s", "z"], ["q"]),
        node("DequantizeLinear", ["q", "s", "z"], ["y"]),
    ]
    data = model(pair, {"s": np.float32(bad), "z": np.int8(0)}).SerializeToString()
    with pytest.raises(ModelError, match=r"(?s)infinite or not a number.*nodes_to_exclude"):
        load(data)


def test_external_data_has_the_length_of_its_tensor(tmp_path, cases):
    for name in ("external_too_long", "external_length_text", "external_length_8g"):
        folder = tmp_path / name
        folder.mkdir()
        with pytest.raises(ModelError, match="external data"):
            load(cases[name].build(folder))


@pytest.mark.parametrize("op", ["MaxPool", "AveragePool", "LpPool"])
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_a_window_larger_than_its_image(op, rank):
    ones = [1] * (rank - 1)
    pool = node(op, ["x"], ["y"], kernel_shape=[9, *ones], pads=[1, *[0] * rank, *ones])
    data = model([pool], inputs=[value("x", [1, 2, *[5] * rank])]).SerializeToString()
    with pytest.raises(ModelError, match="window is larger than the image"):
        load(data)
