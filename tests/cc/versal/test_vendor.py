"""What AMD's tools are given: commands, data, and a program that the emulation runs as it is."""

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from versal_networks import DenseNet, Layer

import match_aie as match
from match_aie.targets.aie_ml.vendor import golden
from match_aie.targets.aie_ml.vendor.job import _words
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


READ = """#include "ma_golden.h"
int main(int count, char **names) {
    if (count > 3) return ma::alike(names[2], names[3]);
    if (count > 2) return static_cast<int>(ma::bytes(names[1], 4).size());
    return static_cast<int>(ma::numbers<signed char>(names[1], 4).size());
}
"""


@pytest.fixture(scope="module")
def reader(tmp_path_factory):
    """A program that reads a file of four numbers or more, or with a word behind it of bytes."""
    place = tmp_path_factory.mktemp("reader")
    (place / "read.cpp").write_text(READ)
    flags = ["-std=c++17", "-Wall", "-Wextra", "-Werror", "-fsanitize=address,undefined"]
    header = f"-I{Path(golden.__file__).parents[1] / 'runtime' / 'aie'}"
    command = ["c++", *flags, header, str(place / "read.cpp"), "-o", str(place / "read")]
    subprocess.run(command, check=True)
    return place / "read"


@pytest.mark.parametrize(
    ("text", "kind", "status", "said"),
    [
        ("1 -2\nT 413 ns\n3 4 TLAST\n", (), 4, ""),
        ("1 2 3 4 5", (), 5, ""),
        ("", (), 2, "holds 0 numbers, and a run takes 4"),
        ("1 2 3", (), 2, "holds 3 numbers, and a run takes 4"),
        ("1 2 three 4", (), 2, "holds 'three', which is no number"),
        ("1 2 300 4", (), 2, "holds 300, which is none of its type's numbers"),
        ("1 2 0.5 4", (), 2, "holds 0.5, which is none of its type's numbers"),
        ("00ff\n7F10", ("bytes",), 4, ""),
        ("00ff7f", ("bytes",), 2, "holds 3 bytes, and a run takes 4"),
        ("00ff7zff", ("bytes",), 2, "holds '00ff7zff', which is no bytes in hexadecimal"),
    ],
)
def test_files_that_are_not_what_a_run_takes_are_refused(
    reader, tmp_path, text, kind, status, said
):
    """Users replace them with their own; a short one was read beyond its end."""
    path = tmp_path / "data.txt"
    path.write_text(text)
    done = subprocess.run([reader, path, *kind], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (status, f"{path} {said}\n" if said else "")


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("-0.0712696835", "-0.0712696835398674", True),
        ("-0.0712696835", "-0.0712696910", False),
        ("1e-05", "0.00001", True),
        ("16777216", "16777217", False),
        ("3", "3.0", True),
        ("nan", "nan", True),
        ("zero", "0", False),
        ("", "0", False),
    ],
)
def test_words_are_compared_as_what_they_are(reader, one, other, same):
    """Floats as float32, whose golden ones were exact in float64; integers exactly."""
    assert subprocess.run([reader, "", one, other], check=False).returncode == same


def test_golden_floats_have_the_digits_that_programs_write():
    values = np.float32([-0.07126968, 1 / 3, 2.5, 1e-30, -0.0])
    words = _words(values, brain=False)
    assert np.array_equal(np.float32(words), values)
    assert words == [f"{value:.9g}" for value in values.tolist()]
    assert _words(np.int32([-7, 2**31 - 1]), brain=False) == ["-7", "2147483647"]


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
    expected = next((folder / "data").glob("*_golden.txt"))
    words = expected.read_text().split()
    at = next(n for n, word in enumerate(words) if word != "x")
    words[at] = str(int(words[at]) - 1)
    shutil.copy(expected, expected.with_suffix(".kept"))
    expected.write_text("\n".join(words))
    status, text = make(folder, "emulate")
    assert status != 0
    assert "FAILED" in text
    assert f"number {at} is" in text
    parameters = next((folder / "data").glob("*_parameters.txt"))
    parameters.write_text("00" * 40)
    status, text = make(folder, "emulate")
    assert status != 0
    assert "holds 40 bytes, and a run takes" in text
