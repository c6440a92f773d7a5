"""A target of a package of its own: written by `new-target`, installed, found right."""

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest

from match_aie.cli.guard import run
from match_aie.codegen.scaffold import scaffold, scaffold_names
from match_aie.errors import OptionError, ProjectError
from match_aie.scaffolding import new_target

ROOT = Path(__file__).resolve().parents[3]
needs_compiler = pytest.mark.skipif(
    not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="no C compiler"
)
#: Before this release setuptools needs the package wheel to build one.
BUILDS = int(version("setuptools").split(".")[0]) >= 71 or importlib.util.find_spec("wheel")


def install(package, place):
    """What `pip install --target` leaves: the package, and what it says of itself."""
    document = tomllib.loads((package / "pyproject.toml").read_text())
    project = document["project"]
    for name in document["tool"]["setuptools"]["packages"]:
        shutil.copytree(
            package / document["tool"]["setuptools"]["package-dir"][""] / name, place / name
        )
    info = place / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    )
    lines = [
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in entries.items())
        for group, entries in project["entry-points"].items()
    ]
    (info / "entry_points.txt").write_text("\n".join(lines))


def match_aie(*arguments, where, path):
    """A command line in a process of its own, with `path` in front of Python's."""
    places = [str(path), str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(places)}
    return subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=where,
        env=environment,
    )


SCRIPT = """
import json
from match_aie.testing import ZOO, check_target
cases = [case for case in ZOO if case.name in ("dense int8", "dense uint8, odd sizes, three rows")]
print(json.dumps(check_target("mychip", cases=cases).to_json()))
"""


TILED = """
import json
from match_aie.testing import ZOO, check_target
from my_chip import MyChip
names = ("conv 3x3 int8, odd sizes, stride 2", "dense int8", "matmul int8, constant second, matrix")
cases = [case for case in ZOO if case.name in names]
print(json.dumps([check_target(MyChip(n), cases=cases).to_json() for n in (65536, 1024)]))
"""


#: The module with the arithmetic that the README says how to add, in a process of its own.
OWN = """
import json, sys
from match_aie.testing import ZOO, check_target
from my_chip import MyChip, target
kind = "DenseArray" if hasattr(target, "DenseArray") else "VectorUnit"
scope = vars(target)
scope["Unit"] = scope[kind]
block = open(sys.argv[1]).read().split("```python")[1].split("```")[0]
exec(block.replace("hw.ExecModule", "Unit").replace("(ExecModule", "(Unit"), scope)
names = ("dense int8", "conv 3x3 int8, odd sizes, stride 2")[: 1 + (kind == "VectorUnit")]
cases = [case for case in ZOO if case.name in names]
print(json.dumps(check_target(MyChip(), cases=cases).to_json()))
"""


def installed_as(tmp_path, **how):
    place = tmp_path / "site"
    place.mkdir()
    install(new_target("MyChip", tmp_path / "package", **how), place)
    return place


@pytest.fixture
def installed(tmp_path):
    """A folder with a new target's package, as if installed."""
    return installed_as(tmp_path)


@needs_compiler
def test_the_package_is_found_right_outside_of_the_tree(installed, tmp_path):
    listed = match_aie("-m", "match_aie", "targets", "MyChip", where=tmp_path, path=installed)
    assert listed.stdout.startswith("MyChip: The array beside a core.")
    done = match_aie("-c", SCRIPT, where=tmp_path, path=installed)
    assert (done.returncode, done.stderr) == (0, "")
    check = json.loads(done.stdout)
    assert check["passed"] is True
    assert not any("no installed package" in remark for remark in check["remarks"])
    ran = {row["case"]: {layer["module"] for layer in row["ran"]} for row in check["rows"]}
    assert ran["dense int8"] == {"dense_array"}
    assert ran["dense uint8, odd sizes, three rows"] == set()
    (refusal,) = {r["reason"] for row in check["rows"] for r in row["refused"]}
    assert refusal == "it has 37 inputs, which is no multiple of 16"


def test_the_folder_above_does_not_hide_an_editable_package(tmp_path):
    """Python puts the working folder first; there the project's folder is called as the package."""
    place = new_target("MyChip", tmp_path / "my_chip")
    found = match_aie(
        "-c", "import my_chip; print(my_chip.__file__)", where=tmp_path, path=place / "src"
    )
    assert found.stdout.strip() == str(place / "src" / "my_chip" / "__init__.py"), found.stderr


@pytest.mark.slow
@needs_compiler
def test_a_package_with_a_scratchpad_is_right_in_tiles_too(tmp_path):
    place = installed_as(tmp_path, tiled=True)
    assert (place / "my_chip" / "runtime" / "emulation" / "ma_chip.h").is_file()
    done = match_aie("-c", TILED, where=tmp_path, path=place)
    assert (done.returncode, done.stderr) == (0, "")
    for check in json.loads(done.stdout):
        assert check["passed"] is True, check
        ran = {row["case"]: [layer["module"] for layer in row["ran"]] for row in check["rows"]}
        assert ran["conv 3x3 int8, odd sizes, stride 2"] == ["vector_unit"]
        assert ran["dense int8"] == ["vector_unit"]
        assert ran["matmul int8, constant second, matrix"] == []


@needs_compiler
@pytest.mark.parametrize("tiled", [False, True])
def test_an_arithmetic_of_its_own_as_the_readme_says(tmp_path, tiled):
    place, readme = installed_as(tmp_path, tiled=tiled), str(tmp_path / "package" / "README.md")
    done = match_aie("-c", OWN, readme, where=tmp_path, path=place)
    assert (done.returncode, done.stderr) == (0, "")
    check = json.loads(done.stdout)
    assert check["passed"] is True, check
    for row in check["rows"]:
        assert row["ran"]
        assert row["proven_lsb"], row


@pytest.mark.slow
@needs_compiler
def test_check_target_finds_it_green(installed, tmp_path):
    arguments = ("-m", "match_aie", "check-target", "MyChip")
    done = match_aie(*arguments, where=tmp_path, path=installed)
    assert (done.returncode, done.stderr) == (0, "")
    assert "layers right, 5 of them in modules" in done.stdout


@pytest.mark.slow
@pytest.mark.skipif(not BUILDS, reason="setuptools cannot build wheels without wheel")
@needs_compiler
def test_pip_installs_it_and_its_own_test_passes(tmp_path):
    package = new_target("my-chip", tmp_path / "package")
    place = tmp_path / "site"
    options = ("--no-deps", "--no-build-isolation", "--target", str(place))
    done = match_aie("-m", "pip", "install", *options, str(package), where=tmp_path, path=place)
    assert done.returncode == 0, done.stderr
    assert (place / "my_chip" / "templates" / "dense.c.mako").is_file()
    done = match_aie("-m", "pytest", "-q", str(package / "tests"), where=tmp_path, path=place)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("name", "cls", "package"),
    [
        ("MyChip", "MyChip", "my_chip"),
        ("my-chip", "MyChip", "my_chip"),
        ("NPU2", "NPU2", "npu2"),
        ("ABCSoc_v3", "ABCSocV3", "abc_soc_v3"),
    ],
)
def test_names(name, cls, package):
    names = scaffold_names(name)
    assert (names.cls, names.package) == (cls, package)
    files = scaffold(names) | scaffold(names, tiled=True)
    document = tomllib.loads(files["pyproject.toml"])
    assert document["project"]["entry-points"]["match_aie.targets"] == {name: f"{package}:{cls}"}
    for path, text in files.items():
        if path.endswith(".py"):
            compile(text, path, "exec")
        assert len(max(text.splitlines(), key=len)) <= 110


def test_the_module_is_short_and_there_is_one_template():
    files = scaffold(scaffold_names("MyChip"))
    assert [path for path in files if path.endswith(".mako")] == [
        "src/my_chip/templates/dense.c.mako"
    ]
    target = files["src/my_chip/target.py"]
    assert len(re.findall(r"^class ", target, re.MULTILINE)) == 2
    assert len(target.splitlines()) < 70


@pytest.mark.parametrize(
    "name", ["", "1st", "a b", "../x", "a.b", 'x"y', "json", "Test", "match_aie", "class", "x" * 41]
)
def test_names_that_cannot_be(name, tmp_path):
    with pytest.raises(OptionError):
        new_target(name, tmp_path / "package")
    assert not (tmp_path / "package").exists()


@pytest.mark.parametrize("name", ["CPU", "gap9", "numpy"])
def test_names_that_are_taken(name, tmp_path):
    with pytest.raises(OptionError, match="already"):
        new_target(name, tmp_path / "package")


def test_what_is_there_stays(tmp_path, monkeypatch, capsys):
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(ProjectError, match="already"):
        new_target("MyChip", tmp_path)
    assert os.listdir(tmp_path) == ["thesis.tex"]
    monkeypatch.chdir(tmp_path)
    assert run(["new-target", "MyChip", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["folder"] == str(tmp_path / "my_chip")
    assert run(["new-target", "MyChip"]) == 1
    assert run(["new-target", "MyChip", "-o", "thesis.tex/below"]) == 1
    assert "cannot be written" in capsys.readouterr().err
    assert sorted(os.listdir(tmp_path)) == ["my_chip", "thesis.tex"]
