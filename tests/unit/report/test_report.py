"""Reports say what the manifest says, in text and in JSON."""

import copy
import json
import re
from dataclasses import replace
from typing import Any

import pytest

import match_aie
from match_aie import report
from match_aie.compilation import Compilation
from match_aie.demo import digits_model
from match_aie.errors import OptionError, ProjectError
from match_aie.report.table import count, extent, table


@pytest.fixture(scope="module")
def compiled() -> Compilation:
    return match_aie.compile(digits_model(), name="digits")


@pytest.fixture
def manifest(compiled: Compilation) -> dict[str, Any]:
    parsed: dict[str, Any] = json.loads(compiled.sources()["match_aie.json"])
    return copy.deepcopy(parsed)


def test_rows_are_the_programs_steps(compiled: Compilation, manifest: dict[str, Any]) -> None:
    network = report.network_report(manifest)
    schedule = compiled.program.schedule
    assert [s.symbol for s in network.steps] == [s.symbol for s in schedule.steps]
    assert len(network.layers) + len(network.fallback) == len(schedule.steps)
    for row, layer in zip(network.layers, schedule.layers, strict=True):
        assert row.layer is not None
        assert (row.layer.module, row.layer.pattern) == (layer.module, layer.pattern)
        assert row.layer.workload == layer.workload
        assert row.layer.cycles == layer.cost.cycles
        assert row.output[0] == layer.workload.output.dtype
    assert network.cycles == pytest.approx(sum(layer.cost.cycles for layer in schedule.layers))
    assert network.macs == sum(layer.workload.macs for layer in schedule.layers) > 100_000


def test_json_has_the_promised_keys(compiled: Compilation, manifest: dict[str, Any]) -> None:
    shown: Any = report.as_json(report.network_report(manifest))
    assert json.loads(json.dumps(shown)) == shown
    for row in shown["layers"]:
        assert {"name", "module", "pattern", "cycles"} <= row.keys()
    plan = compiled.program.plan
    assert shown["peak_bytes"] == {plan.memory: plan.nbytes}
    assert shown["constant_bytes"] == sum(c["nbytes"] for c in manifest["constants"])


def test_the_summary_names_every_layer_and_says_what_is_modelled(compiled: Compilation) -> None:
    text = compiled.summary()
    # "point" takes the sum behind it along.
    for layer in ("stem", "down", "depth", "residual", "pooled", "dense"):
        assert layer in text
    assert "cycles (modelled)" in text
    assert "(measured)" in text
    assert f"{compiled.program.plan.nbytes:,} bytes of arena" in text


def test_the_cover_is_priced_beside_matchs_rule(
    compiled: Compilation, manifest: dict[str, Any]
) -> None:
    network = report.network_report(manifest)
    cover, cost = network.cover, compiled.assignment.cost
    assert cover is not None
    assert cover.cycles == cost.total == cover.layers + cover.fallback + cover.moves
    assert cover.layers == network.cycles
    assert cover.match_cycles == compiled.assignment.match_cost.total
    assert "cheapest there is" in report.summary_text(network)
    manifest["selection"].update(cycles=200.0, match_cycles=250.0, moves=7.0, proven=False)
    text = report.summary_text(report.network_report(manifest))
    assert "7 to hand over" in text
    assert "not proven" in text
    assert "50 more (25.0 %)" in text
    manifest["selection"]["rule"] = "match"
    assert "longest pattern" in report.summary_text(report.network_report(manifest))
    del manifest["selection"]
    assert "cover" not in report.summary_text(report.network_report(manifest))


def test_parts_are_of_all_cycles_the_core_s_and_handing_over_included(
    manifest: dict[str, Any],
) -> None:
    """Layers take 600 of a clock half as fast, a function 300, handing over 100: 1,600 in all."""
    step = {**copy.deepcopy(manifest["steps"][0]), "label": "odd", "layer": None, "cycles": 0.0}
    manifest["steps"].append({**step, "symbol": "digits_f0"})
    manifest["fallback"].append({"symbol": "digits_f0", "operators": "odd"})
    manifest["selection"]["core"] = [{"label": "odd", "operator": "odd", "cycles": 300.0}]
    manifest["selection"].update(cycles=1600.0, layers=1200.0, fallback=300.0, moves=100.0)
    for layer in manifest["layers"]:
        layer["cost"]["cycles"] = 600.0 / len(manifest["layers"])
    for attempt in manifest["considered"]:
        attempt |= {"cycles": 1.0, "reference_cycles": 2.0}
    network = report.network_report(manifest)
    lines = report.summary_text(network).splitlines()
    line = next(line for line in lines if "odd" in line)
    assert line.split()[-3:] == ["300", "18.8", "%"]
    assert any(text.startswith("cycles    1,600 in all") for text in lines)
    clocks = [text for text in lines if text.startswith("clock     ")]
    assert len(clocks) == len({layer["module"] for layer in manifest["layers"]})
    assert all("in the table is 2 of the target's" in text for text in clocks)
    shown = [float(text.split()[-2]) for text in lines if text.endswith(" %")]
    assert len(shown) == len(network.steps)
    assert sum(shown) == pytest.approx(100 * 1500 / 1600, abs=0.05 * len(shown))


def test_the_core_s_cycles_go_to_the_steps_that_compute_the_operators() -> None:
    def item(label: str, operator: str, cycles: float) -> dict[str, object]:
        return {"label": label, "operator": operator, "cycles": cycles}

    steps = [
        {"label": "a", "symbol": "f0", "layer": None},
        {"label": "b", "symbol": "layer", "layer": "layer"},
        {"label": "c", "symbol": "f1", "layer": None},
        {"label": "c", "symbol": "copy", "layer": None, "cycles": 9.0},
        {"label": "d", "symbol": "f0", "layer": None},
    ]
    functions = {"f0": "reshape, add", "f1": "matmul, add", "copy": "layout_transform"}
    core = [
        *(item("a", "reshape", 1.0), item("other", "matmul", 20.0), item("other", "add", 300.0)),
        *(item("other", "add", 4000.0), item("d", "add", 50000.0), item("?", "odd", 600000.0)),
    ]
    manifest = {
        "steps": steps,
        "fallback": [{"symbol": name, "operators": of} for name, of in functions.items()],
        "selection": {"core": core},
    }
    assert report.core_cycles(manifest) == {0: 600301.0, 2: 4020.0, 3: 9.0, 4: 50000.0}


def test_every_row_says_what_the_core_would_take(manifest: dict[str, Any]) -> None:
    network = report.network_report(manifest)
    rows = [a for a in network.attempts if a.chosen]
    assert len(rows) == len(network.layers)
    assert all(a.fallback_cycles and a.fallback_cycles > 0 for a in network.attempts)
    assert all(a.reference_cycles == a.cycles for a in network.attempts)


def test_a_layer_in_detail(manifest: dict[str, Any]) -> None:
    network = report.network_report(manifest)
    text = report.layer_text(network, network.step("down"))
    assert "C function digits_layer" in text
    assert "73,728 multiply-accumulates" in text
    assert "chosen" in text
    detail: Any = report.step_json(network, network.step("down"))
    assert [a["chosen"] for a in detail["considered"]].count(True) == 1


def test_layers_are_found_by_name_symbol_and_number(manifest: dict[str, Any]) -> None:
    network = report.network_report(manifest)
    down = network.step("down")
    assert network.step(down.symbol) is down
    assert network.step(str(down.index)) is down
    with pytest.raises(OptionError, match="dwn") as caught:
        network.step("dwn")
    assert "down" in caught.value.hint
    for wrong in ("9999", "-1", "", "²"):
        with pytest.raises(OptionError):
            network.step(wrong)


def test_a_name_means_the_step_with_most_work(manifest: dict[str, Any]) -> None:
    """Changes of layout bear a layer's name, and its halves begin with it."""
    network = report.network_report(manifest)
    layers = [step for step in network.steps if step.layer is not None]
    most = max(layers, key=lambda step: step.layer.workload.macs)
    other = next(step for step in network.steps if step is not most)
    named = (replace(other, name="x", symbol="a"), replace(most, name="x rows 2 to 3", symbol="b"))
    assert replace(network, steps=named).step("x") is named[1]
    assert replace(network, steps=named).step("a") is named[0]


def test_a_layer_wins_over_a_layout_change_of_its_name(manifest: dict[str, Any]) -> None:
    first = copy.deepcopy(manifest["steps"][0])
    change = {**first, "label": "dense", "symbol": "digits_f0", "layer": None}
    manifest["steps"].insert(0, change)
    manifest["fallback"].append({"symbol": "digits_f0", "operators": "permute_dims"})
    whole = report.network_report(manifest)
    assert [step.operators for step in whole.fallback] == ["permute_dims"]
    assert "permute_dims" in report.layer_text(whole, whole.step("digits_f0"))
    found = report.network_report(manifest).step("dense")
    assert found.layer is not None
    assert found.layer.pattern.startswith("dense")


def test_refusals_are_shown_with_their_reason(manifest: dict[str, Any]) -> None:
    manifest["considered"] = [row for row in manifest["considered"] if not row["reason"]]
    network = report.network_report(manifest)
    assert "no module refused" in report.refusals_text(network)
    refused = {"layer": "down", "module": "npu", "pattern": "conv_3x3", "cycles": None}
    manifest["considered"].append({**refused, "reason": "stride 3 is not\nsupported"})
    network = report.network_report(manifest)
    line = "down: npu conv_3x3: stride 3 is not\\nsupported"
    assert line in report.refusals_text(network)
    again = [{**manifest["considered"][-1], "layer": name, "pattern": "conv"} for name in "abc"]
    manifest["considered"] += again
    shown = report.refusals_text(report.network_report(manifest)).splitlines()
    reason = "stride 3 is not\\nsupported"
    assert shown == ["refused", f"  down, a and 2 more: npu conv_3x3, conv: {reason}"]
    assert "refused: stride 3" in report.layer_text(network, network.step("down"))


def test_another_choice_is_told_from_a_refusal(manifest: dict[str, Any]) -> None:
    other = {"layer": "down", "module": "npu", "pattern": "conv", "cycles": 7.0, "reason": ""}
    manifest["considered"].append(other)
    network = report.network_report(manifest)
    assert "another was preferred" in report.layer_text(network, network.step("down"))


def test_what_users_named_cannot_reach_the_terminal(manifest: dict[str, Any]) -> None:
    evil = "\x1b]0;title\x07\r\n" + "x" * 10_000
    manifest["name"] = evil
    manifest["warnings"] = [evil]
    for step in manifest["steps"]:
        step["label"] = evil
    for attempt in manifest["considered"]:
        attempt |= {"layer": evil, "reason": evil}
    network = report.network_report(manifest)
    shown = [report.summary_text(network), report.refusals_text(network)]
    shown += [report.layer_text(network, step) for step in network.steps]
    for text in shown:
        assert "\x1b" not in text
        assert "\r" not in text
        assert max(map(len, text.splitlines())) < 600


@pytest.mark.parametrize("key", ["steps", "layers", "fallback", "tensors", "memory", "target"])
def test_a_damaged_manifest_is_a_project_error(key: str, manifest: dict[str, Any]) -> None:
    del manifest[key]
    with pytest.raises(ProjectError, match=r"match_aie.json is damaged"):
        report.network_report(manifest)


def test_tables_align_and_cut() -> None:
    text = table(("name", ">n"), [("a" * 100, "1"), ("b", "1,000")], indent="")
    lines = text.splitlines()
    assert [len(line) for line in lines] == [40 + 2 + 5] * 3
    assert lines[1].endswith("...      1")
    assert (extent((1, 2)), extent(()), count(0.5), count(12345)) == ("1x2", "-", "0", "12,345")


def test_a_target_is_shown_whole() -> None:
    target = match_aie.pipeline.resolve("CPU")
    text = report.target_text(target)
    shown: Any = report.target_json(target)
    for module, row in zip(target.modules(), shown["modules"], strict=True):
        assert module.name in text
        for pattern, column in zip(module.patterns(), row["patterns"], strict=True):
            assert pattern.name in text
            assert column["operators"] == list(pattern.structure.operators())


def test_arguments_of_a_target_are_shown_with_defaults() -> None:
    target = match_aie.pipeline.resolve("VersalAIEML")
    shown: Any = report.target_json(target)
    defaults = (shown["arguments"]["device"], shown["arguments"]["modules"])
    assert defaults == ("vek280", ["array", "arm"])
    assert json.loads(json.dumps(shown)) == shown
    assert re.search(r"^  memory +\"ddr\"$", report.target_text(target), re.MULTILINE)
