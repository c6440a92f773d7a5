"""Recurrent operators of TFLite files: their states, and what is refused of them."""

import pytest

from match_aie.errors import LimitError, UnsupportedOperatorError
from match_aie.frontend import load
from match_aie.limits import Limits
from tests.networks.lite_recurrent import Layer, built
from tests.networks.tflite_file import Step, Stored, flatbuffer

UNI = "UNIDIRECTIONAL_SEQUENCE_LSTM"


def test_what_a_layer_keeps_is_a_state():
    model = load(built(Layer("BIDIRECTIONAL_SEQUENCE_LSTM", rows=2)).file())
    pairs = [(state.input, state.output) for state in model.states]
    assert pairs == [(f"s{at}", f"s{at} next") for at in (35, 36, 37, 38)]
    assert all(state.initial.shape == (2, 5) for state in model.states)
    assert not any(state.initial.any() for state in model.states)


def test_every_value_has_a_label():
    from match_aie import tvm_api

    model = load(built(Layer(UNI)).file())
    names = {tvm_api.variable_name(var) for var, _ in tvm_api.bindings(model.module["main"])}
    assert names == set(model.labels)
    assert set(model.labels.values()) == {"y"}


def test_too_many_steps_are_a_limit():
    data = built(Layer("UNIDIRECTIONAL_SEQUENCE_RNN", steps=9)).file()
    with pytest.raises(LimitError, match="steps of a recurrent layer"):
        load(data, limits=Limits(recurrent_steps=8))
    load(data, limits=Limits(recurrent_steps=9))


def test_an_lstm_is_a_layer_however_long_it_is():
    model = load(built(Layer(UNI, steps=9)).file(), limits=Limits(recurrent_steps=8))
    (layer,) = (f for v, f in model.module.functions.items() if v.name_hint != "main")
    assert str(layer.attrs["Composite"]) == "onnx.LSTM"
    for other in ({"peepholes": True}, {"projected": 3}, {"coupled": True}, {"act": 1}):
        written = load(built(Layer(UNI, **other)).file())
        assert len(written.module.functions) == 1


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({20: (5,)}, "layer normalisation"),
        ({5: None}, "input gate has weights for only one"),
        ({6: None}, "an operand that it needs is left out"),
        ({18: None}, "an operand that it needs is left out"),
    ],
)
def test_other_forms_are_refused(change, why):
    made = built(Layer(UNI))
    for at, shape in change.items():
        if shape is None:
            made.content.pop(at, None)
            made.states.pop(at, None)
        else:
            made.content[at] = made.content[13].reshape(shape)
    with pytest.raises(UnsupportedOperatorError, match=why):
        load(made.file())


@pytest.mark.parametrize(
    ("other", "why"),
    [
        ({"peepholes": True}, "peepholes and projections"),
        ({"projected": 3}, "peepholes and projections"),
        ({"act": 1}, "only tanh"),
    ],
)
def test_other_forms_of_int8_weights_are_refused(other, why):
    with pytest.raises(UnsupportedOperatorError, match=why):
        load(built(Layer(UNI, codes="symmetric", **other)).file())


def test_int8_weights_of_a_part_are_refused():
    made = built(Layer(UNI, codes="symmetric"))
    del made.scales[6]
    with pytest.raises(UnsupportedOperatorError, match="weights of this type"):
        load(made.file())


def test_a_second_input_is_refused():
    made = built(Layer("BIDIRECTIONAL_SEQUENCE_RNN"))
    made.content[9] = made.content[1]
    with pytest.raises(UnsupportedOperatorError, match="a second input"):
        load(made.file())


def test_an_unknown_activation_is_refused():
    with pytest.raises(UnsupportedOperatorError, match="activation 5"):
        load(built(Layer("RNN", act=5)).file())


def _twice(first: str, second: str, variable: bool = True) -> bytes:
    """Two RNNs one behind the other, of which each names its state."""
    made = built(Layer("RNN", inputs=5))
    weights = [Stored(f"w{at}", v.shape, "float32", content=v) for at, v in made.content.items()]
    names = sorted({first, second})
    kept = [Stored(name, (1, 5), "float32", variable=variable) for name in names]
    ports = [Stored(name, (1, 5), "float32") for name in ("x", "m", "y")]
    steps = [
        Step("RNN", (source, "w1", "w2", "w3", state), result, "RNNOptions")
        for source, state, result in (("x", first, "m"), ("m", second, "y"))
    ]
    return flatbuffer([*ports, *weights, *kept], steps, "x", "y")


def test_states_belong_to_one_operator():
    assert len(load(_twice("h", "g")).states) == 2
    for data in (_twice("h", "h"), _twice("h", "g", variable=False)):
        with pytest.raises(UnsupportedOperatorError, match="a variable of the file that nothing"):
            load(data)


def test_what_others_do_with_a_variable_is_refused():
    tensors = [
        *(Stored(name, (1, 4), "float32") for name in ("x", "y")),
        Stored("h", (1, 4), "float32", variable=True),
    ]
    data = flatbuffer(tensors, [Step("ADD", ("x", "h"), "y", "AddOptions")], "x", "y")
    with pytest.raises(UnsupportedOperatorError, match="another operator changes"):
        load(data)
