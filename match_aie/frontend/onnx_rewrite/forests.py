"""Forests of decision trees, as ONNX's operators for classical models write them, in tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from onnx import numpy_helper

from match_aie.frontend.onnx_rewrite.graph import Node, Refusal

#: How a node compares what it reads with its split, in the order of `TreeEnsemble`'s numbers.
MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")
#: What `TreeEnsemble` has as well: whether a list holds it.
MEMBER = len(MODES)
#: What is wrong with a leaf.
BEFORE = "a leaf says something of a result before the first"


@dataclass(frozen=True)
class Forest:
    """All nodes of all trees; a leaf's children are the leaf itself.

    Attributes:
        features: column that a node reads, [nodes].
        splits: what a node compares with, [nodes].
        modes: how, by its place in `MODES`, [nodes].
        missing: whether NaN goes the way of a comparison that holds, [nodes].
        trues: next node where the comparison holds, [nodes].
        falses: next node where it does not, [nodes].
        roots: first nodes of the trees, [trees].
        weights: what a leaf adds to each result, [nodes, results].
        scored: whether a leaf says something of a result, [nodes, results].
    """

    features: np.ndarray
    splits: np.ndarray
    modes: np.ndarray
    missing: np.ndarray
    trues: np.ndarray
    falses: np.ndarray
    roots: np.ndarray
    weights: np.ndarray
    scored: np.ndarray

    def __post_init__(self) -> None:
        """Refuse tables that point outside of each other."""
        if not len(self.roots):
            raise Refusal("it has no trees")
        for places in (self.trues, self.falses, self.roots):
            if not 0 <= places.min() <= places.max() < len(self.features):
                raise Refusal("a tree names a node that is not there")
        if self.features.min() < 0:
            raise Refusal("a tree reads a column before the first")
        reached = np.zeros(len(self.features), bool)
        reached[[at for root in np.unique(self.roots) for at in _below(self, int(root))]] = True
        if self.scored[~reached].any():
            # onnxruntime adds what these say elsewhere.
            raise Refusal("a leaf that no tree comes to says something")

    @property
    def leaves(self) -> np.ndarray:
        """Which nodes are leaves, [nodes]."""
        own = np.arange(len(self.trues))
        return np.asarray((self.trues == own) & (self.falses == own))

    def steps(self) -> list[np.ndarray]:
        """Inner nodes that a walk from the roots may be at, step by step."""
        found, at, leaves = [], np.unique(self.roots), self.leaves
        while len(at := at[~leaves[at]]):
            found.append(at)
            if len(found) > len(self.features):
                raise Refusal("a tree comes back to a node that it has passed")
            at = np.unique(np.concatenate((self.trues[at], self.falses[at])))
        return found

    def always(self) -> bool:
        """Whether of every result some tree says something, wherever it ends."""
        trees, leaves = (np.array(_below(self, int(root))) for root in self.roots), self.leaves
        said = [self.scored[nodes[leaves[nodes]]].all(axis=0) for nodes in trees]
        return bool(np.any(said, axis=0).all())

    def throughout(self) -> bool:
        """Whether every leaf says something of every result."""
        return bool(self.scored[self.leaves].all())


def _below(forest: Forest, root: int) -> list[int]:
    """Nodes of the tree that begins at `root`."""
    seen: set[int] = set()
    waiting = [root]
    while waiting:
        at = waiting.pop()
        if at not in seen:
            seen.add(at)
            waiting += [int(forest.trues[at]), int(forest.falses[at])]
    return sorted(seen)


def numbered(node: Node, prefix: str, results: int) -> Forest:
    """The forest of an operator whose nodes have numbers in their trees.

    Args:
        node: `TreeEnsembleRegressor` or `TreeEnsembleClassifier`.
        prefix: of the attributes that hold what leaves say, "target" or "class".
        results: how many there are.
    """
    trees, numbers, kinds = (node.attr(f"nodes_{n}") for n in ("treeids", "nodeids", "modes"))
    place = {pair: at for at, pair in enumerate(zip(trees, numbers, strict=True))}
    inner = np.array([kind != "LEAF" for kind in kinds])
    ways = [
        np.array(
            [
                place[tree, to] if kind != "LEAF" else at
                for at, (tree, kind, to) in enumerate(zip(trees, kinds, targets, strict=True))
            ]
        )
        for targets in (node.attr("nodes_truenodeids"), node.attr("nodes_falsenodeids"))
    ]
    splits = floats(node, "nodes_values")
    weights, scored = _said(node, prefix, place, results)
    if results == 1 and splits[~inner & ~scored[:, 0]].any():
        # onnxruntime takes what such a leaf would compare with for what it says.
        raise Refusal("a leaf that says nothing has a value")
    return Forest(
        features=np.where(inner, node.attr("nodes_featureids"), 0),
        splits=splits,
        modes=np.array([MODES.index(kind) if kind != "LEAF" else 0 for kind in kinds]),
        missing=_flags(node, len(kinds)),
        trues=ways[0],
        falses=ways[1],
        roots=_first(np.array(trees)),
        weights=weights,
        scored=scored,
    )


def _first(trees: np.ndarray) -> np.ndarray:
    """Where each tree begins, of the tree's number for each node."""
    first = np.flatnonzero(np.append(True, trees[1:] != trees[:-1]))
    if len(first) > len(np.unique(trees)):
        # To onnxruntime each part is a tree.
        raise Refusal("nodes of its trees lie between each other")
    return first


def _said(
    node: Node, prefix: str, place: dict[tuple[int, int], int], results: int
) -> tuple[np.ndarray, np.ndarray]:
    """What leaves add to each result, and whether they do, [nodes, results].

    Args:
        node: `TreeEnsembleRegressor` or `TreeEnsembleClassifier`.
        prefix: of the attributes that hold what leaves say.
        place: of nodes, by the numbers of the tree and of the node in it.
        results: how many there are.
    """
    values = floats(node, f"{prefix}_weights")
    weights = np.zeros((len(place), results), values.dtype)
    scored = np.zeros(weights.shape, bool)
    entries = (node.attr(f"{prefix}_{n}") for n in ("treeids", "nodeids", "ids"))
    for tree, number, to, value in zip(*entries, values, strict=True):
        at = place[tree, number]
        if to < 0:
            raise Refusal(BEFORE)
        if scored[at, to]:
            raise Refusal("a leaf says two things of a result")
        weights[at, to], scored[at, to] = value, True
    return weights, scored


def listed(node: Node) -> Forest:
    """The forest of `TreeEnsemble`, which lists inner nodes and leaves apart."""
    kinds = numpy_helper.to_array(node.attr("nodes_modes"))
    leaves = numpy_helper.to_array(node.attr("leaf_weights"))
    inner, ends = len(kinds), len(leaves)
    rows = _Rows(node, inner, ends)
    members = node.attr("membership_values")
    sets = _sets(numpy_helper.to_array(members)) if members is not None else []
    for at, kind in enumerate(kinds.tolist()):
        wanted = sets.pop(0) if kind == MEMBER else None
        rows.add(at, int(kind), wanted)
    results = int(node.attr("n_targets"))
    weights = np.zeros((rows.count, results), leaves.dtype)
    places = np.arange(inner, inner + ends)
    if min(node.attr("leaf_targetids")) < 0:
        raise Refusal(BEFORE)
    weights[places, node.attr("leaf_targetids")] = leaves
    scored = np.zeros(weights.shape, bool)
    scored[places, node.attr("leaf_targetids")] = True
    return rows.forest(np.array(node.attr("tree_roots")), weights, scored)


class _Rows:
    """Nodes of a `TreeEnsemble` as they are put down: inner ones, leaves, then those of sets."""

    def __init__(self, node: Node, inner: int, ends: int) -> None:
        """Begin with the leaves of `node`, behind places for its inner nodes."""
        self.node, self.inner, self.ends = node, inner, ends
        self.splits = numpy_helper.to_array(node.attr("nodes_splits"))
        self.missing = _flags(node, inner)
        own = range(inner, inner + ends)
        self.table: list[list[Any]] = [[0, 0.0, 0, False, 0, 0] for _ in range(inner)]
        self.table += [[0, 0.0, 0, False, at, at] for at in own]

    @property
    def count(self) -> int:
        """Nodes so far."""
        return len(self.table)

    def add(self, at: int, mode: int, members: list[float] | None) -> None:
        """Put inner node `at` down; one that looks into a set as a chain of comparisons."""
        feature, missing = self.node.attr("nodes_featureids")[at], bool(self.missing[at])
        holds, fails = self._way("true", at), self._way("false", at)
        if members is None:
            self.table[at] = [feature, self.splits[at], mode, missing, holds, fails]
            return
        if not members:
            raise Refusal("a node looks into a set without members")
        equal = MODES.index("BRANCH_EQ")
        chain = [at, *range(self.count, self.count + len(members) - 1)]
        self.table += [[]] * (len(members) - 1)
        for place, member, after in zip(chain, members, [*chain[1:], fails], strict=True):
            self.table[place] = [feature, member, equal, missing, holds, after]

    def _way(self, way: str, at: int) -> int:
        to = int(self.node.attr(f"nodes_{way}nodeids")[at])
        first, count = 0, self.inner
        if self.node.attr(f"nodes_{way}leafs")[at]:
            first, count = self.inner, self.ends
        if not 0 <= to < count:
            raise Refusal("a tree names a node that is not there")
        return first + to

    def forest(self, roots: np.ndarray, weights: np.ndarray, scored: np.ndarray) -> Forest:
        """All of it as tables."""
        columns = list(zip(*self.table, strict=True))
        splits = np.array(columns[1], self.splits.dtype)
        kinds = (np.int64, None, np.int64, bool, np.int64, np.int64)
        feature, _, mode, missing, holds, fails = (
            np.array(column, kind) for column, kind in zip(columns, kinds, strict=True)
        )
        return Forest(feature, splits, mode, missing, holds, fails, roots, weights, scored)


def _sets(members: np.ndarray) -> list[list[float]]:
    """What NaN parts: the members of each set."""
    found: list[list[float]] = [[]]
    for value in members.tolist():
        if np.isnan(value):
            found.append([])
        else:
            found[-1].append(value)
    return found


def floats(node: Node, name: str) -> np.ndarray:
    """Numbers of an attribute that is a list of floats, or of its form as a tensor."""
    tensor = node.attr(f"{name}_as_tensor")
    if tensor is not None:
        return np.asarray(numpy_helper.to_array(tensor)).reshape(-1)
    return np.array(node.attr(name, []), np.float32)


def _flags(node: Node, count: int) -> np.ndarray:
    """Whether NaN goes the way of a comparison that holds, for each node."""
    return np.array(node.attr("nodes_missing_value_tracks_true") or [0] * count, bool)
