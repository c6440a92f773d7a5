"""The forms in which Relay and its parameters arrive, and what does not fit."""

import json
import random

import numpy as np
import pytest
from relay_samples import REAL, JsonModule, array_bytes, metadata, param_bytes

import match_aie as match
from match_aie.errors import ModelError, OptionError, UnsupportedOperatorError
from match_aie.frontend import load
from match_aie.frontend.relay import load_relay, read

RNG = np.random.default_rng(3)
WEIGHTS = {
    "onnx::Conv_0": RNG.integers(-128, 128, (8, 4, 3, 3)).astype(np.int8),
    "input.1": RNG.integers(-999, 999, 8).astype(np.int32),
}
DENSE = (
    '#[version = "0.0.5"]\ndef @main(%x: Tensor[(1, 3), float32], %w: Tensor[(2, 3), float32]) {\n'
    "  %0 = nn.dense(%x, %w, units=2);\n  nn.relu(%0)\n}\n"
)
W = np.array([[1, 2, 3], [4, 5, 6]], np.float32)


class Text:
    """Like `tvm.IRModule` of old."""

    def astext(self, show_meta_data: bool = False) -> str:
        return DENSE if show_meta_data else "constants are missing"


def test_text_in_every_wrapping(tmp_path):
    path = tmp_path / "dense.relay"
    path.write_text(DENSE)
    (tmp_path / "other.txt").write_text(DENSE.partition("\n")[2])
    for given in (DENSE, DENSE.encode(), path, str(tmp_path / "other.txt"), Text()):
        model = load(given, params={"w": W})
        assert [(p.name, p.shape) for p in model.inputs] == [("x", (1, 3))]
        assert model.outputs[0].shape == (1, 2)
        assert model.format == "relay"
    assert load(path).name == "dense"
    assert [p.name for p in load(DENSE).inputs] == ["x", "w"]


def test_parameters_in_every_wrapping(tmp_path):
    np.savez(tmp_path / "p.npz", w=W)
    (tmp_path / "p.params").write_bytes(param_bytes({"w": W, "more": W}))

    class Array:
        def numpy(self):
            return W

    given = [
        {"w": W},
        {"w": Array()},
        W.tolist() and {"w": W},
        tmp_path / "p.npz",
        str(tmp_path / "p.params"),
        param_bytes({"w": W}),
        (tmp_path / "p.npz").read_bytes(),
    ]
    for params in given:
        model = load(DENSE, params=params)
        assert [p.name for p in model.inputs] == ["x"]
        assert "4" in model.module.script(show_meta=True) or model.module is not None
    assert "more" in load(DENSE, params=tmp_path / "p.params").warnings[0]
    assert load(DENSE, params={"w": W}).source != load(DENSE, params={"w": W + 1}).source


@pytest.mark.parametrize(
    ("params", "what"),
    [
        (b"what", "no parameters"),
        (param_bytes({"w": W})[:-3], "cut off"),
        (param_bytes({"w": W})[:40], "cut off"),
        (b"PK\x03\x04broken", "damaged"),
        (3, "cannot be made"),
        ({"w": np.array(["a"])}, "no array of numbers"),
        ({"w": W.T}, "Tensor|array given"),
        ({"w": W.astype(np.float64)}, "array given"),
        ("nowhere.params", "cannot be read"),
    ],
)
def test_parameters_that_do_not_fit(params, what):
    with pytest.raises(ModelError, match=what):
        load(DENSE, params=params)


def test_damaged_arrays():
    good = array_bytes(W)
    for at, byte in ((0, 0), (24, 77), (28, 9), (29, 3), (30, 2), (36, 200)):
        bad = bytearray(param_bytes({"w": W}))
        start = len(bad) - len(good)
        bad[start + at] = byte
        with pytest.raises(ModelError):
            load(DENSE, params=bytes(bad))


def test_params_are_for_relay_only(tmp_path):
    (tmp_path / "x.onnx").write_bytes(b"0123TFL3" + b"0" * 20)
    with pytest.raises(OptionError, match="Relay"):
        load(tmp_path / "x.onnx", params={"w": W})


def test_a_real_looking_module_loads():
    model = load(REAL, params=WEIGHTS, shapes={"conv1/weights:0": (8,)})
    assert [p.name for p in model.inputs] == ["data", "conv1/weights:0"]
    assert [p.shape for p in model.outputs] == [(1, 8, 4, 4), (8,)]
    assert "%0" in set(model.labels.values())
    assert "%x/%2" in set(model.labels.values()) or "%5/%2" in set(model.labels.values())


def test_constants_from_the_metadata_section():
    text = DENSE.replace(", %w: Tensor[(2, 3), float32]", "").replace(
        "%w", "meta[relay.Constant][0]"
    )
    model = load(text + metadata(W))
    assert [p.name for p in model.inputs] == ["x"]
    with pytest.raises(ModelError, match="there is no meta") as caught:
        load(text)
    assert "show_meta_data" in caught.value.hint


def json_sample() -> str:
    """A convolution, a composite function, a let and a tuple."""
    made = JsonModule()
    x = made.var("x", made.tensor_type((1, 4, 6, 6), "int8"))
    kernel = np.asarray(WEIGHTS["onnx::Conv_0"])
    attrs = made.node(
        "relay.attrs.Conv2DAttrs",
        strides=made.integers(1, 1),
        padding=made.integers(1, 1, 1, 1),
        dilation=made.integers(1, 1),
        groups=1,
        channels=made.integer(8),
        data_layout=made.string("NCHW"),
        kernel_size=made.integers(3, 3),
        kernel_layout=made.string("OIHW"),
        out_layout=made.string(""),
        out_dtype="int32",
        auto_scheduler_rewritten_layout=made.string(""),
    )
    conv = made.call("nn.conv2d", (x, made.constant(kernel)), attrs)
    p = made.var("p")
    clip = made.node("relay.attrs.ClipAttrs", a_min=-128.0, a_max=127.0)
    cast = made.node("relay.attrs.CastAttrs", dtype="int8")
    shifted = made.call("right_shift", (p, made.constant(np.int32(7))))
    inner_body = made.call("cast", (made.call("clip", (shifted,), clip),), cast)
    composite = made.node("DictAttrs", __dict__=0)
    entries = {"type_key": "Map", "keys": ["Composite"], "data": [made.string("diana.conv2d")]}
    made.nodes.append(entries)
    made.nodes[composite]["attrs"]["__dict__"] = str(len(made.nodes) - 1)
    inner = made.function((p,), inner_body, composite)
    y = made.call_of(inner, (conv,))
    let = made.var("y")
    soft = made.call(
        "nn.softmax",
        (made.call("cast", (let,), made.node("relay.attrs.CastAttrs", dtype="float32")),),
        made.node("relay.attrs.SoftmaxAttrs", axis=1),
    )
    pair = made.node("relay.Tuple", fields=made.array(let, soft), span=0)
    body = made.node("relay.Let", var=let, value=y, body=pair, span=0)
    return made.dump(made.function((x,), body))


def test_json_of_save_json():
    model = load(json_sample())
    assert [(p.name, p.dtype, p.shape) for p in model.inputs] == [("x", "int8", (1, 4, 6, 6))]
    assert [(p.dtype, p.shape) for p in model.outputs] == [
        ("int8", (1, 8, 6, 6)),
        ("float32", (1, 8, 6, 6)),
    ]
    text = model.module.script()
    assert "padding=[1, 1, 1, 1]" in text or "padding" in text
    assert "axis=1" in text


def test_mutated_json():
    """Always a module or a typed error."""
    rng, refused, sample = random.Random(4), 0, json_sample()
    values = [0, -1, 5, 10**9, "0", "7", "x", "-3", None, [], {}, [1, 2], True, 1.5, "9" * 30]
    for _ in range(1000):
        graph = json.loads(sample)
        for _ in range(rng.randint(1, 3)):
            node = rng.choice(graph["nodes"])
            inner = node.get("attrs") if rng.random() < 0.7 else node
            inner = inner if isinstance(inner, dict) and inner else node
            inner[rng.choice(list(inner))] = rng.choice(values)
        try:
            read(json.dumps(graph))
        except ModelError:
            refused += 1
    assert 300 < refused < 1000


def test_a_deep_json_chain():
    made = JsonModule()
    value = x = made.var("x", made.tensor_type((2,), "int8"))
    for _ in range(3000):
        value = made.call("negative", (value,))
    model = load(made.dump(made.function((x,), value)))
    assert model.outputs[0].shape == (2,)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("{", "not JSON"),
        ("{}", "no nodes"),
        ('{"root": 1, "nodes": [{"type_key": ""}]}', "is no node"),
        ('{"root": 0, "nodes": [{"type_key": ""}]}', "not a Relay module"),
        (
            '{"root": 0, "nodes": [{"type_key": "relay.Function", "attrs": {"body": "0"}}]}',
            "itself|stands",
        ),
        (
            '{"root": 0, "nodes": [{"type_key": "relay.Function", "attrs": {"body": "x"}}]}',
            "is no node",
        ),
        (
            '{"root": 0, "nodes": [{"type_key": "relay.Function", "attrs": {"body": "1"}}, '
            '{"type_key": "relay.If"}]}',
            "control flow",
        ),
        (
            '{"root": 0, "nodes": [{"type_key": "relay.Function", "attrs": {"body": "1"}}, '
            '{"type_key": "relay.TupleGetItem", "attrs": {"tuple_value": "1", "index": "0"}}]}',
            "itself",
        ),
        ('{"nodes": 3}', "no nodes"),
        ("[" * 100_000, "newline|JSON|expression|nested|no such file|cannot be read"),
    ],
)
def test_json_that_is_no_module(text, what):
    with pytest.raises(ModelError, match=what):
        load_relay(text)


@pytest.mark.parametrize(
    ("body", "what"),
    [
        ("nn.dense(%x)", "has 1 inputs"),
        ("nn.dense(%x, transpose(%x), units=1)", "do not fit"),
        ("add(%x, 1)", "float32 and int32"),
        ("reshape(%x, newshape=[4, -1])", "does not hold"),
        ("nn.softmax(%x, axis=5)", "none of a tensor of rank 2"),
        ('cast(%x, dtype="custom")', "no tensors of custom"),
        ("transpose((%x, %x))", "a tuple stands"),
        ("%x.0", "only a tuple"),
        ("(%x, %x).2", "no field 2"),
        ("@other(%x)", "@other is not defined"),
        ("@main(%x)", "recursion|deep"),
        ("%x(%x)", "can be called"),
        ("fn (%y: int8) { %y }", "gives no tensors"),
        ('clip(%x, a_min="a", a_max=1f)', "not a number"),
        ('nn.conv2d(%x, %x, data_layout="NCHW4c")', "packed|layout"),
        ("qnn.requantize(%x, %x, 0, 1f, 0)", "known at compile time"),
        ("()", "gives no tensors"),
    ],
)
def test_calls_that_do_not_fit_say_where(body, what):
    text = f"def @main(%x: Tensor[(1, 3), float32]) {{\n  {body}\n}}\n"
    with pytest.raises(ModelError, match=what) as caught:
        load(text)
    if not body.startswith(("@main", "()", "fn")):
        assert "line 2" in caught.value.where or "line 2" in str(caught.value)


def test_every_unknown_operator_is_listed():
    text = "def @main(%x: Tensor[(1, 3), float32]) {\n  %0 = vision.nms(%x);\n  dyn.topk(%0)\n}\n"
    with pytest.raises(UnsupportedOperatorError) as caught:
        load(text)
    assert [name for name, _, _ in caught.value.operators] == ["vision.nms", "dyn.topk"]
    assert "line 2" in str(caught.value)


def test_shapes_that_are_open():
    text = "def @main(%x: Tensor[(?, 3), float32]) {\n  nn.relu(%x)\n}\n"
    with pytest.raises(ModelError, match="dynamic shape") as caught:
        load(text)
    assert "shape" in caught.value.hint
    assert load(text, shapes={"x": (5, 3)}).inputs[0].shape == (5, 3)
    with pytest.raises(ModelError, match="not"):
        load(text, shapes={"x": (5, 4)})
    with pytest.raises(ModelError, match="no type"):
        load("def @main(%x) {\n  %x\n}\n")


def test_functions_that_call_functions_many_times():
    """Twenty functions that call the next twice are a million calls: refused, not attempted."""
    parts = [f"def @f{i}(%x: int8) {{ add(@f{i + 1}(%x), @f{i + 1}(%x)) }}" for i in range(20)]
    text = "\n".join(["def @main(%x: int8) { @f0(%x) }", *parts, "def @f20(%x: int8) { %x }"])
    with pytest.raises(ModelError, match="calls"):
        load(text + "\n")
    doubled = "".join(f"  %{i + 1} = (%{i}, %{i});\n" for i in range(40))
    for seed in ("%x", "()"):
        with pytest.raises(ModelError, match="gives no tensors"):
            load(f"def @main(%x: int8) {{\n  %0 = ({seed},);\n{doubled}  %40\n}}\n")


def test_the_python_interface():
    net = match.compile(DENSE, "CPU", params={"w": W})
    assert [p.name for p in net.inputs] == ["x"]
    assert net.name == "network"
