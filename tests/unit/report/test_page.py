"""report.html: complete, self-contained, and nothing in it is what a name made of it."""

import hashlib
import json
from base64 import b64encode
from dataclasses import replace
from html.parser import HTMLParser

import pytest

import match_aie as match
from match_aie.codegen import render_page
from match_aie.demo import digits_model
from match_aie.errors import OptionError
from match_aie.report import network_page
from match_aie.targets.cpu import CPU
from match_aie.targets.diana import Diana
from match_aie.testing import ZOO, Case, network

BY_NAME = {case.name: case for case in ZOO}
NASTY = "<script>alert(1)</script>\"'&amp;${x}\u202e</td>"
#: Elements whose end tags are left out.
VOID = {"meta", "br"}
HARMLESS = {
    *("html", "head", "meta", "title", "style", "body", "h1", "h2", "p", "div", "b", "i", "br"),
    *("table", "thead", "tbody", "tr", "th", "td", "a", "details", "summary", "dl", "dt", "dd"),
    *("figure", "figcaption", "noscript", "script"),
}


class Reader(HTMLParser):
    """The page as elements with their attributes and texts; fails where they do not nest."""

    def __init__(self, page: bytes) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.texts: list[str] = []
        self.scripts: list[str] = []
        self.feed(page.decode())
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open[-1:] == ["script"]:
            self.scripts.append(data)
        elif self.open[-1:] != ["style"]:
            self.texts.append(data.strip())

    def of(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]


def compiled(target, *names, renamed=""):
    cases = [BY_NAME[name] for name in names]
    cases = [replace(case, name=renamed or case.name) for case in cases]
    return match.compile(network(cases), target, name=renamed or "net")


@pytest.fixture(scope="module")
def diana():
    return compiled(
        Diana(), "dense int8, scales powers of two", "conv 3x3 uint8", "max pool 2x2 int8"
    )


def test_every_project_has_it_and_may_lose_it(tmp_path):
    net = match.compile(digits_model(), CPU("portable"))
    project = net.write(tmp_path / "net")
    assert (tmp_path / "net" / "report.html").read_bytes() == net.sources()["report.html"]
    assert "report.html" not in project.manifest["files"]
    (tmp_path / "net" / "report.html").unlink()
    match.load(tmp_path / "net")
    net.write(tmp_path / "net", overwrite=True)


def test_the_same_compilation_gives_the_same_bytes(diana):
    again = compiled(
        Diana(), "dense int8, scales powers of two", "conv 3x3 uint8", "max pool 2x2 int8"
    )
    assert again.sources()["report.html"] == diana.sources()["report.html"]


def test_it_fetches_nothing_and_runs_only_what_it_names(diana):
    page = Reader(diana.sources()["report.html"])
    assert {tag for tag, _ in page.elements} <= HARMLESS
    for tag, attributes in page.elements:
        assert not {name for name in attributes if name.startswith("on")}
        assert not {"src", "srcset", "data", "action", "background"} & attributes.keys()
        assert attributes.get("href", "#").startswith("#"), tag
    text = diana.sources()["report.html"].decode()
    for script in page.scripts:
        text = text.replace(script, "")
    assert "url(" not in text
    assert "://" not in text
    kinds = [a.get("type", "") for a in page.of("script")]
    run = [script for kind, script in zip(kinds, page.scripts, strict=True) if not kind]
    assert len(run) == 2
    assert kinds.count("application/json") == len(kinds) - 2 == len(page.of("figure"))
    digests = [b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in run]
    policies = [a["content"] for a in page.of("meta") if "http-equiv" in a]
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
    assert policies == [f"default-src 'none'; style-src 'unsafe-inline'; script-src {allowed}"]
    links = {a["href"] for a in page.of("a")}
    assert links == {f"#{a['id']}" for a in page.of("details") if "id" in a}


def test_it_shows_what_explain_knows(diana):
    page = Reader(diana.sources()["report.html"])
    manifest = json.loads(diana.sources()["match_aie.json"])
    text = "\n".join(page.texts)
    for step in manifest["steps"]:
        assert step["label"] in text
    for attempt in manifest["considered"]:
        if attempt["reason"]:
            assert attempt["reason"] in text
    simulated = {step.label: step for step in diana.simulate(record=False).steps if step.simulated}
    assert simulated
    for layer in manifest["layers"]:
        assert f"{layer['cost']['cycles']:,.0f}" in text
        if layer["module"] == "digital":
            assert f"{simulated[layer['name']].cycles:,.0f}" in text
            assert f"{layer['original']['error_lsb']:.3g}" in text


def test_every_number_says_where_it_is_from(diana):
    page = Reader(diana.sources()["report.html"])
    known = {"modelled", "simulated", "proven", "planned"}
    origins = [a["data-origin"] for _, a in page.elements if "data-origin" in a]
    assert set(origins) == known
    cells = [a for a in page.of("td") if a.get("class", "").startswith("number")]
    assert all(cell.get("data-origin") in known for cell in cells if cell["class"] != "number")
    # A bare number is a step's position, which links to its details.
    bare = [cell for cell in cells if cell["class"] == "number"]
    assert len(bare) == len(page.of("a"))


def test_a_nasty_name_is_only_text():
    net = compiled(Diana(), "dense int8, scales powers of two", renamed=NASTY)
    raw = net.sources()["report.html"].decode()
    assert "\u202e" not in raw
    page = Reader(raw.encode())
    assert raw.count("<script") == len(page.of("script")) + raw.count("<script>alert")
    assert all("<" not in script for script in page.scripts[:-2])
    assert {tag for tag, _ in page.elements} <= HARMLESS
    shown = [text for text in page.texts if "<script>alert(1)</script>\"'&amp;${x}" in text]
    assert len(shown) > 3
    titles = [text for text in page.texts if text.endswith("for Diana")]
    assert titles[0].startswith("<script>alert(1)</script>")


def test_warnings_and_a_missing_simulation_are_said():
    class Mute(Diana):
        def simulator(self):
            class Refuses:
                def run(self, steps, *, record=True):
                    raise OptionError("the clock <stands> still")

            return Refuses()

    net = compiled(Mute(), "dense int8, scales powers of two")
    page = Reader(net.sources()["report.html"])
    assert "not simulated: the clock <stands> still" in page.texts
    manifest = json.loads(net.sources()["match_aie.json"]) | {"warnings": ["an <b>old</b> opset"]}
    text = render_page(network_page(manifest)).decode()
    assert "an &lt;b&gt;old&lt;/b&gt; opset" in text


def test_a_network_without_layers_or_tensors_has_a_page():
    def passes(graph):
        x = graph.input(replace(VALUE, name="x"))
        return replace(x, name=graph.node("Identity", [x.name]))

    from match_aie.testing.zoo import FLOAT as VALUE

    net = match.compile(network([Case("nothing", passes)]), CPU("portable"))
    page = Reader(net.sources()["report.html"])
    assert any("for CPU" in text for text in page.texts)


def test_what_was_not_simulated_is_not_called_so():
    none = network_headline(compiled(Diana(), "softmax int8"))
    assert {figure.origin for _, figure in none} == {"modelled", "planned"}
    mixed = network_headline(compiled(Diana(), "dense int8, scales powers of two", "softmax int8"))
    (said,) = (what for what, figure in mixed if figure.origin == "simulated" and "in all" in what)
    assert said.startswith("in all, of which ")


def test_the_sum_is_that_of_layers_as_they_are_emitted():
    """Time beside another layer, and results handed over, are not counted twice."""
    net = compiled(Diana(), "dense int8, scales powers of two", "softmax int8")
    manifest = json.loads(net.sources()["match_aie.json"])
    said = dict(reversed(network_page(manifest).headline))
    assert said["in all"].text == f"{net.cycles:,.0f}"
    halved = {**manifest["layers"][0], "cost": {**manifest["layers"][0]["cost"]}}
    halved["cost"]["cycles"] /= 2
    page = network_page({**manifest, "layers": [halved, *manifest["layers"][1:]]})
    less = dict(reversed(page.headline))
    assert less["in all"].text != said["in all"].text
    assert less["in modules, each layer by itself"].text == said["in modules"].text


def network_headline(net):
    manifest = json.loads(net.sources()["match_aie.json"])
    return network_page(manifest).headline
