import json
import os
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from small_network import example, layer_texts, program, schedule

from match_aie.codegen.sources import ModelFile, Sources, render
from match_aie.errors import InternalError, TargetError
from match_aie.hardware import Runtime
from match_aie.lowering import CFunction, NetworkProgram
from match_aie.lowering.plan import plan
from match_aie.workload.codec import from_json

HOSTILE = ["*/ int x; /*", 'a"; system("id")', "line\nbreak", "\\", "??/", "日本" * 5000, "float"]


@dataclass(frozen=True)
class Port:
    name: str
    dtype: str
    shape: tuple[int, ...]
    scale: float | None = None
    zero_point: int = 0
    extents: tuple[int, ...] = ()


def test_a_project_has_these_files():
    sources = example(
        model=ModelFile(b"the model", "onnx"), runtime=Runtime({"include/rt.h": b"//\n"})
    )
    assert list(sources) == sorted(
        [
            "Makefile",
            "include/net.h",
            "include/rt.h",
            "match_aie.json",
            "model.onnx",
            "src/net.c",
            "src/net_main.c",
            "src/net_weights.S",
            "weights/net.bin",
            "weights/net_reference.bin",
        ]
    )
    assert json.loads(sources["match_aie.json"])["files"] == list(sources)
    assert sources["model.onnx"] == b"the model"


def test_same_program_same_bytes_in_every_process():
    code = (
        f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r});"
        "from small_network import example; import hashlib;"
        "print({k: hashlib.sha256(v).hexdigest() for k, v in example().items()})"
    )
    answers = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed in ("1", "7")
    }
    assert len(answers) == 1


@pytest.mark.parametrize("name", HOSTILE)
def test_what_users_call_things_reaches_no_code(name):
    plain, hostile = example(label="x"), example(label=name, manifest={"name": name})
    for path in set(plain) - {"match_aie.json"}:
        # The first two lines hold the title, the other line the input's name, all in comments.
        kept, want = (
            [row for row in text.decode("latin-1").split("\n")[2:] if "in[0]:" not in row]
            for text in (hostile[path], plain[path])
        )
        assert kept == want
        assert path.endswith(".bin") or max(map(len, hostile[path].splitlines())) < 200
    assert json.loads(hostile["match_aie.json"])["inputs"][0]["name"] == name


def test_the_manifest_holds_what_the_reference_needs():
    made = schedule()
    sources = render(program(made), layer_texts(made), {"name": "net"})
    manifest = json.loads(sources["match_aie.json"])
    assert manifest["schema_version"] == 1
    assert [layer["name"] for layer in manifest["layers"]] == ["fc 1", "fc 2"]
    for told, layer in zip(manifest["layers"], made.layers, strict=True):
        assert from_json(told["workload"]) == layer.workload
        for name, value in layer.constants:
            at = told["constants"][name]
            data = sources[at["file"]][at["offset"] : at["offset"] + value.nbytes]
            found = np.frombuffer(data, at["dtype"]).reshape(at["shape"])
            assert np.array_equal(found, value)
    assert manifest["layers"][0]["constants"]["weight"]["file"] == "weights/net_reference.bin"
    assert manifest["layers"][1]["constants"]["weight"]["file"] == "weights/net.bin"
    assert manifest["predicted"]["provenance"] == "modelled"


def test_ports_give_names_and_scales():
    inputs = (Port("img:0", "int8", (3, 5), 0.1, -3),)
    sources = example(inputs=inputs)
    header = sources["include/net.h"].decode()
    assert "in[0]: img:0, int8[3, 5]" in header
    assert "#define NET_INPUT_0_SCALE 0x1.99999ap-4f" in header
    assert "#define NET_INPUT_0_ZERO_POINT (-3)" in header


def test_ports_that_do_not_fit_are_refused():
    with pytest.raises(InternalError):
        example(inputs=(Port("x", "uint8", (3, 5)),))
    with pytest.raises(InternalError):
        example(inputs=())


def test_a_network_without_constants_has_no_weights():
    made = schedule()
    narrow = made.steps[1]
    alone = replace(
        made,
        inputs=("sum",),
        outputs=("small",),
        constants=(),
        aliases=(),
        steps=(narrow,),
    )
    sources = render(NetworkProgram(alone, plan(alone)), {}, {})
    assert not [path for path in sources if "weights" in path]
    assert "weights" not in sources["src/net.c"].decode()


def test_calls_without_a_callee_and_clashing_names_are_refused():
    made = schedule()
    with pytest.raises(InternalError, match="net_fc2"):
        render(program(made), {"net_fc1": "x"}, {})
    clashing = replace(made, functions=(*made.functions, CFunction("net_run", "", "")))
    with pytest.raises(InternalError, match="net_run"):
        render(program(clashing), layer_texts(made), {})


def test_the_manifest_says_things_once():
    with pytest.raises(InternalError, match="steps"):
        example(manifest={"steps": []})


def test_a_crooked_alignment_is_the_targets_fault():
    made = schedule()
    with pytest.raises(TargetError):
        render(NetworkProgram(made, plan(made, alignment=24)), layer_texts(made), {})


@pytest.mark.parametrize("path", ["/etc/x", "../x", "a/../b", "a//b", "a\\b", "./a"])
def test_paths_stay_inside_the_project(path):
    with pytest.raises(InternalError):
        Sources({path: b""})


def test_large_weights_stay_out_of_the_text():
    made = schedule()
    text = layer_texts(made)
    large = replace(
        made,
        constants=tuple(
            replace(c, value=np.zeros((1000, 1000), np.int8)) if c.name == "net_fc2_weight" else c
            for c in made.constants
        ),
    )
    sources = render(program(large), text, {})
    assert len(sources["weights/net.bin"]) > 1_000_000
    assert sum(len(data) for path, data in sources.items() if ".bin" not in path) < 30_000
