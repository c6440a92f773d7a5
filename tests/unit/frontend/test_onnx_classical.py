"""Scaled columns and forests of decision trees, written out: what onnxruntime computes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from match_aie.errors import UnsupportedOperatorError

F32, F64, I64 = np.float32, np.float64, np.int64
ML = "ai.onnx.ml"
COLUMNS = 4
MODES = [f"BRANCH_{name}" for name in ("LEQ", "LT", "GTE", "GT", "EQ", "NEQ")]


def grown(rng, trees, modes, missing=False):
    """Attributes of the nodes of random trees, and (tree, node) of every leaf."""
    keys = ("treeids", "nodeids", "featureids", "modes", "values", "truenodeids", "falsenodeids")
    table = {key: [] for key in keys}
    leaves = []

    def grow(tree, number, depth):
        """Put down a node and what is below it; returns the next free number."""
        at, after = len(table["modes"]), number + 1
        row = [tree, number, int(rng.integers(COLUMNS)), "LEAF", float(rng.integers(-2, 3)), 0, 0]
        for key, value in zip(keys, row, strict=True):
            table[key].append(value)
        if depth == 0 or (rng.random() < 0.3 and number):
            leaves.append((tree, number))
            return after
        table["modes"][at] = str(rng.choice(modes))
        for way in ("truenodeids", "falsenodeids"):
            table[way][at] = after
            after = grow(tree, after, depth - 1)
        return after

    for tree in range(trees):
        grow(tree, 0, int(rng.integers(0, 4)))
    nodes = {f"nodes_{key}": values for key, values in table.items()}
    if missing:
        nodes["nodes_missing_value_tracks_true"] = [
            int(v) for v in rng.integers(0, 2, len(table["modes"]))
        ]
    return nodes, leaves


def said(rng, prefix, leaves, ids, low=-1.0):
    """Attributes of what the leaves say of results `ids`."""
    weights = [(tree, node, to, float(rng.uniform(low, 1))) for tree, node in leaves for to in ids]
    names = (f"{prefix}_treeids", f"{prefix}_nodeids", f"{prefix}_ids", f"{prefix}_weights")
    return dict(zip(names, map(list, zip(*weights, strict=True)), strict=True))


def values(rng, rows, kind=F32, missing=False):
    """Rows that often hold just what a node compares with."""
    x = rng.integers(-3, 4, (rows, COLUMNS)).astype(kind)
    if missing:
        x[rng.random(x.shape) < 0.2] = np.nan
    return x


def built(tools, node, x, outputs):
    """A model of one node of a classical model."""
    model = tools.build([node], {"x": (x.dtype, x.shape)}, outputs, opset=17)
    model.opset_import.append(helper.make_opsetid(ML, 5 if node.op_type == "TreeEnsemble" else 3))
    return model


def both(tools, node, x, outputs):
    """(what onnxruntime computes from the node, what its rewriting means)."""
    model = built(tools, node, x, outputs)
    rewritten = tools.prepass(model)
    assert all(n.domain != ML for n in rewritten.graph.node)
    want = tools.run_onnxruntime(model, {"x": x})
    return want, ReferenceEvaluator(rewritten).run(None, {"x": x})


def close(want, got):
    for w, g in zip(want, got, strict=True):
        assert (w.dtype, w.shape) == (g.dtype, g.shape)
        np.testing.assert_allclose(g, w, rtol=1e-5, atol=1e-6)


seeds = st.integers(0, 2**32 - 1).map(np.random.default_rng)


@settings(max_examples=40, deadline=None)
@given(
    rng=seeds,
    rows=st.integers(1, 5),
    trees=st.integers(1, 5),
    results=st.integers(1, 3),
    how=st.sampled_from(["SUM", "AVERAGE", "MIN", "MAX"]),
    modes=st.sampled_from([["BRANCH_LEQ"], ["BRANCH_LT"], MODES]),
    kind=st.sampled_from([F32, F64]),
    missing=st.booleans(),
    based=st.booleans(),
)
def test_regressor(onnx_tools, rng, rows, trees, results, how, modes, kind, missing, based):
    nodes, leaves = grown(rng, trees, modes, missing)
    more = {"base_values": [float(v) for v in rng.normal(size=results)]} if based else {}
    if results > 1:
        more["post_transform"] = str(rng.choice(["NONE", "LOGISTIC", "SOFTMAX"]))
    node = helper.make_node(
        "TreeEnsembleRegressor",
        ["x"],
        ["y"],
        domain=ML,
        n_targets=results,
        aggregate_function=how,
        **nodes,
        **said(rng, "target", leaves, range(results)),
        **more,
    )
    close(*both(onnx_tools, node, values(rng, rows, kind, missing), {"y": (F32, None)}))


@settings(max_examples=40, deadline=None)
@given(
    rng=seeds,
    rows=st.integers(1, 5),
    trees=st.integers(1, 5),
    classes=st.integers(2, 4),
    positive=st.booleans(),
    transform=st.sampled_from(["NONE", "LOGISTIC"]),
    kind=st.sampled_from([F32, I64, F64]),
    based=st.booleans(),
)
def test_classifier(onnx_tools, rng, rows, trees, classes, positive, transform, kind, based):
    nodes, leaves = grown(rng, trees, MODES)
    ids = range(classes) if classes > 2 else [0]
    more = {"base_values": [float(v) for v in rng.normal(size=len(ids))]} if based else {}
    node = helper.make_node(
        "TreeEnsembleClassifier",
        ["x"],
        ["label", "y"],
        domain=ML,
        classlabels_int64s=[7 * k + 1 for k in range(classes)],
        post_transform=transform,
        **nodes,
        **said(rng, "class", leaves, ids, 0.0 if positive else -1.0),
        **more,
    )
    outputs = {"label": (I64, None), "y": (F32, None)}
    close(*both(onnx_tools, node, values(rng, rows, kind), outputs))


@pytest.mark.parametrize("transform", ["NONE", "LOGISTIC", "SOFTMAX"])
def test_scores_of_two_classes(onnx_tools, transform):
    rng = np.random.default_rng(1)
    nodes, leaves = grown(rng, 3, MODES)
    node = helper.make_node(
        "TreeEnsembleClassifier",
        ["x"],
        ["label", "y"],
        domain=ML,
        classlabels_strings=["no", "yes"],
        post_transform=transform,
        **nodes,
        **said(rng, "class", leaves, [0, 1]),
    )
    close(*both(onnx_tools, node, values(rng, 6), {"y": (F32, None)}))
    model = built(onnx_tools, node, values(rng, 6), {"label": (np.dtype(object), None)})
    with pytest.raises(UnsupportedOperatorError, match="the label of two classes"):
        onnx_tools.prepass(model)


@settings(max_examples=30, deadline=None)
@given(rng=seeds, kind=st.sampled_from([F32, F64]), how=st.integers(0, 3), missing=st.booleans())
def test_ensemble(onnx_tools, rng, kind, how, missing):
    """Inner nodes and leaves in lists of their own; some nodes look into a set."""
    ways = {"true": ([], []), "false": ([], [])}
    waiting, inner, leaves = [0], 1, 0
    while waiting:
        waiting.pop(0)
        for to, flags in ways.values():
            on = inner < 8 and rng.random() < 0.6
            flags.append(int(not on))
            to.append(inner if on else leaves)
            waiting += [inner] * on
            inner, leaves = inner + on, leaves + (not on)
    modes = rng.integers(0, 7, inner).astype(np.uint8)
    sets = [[float(v) for v in rng.integers(-3, 4, rng.integers(1, 4))] for _ in range(8)]
    sets = sets[: int((modes == 6).sum())]
    members = [v for one in sets for v in [*one, np.nan]]
    more = {"membership_values": numpy_helper.from_array(np.array(members, kind))} if sets else {}
    if missing:
        more["nodes_missing_value_tracks_true"] = [int(v) for v in rng.integers(0, 2, inner)]
    splits = np.where(modes == 6, 0, rng.integers(-2, 3, inner)).astype(kind)
    node = helper.make_node(
        "TreeEnsemble",
        ["x"],
        ["y"],
        domain=ML,
        n_targets=1,
        aggregate_function=how,
        tree_roots=[0],
        nodes_featureids=[int(v) for v in rng.integers(0, COLUMNS, inner)],
        nodes_modes=numpy_helper.from_array(modes),
        nodes_splits=numpy_helper.from_array(splits),
        **{f"nodes_{way}nodeids": to for way, (to, _) in ways.items()},
        **{f"nodes_{way}leafs": flags for way, (_, flags) in ways.items()},
        leaf_targetids=[0] * leaves,
        leaf_weights=numpy_helper.from_array(rng.normal(size=leaves).astype(kind)),
        **more,
    )
    close(*both(onnx_tools, node, values(rng, 5, kind, missing), {"y": (kind, None)}))


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        *(({"post_transform": number}, f"post_transform {number}") for number in (1, 2, 3, 4)),
        ({"leaf_targetids": [0, -1]}, "before the first"),
        ({"nodes_truenodeids": [-1]}, "a node that is not there"),
        ({"nodes_truenodeids": [1], "nodes_trueleafs": [0]}, "a node that is not there"),
    ],
)
def test_ensembles_that_are_refused(onnx_tools, changes, match):
    """Among them transforms whose numbers runtimes take for others."""
    stump = {
        "nodes_splits": numpy_helper.from_array(np.zeros(1, F32)),
        "nodes_modes": numpy_helper.from_array(np.zeros(1, np.uint8)),
        "leaf_weights": numpy_helper.from_array(np.ones(2, F32)),
        **{f"nodes_{way}leafs": [1] for way in ("true", "false")},
        **{name: [0] for name in ("tree_roots", "nodes_featureids", "nodes_truenodeids")},
    }
    stump |= {"nodes_falsenodeids": [1], "leaf_targetids": [0, 1], "n_targets": 2}
    node = helper.make_node("TreeEnsemble", ["x"], ["y"], domain=ML, **(stump | changes))
    model = built(onnx_tools, node, np.zeros((2, COLUMNS), F32), {"y": (F32, None)})
    with pytest.raises(UnsupportedOperatorError, match=match):
        onnx_tools.prepass(model)


@pytest.mark.parametrize("kind", [F32, I64])
@pytest.mark.parametrize("count", [1, COLUMNS])
def test_scaler(onnx_tools, kind, count):
    rng = np.random.default_rng(2)
    scale, offset = ([float(v) for v in rng.normal(size=count)] for _ in range(2))
    node = helper.make_node("Scaler", ["x"], ["y"], domain=ML, scale=scale, offset=offset)
    close(*both(onnx_tools, node, values(rng, 3, kind), {"y": (F32, None)}))


def refused(tools, match, **changes):
    """That a stump with these attributes is refused, and why."""
    stump = {
        "n_targets": 1,
        "nodes_treeids": [0] * 3,
        "nodes_nodeids": [0, 1, 2],
        "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"],
        "nodes_featureids": [1, 0, 0],
        "nodes_values": [0.0] * 3,
        "nodes_truenodeids": [1, 0, 0],
        "nodes_falsenodeids": [2, 0, 0],
        "target_treeids": [0, 0],
        "target_nodeids": [1, 2],
        "target_ids": [0, 0],
        "target_weights": [1.0, 2.0],
    }
    node = helper.make_node("TreeEnsembleRegressor", ["x"], ["y"], domain=ML, **(stump | changes))
    model = built(tools, node, np.zeros((2, COLUMNS), F32), {"y": (F32, None)})
    with pytest.raises(UnsupportedOperatorError, match=match):
        tools.prepass(model)


def test_what_is_refused(onnx_tools):
    refused(onnx_tools, "column behind the last", nodes_featureids=[COLUMNS, 0, 0])
    refused(onnx_tools, "column before the first", nodes_featureids=[-1, 0, 0])
    one = {"target_treeids": [0], "target_ids": [0], "target_weights": [1.0]}
    refused(onnx_tools, "has passed", nodes_truenodeids=[0, 0, 0], **one, target_nodeids=[2])
    refused(onnx_tools, "do not fit each other", nodes_truenodeids=[9, 0, 0])
    refused(onnx_tools, "post_transform PROBIT", post_transform="PROBIT")
    refused(onnx_tools, "2 base values", base_values=[1.0, 2.0])
    refused(onnx_tools, "do not all say", aggregate_function="MIN", n_targets=2)
    refused(onnx_tools, "two things of a result", target_nodeids=[1, 1])
    value = {"nodes_values": [0.0, 0.0, 3.0]}
    refused(onnx_tools, "says nothing has a value", **value, **one, target_nodeids=[1])
    refused(onnx_tools, "no tree comes to", nodes_falsenodeids=[1, 0, 0])
    refused(onnx_tools, "before the first", target_ids=[0, -1])
    refused(onnx_tools, "aggregate_function MEDIAN", aggregate_function="MEDIAN")
    based = {"n_targets": 2, "base_values": [1.0, 2.0]}
    refused(onnx_tools, "may say nothing of a result", target_ids=[0, 1], **based)


def test_nodes_of_trees_between_each_other_are_refused(onnx_tools):
    rng = np.random.default_rng(3)
    nodes, leaves = grown(rng, 3, MODES)
    nodes = {name: [*values[1:], values[0]] for name, values in nodes.items()}
    said_of = said(rng, "target", leaves, [0])
    node = helper.make_node(
        "TreeEnsembleRegressor", ["x"], ["y"], domain=ML, n_targets=1, **nodes, **said_of
    )
    model = built(onnx_tools, node, values(rng, 2), {"y": (F32, None)})
    with pytest.raises(UnsupportedOperatorError, match="lie between each other"):
        onnx_tools.prepass(model)
