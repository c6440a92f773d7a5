"""What `load` takes, and what it says about everything else."""

import os
import subprocess
import sys
from itertools import pairwise

import numpy as np
import onnx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from match_aie.errors import ModelError, UnsupportedOperatorError
from match_aie.frontend import load, onnx_shapes
from tests.networks import POWERS
from tests.shared import ONNX_FILES, model_file

F32 = np.float32


@pytest.fixture
def relu(onnx_tools):
    node = helper.make_node("Relu", ["x"], ["y"], "act")
    return onnx_tools.build([node], {"x": (F32, [1, 4])}, {"y": (F32, [1, 4])})


def one_screen(error):
    text = str(error.value)
    assert len(text.splitlines()) <= 30
    assert len(text) < 4000
    return text


def test_a_path_bytes_and_an_object_are_the_same_model(relu, tmp_path):
    path = tmp_path / "tiny net.onnx"
    path.write_bytes(relu.SerializeToString())
    models = [load(path), load(str(path)), load(relu.SerializeToString()), load(relu)]
    assert [m.name for m in models] == ["tiny net", "tiny net", "g", "g"]
    assert {m.module.script() for m in models} == {models[0].module.script()}
    assert {m.source for m in models} == {path.read_bytes()}
    assert [m.format for m in models] == ["onnx"] * 4
    assert models[0].inputs[0].shape == (1, 4)


def test_a_relax_module(relu):
    first = load(relu, name="first")
    again = load(first.module, name="again")
    assert (again.format, again.name) == ("relax", "again")
    assert [p.shape for p in again.inputs] == [(1, 4)]
    assert [p.dtype for p in again.outputs] == ["float32"]


def test_a_relax_module_keeps_names_and_quantisation():
    from tvm import relax

    builder = relax.BlockBuilder()
    x = relax.Var('in"put\n', relax.TensorType((1, 4), "int8"))
    scale, zero = relax.const(0.25, "float32"), relax.const(3, "int8")
    with builder.function("main", [x]):
        real = builder.emit(relax.op.dequantize(x, scale, zero))
        builder.emit_func_output(builder.emit(relax.op.nn.relu(real)))
    model = load(builder.get())
    assert model.inputs[0].name == 'in"put\n'
    assert (model.inputs[0].scale, model.inputs[0].zero_point) == (0.25, 3)
    assert model.outputs[0].scale is None
    assert '"put' not in model.module.script()


def test_a_relax_module_with_symbolic_shapes():
    from tvm import relax, tirx

    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((tirx.Var("n", "int64"), 4), "float32"))
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(relax.op.nn.relu(x)))
    with pytest.raises(ModelError, match="not static"):
        load(builder.get())


def test_relay_text_is_read_as_such():
    for text in ('#[version = "0.0.5"]', "def @main() {\n}", b'#[version = "0.0.5"]\n'):
        with pytest.raises(ModelError, match="expected") as caught:
            load(text)
        assert "line" in caught.value.where


def test_a_missing_file_names_its_neighbours(relu, tmp_path):
    (tmp_path / "resnet.onnx").write_bytes(relu.SerializeToString())
    with pytest.raises(ModelError, match="no such file") as caught:
        load(tmp_path / "resnett.onnx")
    assert "resnet.onnx" in caught.value.hint
    with pytest.raises(ModelError, match="no such file"):
        load(tmp_path / "nowhere" / "a.onnx")


@pytest.mark.parametrize("path", ["", "a" * 5000, "\0"])
def test_paths_that_no_system_takes(path):
    with pytest.raises(ModelError):
        load(path)


def test_a_folder_and_an_object_of_another_kind(tmp_path):
    with pytest.raises(ModelError, match="cannot be read"):
        load(tmp_path)
    with pytest.raises(ModelError, match=r"builtins\.int"):
        load(3)


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=200))
def test_random_bytes(data):
    with pytest.raises(ModelError) as caught:
        load(data)
    one_screen(caught)


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(part=st.floats(0, 0.999))
def test_truncated_bytes(relu, part):
    # One operator set: without its end, the file is not a model.
    del relu.opset_import[1:]
    data = relu.SerializeToString()
    with pytest.raises(ModelError) as caught:
        load(data[: int(len(data) * part)])
    one_screen(caught)


def test_what_the_checker_refuses(onnx_tools):
    node = helper.make_node("Relu", ["nowhere"], ["y"])
    model = onnx_tools.build([node], {"x": (F32, [1])}, {"y": (F32, [1])})
    with pytest.raises(ModelError, match="not valid ONNX"):
        load(model)


def test_a_size_of_minus_one_is_unknown():
    ports = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [-1, 3, -1]) for n in ("x", "y")]
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", ports[:1], ports[1:])
    data = helper.make_model(graph).SerializeToString()
    assert load(data, shapes={"x": [2, 3, 4]}).outputs[0].shape == (2, 3, 4)
    with pytest.raises(ModelError, match="without a size") as caught:
        load(data)
    assert "--shape x=1,3,32, or" in str(caught.value.hint)


def test_a_column_and_a_row_of_integers():
    """ONNX follows the column's contents as a vector, which cannot be added to the row."""
    constants = {
        "column": np.arange(3),
        "axis": np.array([-1]),
        "row": np.arange(5),
    }
    nodes = [
        helper.make_node("Unsqueeze", ["column", "axis"], ["apart"]),
        helper.make_node("Add", ["apart", "row"], ["sum"]),
        helper.make_node("Cast", ["sum"], ["real"], to=TensorProto.FLOAT),
        helper.make_node("Add", ["real", "x"], ["y"]),
    ]
    ports = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [3, 5]) for n in ("x", "y")]
    tensors = [numpy_helper.from_array(value, name) for name, value in constants.items()]
    graph = helper.make_graph(nodes, "sums", ports[:1], ports[1:], tensors)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    assert load(model.SerializeToString()).outputs[0].shape == (3, 5)


@pytest.mark.parametrize("length", [onnx_shapes.LONGEST_CONTENTS, 1 << 17])
def test_contents_of_long_vectors_are_not_followed(length, monkeypatch):
    """Sums of them took a message per element: gigabytes for a file of a few kilobytes."""
    followed = []
    whole = onnx_shapes.shape_inference.infer_shapes

    def noted(model, **options):
        followed.append(options["data_prop"])
        return whole(model, **options)

    monkeypatch.setattr(onnx_shapes.shape_inference, "infer_shapes", noted)
    nodes = [
        helper.make_node("ConstantOfShape", ["length"], ["zeros"]),
        helper.make_node("Add", ["zeros", "zeros"], ["y"]),
    ]
    port = helper.make_tensor_value_info("y", TensorProto.FLOAT, [length])
    tensor = numpy_helper.from_array(np.array([length]), "length")
    graph = helper.make_graph(nodes, "sums", [], [port], [tensor])
    onnx_shapes.infer_shapes(helper.make_model(graph))
    assert any(followed) == (length <= onnx_shapes.LONGEST_CONTENTS)


def test_contradicting_shapes(onnx_tools):
    node = helper.make_node("MatMul", ["x", "w"], ["y"])
    model = onnx_tools.build(
        [node], {"x": (F32, [1, 3])}, {"y": (F32, [1, 2])}, {"w": np.ones((4, 2), F32)}
    )
    with pytest.raises(ModelError, match="contradict"):
        load(model)


@pytest.mark.parametrize("opset", [7, 12])
def test_old_operators_that_have_not_changed(onnx_tools, opset):
    node = helper.make_node("Sigmoid", ["x"], ["y"])
    model = onnx_tools.build([node], {"x": (F32, [2])}, {"y": (F32, [2])}, opset=opset)
    assert load(model).inputs[0].shape == (2,)


def test_an_opset_of_the_future(relu):
    relu.opset_import[0].version = 999
    with pytest.raises(ModelError):
        load(relu)


def test_every_opset_that_is_read(onnx_tools):
    node = helper.make_node("Softmax", ["x"], ["y"], axis=1)
    feeds = {"x": np.arange(12, dtype=F32).reshape(2, 2, 3)}
    for opset in range(13, onnx.defs.onnx_opset_version() + 1):
        model = onnx_tools.build([node], {"x": (F32, [2, 2, 3])}, {"y": (F32, None)}, opset=opset)
        model.graph.output[0].type.tensor_type.shape.SetInParent()
        del model.graph.output[0].type.tensor_type.shape.dim[:]
        model.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", 1, [2, 2, 3]))
        load(model)
    assert feeds["x"].size == 12


def dynamic(onnx_tools, *dims):
    node = helper.make_node("Relu", ["x"], ["y"])
    return onnx_tools.build([node], {"x": (F32, list(dims))}, {"y": (F32, list(dims))})


@pytest.mark.parametrize("first", ["unk__259", None, "?"])
def test_an_unnamed_batch_is_one_with_a_warning(onnx_tools, first):
    with pytest.warns(UserWarning, match="batch of 1"):
        model = load(dynamic(onnx_tools, first, 3))
    assert model.inputs[0].shape == (1, 3)
    assert model.outputs[0].shape == (1, 3)
    assert len(model.warnings) == 1


def test_other_dynamic_shapes_say_how_to_give_them(onnx_tools):
    with pytest.raises(ModelError) as caught:
        load(dynamic(onnx_tools, 2, "height", 3, None))
    hint = caught.value.hint
    assert "shapes={'x': [2, 32, 3, 32]}" in hint
    shapes = eval(hint[hint.index("{") :])
    assert load(dynamic(onnx_tools, 2, "height", 3, None), shapes=shapes).inputs[0].shape == (
        *(2, 32, 3, 32),
    )


def test_a_named_size_holds_for_all_inputs(onnx_tools):
    node = helper.make_node("Add", ["a", "b"], ["y"])
    ports = {"a": (F32, ["n", 3]), "b": (F32, ["n", 3])}
    model = onnx_tools.build([node], ports, {"y": (F32, ["n", 3])})
    assert load(model, shapes={"a": [5, 3]}).inputs[1].shape == (5, 3)


@pytest.mark.parametrize("shapes", [{"z": [1]}, {"x": [1, 2]}, {"x": [4, 3]}, {"x": [2, 0]}])
def test_shapes_that_do_not_fit(onnx_tools, shapes):
    with pytest.raises(ModelError):
        load(dynamic(onnx_tools, 2, "m"), shapes=shapes)


def external(model, folder, location):
    """`model` with its only weight in a file at `location`."""
    (tensor,) = model.graph.initializer
    data = tensor.raw_data
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in (("location", location), ("offset", "2"), ("length", str(len(data)))):
        tensor.external_data.add(key=key, value=value)
    path = folder / "net.onnx"
    path.write_bytes(model.SerializeToString())
    return path, b"__" + data


@pytest.fixture
def weighted(onnx_tools):
    node = helper.make_node("Add", ["x", "w"], ["y"])
    return onnx_tools.build(
        [node], {"x": (F32, [3])}, {"y": (F32, [3])}, {"w": np.arange(3, dtype=F32)}
    )


def test_external_data_beside_the_model(onnx_tools, weighted, tmp_path):
    path, data = external(weighted, tmp_path, "w.bin")
    (tmp_path / "w.bin").write_bytes(data)
    model = load(path)
    (got,) = onnx_tools.run_tvm(model, {"x": np.ones(3, F32)})
    np.testing.assert_array_equal(got, [1, 2, 3])
    assert load(model.source).inputs == model.inputs
    with pytest.raises(ModelError, match="other files"):
        load(path.read_bytes())


def test_external_data_elsewhere(weighted, tmp_path):
    inner = tmp_path / "model"
    inner.mkdir()
    path, data = external(weighted, inner, "../w.bin")
    (tmp_path / "w.bin").write_bytes(data)
    with pytest.raises(ModelError, match="outside"):
        load(path)
    tensor = weighted.graph.initializer[0]
    for location in (str(tmp_path / "w.bin"), "link.bin", "missing.bin", "", "\0"):
        tensor.external_data[0].value = location
        path.write_bytes(weighted.SerializeToString())
        if location == "link.bin":
            os.symlink(tmp_path / "w.bin", inner / location)
        with pytest.raises(ModelError, match="outside"):
            load(path)


def test_external_data_that_ends_early(weighted, tmp_path):
    path, data = external(weighted, tmp_path, "w.bin")
    (tmp_path / "w.bin").write_bytes(data[:-4])
    with pytest.raises(ModelError, match="early"):
        load(path)


@pytest.mark.parametrize("dtype", [TensorProto.STRING, TensorProto.COMPLEX64])
def test_inputs_that_are_not_numbers(dtype):
    graph = helper.make_graph(
        [helper.make_node("Identity", ["x"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", dtype, [1])],
        [helper.make_tensor_value_info("y", dtype, [1])],
    )
    with pytest.raises(ModelError, match="input"):
        load(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9))


def test_inputs_that_are_sequences():
    kind = helper.make_sequence_type_proto(helper.make_tensor_type_proto(1, [2]))
    graph = helper.make_graph(
        [helper.make_node("SequenceLength", ["x"], ["y"])],
        "g",
        [helper.make_value_info("x", kind)],
        [helper.make_tensor_value_info("y", 7, [])],
    )
    with pytest.raises(ModelError, match="sequence"):
        load(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9))


NASTY = [
    'a"b',
    "line\nbreak",
    "int",
    '"; system("rm -rf /"); "',
    "n" * 10000,
    "çπ漢😀",
    "../../x",
    "v0",
    "n0_",
    "%0",
    "a b",
    "for",
    "\\",
    "'",
]


def test_names_may_hold_anything(onnx_tools):
    nodes = [
        helper.make_node("Relu", [before], [after], name=before)
        for before, after in pairwise(NASTY)
    ]
    model = onnx_tools.build(nodes, {NASTY[0]: (F32, [2])}, {NASTY[-1]: (F32, [2])})
    loaded = load(model)
    assert loaded.inputs[0].name == NASTY[0]
    assert loaded.outputs[0].name == NASTY[-1]
    assert set(NASTY[:-1]) <= set(loaded.labels.values())
    script = loaded.module.script()
    assert "system" not in script
    assert all(name.isidentifier() for name in loaded.labels)
    (got,) = onnx_tools.run_tvm(loaded, {NASTY[0]: np.array([-1, 2], F32)})
    np.testing.assert_array_equal(got, [0, 2])


def test_all_unknown_operators_are_listed_at_once(onnx_tools):
    nodes = [
        helper.make_node("NonZero", ["x"], ["a"], "first"),
        helper.make_node("Mystery", ["x"], ["b"], "second", domain="com.microsoft"),
        helper.make_node("Relu", ["x"], ["y"], "third"),
        helper.make_node("Bernoulli", ["x"], ["d"], 'four"\nth'),
    ]
    outputs = {"a": (np.int64, [2, None]), "b": (F32, [2]), "y": (F32, [2, 2]), "d": (F32, [2, 2])}
    with pytest.raises(UnsupportedOperatorError) as caught:
        load(onnx_tools.build(nodes, {"x": (F32, [2, 2])}, outputs))
    assert [entry[:2] for entry in caught.value.operators] == [
        ("NonZero", "first"),
        ("com.microsoft.Mystery", "second"),
        ("Bernoulli", 'four"\nth'),
    ]
    assert "docs/operators.md" in one_screen(caught)


def test_importing_the_front_end_is_quick_and_brings_no_tvm():
    code = "import sys, match_aie.frontend; print([m for m in ('tvm', 'onnx') if m in sys.modules])"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "[]"


@pytest.mark.filterwarnings("ignore:.*batch of 1")
def test_the_models_of_the_benchmarks():
    files = (*ONNX_FILES, *(f"{name}.onnx" for name in POWERS))
    found = {file: load(model_file(file)) for file in files}
    for model in found.values():
        assert all(port.scale for port in (*model.inputs, *model.outputs)), model.name
    words = found["dscnn_i8.onnx"]
    assert (words.inputs[0].dtype, words.outputs[0].dtype) == ("int8", "int8")
    assert words.inputs[0].scale == pytest.approx(2 / 255)
    assert (words.outputs[0].scale, words.outputs[0].zero_point) == (1 / 256, -128)


def test_an_output_without_elements(onnx_tools):
    node = helper.make_node("Slice", ["x", "a", "a"], ["y"])
    model = onnx_tools.build(
        [node], {"x": (F32, [3])}, {"y": (F32, [0])}, {"a": np.array([1], np.int64)}
    )
    with pytest.raises(ModelError, match="no elements"):
        load(model)


def test_outputs_may_be_inputs_constants_and_repeated(onnx_tools):
    nodes = [
        helper.make_node("Identity", ["x"], ["same"]),
        helper.make_node("Add", ["c", "c"], ["known"]),
        helper.make_node("Neg", ["x"], ["first"]),
        helper.make_node("Identity", ["first"], ["second"]),
    ]
    outputs = {name: (F32, [2]) for name in ("same", "known", "first", "second")}
    model = onnx_tools.build(nodes, {"x": (F32, [2])}, outputs, {"c": np.ones(2, F32)})
    loaded = load(model)
    assert [port.name for port in loaded.outputs] == list(outputs)
    got = onnx_tools.run_tvm(loaded, {"x": np.array([1, 2], F32)})
    np.testing.assert_array_equal(got, [[1, 2], [2, 2], [-1, -2], [-1, -2]])


def test_an_old_model_with_an_unknown_element_type():
    axes = onnx.numpy_helper.from_array(np.array([0], np.int64), "axes")
    axes.data_type = -(2**31)
    graph = helper.make_graph(
        [helper.make_node("Squeeze", ["x"], ["y"])],
        "old",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [8])],
        [axes],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 11)])
    with pytest.raises(ModelError, match="conversion failed"):
        load(model)
