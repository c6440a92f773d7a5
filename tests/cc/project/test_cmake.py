"""A program of somebody's own around emitted sources, as the first page of the documents has it."""

import re
import subprocess
from pathlib import Path

import match_aie as match
from tests.needs import needs

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "first.md").read_text()


def block(language: str) -> str:
    """The page's first block in a language."""
    found = re.search(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert found is not None
    return found[1]


@needs("cmake", "make", "cc")
def test_the_page_says_how_cmake_builds_a_network(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(block("python"), "first.md", "exec"), {})
    match.compile("first.onnx", target="CPU").write("build/first")
    (tmp_path / "CMakeLists.txt").write_text(block("cmake"))
    (tmp_path / "main.c").write_text(block("c"))
    for command in (["cmake", "-S", ".", "-B", "out"], ["cmake", "--build", "out"]):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    done = subprocess.run(["out/mine"], capture_output=True, text=True, check=True)
    assert done.stdout == "0.000000\n"  # all inputs are 0, and there is no bias
