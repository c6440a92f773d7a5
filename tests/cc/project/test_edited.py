"""Projects that are not what was compiled: refused, or run as they are where that is asked for."""

import json
import shutil

import numpy as np
import pytest
from small_network import example, expected

from match_aie.cli.guard import run
from match_aie.codegen.digests import seal
from match_aie.errors import ProjectError
from match_aie.hardware import Runtime
from match_aie.toolchain import load, write

pytestmark = pytest.mark.skipif(
    not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="no C compiler"
)
IMAGE = np.arange(15, dtype=np.int8).reshape(3, 5)


@pytest.fixture
def folder(tmp_path):
    return write(example(), tmp_path / "net").folder


def edit(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def change_manifest(folder, change, *, sealed=False):
    path = folder / "match_aie.json"
    document = json.loads(path.read_text())
    change(document)
    if sealed:
        document["seal"] = seal(document)
    path.write_text(json.dumps(document))


def test_edited_c_is_refused_with_its_name_and_runs_when_asked(folder, monkeypatch):
    edit(folder / "src" / "net.c", "= sum;", "= sum + 0;")
    with pytest.raises(ProjectError, match=r"src/net\.c is not what was compiled") as caught:
        load(folder).run(IMAGE)
    assert "run --edited" in caught.value.hint
    assert not (folder / "build").exists()
    result = load(folder, edited=True).run(IMAGE)
    assert result.edited == ("src/net.c",)
    assert result.matches_reference is True
    assert np.array_equal(result.outputs["y"], expected(IMAGE))
    monkeypatch.setenv("MATCH_AIE_EDITED", "0")
    with pytest.raises(ProjectError):
        load(folder).build()
    monkeypatch.setenv("MATCH_AIE_EDITED", "1")
    assert load(folder).run(IMAGE, check=False).edited == ("src/net.c",)


@pytest.mark.parametrize("built", [False, True])
def test_one_bit_of_the_weights_is_noticed(folder, built):
    project = load(folder)
    if built:
        project.run(IMAGE)
    weights = folder / "weights" / "net.bin"
    data = bytearray(weights.read_bytes())
    data[3] ^= 1
    weights.write_bytes(data)
    for call in (project.run, load(folder).run, project.run_sanitized):
        with pytest.raises(ProjectError, match=r"weights/net\.bin is not"):
            call(IMAGE)
    changed = load(folder, edited=True).run(IMAGE)
    assert not np.array_equal(changed.outputs["y"], expected(IMAGE))


def test_what_this_machine_does_not_build_may_be_edited(tmp_path):
    runtime = Runtime(vendor={"sdk/board.c": b"int board;\n"})
    folder = write(example(runtime=runtime), tmp_path / "net").folder
    edit(folder / "Makefile", "CC ?= cc", "CC ?= gcc")
    edit(folder / "sdk" / "board.c", "board", "other")
    assert load(folder).run(IMAGE).edited == ()


def test_an_edited_manifest_is_refused(folder):
    change_manifest(folder, lambda document: document["layers"][0].update(module="fpu"))
    with pytest.raises(ProjectError, match=r"match_aie\.json is not what was compiled"):
        load(folder).build()


def grow_output(document):
    document["outputs"][0]["shape"] = [1, 2048]


def shrink_arena(document):
    document["memory"]["nbytes"] = 64


def align_less(document):
    document["memory"]["alignment"] = 8


def drop_input(document):
    document["inputs"] = []


def many_outputs(document):
    document["outputs"] = [dict(document["outputs"][0], name=str(i)) for i in range(1000)]


SIZES = [
    (grow_output, r"output 'y' is 8 in the code and 8192 in the manifest"),
    (shrink_arena, "arena"),
    (align_less, "alignment is 64 in the code and 8"),
    (drop_input, "inputs is 1 in the code and 0"),
    (many_outputs, "outputs is 1 in the code and 1000"),
]


@pytest.mark.parametrize(("change", "said"), SIZES, ids=lambda v: getattr(v, "__name__", ""))
@pytest.mark.parametrize("sealed", [False, True])
def test_sizes_that_the_code_does_not_have_are_refused_before_a_call(folder, change, said, sealed):
    change_manifest(folder, change, sealed=sealed)
    inputs = {} if change is drop_input else IMAGE
    with pytest.raises(ProjectError, match=said):
        load(folder, edited=not sealed).run(inputs)


def test_a_sanitized_run_of_an_output_of_another_size_is_refused(folder):
    change_manifest(folder, grow_output)
    with pytest.raises(ProjectError, match="output 'y' has 8 bytes in the code and 8192"):
        load(folder, edited=True).run_sanitized(IMAGE)


def test_a_layer_of_another_shape_is_no_crash(folder):
    def widen(document):
        for operand in document["layers"][1]["workload"]["operands"]:
            if operand["name"] == "y":
                operand["shape"] = [1, 4096]

    change_manifest(folder, widen)
    with pytest.raises(ProjectError):
        load(folder, edited=True).run(IMAGE)


def test_the_command_line_says_what_was_edited(folder, capsys):
    edit(folder / "src" / "net.c", "= sum;", "= sum + 1;")
    assert run(["run", str(folder)]) == 1
    assert "src/net.c is not what was compiled" in capsys.readouterr().err
    assert run(["run", str(folder), "--edited"]) == 4
    said = capsys.readouterr()
    assert "edited     src/net.c: run as they are" in said.out
    assert "which was edited" in said.err
    assert run(["run", str(folder), "--edited", "--json"]) == 4
    assert json.loads(capsys.readouterr().out)["edited"] == ["src/net.c"]
