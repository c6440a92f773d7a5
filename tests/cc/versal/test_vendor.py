"""What AMD's tools are given: commands, data, and a program that the emulation runs as it is."""

import shutil
import subprocess

import pytest
from versal_networks import DenseNet, Layer

import match_aie as match
from match_aie.targets.versal import VersalAIEML

LAYERS = (Layer(24, relu=True), Layer(24, "uint8", 3, per_channel=True), Layer(17, "int16"))


def written(folder, **how):
    net = DenseNet(8, 40)
    for layer in LAYERS:
        net.dense(layer)
    target = VersalAIEML(modules=("array",), columns_per_layer=1, **how)
    made = match.compile(net.model(), target, cache=False)
    made.write(folder)
    return folder / "aie", made


def make(folder, *words):
    done = subprocess.run(
        ["make", "-C", str(folder), *words], capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout + done.stderr


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return written(tmp_path_factory.mktemp("vendor") / "net", memory="plio")[0]


def test_commands_are_those_of_the_tools(folder):
    for goal, commands in {
        "x86sim": (
            "v++ --compile --mode aie --part=xcve2802-vsvh1760-2MP-e-S --include=.  "
            "--target=x86sim --work_dir=Work_x86 --aie.output-archive=libadf_x86.a app.cpp",
            "x86simulator --pkg-dir=Work_x86 --input-dir=. --output-dir=x86simulator_output",
        ),
        "aiesim": (
            "--target=hw --work_dir=Work --aie.output-archive=libadf.a app.cpp",
            "aiesimulator --pkg-dir=Work --input-dir=. --output-dir=aiesimulator_output --profile",
        ),
        "hw": ("v++ --link --target hw", "v++ --package --target hw", "-ladf_api_xrt"),
    }.items():
        status, text = make(folder, "-n", goal, "XILINX_VITIS=/none")
        assert status == 0, text
        for command in commands:
            assert command in text
    status, text = make(folder, "-n", "x86sim", "PLATFORM=/a/b.xpfm")
    assert "--platform=/a/b.xpfm" in text
    assert "--part" not in text


def test_the_readme_names_what_is_there(folder):
    text = (folder / "README.md").read_text()
    for command in ("make x86sim", "make aiesim", "make emulate", "make hw"):
        assert command in text
    headings = ("What you need", "Simulate", "Your own data", "On the chip")
    assert all(f"\n## {heading}\n" in text for heading in headings)
    inputs = sorted(p.stem for p in (folder / "data").glob("*.txt"))
    ways = [name for name in inputs if not name.endswith(("_golden", "_parameters"))]
    results = [name.removesuffix("_golden") for name in inputs if name.endswith("_golden")]
    assert ways
    assert results
    for name in (*ways, *results):
        assert f"`{name}`" in text
    for line in (folder / "data" / f"{ways[0]}.txt").read_text().splitlines():
        assert len(line.split()) == 16  # a word of 128 bits


@pytest.mark.slow
@pytest.mark.parametrize(
    "how",
    [
        {"memory": "plio"},
        {"memory": "plio", "optimize_for": "throughput"},
        {"optimize_for": "throughput"},
        {},
    ],
)
def test_the_program_runs_and_finds_what_is_wrong(tmp_path, how):
    folder, _ = written(tmp_path / "net", **how)
    status, text = make(folder, "emulate")
    assert status == 0, text
    assert "FAILED" not in text
    assert " 0 of " in text
    golden = next((folder / "data").glob("*_golden.txt"))
    words = golden.read_text().split()
    at = next(n for n, word in enumerate(words) if word != "x")
    words[at] = str(int(words[at]) - 1)
    shutil.copy(golden, golden.with_suffix(".kept"))
    golden.write_text("\n".join(words))
    status, text = make(folder, "emulate")
    assert status != 0
    assert "FAILED" in text
    assert f"number {at} is" in text
