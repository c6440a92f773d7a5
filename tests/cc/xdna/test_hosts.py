"""Host programs of emitted projects, over a stand-in for XRT.

What they hand to the array is what the text's transfers bring by the interpreter's account, and of
what comes back they make the tensors that references make.
"""

import ast
import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import match_aie as match
from match_aie.codegen.fragment import render_template, render_text
from match_aie.hardware import Unit, runtime_files
from match_aie.targets.aie_ml.array.layout import lay_out
from match_aie.targets.aie_ml.execute import execute
from match_aie.targets.aie_ml.graph.dense_plan import dense_layer
from match_aie.targets.aie_ml.graph.overlay import OverlayPlan
from match_aie.targets.aie_ml.kernels.numeric import carried_as
from match_aie.targets.aie_ml.known import device
from match_aie.targets.versal.executing import CalledProgram, stretches
from match_aie.targets.xdna import XDNA
from match_aie.targets.xdna.direct import direct
from match_aie.targets.xdna.mlir.dialect import DEFAULT
from match_aie.targets.xdna.mlir.overlay import overlay, single
from match_aie.targets.xdna.mlir.tensors import graph_host
from match_aie.targets.xdna.mlir.units import HOST_FILES, host_units
from match_aie.targets.xdna.one_text import programs_of, written
from match_aie.workload import reference
from tests.aie_layers import random_inputs
from tests.networks.power_of_two import dense_chain
from tests.overlays import layer_of, small
from tests.xdna_configuration import encoder
from tests.xdna_programs import convolution, gru

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler")

XRT = Path(__file__).parents[2] / "xrt"

TRANSFER = re.compile(
    r"dma_memcpy_nd\(%(\w+)\[0, 0, 0, (\d+)\]\[([\d, ]+)\]\[([\d, ]+)\]\) .*metadata = @(\w+)"
)


def transfers(text):
    """(argument, bytes that go in their order, times) by the name of the way."""
    found = {}
    for argument, begin, sizes, steps, name in TRANSFER.findall(text):
        sizes, steps = ([int(n) for n in some.split(", ")] for some in (sizes, steps))
        times = 1
        if steps[0] == 0:  # the same again
            times, sizes[0] = sizes[0], 1
        words = np.array([int(begin)])
        for size, step in zip(sizes, steps, strict=True):
            words = (words[:, None] + step * np.arange(size)).reshape(-1)
        found[name] = argument, (4 * words[:, None] + np.arange(4)).reshape(-1), times
    return found


def arguments(text):
    """Name and bytes of each argument of the sequence."""
    (inside,) = re.findall(r"runtime_sequence @sequence\((.*)\) \{", text)
    return [(name, 4 * int(n)) for name, n in re.findall(r"%(\w+): memref<(\d+)xi32>", inside)]


def brought(way, tensors):
    """Bytes of a way into the array."""
    if way.values is not None:
        return np.ascontiguousarray(way.values).reshape(-1).view(np.uint8)
    held = way.part or way.blocks
    tensor = carried_as(tensors[way.name], way.dtype)
    carried = tensor.reshape(-1) if held is None else held.cut(tensor)
    return np.ascontiguousarray(carried).reshape(-1).view(np.uint8)


def listed(source, name):
    """A table of a host program in Python."""
    for node in ast.parse(source).body:
        if isinstance(node, ast.Assign) and node.targets[0].id == name:
            return ast.literal_eval(node.value)
    raise AssertionError(name)


class Graph:
    """A graph's files, and what its host programs must do."""

    def __init__(self, folder, name, made, text=None, prefix=""):
        self.folder, self.name, self.made, self.prefix = folder, name, made, prefix
        self.text = text or (folder / "mlir" / f"{name}.mlir").read_text()
        self.source = (folder / "mlir" / f"{name}_host.py").read_text()
        self.done = execute(made.program, device(made.program.device), made.tensors)
        self.moves, self.arguments = transfers(self.text), arguments(self.text)
        assert len(self.arguments) <= 3
        self.ways = [w.outside for w in made.program.ways if w.outside.name.startswith(prefix)]
        assert self.moves.keys() == {way.name for way in self.ways}

    @property
    def first_input(self):
        """Name of the tensor that comes first."""
        return listed(self.source, "INPUTS")[0][0]

    def prepare(self, where):
        """Tensors as files, and what the array gives back."""
        where.mkdir()
        ways = {way["tensor"]: way["way"] for way in listed(self.source, "PACKED")}
        for at, (name, dtype, elements) in enumerate(listed(self.source, "INPUTS")):
            tensor = self.made.tensors[self.prefix + ways[at]]
            assert (tensor.dtype.name, tensor.size) == (dtype, elements)
            (where / f"{name}.bin").write_bytes(tensor.tobytes())
        result = np.zeros(self.arguments[-1][1], np.uint8)
        for way, _ in self.made.results:
            argument, places, _ = self.moves[way.name]
            carried = carried_as(self.done.outputs[way.name], way.dtype)
            assert argument == self.arguments[-1][0] == "outputs"
            data = np.ascontiguousarray(carried).reshape(-1).view(np.uint8)
            result[places] = data
        (where / "result.bin").write_bytes(result.tobytes())
        (where / "insts.bin").write_bytes(bytes(range(40)))
        files = [
            f"{name}.bin" for key in ("INPUTS", "OUTPUTS") for name, *_ in listed(self.source, key)
        ]
        constants = self.folder / "mlir" / f"{self.name}_constants.txt"
        head = [str(constants)] if constants.is_file() else []
        assert bool(head) == ("constants" in dict(self.arguments))
        return ["net.xclbin", "insts.bin", *head, *files]

    def check(self, where):
        """What the stand-in saw, and what was made of its result."""
        for way in self.ways:
            argument, places, times = self.moves[way.name]
            if argument == "outputs":
                continue
            at = [name for name, _ in self.arguments].index(argument)
            seen = np.frombuffer((where / f"arg{at}.bin").read_bytes(), np.uint8)
            if way.blocks is not None and np.any(np.diff(places) != 1):
                way = replace(way, blocks=replace(way.blocks, memory="itself"))
            np.testing.assert_array_equal(seen[places], brought(way, self.made.tensors))
            assert times == way.repeats
        wanted = {id(tensor): tensor for _, tensor in self.made.results}
        for (name, dtype, _), tensor in zip(
            listed(self.source, "OUTPUTS"), wanted.values(), strict=True
        ):
            got = np.frombuffer((where / f"{name}.bin").read_bytes(), dtype)
            np.testing.assert_array_equal(got, tensor.reshape(-1))


def chained():
    return dense_chain(8, (16, 16, 16), np.int16)


def streamed():
    """Weights beyond the tiles: constants that come every time anew."""
    return dense_chain(512, (1024, 256), np.int8)


NETWORKS = [
    pytest.param(convolution, {}, "int8", marks=pytest.mark.slow),
    (gru, {"floats": "bf16"}, "float32"),
    pytest.param(chained, {}, "int16", marks=pytest.mark.slow),
    pytest.param(streamed, {}, "int8", marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("model", "options", "dtype"), NETWORKS)
def test_arguments_are_packed_as_the_text_takes_them(tmp_path, model, options, dtype):
    target = XDNA(columns_per_layer=1, modules=("array",), **options)
    net = match.compile(model(), target=target, selection="match")
    assert not any("no program" in said for said in net.warnings)
    folder = tmp_path / "net"
    net.write(folder)
    mine = [layer for layer in net.program.schedule.chosen if layer.module == "array"]
    made = list(stretches(mine, "npu1", np.random.default_rng(0)))
    names = [path.stem for path in sorted((folder / "mlir").glob("*.mlir"))]
    assert len(names) == len(made) == 1
    graph = Graph(folder, names[0], made[0])
    assert [one[1] for one in listed(graph.source, "INPUTS")] == [dtype]
    assert ("constants" in dict(graph.arguments)) == (model is streamed)
    gathered = any(way["part"] for way in listed(graph.source, "PACKED"))
    assert gathered or model is not convolution
    run_hosts(graph, tmp_path)


def run_hosts(graph, tmp_path):
    """Both host programs of a graph: they move what they should, and refuse wrong calls."""
    folder, host = graph.folder, tmp_path / "host"
    flags = ["-std=c++20", "-O1", "-Wall", "-Wextra", "-Werror"]
    flags += [f"-I{folder / 'mlir'}", f"-I{folder / 'include'}", f"-I{XRT}"]
    source = folder / "mlir" / f"{graph.name}_host.cpp"
    subprocess.run(["g++", *flags, str(source), "-o", str(host)], check=True)
    for kind, command in (
        ("cpp", [str(host)]),
        ("py", [sys.executable, str(folder / "mlir" / f"{graph.name}_host.py")]),
    ):
        where = tmp_path / kind
        given = graph.prepare(where)
        done = called(command, given, where)
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith("1 runs, ")
        graph.check(where)
        assert called(command, [*given, "3"], where).stdout.startswith("3 runs, ")
        graph.check(where)
        (where / "short.bin").write_bytes(b"123")
        short = ["short.bin" if f"{graph.first_input}.bin" == one else one for one in given]
        nowhere = [*given[:-1], "no folder/y.bin"]
        for wrong in (given[:-1], [*given, "0"], short, nowhere):
            assert called(command, wrong, where).returncode != 0, wrong


def called(command, given, where):
    """A host program over the stand-in."""
    return subprocess.run(
        [*command, *given],
        cwd=where,
        env={"PYTHONPATH": str(XRT)},
        capture_output=True,
        text=True,
        check=False,
    )


def write(folder, host):
    """Files that host programs of a graph need."""
    for unit in [*host_units(host), Unit("mlir/ma_npu.py", "xdna/ma_npu.py.mako", verbatim=True)]:
        path = folder / unit.path
        path.parent.mkdir(parents=True, exist_ok=True)
        render = render_text if unit.verbatim else render_template
        path.write_text(render(unit.template, **unit.values))
    files = runtime_files("match_aie.targets.xdna", HOST_FILES)
    files |= runtime_files("match_aie.targets.aie_ml", ("include/ma_array.h",))
    for path, data in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)


@pytest.mark.parametrize("size", [(60, 16, 200), (300, 64, 100)])
def test_hosts_of_an_overlay_move_what_its_sequences_do(tmp_path, size):
    """Several runs of the columns, and several passes over the rows in each of them."""
    made = layer_of(*size)
    one = small()
    whole = replace(one.mapping.layer, bias=True)
    shared = replace(one, mapping=replace(one.mapping, layer=whole))
    timed = shared.padded(dense_layer(made.workload), "npu1")
    assert timed.runs > 1
    assert (timed.row_passes > 1) == (size[0] > 128)
    npu1 = device("npu1")
    one = direct(OverlayPlan(timed).graph("dense", made.workload, made.constants), None, npu1)
    program, name = lay_out(one, npu1), "layer0"
    host = replace(graph_host(program, one, None, [(name, made.workload)]), name=name)
    folder = tmp_path / "net"
    write(folder, host)
    x = np.random.default_rng(2).integers(-128, 128, size[:2]).astype(np.int8)
    y = reference(made.workload, [x], made.constants)
    given = {way.name: x for way in one.inputs if way.values is None}
    stretch = CalledProgram(name, program, given, tuple((way, y) for way in one.outputs))
    module = overlay({name: program}, npu1)
    run_hosts(Graph(folder, name, stretch, single(module, name)), tmp_path)


@pytest.mark.parametrize("name", ["long", "scores"])
def test_hosts_of_one_configuration_move_their_graph_s_data(tmp_path, name):
    """A dense layer by an overlay, and attention beside it: the other one waits."""
    members, layers = encoder()
    npu1, of = device("npu1"), {"dense": "long", "beside": "scores"}
    program = programs_of(members, npu1)["long"]
    given, results = {}, ()
    for prefix, which in of.items():
        made = layers[which]
        mine = random_inputs(made.workload, np.random.default_rng(3))
        y = reference(made.workload, [mine[o.name] for o in made.workload.inputs], made.constants)
        for way in (way.outside for way in program.ways if way.outside.name.startswith(prefix)):
            held = way.part or way.blocks
            if held is not None and held.operand != f"{prefix}_y":
                given[way.name] = mine[held.operand.removeprefix(f"{prefix}_")]
            elif held is not None and which == name:
                results += ((way, y),)
    made = written(members, npu1, DEFAULT)
    (host,) = (each for each in made.hosts if each.name == name)
    prefix = next(each for each, which in of.items() if which == name) + "_"
    write(tmp_path / "net", host)
    stretch = CalledProgram(name, program, given, results)
    run_hosts(Graph(tmp_path / "net", name, stretch, single(made.text, name), prefix), tmp_path)


#: A tool of the chain that writes down what it is given, and makes the file that it is asked for.
STAND_IN = """#!/bin/sh
printf '%s\\n' "$@" >> "$SAID"
while [ $# -gt 0 ]; do
    case "$1" in
    -o) shift; : > "$1";;
    --xclbin-name=*) : > "${1#--xclbin-name=}";;
    esac
    shift
done
"""


def test_commands_name_every_file(tmp_path):
    """`make check` compiles the kernels; the commands of the tools say what the text links.

    Folders may have spaces in their names, those of the tools, too.
    """
    target = XDNA(columns_per_layer=1, modules=("array",))
    net = match.compile(dense_chain(8, (16, 16, 16), np.int16), target=target, selection="match")
    net.write(tmp_path / "a net" / "net")
    folder = tmp_path / "a net" / "net" / "mlir"
    subprocess.run(["make", "check"], cwd=folder, check=True, capture_output=True)
    homes = {name: tmp_path / f"home of {name}" for name in ("peano", "mlir_aie", "xrt")}
    tools = [homes["peano"] / "bin" / "clang++", *(tmp_path / "bin" / n for n in ("aiecc", "c++"))]
    for tool in tools:
        tool.parent.mkdir(parents=True, exist_ok=True)
        tool.write_text(STAND_IN)
        tool.chmod(0o755)
    names = {"PEANO_INSTALL_DIR": "peano", "MLIR_AIE_DIR": "mlir_aie", "XILINX_XRT": "xrt"}
    given = [f"{name}={homes[of]}" for name, of in names.items()]
    path, said = f"{tmp_path / 'bin'}:{os.environ['PATH']}", tmp_path / "said.txt"
    env = {**os.environ, "PATH": path, "SAID": str(said), "CXX": "c++"}
    subprocess.run(["make", "all", *given], cwd=folder, env=env, check=True, capture_output=True)
    words = said.read_text().splitlines()
    linked = set(re.findall(r'link_with = "(\w+)\.o"', next(folder.glob("*.mlir")).read_text()))
    assert linked == {path.stem for path in (folder / "kernels").glob("*.cc")}
    assert {f"kernels/{name}.cc" for name in linked} <= set(words)
    assert {f"build/{name}.o" for name in linked} <= set(words)
    wanted = {"--target=aie2-none-unknown-elf", "-DNDEBUG", "--no-xchesscc", "--no-xbridge"}
    wanted |= {f"--peano={homes['peano']}", f"-I{homes['mlir_aie']}/include"}
    assert {*wanted, f"-I{homes['xrt']}/include", f"-L{homes['xrt']}/lib"} <= set(words)
    texts = [*folder.glob("*.mlir")]
    assert {path.name for path in texts} <= set(words)
    for path in texts:
        assert (folder / "build" / f"{path.stem}.xclbin").is_file()
    readme = (folder / "README.md").read_text()
    for path in (*texts, *folder.glob("*_host.*")):
        assert f"`{path.name}`" in readme
