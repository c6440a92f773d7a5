"""The README's ten lines, as they stand."""

import re
from pathlib import Path

import pytest

from match_aie.errors import ToolchainError
from match_aie.toolchain import find_compiler

README = Path(__file__).resolve().parents[3] / "README.md"

try:
    find_compiler()
except ToolchainError as missing:
    pytest.skip(str(missing), allow_module_level=True)


def test_the_ten_lines_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (example,) = re.findall(r"^```python\n(.*?)^```", README.read_text(), re.MULTILINE | re.DOTALL)
    monkeypatch.chdir(tmp_path)
    exec(compile(example, str(README), "exec"), {})
    *_, digits, equal, lsb = capsys.readouterr().out.splitlines()
    said, label = digits.split()
    assert said == label
    assert equal == "True"
    assert lsb in ("{'logits': 0}", "{}")
    assert (tmp_path / "build" / "digits_by_hand" / "match_aie.json").is_file()
