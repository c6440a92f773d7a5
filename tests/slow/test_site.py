"""The documentation site: built without a warning, fetches nothing, its links lead somewhere."""

import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
#: Attributes by which a page fetches; `a href` is the reader's choice.
FETCHED = re.compile(r"<(?:script|img|iframe|link)\b[^>]*?(?:src|href)=\"?([^\"\s>]+)")
LINKED = re.compile(r"<(?:a|img|link|script)\b[^>]*?(?:src|href)=\"?([^\"\s>]+)")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    pytest.importorskip("mkdocs")
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-d", str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_every_page_is_there(site):
    wanted = {page.stem for page in (ROOT / "docs").glob("*.md")}
    assert wanted <= {page.stem for page in site.glob("*.html")}


def test_nothing_is_fetched(site):
    for page in site.rglob("*.html"):
        outside = [link for link in FETCHED.findall(page.read_text()) if "//" in link]
        assert [link for link in outside if "rel=canonical" not in link] == [], page.name


def test_links_lead_somewhere(site):
    for page in site.rglob("*.html"):
        for link in set(LINKED.findall(page.read_text())):
            path, _, anchor = unquote(link).partition("#")
            if "//" in path or path.startswith(("mailto:", "data:", "javascript:")):
                continue
            led = page if not path else (page.parent / path.split("?")[0])
            assert led.exists() or (site / path.lstrip("/")).exists(), f"{page.name}: {link}"
            if anchor and led.suffix == ".html":
                assert f'id="{anchor}"' in led.read_text(), f"{page.name}: {link}"


def test_links_are_called_by_words(site):
    for page in site.glob("*.html"):
        assert re.findall(r">(\w+\.md)</a>", page.read_text()) == [], page.name
