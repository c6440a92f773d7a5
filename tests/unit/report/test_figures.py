"""Figures say what the manifest and the simulator say, and become files without a browser."""

import copy
import hashlib
import json
import os
import sys
from types import SimpleNamespace

import pytest

import match_aie as match
from match_aie.errors import ProjectError
from match_aie.report import network_report
from match_aie.report.figures import (
    VEGA_LITE,
    figures,
    floorplan,
    javascript,
    library,
    missing,
    roofline,
    spans,
    timeline,
)
from match_aie.targets.diana import Diana
from match_aie.testing import ZOO, network

BY_NAME = {case.name: case for case in ZOO}
NAMES = ("dense int8, scales powers of two", "conv 3x3 uint8", "max pool 2x2 int8")


@pytest.fixture(scope="module")
def diana():
    return match.compile(network([BY_NAME[name] for name in NAMES]), Diana(), name="net")


@pytest.fixture(scope="module")
def manifest(diana):
    return json.loads(diana.sources()["match_aie.json"])


@pytest.fixture(scope="module")
def drawn(diana, manifest):
    return {figure.name: figure for figure in figures(manifest, diana.simulate().trace_json())}


def rows_of(figure, layer):
    return figure.spec["layer"][layer]["data"]["values"]


def test_which_there_are(drawn, manifest):
    assert list(drawn)[:3] == ["graph", "layers", "roofline"]
    assert "timeline" in drawn
    assert [figure.name for figure in figures(manifest)] == [
        name for name in drawn if name not in ("timeline", "floorplan")
    ]


def test_the_graph_has_each_call_and_each_tensor_between_two(drawn, manifest):
    boxes, lines = rows_of(drawn["graph"], 1), rows_of(drawn["graph"], 0)
    assert [box["name"] for box in boxes] == [step["label"] for step in manifest["steps"]]
    report = network_report(manifest)
    made, wanted = {}, set()
    for step in report.steps:
        wanted |= {f"{made[name]}-{step.index}" for name in step.reads if name in made}
        made |= dict.fromkeys(step.writes, step.index)
    assert {line["edge"] for line in lines} == wanted != set()
    # No two boxes share a place, and a reader is below whoever made what it reads.
    assert len({(box["row"], box["lane"]) for box in boxes}) == len(boxes)
    for line in wanted:
        above, below = (boxes[int(at)]["row"] for at in line.split("-"))
        assert above < below


def test_bars_add_up_to_modelled_and_simulated_cycles(drawn, manifest, diana):
    bars = rows_of(drawn["layers"], 0)
    run = diana.simulate(record=False)
    for index, step in enumerate(run.steps):
        own = [bar for bar in bars if bar["index"] == index and bar["part"] == "simulated"]
        assert [bar["cycles"] for bar in own] == ([step.cycles] if step.simulated else [])
    costs = {layer["symbol"]: layer["cost"]["cycles"] for layer in manifest["layers"]}
    for index, step in enumerate(manifest["steps"]):
        parts = [b["cycles"] for b in bars if b["index"] == index and b["part"] != "simulated"]
        if step["layer"] is not None:
            assert sum(parts) == pytest.approx(costs[step["layer"]])


def test_layers_are_under_roofs_that_their_modules_state(drawn, manifest):
    """By hand: DIANA's array has 16 x 16 lanes, its DMA moves 16 bytes a cycle."""
    dots = rows_of(drawn["roofline"], 3)
    layers = {layer["symbol"]: layer for layer in manifest["layers"]}
    owned = {index: s["layer"] for index, s in enumerate(manifest["steps"]) if s["layer"]}
    assert {dot["origin"] for dot in dots} == {"modelled", "simulated"}
    assert {dot["index"] for dot in dots} == {
        index for index, symbol in owned.items() if symbol in manifest["roofs"]
    }
    for dot in dots:
        symbol = owned[dot["index"]]
        assert manifest["roofs"][symbol]["macs_per_cycle"] == dot["peak"] == 256
        assert dot["share"] <= 100
        if dot["origin"] == "modelled":
            layer, nbytes = layers[symbol], manifest["roofs"][symbol]["nbytes"]
            macs = dot["intensity"] * nbytes
            assert dot["speed"] == pytest.approx(macs / layer["cost"]["cycles"])
            bound = min(256, 16 * macs / nbytes)
            assert dot["share"] == pytest.approx(100 * dot["speed"] / bound)
    # What is simulated of a call beside another one is the rest of its time, and no speed.
    timed = next(dot["index"] for dot in dots if dot["origin"] == "simulated")
    beside = copy.deepcopy(manifest)
    layer = next(row for row in beside["layers"] if row["symbol"] == owned[timed])
    layer["cost"]["parts"].append(["beside the layer before", -1.0])
    figure = roofline(network_report(beside))
    left = {(dot["index"], dot["origin"]) for dot in rows_of(figure, 3)}
    assert (timed, "modelled") in left
    assert (timed, "simulated") not in left
    assert "only the modelled speed" in figure.description
    # The line rises as fast as the way to memory and is flat at the peak.
    points = [(row["intensity"], row["speed"]) for row in rows_of(drawn["roofline"], 0)]
    assert points[0][1] == pytest.approx(16 * points[0][0])
    assert points[1] == (16, 256)
    assert points[-1][1] == 256
    assert "MATCH's paper" in drawn["roofline"].description


def test_time_beside_another_layer_makes_no_layer_faster(manifest):
    *first, last = manifest["layers"]
    cost = last["cost"]
    parts = [*cost["parts"], ["beside the layer before", -cost["cycles"] / 2]]
    beside = {**last, "cost": {**cost, "cycles": cost["cycles"] / 2, "parts": parts}}
    speeds = [
        [row["speed"] for row in rows_of(roofline(network_report(one)), 3)]
        for one in (manifest, {**manifest, "layers": [*first, beside]})
    ]
    assert speeds[0] == pytest.approx(speeds[1])


def test_no_roof_no_roofline_and_a_reason(manifest):
    bare = {**manifest, "roofs": {}}
    assert "roofline" not in [figure.name for figure in figures(bare)]
    assert "no peak and bandwidth are stated for" in missing(bare)["roofline"]
    assert "roofline" not in missing(manifest)
    assert missing(manifest)["timeline"] == "nothing was simulated"
    broken = {symbol: {**roof, "source": ""} for symbol, roof in manifest["roofs"].items()}
    with pytest.raises(ProjectError, match="damaged"):
        figures({**manifest, "roofs": broken})


def test_the_memory_map_is_the_plan(drawn, manifest):
    blocks, placements = rows_of(drawn["memory"], 1), manifest["memory"]["placements"]
    assert len(blocks) == len(placements) > 0
    for block, place in zip(blocks, placements, strict=True):
        assert (block["first"], block["after"]) == (place["first"], place["last"] + 1)
        assert (block["begin"], block["size"]) == (place["offset"], place["nbytes"])
    assert rows_of(drawn["memory"], 2)[0]["begin"] == manifest["memory"]["lower_bound"]


def trace_of(*events):
    """A trace of (resource, name, kind, start, duration)."""
    names = list(dict.fromkeys(event[0] for event in events))
    rows = [
        {"ph": "M", "name": "thread_name", "tid": names.index(name), "args": {"name": name}}
        for name in names
    ]
    rows += [
        {"ph": "X", "tid": names.index(who), "name": what, "cat": kind, "ts": ts, "dur": dur}
        for who, what, kind, ts, dur in events
    ]
    return json.dumps({"traceEvents": rows})


def spanned(*events):
    return spans(trace_of(*events))


def test_the_timeline_joins_only_what_nobody_could_tell_apart():
    found = rows_of(
        timeline(
            "net",
            spanned(
                ("dma", "a", "dma", 0.0, 100.0),
                ("dma", "b", "dma", 100.01, 99.99),
                ("dma", "c", "wait", 200.0, 100.0),
                ("dma", "d", "dma", 500.0, 500.0),
            ),
        ),
        0,
    )
    assert [(row["start"], row["end"], row["kind"]) for row in found] == [
        (0.0, 200.0, "dma"),
        (200.0, 300.0, "wait"),
        (500.0, 1000.0, "dma"),
    ]


def test_of_many_resources_the_busiest_are_drawn_and_the_rest_is_counted():
    events = [(f"unit {at}", "work", "kernel", 0.0, float(1 + at)) for at in range(50)]
    figure = timeline("net", spanned(*events))
    assert {row["resource"] for row in rows_of(figure, 0)} == {f"unit {at}" for at in range(10, 50)}
    assert "10 resources" in figure.description


def test_every_column_of_an_array_is_drawn_before_any_column_s_second_tile():
    places = [(column, row) for column in range(30) for row in range(3, 6)]
    events = [(f"tile {at}", "call", "kernel", 0.0, float(99 - at[0])) for at in places]
    shown = {row["resource"] for row in rows_of(timeline("net", spanned(*events)), 0)}
    assert len(shown) == 40
    assert {f"tile ({column}, 3)" for column in range(30)} < shown
    assert {f"tile ({column}, 4)" for column in range(10)} < shown


def test_the_floorplan_has_the_share_of_each_tile():
    trace = spanned(
        ("tile (3, 4)", "call", "kernel", 0.0, 25.0),
        ("tile (3, 4)", "call", "kernel", 50.0, 25.0),
        ("tile (0, 3)", "call", "kernel", 90.0, 10.0),
        ("tile (0, 3)", "lock", "stall", 0.0, 90.0),
    )
    figure = floorplan("net", trace)
    assert [(r["column"], r["row"], r["share"]) for r in rows_of(figure, 0)] == [
        (0, 3, 10.0),
        (3, 4, 50.0),
    ]
    assert figure.svg() == figure.svg()  # its gradient has one name, whatever was drawn before
    assert floorplan("net", spanned(("core", "work", "kernel", 0.0, 1.0))) is None


def test_each_becomes_svg_and_png(drawn):
    for figure in drawn.values():
        text = figure.svg().decode()
        assert text.startswith("<svg")
        assert figure.title.split(":")[0] in text
    assert drawn["layers"].png(scale=1.0).startswith(b"\x89PNG")


def test_the_library_is_kept_and_only_its_own_bytes_are_taken_back(tmp_path, monkeypatch):
    """A cache may hold anyone's files: they are neither run nor touched."""
    calls = []

    class Joins:
        __version__ = "0"

        @staticmethod
        def javascript_bundle(vl_version):
            calls.append(vl_version)
            return "window.vegaEmbed = 1;"

    digest = hashlib.sha256(b"window.vegaEmbed = 1;").hexdigest()
    monkeypatch.setattr(library, "DIGESTS", {"0": digest})
    monkeypatch.setitem(sys.modules, "vl_convert", Joins)
    monkeypatch.setenv("MATCH_AIE_CACHE", str(tmp_path / "kept"))
    for _ in range(2):
        javascript.cache_clear()
        assert javascript() == "window.vegaEmbed = 1;"
    assert calls == [VEGA_LITE]
    (kept,) = (tmp_path / "kept").iterdir()
    kept.write_text("alert(1)")
    javascript.cache_clear()
    assert javascript() == "window.vegaEmbed = 1;"
    assert kept.read_text() == "alert(1)"
    kept.unlink()
    os.mkfifo(kept)  # reading it would wait for ever
    javascript.cache_clear()
    assert javascript() == "window.vegaEmbed = 1;"
    assert kept.is_fifo()
    javascript.cache_clear()


def test_a_folder_that_cannot_even_be_looked_at_keeps_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(library, "DIGESTS", dict.fromkeys(library.DIGESTS, "0" * 64))
    monkeypatch.setenv("MATCH_AIE_CACHE", str(tmp_path / ("long" * 80)))
    joined = SimpleNamespace(__version__="1.9.0", javascript_bundle=lambda vl_version: "made")
    monkeypatch.setitem(sys.modules, "vl_convert", joined)
    javascript.cache_clear()
    assert javascript() == "made"
    javascript.cache_clear()
