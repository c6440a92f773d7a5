import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
EXPECTED = HERE / "expected"
sys.path[:0] = [
    str(HERE.parent / "cc" / "layers"),
    str(HERE.parent / "unit" / "workload"),
    str(HERE.parent / "unit" / "codegen"),
]


def pytest_addoption(parser):
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="write what is emitted now as the expected text (pytest tests/golden --update-golden)",
    )


@pytest.fixture
def golden(request):
    """Compare a text with expected/<name>, or write it there under --update-golden."""

    def compare(name, text):
        path = EXPECTED / name
        if request.config.getoption("--update-golden", default=False):
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        assert path.is_file(), f"{path} is missing: pytest tests/golden --update-golden"
        assert text == path.read_text()

    return compare
