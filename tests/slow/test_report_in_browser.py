"""report.html in a browser: everything is drawn, nothing is refused, at three widths."""

import re
import subprocess
from pathlib import Path

import pytest

import match_aie as match
from match_aie.demo import digits_model
from match_aie.targets.gap9 import GAP9
from tests.needs import needs

pytestmark = [pytest.mark.slow, needs("chromium")]

BROWSER = (
    *("chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic"),
    *("--no-first-run", "--disable-background-networking", "--disable-component-update"),
    *("--disable-sync", "--enable-logging=stderr"),
)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report") / "digits"
    match.compile(digits_model(), GAP9(), name="digits").write(folder)
    return folder / "report.html"


def opened(url: str, width: int, profile: Path) -> tuple[str, str]:
    """The document as it is once its scripts ran, and what the browser logged."""
    done = subprocess.run(
        [
            *(*BROWSER, f"--user-data-dir={profile}", f"--window-size={width},900"),
            *("--virtual-time-budget=20000", "--dump-dom", url),
        ],
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    return done.stdout, done.stderr


@pytest.mark.parametrize("width", [400, 800, 1600])
def test_all_figures_are_drawn_and_nothing_is_refused(
    page: Path, width: int, tmp_path: Path
) -> None:
    document, log = opened(f"{page.as_uri()}#layer-2", width, tmp_path)
    asked = re.findall(r'data-figure="([^"]+)"', document)
    assert {"graph", "layers", "memory", "memory-l1", "timeline"} <= set(asked)
    assert document.count('data-drawn="yes"') == len(asked)
    # Errors of scripts, and whatever the page's policy forbids, are written to the console.
    assert "CONSOLE" not in log
    wide = [int(float(found)) for found in re.findall(r'class="marks" width="([\d.]+)"', document)]
    assert len(wide) == len(asked)
    # A browser's window is never narrower than 500 pixels.
    assert all(each <= max(width, 500) for each in wide)
    # A link to a layer opens its card, and only that one.
    assert re.findall(r'<details id="layer-(\d+)" open=""', document) == ["2"]
