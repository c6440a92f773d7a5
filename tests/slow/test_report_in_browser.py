"""report.html in a browser: all is drawn, nothing is refused or fetched, clicks open cards."""

from pathlib import Path

import pytest

import match_aie as match
from match_aie.demo import digits_model
from match_aie.targets.gap9 import GAP9
from tests.needs import needs

pytestmark = [pytest.mark.slow, needs("chromium")]

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"

#: Middle of the box of a call in the graph, on the screen; the call's number is its label's first.
BOX = """(() => {
  const texts = document.querySelectorAll('[data-figure=graph] svg text');
  const text = [...texts].find((one) => one.textContent.startsWith('2  '));
  text.scrollIntoView({block: 'center'});
  const box = text.getBoundingClientRect();
  return [box.x + box.width / 2, box.y + box.height / 2];
})()"""
OPENED = "[...document.querySelectorAll('details[open]')].map((card) => card.id)"


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report") / "digits"
    match.compile(digits_model(), GAP9(), name="digits").write(folder)
    return folder / "report.html"


@pytest.fixture(scope="module")
def pictures():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        import pictures  # a script, not the package's

        yield pictures


@pytest.fixture(scope="module")
def page(pictures):
    with pictures.tab() as page:
        yield page


@pytest.mark.parametrize("width", [400, 800, 1600])
def test_all_figures_are_drawn_and_nothing_is_refused(report, page, pictures, width):
    page.resize(width)
    page.open("about:blank", "true")
    page.open(f"{report.as_uri()}#layer-2", pictures.DRAWN)
    asked = page.value("[...document.querySelectorAll('[data-figure]')].map(f => f.dataset.figure)")
    assert {"graph", "layers", "roofline", "memory", "memory-l1", "timeline"} <= set(asked)
    wide = page.value("[...document.querySelectorAll('svg.marks')].map(s => s.clientWidth)")
    assert len(wide) == len(asked)
    assert all(0 < each <= width for each in wide)
    # The page itself is not wider than its window: what is wide scrolls by itself.
    assert page.value("document.documentElement.scrollWidth") <= width
    # A link to a layer opens its card, and only that one.
    assert page.value(OPENED) == ["layer-2"]
    # Errors of scripts, and whatever the page's policy forbids, are written to the console.
    assert page.errors == []
    assert all(url.startswith(("file:", "about:", "data:")) for url in page.requests)


def test_a_click_on_a_call_opens_its_card(report, page, pictures):
    page.resize(1200)
    page.open("about:blank", "true")
    page.open(report.as_uri(), pictures.DRAWN)
    assert page.value(OPENED) == []
    page.click(*page.value(BOX))
    assert page.value(OPENED) == ["layer-2"]
    assert page.value("document.activeElement.tagName") == "SUMMARY"
    assert page.errors == []


def test_what_a_page_forbids_is_noticed(page, tmp_path):
    """The test above could not fail if the browser's complaints got lost."""
    bad = tmp_path / "bad.html"
    bad.write_text(
        "<meta http-equiv='Content-Security-Policy' content=\"script-src 'none'\">"
        "<script>1</script>"
    )
    before = len(page.errors)
    page.open(bad.as_uri(), "document.readyState === 'complete'")
    assert len(page.errors) > before
    del page.errors[before:]
