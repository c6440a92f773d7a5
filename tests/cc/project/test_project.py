import json
import resource
import shutil
import struct
import subprocess
import threading
from dataclasses import replace

import numpy as np
import pytest
from small_network import example, expected, layer_texts, program, schedule, with_wrong_layer

from match_aie.codegen.sources import ModelFile, render
from match_aie.errors import OptionError, ToolchainError
from match_aie.hardware import Runtime
from match_aie.lowering import Argument, CFunction, Constant, Schedule, Step, Tensor
from match_aie.toolchain import load, write
from match_aie.toolchain.library import aligned

COMPILERS = [
    pytest.param(name, marks=pytest.mark.skipif(not shutil.which(name), reason=f"no {name}"))
    for name in ("gcc", "clang")
]
pytestmark = pytest.mark.skipif(
    not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="no C compiler"
)


def images(count, seed=1):
    return np.random.default_rng(seed).integers(-128, 128, (count, 3, 5)).astype(np.int8)


@pytest.mark.parametrize("compiler", COMPILERS)
def test_a_project_runs_and_every_layer_equals_its_reference(tmp_path, compiler):
    project = write(example(), tmp_path / "net")
    for image in images(3):
        result = project.run(image, compiler=compiler)
        assert np.array_equal(result.outputs["y"], expected(image))
        assert result.matches_reference is True
        assert result.layers_checked == 2
        assert result.mismatches == ()


@pytest.mark.parametrize("compiler", COMPILERS)
def test_sanitizers_find_nothing_and_change_nothing(tmp_path, compiler):
    project = write(example(), tmp_path / "net")
    image = images(1)[0]
    assert np.array_equal(project.run_sanitized(image, compiler=compiler)["y"], expected(image))
    result = project.build(compiler=compiler, sanitize=True).run(image)
    assert result.matches_reference is True


@pytest.mark.parametrize("run", ["run", "run_sanitized"])
def test_no_room_for_a_run_is_an_error_of_our_own(tmp_path, run):
    project = write(example(), tmp_path / "net")
    image = images(1)[0]
    getattr(project, run)(image)  # built now
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8, limits[1]))
    try:
        with pytest.raises(ToolchainError, match=r"there is no room for .* inputs"):
            getattr(project, run)(image)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def loaded(program):
    """Whether a file in ELF64 asks for a loader or libraries: types of its program headers."""
    assert program[:5] == b"\x7fELF\x02"
    (table,) = struct.unpack_from("<Q", program, 32)
    size, count = struct.unpack_from("<HH", program, 54)
    kinds = {struct.unpack_from("<I", program, table + at * size)[0] for at in range(count)}
    return bool(kinds & {2, 3})  # PT_DYNAMIC, PT_INTERP


def test_a_static_program_needs_no_library_and_computes_the_same(tmp_path):
    project = write(example(), tmp_path / "net")
    image = images(1)[0]
    built = project.build(static=True)
    assert not loaded(built.path.read_bytes())
    assert loaded(project.build().path.read_bytes())
    assert np.array_equal(built.run(image).outputs["y"], expected(image))
    image.tofile(tmp_path / "x")
    subprocess.run([built.path, tmp_path / "x", tmp_path / "y"], check=True)
    assert (tmp_path / "y").read_bytes() == expected(image).tobytes()
    assert subprocess.run([built.path], capture_output=True, check=False).returncode == 2


def test_a_static_program_has_no_sanitizers(tmp_path):
    with pytest.raises(OptionError, match="one of both"):
        write(example(), tmp_path / "net").build(static=True, sanitize=True)


def test_sanitizers_find_what_is_wrong(tmp_path):
    made = schedule()
    texts = layer_texts(made)
    texts["net_fc2"] = texts["net_fc2"].replace("k < 2", "k < 30")
    project = write(render(program(made), texts, {}), tmp_path / "net")
    with pytest.raises(ToolchainError, match="overflow"):
        project.run_sanitized(images(1)[0])


def test_a_wrong_layer_is_found_where_it_is_wrong(tmp_path):
    project = write(with_wrong_layer(), tmp_path / "net")
    image = images(1)[0]
    result = project.run(image)
    assert result.matches_reference is False
    (wrong,) = result.mismatches
    assert (wrong.layer, wrong.symbol) == ("fc 2", "net_fc2")
    assert (wrong.count, wrong.elements, wrong.first_index) == (1, 2, (0, 1))
    assert wrong.expected == expected(image)[0, 1]
    assert wrong.got == wrong.expected + 1


def test_without_a_check_nothing_is_compared(tmp_path):
    result = write(with_wrong_layer(), tmp_path / "net").run(images(1)[0], check=False)
    assert result.matches_reference is None
    assert result.outputs["y"].shape == (1, 2)


def test_a_build_is_made_once_and_again_after_an_edit(tmp_path):
    project = write(example(), tmp_path / "net")
    first = project.build()
    assert (first.product.reused, project.build().product.reused) == (False, True)
    assert first.product.log.read_text().startswith(" ".join(first.product.compiler))
    code = tmp_path / "net" / "src" / "net.c"
    code.write_text(code.read_text().replace("= sum;", "= sum + 1;"))
    again = load(tmp_path / "net", edited=True)
    assert not again.build().product.reused
    assert again.run(images(1)[0]).matches_reference is False


def test_what_has_not_changed_is_not_compiled_again(tmp_path):
    folder = tmp_path / "net"
    runtime = Runtime({"emulation/more.c": b"int ma_more(void) { return 1; }\n"})
    write(example(runtime=runtime), folder).build()
    made = {path.name for path in (folder / "build").glob("*.o")}
    assert {name.rpartition("-")[0] for name in made} == {"net", "more"}
    (folder / "emulation" / "more.c").write_text("int ma_more(void) { return 2; }\n")
    load(folder, edited=True).build()
    added = {path.name for path in (folder / "build").glob("*.o")} - made
    assert [name.rpartition("-")[0] for name in added] == ["more"]
    header = next((folder / "include").glob("*.h"))
    header.write_text(header.read_text() + "\n/* edited */\n")
    load(folder, edited=True).build()
    assert len(list((folder / "build").glob("*.o"))) == 5


def test_a_refusal_shows_the_first_lines_and_leaves_no_library(tmp_path):
    project = write(example(), tmp_path / "net")
    code = tmp_path / "net" / "src" / "net.c"
    code.write_text(code.read_text() + "\nint broken(void) { return undeclared; }\n")
    with pytest.raises(ToolchainError) as caught:
        load(project.folder, edited=True).build()
    assert "undeclared" in str(caught.value)
    assert "undeclared" in (tmp_path / "net" / caught.value.where).read_text()
    assert not list((tmp_path / "net" / "build").glob("*.so*"))


def test_inputs_are_checked_before_anything_is_built(tmp_path):
    project = write(example(), tmp_path / "net")
    with pytest.raises(OptionError):
        project.run(images(1)[0].astype(np.int16))
    assert not (tmp_path / "net" / "build").exists()


def test_two_networks_of_one_name_in_one_process_do_not_clash(tmp_path):
    projects = [write(example(seed=seed), tmp_path / f"net{seed}") for seed in (0, 1)]
    runners = [project.runner() for project in projects]
    image = images(1)[0]
    for runner in runners:
        runner.inputs["x"][...] = image
    for seed in (0, 1, 0):
        runners[seed]()
        assert np.array_equal(runners[seed].outputs["y"], expected(image, seed))


def test_runners_of_one_project_work_in_parallel_threads(tmp_path):
    project = write(example(), tmp_path / "net")
    project.build()
    wrong = []

    def work(seed):
        runner = project.runner()
        for image in images(200, seed):
            runner.inputs["x"][...] = image
            runner()
            if not np.array_equal(runner.outputs["y"], expected(image)):
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.parametrize("target", ["all", "sanitize"])
def test_the_makefile_builds_the_same_by_hand(tmp_path, target):
    if shutil.which("make") is None:
        pytest.skip("not installed: make")
    write(example(), tmp_path / "net")
    done = subprocess.run(
        ["make", target], cwd=tmp_path / "net", check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    if target == "sanitize":
        image = images(1)[0]
        (tmp_path / "x").write_bytes(image.tobytes())
        main = tmp_path / "net" / "build" / "net_main"
        subprocess.run([main, tmp_path / "x", tmp_path / "y"], check=True)
        assert np.array_equal(np.fromfile(tmp_path / "y", np.int32), expected(image)[0])
    # What make left does not stand in the way of writing again.
    write(example(), tmp_path / "net", overwrite=True)


def test_the_header_is_cplusplus_too(tmp_path):
    if shutil.which("g++") is None:
        pytest.skip("not installed: g++")
    write(example(), tmp_path / "net")
    code = '#include "net.h"\nint main() { return net_run(nullptr, nullptr); }\n'
    (tmp_path / "user.cc").write_text(code)
    command = ["g++", "-Wall", "-Werror", "-Inet/include", "-fsyntax-only", "user.cc"]
    subprocess.run(command, cwd=tmp_path, check=True)


def test_the_networks_own_arena_gives_the_same(tmp_path):
    """`<net>_run` of a user's program, against `<net>_run_in` of ours."""
    project = write(example(), tmp_path / "net")
    image = images(1)[0]
    outputs = project.run_sanitized(image)
    runner = project.runner()
    runner.inputs["x"][...] = image
    runner()
    assert np.array_equal(outputs["y"], runner.outputs["y"])


VALUES = {
    "bool": np.array([True, False, True]),
    "int64": np.array([-(2**63), 0, 2**63 - 1]),
    "float16": np.array([1.5, -2, np.inf], np.float16),
    "float64": np.array([0.1, np.nan, -0.0]),
}


@pytest.mark.parametrize("compiler", COMPILERS)
def test_constants_of_every_width_reach_the_code_bit_for_bit(tmp_path, compiler):
    source = "static void {0}(const {1} *restrict x, uint8_t *restrict y) {{ memcpy(y, x, {2}); }}"
    ctypes = {"bool": "bool", "int64": "int64_t", "float16": "uint16_t", "float64": "double"}
    functions, steps, tensors = [], [], []
    for dtype, value in VALUES.items():
        symbol, nbytes = f"net_{dtype}", value.nbytes
        functions.append(CFunction(symbol, source.format(symbol, ctypes[dtype], nbytes)))
        read = Argument("constant", f"c_{dtype}", "read")
        steps.append(Step(dtype, symbol, (read, Argument("tensor", f"y_{dtype}", "write"))))
        tensors.append(Tensor(f"y_{dtype}", dtype, value.shape))
    names = tuple(t.name for t in tensors)
    constants = tuple(Constant(f"c_{dtype}", value) for dtype, value in VALUES.items())
    made = Schedule("net", (), names, tuple(tensors), constants, (), tuple(steps), tuple(functions))
    result = write(render(program(made), {}, {}), tmp_path / "net").run({}, compiler=compiler)
    assert result.matches_reference is None
    for dtype, value in VALUES.items():
        assert result.outputs[f"y_{dtype}"].dtype == value.dtype
        assert result.outputs[f"y_{dtype}"].tobytes() == value.tobytes()


@pytest.mark.parametrize("alignment", [16, 64, 4096])
def test_buffers_are_aligned(alignment):
    for shape in ((), (0,), (3, 5)):
        array = aligned(shape, "float32", alignment)
        assert array.shape == shape
        assert array.ctypes.data % alignment == 0 or array.size == 0


def test_outputs_are_compared_with_the_model(tmp_path):
    pytest.importorskip("onnxruntime")
    onnx = pytest.importorskip("onnx")
    helper = onnx.helper
    int8, int32 = onnx.TensorProto.INT8, onnx.TensorProto.INT32
    first, second = schedule().layers
    weights = [
        onnx.numpy_helper.from_array(array, name)
        for name, array in {
            "w1": first.constants[0][1].T.copy(),
            "b1": first.constants[1][1],
            "w2": second.constants[0][1].T.copy(),
            "b2": second.constants[1][1] + np.int32([0, 3]),
            "lo": np.int32(-128),
            "hi": np.int32(127),
            "flat": np.int64([1, 12]),
        }.items()
    ]
    nodes = [
        helper.make_node("MatMulInteger", ["x", "w1"], ["p"]),
        helper.make_node("Add", ["p", "b1"], ["s"]),
        helper.make_node("Max", ["s", "lo"], ["m"]),
        helper.make_node("Min", ["m", "hi"], ["c"]),
        helper.make_node("Cast", ["c"], ["i"], to=int8),
        helper.make_node("Reshape", ["i", "flat"], ["f"]),
        helper.make_node("MatMulInteger", ["f", "w2"], ["q"]),
        helper.make_node("Add", ["q", "b2"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("x", int8, ["rows", 5])],
        [helper.make_tensor_value_info("y", int32, None)],
        weights,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    stored = ModelFile(model.SerializeToString(), "onnx")
    result = write(example(model=stored), tmp_path / "net").run(images(1)[0])
    # The model's second bias is 3 higher than the emitted one.
    assert result.model_note == ""
    assert result.max_lsb_vs_model == {"y": 3}
    assert result.matches_reference is True


def test_a_model_that_does_not_run_is_a_note(tmp_path):
    pytest.importorskip("onnxruntime")
    project = write(example(model=ModelFile(b"no model", "onnx")), tmp_path / "net")
    result = project.run(images(1)[0])
    assert result.matches_reference is True
    assert "onnxruntime cannot run" in result.model_note


def test_a_tensor_overwritten_in_place_is_still_checked(tmp_path):
    """The first layer's sum is narrowed where it lies; later steps see the new contents."""
    made = schedule()
    narrow = replace(made.steps[1], in_place=(("sum", "small"),), workspaces=())
    arguments = tuple(a for a in narrow.arguments if a.kind == "tensor")
    source = made.functions[0].source.replace(", uint8_t *restrict copy", "")
    source = source.replace(",\n                         uint8_t *restrict copy", "")
    source = source.replace("    memcpy(copy, x, 48);\n", "").replace("restrict ", "")
    made = replace(
        made,
        steps=(made.steps[0], replace(narrow, arguments=arguments), made.steps[2]),
        functions=(replace(made.functions[0], source=source),),
    )
    planned = program(made)
    assert planned.plan.in_place == (("sum", "small"),)
    project = write(render(planned, layer_texts(made), {}), tmp_path / "net")
    for image in images(3):
        result = project.run(image)
        assert result.matches_reference is True
        assert np.array_equal(result.outputs["y"], expected(image))


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("change", [lambda data: data[:-64], lambda data: data + b"\0"])
def test_weights_of_another_size_are_refused_by_the_build(tmp_path, compiler, change):
    project = write(example(), tmp_path / "net")
    weights = project.folder / "weights" / "net.bin"
    weights.write_bytes(change(weights.read_bytes()))
    with pytest.raises(ToolchainError, match="weights is damaged"):
        load(project.folder, edited=True).run(images(1)[0], check=False, compiler=compiler)


def test_a_manifest_with_another_networks_name_is_a_typed_error(tmp_path):
    project = write(example(), tmp_path / "net")
    manifest = project.folder / "match_aie.json"
    document = json.loads(manifest.read_bytes()) | {"network": "other"}
    manifest.write_text(json.dumps(document))
    with pytest.raises(ToolchainError, match="other_run_in"):
        load(project.folder, edited=True).run(images(1)[0])
