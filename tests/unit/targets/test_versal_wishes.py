"""What users ask of single layers: kept, or refused with a reason."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tvm import relax

import match_aie as match
from match_aie.errors import InfeasibleError, MatchError, TargetError
from match_aie.hardware import load_target, read_options
from match_aie.targets.aie_ml.graph.layer import zeros_of
from match_aie.targets.aie_ml.graph.moved import moved
from match_aie.targets.versal import VersalAIEML
from match_aie.targets.versal.executing import prove, stretches
from match_aie.targets.versal.kept import refuse_columns
from match_aie.targets.versal.wanted import wanted
from match_aie.targets.versal.wishes import Wish
from match_aie.targets.versal.wishes_read import read
from tests import integer_graphs as ig
from tests.aie_programs import VEK280
from tests.unit.workload.test_recurrent_bfloat16 import layer
from tests.unit.workload.test_recurrent_single import layer as single

SIZES = (64, 128, 96, 32)


def compiled(layers, sizes=SIZES, rows=16, **options):
    options = {"modules": ("array",), "columns_per_layer": 2, **options}
    target = VersalAIEML(layers=layers, **options)
    return target, match.compile(ig.dense_row(rows, sizes), target, cache=False)


@pytest.fixture(scope="module")
def labels():
    _, net = compiled({})
    return [layer.label for layer in net.program.schedule.chosen]


def parts(target, net):
    """First column of each layer's kernels, by execution."""
    mine = net.program.schedule.chosen
    rng = np.random.default_rng(1)
    found = []
    for stretch in stretches(mine, "vek280", rng, wishes=target._wishes):
        tiles = {core.tile[0] for core in stretch.program.cores}
        found.append(sorted(tiles))
    return found


@pytest.mark.parametrize("how", [{}, {"memory": "plio", "optimize_for": "throughput"}])
def test_positions_are_kept_and_results_with_them(labels, how):
    wishes = {labels[0]: {"position": (12, 0)}, labels[2]: {"position": [30, 0]}}
    target, net = compiled(wishes, **how)
    columns = {column for each in parts(target, net) for column in each}
    assert {12, 30} <= columns
    assert min(columns) >= 12
    assert (
        prove(
            net.program.schedule.chosen, "vek280", np.random.default_rng(2), wishes=target._wishes
        )
        >= 1
    )
    graphs = [u for u in net.program.units if u.path.endswith("_graph.h")]
    assert len(graphs) == 1  # still one chain
    # The same target again says the same.
    again = VersalAIEML(**target.options())
    assert again.options() == target.options()


def test_layers_that_lie_in_another_order_are_still_right(labels):
    target, net = compiled({labels[0]: {"position": (20, 0)}, labels[1]: {"position": (3, 0)}})
    columns = {column for each in parts(target, net) for column in each}
    assert {3, 20} <= columns
    mine = net.program.schedule.chosen
    assert prove(mine, "vek280", np.random.default_rng(2), wishes=target._wishes) >= 1


@pytest.mark.parametrize(
    ("how", "wish"),
    [
        ({}, {"columns": 1}),
        ({}, {"columns": 3}),
        ({}, {"tiles": 4}),
        ({}, {"cascade": 2}),
        ({"memory": "plio", "optimize_for": "throughput"}, {"columns": 2, "cascade": 2}),
        ({"memory": "plio", "optimize_for": "throughput"}, {"tiles": 4}),
        ({}, {"replicas": 4, "cascade": 1}),
        ({}, {"tiles": (2, 4), "column": 9, "row": 0, "precision": "i8"}),
        ({"memory": "plio", "optimize_for": "throughput"}, {"replicas": 4}),
    ],
)
def test_plans_are_those_that_are_asked_for(labels, how, wish):
    target, net = compiled({labels[1]: wish}, **how)
    layer = net.program.schedule.chosen[1]
    plan = target._array.plan(layer.workload, layer.mapping)
    asked = read({"it": wish}, VEK280)["it"]
    assert asked.kept(plan, layer.workload)
    mine = net.program.schedule.chosen
    assert prove(mine, "vek280", np.random.default_rng(2), wishes=target._wishes) >= 1


@pytest.mark.parametrize(
    ("wish", "why"),
    [
        ({"colums": 4}, "no wish of a layer is called 'colums'"),
        ({"columns": 0}, "columns 0"),
        ({"columns": 39}, "columns 39"),
        ({"tiles": True}, "tiles True"),
        ({"cascade": 2.0}, "cascade 2.0"),
        ({"position": 12}, "position 12"),
        ({"position": (38, 0)}, "column 38 of an array with 38"),
        ({"position": (12, 2)}, "position in row 2: a layer takes whole columns"),
        ({"column": 4, "row": 3}, "position in row 3: a layer takes whole columns"),
        ({"column": "west"}, "column 'west'"),
        ({"column": 4, "position": (5, 0)}, "column 4 and 5"),
        ({"tiles": (4, 9)}, "rows 9"),
        ({"tiles": (4, 8), "columns": 3}, "columns 4 and 3"),
        ({"replicas": 305}, "replicas 305"),
        ({"precision": "int4"}, "precision 'input': 'int4'"),
        ({"precision": {"activations": "i8"}}, "precision 'activations'"),
        ({"precision": {}}, "precision {}"),
    ],
)
def test_wishes_that_no_layer_can_have_are_refused_at_once(wish, why):
    with pytest.raises(TargetError, match=why) as caught:
        VersalAIEML(layers={"fc1": wish})
    assert caught.value.where == "fc1"


@pytest.mark.parametrize(
    ("number", "wish", "how", "why"),
    [
        (0, {"columns": 37}, {}, "no plan of the layer has 37 columns: plans have"),
        (1, {"replicas": 9}, {}, "no plan of the layer has 9 replicas: .* 2 replicas"),
        (1, {"precision": {"weight": "i16"}}, {}, "weight int16 is asked for and the layer's is"),
        (1, {"precision": "bf16"}, {}, "input bf16 is asked for and the layer's is int8"),
        (0, {"cascade": 30}, {"columns_per_layer": 4}, "no plan of the layer has 30 tiles"),
        (
            0,
            {"tiles": 303},
            {"memory": "plio", "optimize_for": "throughput"},
            "no stage has 303 tiles: stages have",
        ),
        (0, {"position": (37, 0), "columns": 2}, {}, "columns of the array"),
    ],
)
def test_wishes_that_this_network_cannot_keep_are_refused(labels, number, wish, how, why):
    with pytest.raises(MatchError, match=why):
        compiled({labels[number]: wish}, **how)


def test_two_layers_in_one_place_are_refused(labels):
    place = {"columns": 2, "position": (5, 0)}
    with pytest.raises(InfeasibleError, match="both have"):
        compiled({labels[0]: place, labels[1]: place})


def test_a_layer_that_is_not_there_is_refused():
    with pytest.raises(TargetError, match="no layer called 'nobody'"):
        compiled({"nobody": {"columns": 1}})


def test_a_layer_elsewhere_is_refused(labels):
    with pytest.raises(TargetError, match="not on the array, but on"):
        compiled({labels[0]: {"position": (3, 0)}}, modules=("arm",))


def test_too_many_columns_beside_the_others_are_refused():
    refuse_columns(Wish("fc1", columns=30), {0: 30, 1: 8}, 38)
    with pytest.raises(TargetError, match="with the other layers 39 columns of 38") as caught:
        refuse_columns(Wish("fc1", columns=30), {0: 30, 1: 9}, 38)
    assert caught.value.where == "fc1"


def test_another_rule_of_selection_keeps_no_plan(labels):
    target = VersalAIEML(
        modules=("array",), columns_per_layer=2, layers={labels[0]: {"columns": 3}}
    )
    whole = ig.dense_row(16, SIZES)
    with pytest.raises(TargetError, match="another plan than one with 3 columns was chosen"):
        match.compile(whole, target, cache=False, selection="match")


def test_moving_nothing_changes_nothing():
    whole = object()
    assert moved(whole, [2, 3], [0, 2]) is whole


def test_a_pinned_layer_shares_no_tile(labels):
    sizes = (16, 64, 32, 5)
    wishes = {
        label: {"tiles": 1, "position": (column, 0)}
        for label, column in zip(labels, (12, 15, 18), strict=True)
    }
    how = {"memory": "plio", "optimize_for": "throughput"}
    target, net = compiled(wishes, sizes, rows=1, **how)
    assert [columns[0] for columns in parts(target, net)] == [12, 15, 18]


def test_a_layer_with_a_wish_stands_alone_where_others_share_tiles(labels):
    sizes = (64, 64, 64, 32, 5)
    target, net = compiled({labels[0]: {"columns": 2}}, sizes, rows=1, memory="plio")
    plans = [target._array.plan(a.workload, a.mapping) for a in net.program.schedule.chosen]
    assert [plan.columns for plan in plans] == [2, 1, 1, 1]


@pytest.mark.slow
def test_more_layers_of_one_tile_than_columns_leave_some_to_the_processor():
    """They read one input, so that no chain has them share tiles."""
    rng = np.random.default_rng(3)

    def body(builder, inputs):
        weights = [rng.integers(-128, 128, (32, 32)).astype(np.int8) for _ in range(42)]
        outputs = [
            ig.dense(builder, inputs[0], weight, shift=10, bias=rng.integers(-99, 99, 32))
            for weight in weights
        ]
        return builder.emit(relax.op.concat(outputs, 1))

    module = ig.module(body, ((1, 32), "int8"))
    net = match.compile(module, VersalAIEML(memory="plio", columns_per_layer=1), cache=False)
    modules = [layer.module for layer in net.program.schedule.chosen]
    assert modules.count("array") == 38
    assert len(modules) >= 42


@pytest.mark.parametrize(
    "layers", [3, {"fc1": 4}, {"fc1": "ab"}, {3: {"columns": 2}}, {"a": {"position": (True, 0)}}]
)
def test_wishes_of_another_shape_are_refused(layers):
    with pytest.raises(TargetError):
        VersalAIEML(layers=layers)


NUMBERS = {
    "columns": st.integers(1, 5),
    "tiles": st.integers(1, 40),
    "cascade": st.integers(1, 5),
    "replicas": st.integers(1, 6),
    "position": st.tuples(st.integers(0, 37), st.just(0)),
    "precision": st.sampled_from(["i8", "i16", {"result": "i8"}, {"weight": "u8"}]),
}


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(
    asked=st.fixed_dictionaries({}, optional=NUMBERS),
    number=st.integers(0, 2),
    how=st.sampled_from([{}, {"memory": "plio"}, {"memory": "plio", "optimize_for": "throughput"}]),
)
def test_any_wish_is_kept_or_refused_by_name(labels, asked, number, how):
    label = labels[number]
    refused, found = attempt({label: asked}, how)
    if refused is not None:
        assert asked
        assert label in f"{refused}"
        return
    target, net = found
    mine = net.program.schedule.chosen
    wish, layer = target._wishes[label], mine[number]
    assert wish.kept(target._array.plan(layer.workload, layer.mapping), layer.workload)
    assert not wish.mistyped(layer.workload)
    assert wish.column in (None, net_columns(target, net)[number][0])
    assert prove(mine, "vek280", np.random.default_rng(4), wishes=target._wishes)


def attempt(layers, how):
    """A refusal, or what was compiled."""
    try:
        return None, compiled(layers, **how)
    except MatchError as refused:
        return refused, None


def net_columns(target, net):
    """First and last column of each layer, as reports say them."""
    return [stage.columns for stage in target.stages(net.program.schedule.chosen)]


def test_the_same_from_a_file(tmp_path, labels):
    wish = {"tiles": [2, 4], "cascade": 2, "column": 6, "row": 0, "precision": {"weight": "i8"}}
    options = {"modules": ["array"], "layers": {labels[1]: wish}}
    for name, text in (
        ("a.json", json.dumps(options)),
        ("a.yaml", f"modules: [array]\nlayers:\n  {labels[1]}: {json.dumps(wish)}\n"),
    ):
        (tmp_path / name).write_text(text)
        assert read_options(tmp_path / name) == options
        target = load_target("VersalAIEML", read_options(tmp_path / name))
        asked = target._wishes[labels[1]]
        assert (asked.columns, asked.tiles, asked.cascade, asked.column) == (2, 8, 2, 6)
        assert load_target("VersalAIEML", target.options()).options() == target.options()


@pytest.mark.parametrize("tiles", [1, 2])
def test_gates_are_in_logic_where_that_is_asked_for_alone(tiles):
    """A kernel of logic is in no plan of whom asks for tiles only."""
    workload = layer("gru", True, 8, 12, 32)[0]
    array = VersalAIEML(floats="bf16")._array
    for wish in (Wish("gru", logic=1, tiles=tiles), Wish("gru", tiles=tiles)):
        graph = wanted(workload, array, wish).graph("gru", workload, zeros_of(workload))
        assert (graph.logic is not None) == (wish.logic == 1)
        assert len(graph.kernels) == tiles
    with pytest.raises(TargetError, match="kernels of logic"):
        wanted(workload, array, Wish("gru", logic=1, cascade=3))
    with pytest.raises(TargetError, match="logic 2"):
        read({"gru": {"logic": 2}}, VEK280)


def test_in_an_arithmetic_of_logic_every_plan_has_its_gates_there():
    """Whether or not that is asked for; a chain of cores has functions of its own."""
    workload = single("gru", True, 8, 12, 28)[0]
    workload = replace(workload, real=replace(workload.real, precision="single_lines"))
    array = VersalAIEML("vck190", floats="float32_logic")._array
    for wish in (Wish("gru", tiles=5), Wish("gru", tiles=5, logic=1), Wish("gru", columns=1)):
        graph = wanted(workload, array, wish).graph("gru", workload, zeros_of(workload))
        assert graph.logic is not None
        assert len(graph.kernels) == 5
    for wish in (Wish("gru", cascade=4), Wish("gru", logic=1, tiles=4)):
        with pytest.raises(TargetError, match="no plan of the layer") as refused:
            wanted(workload, array, wish)
        assert "float32_logic" not in refused.value.hint  # what is chosen already


def test_who_asks_for_tiles_gets_no_more_columns_than_a_layer_may_take():
    """Ten tiles with rows, and ten for their inputs, take five columns."""
    workload = single("gru", True, 8, 5, 80)[0]
    narrow, wide = (VersalAIEML("vck190", columns_per_layer=n)._array for n in (4, 5))
    assert wanted(workload, narrow, Wish("gru", tiles=11)).columns <= 4
    with pytest.raises(TargetError, match="no plan of the layer has 21 tiles"):
        wanted(workload, narrow, Wish("gru", tiles=21))
    assert wanted(workload, wide, Wish("gru", tiles=21)).columns == 5
    assert wanted(workload, narrow, Wish("gru", tiles=21, columns=5)).columns == 5


@pytest.mark.parametrize(
    "options",
    [{"columns_per_layer": "a"}, {"columns_per_layer": True}, {"arm_mhz": "x"}, {"device": 3}],
)
def test_options_of_another_type_are_refused_with_what_is_taken(options):
    with pytest.raises(TargetError, match=repr(next(iter(options.values())))) as refused:
        VersalAIEML(**options)
    assert refused.value.hint
