"""The JSON in which TVM up to 0.19 wrote any object: nodes that point at each other by number.

`{"root": i, "nodes": [...], "b64ndarrays": [...], "attrs": {"tvm_version": ...}}`. Node 0 is null.
Every field of a node is a string; whether one that looks like a number is a number or the index
of a node depends on the node's type, see `NUMBERS`.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from match_aie.errors import ModelError, shorten
from match_aie.frontend.relay.ndarray import read_array

#: Attribute fields that are numbers wherever they occur.
_ALWAYS = frozenset(
    "groups epsilon center momentum alpha beta bias rate size num_groups transpose_a transpose_b "
    "ceil_mode count_include_pad keepdims exclude unbiased select_last_index num_newaxis allowzero "
    "a_min a_max multiplier shift is_lshift_required is_rshift_required cubic_alpha cubic_exclude "
    "extrapolation_value scale_h scale_w align_corners is_ascend eps pad_value_float lhs_axis "
    "rhs_axis lhs_begin rhs_begin on_value off_value sparse_lhs block_size index reverse".split()
)
#: Operator attributes in which `axis` is a number; in all others it is a node (or null).
_AXIS = frozenset(
    f"relay.attrs.{name}Attrs"
    for name in "Softmax Concatenate BiasAdd BatchNorm LayerNorm GroupNorm InstanceNorm Split "
    "ExpandDims Requantize Quantize Dequantize SimulatedQuantize PReLU LRN OneHot Argsort TopK "
    "QnnConcatenate Unique SlidingWindow".split()
)
#: Fields that are numbers in some types only.
_SOMETIMES = {
    ("relay.attrs.BatchNormAttrs", "scale"),
    ("relay.attrs.LayerNormAttrs", "scale"),
    ("relay.attrs.InstanceNormAttrs", "scale"),
    ("relay.attrs.GroupNormAttrs", "scale"),
    ("relay.attrs.OneHotAttrs", "depth"),
    ("relay.Constant", "data"),
}
#: Strings that TVM keeps as objects.
STRINGS = ("runtime.String", "StringImm", "tir.StringImm")


def is_number(kind: str, field: str) -> bool:
    """Whether the field of a node of type `kind` is a number, not the index of a node."""
    if field == "axis":
        return kind in _AXIS
    return (kind, field) in _SOMETIMES or (field in _ALWAYS and kind.endswith("Attrs"))


@dataclass(frozen=True, eq=False)
class JsonNode:
    """One node; `graph` resolves what it points at."""

    graph: JsonGraph
    index: int
    kind: str
    fields: dict[str, Any]

    @property
    def data(self) -> list[int]:
        """Indices of an array's items, or of a map's values."""
        return [self.graph.index(item, self.index) for item in self._list("data")]

    @property
    def keys(self) -> list[str]:
        """Keys of a map whose keys are strings."""
        return [str(key) for key in self._list("keys")]

    def _list(self, name: str) -> list[Any]:
        value = self.fields.get(name) or []
        if not isinstance(value, list):
            raise self.error(f"its {name} are no list")
        return value

    def items(self) -> Iterator[JsonNode]:
        """The nodes of an array."""
        return (self.graph.node(index) for index in self.data)

    def attribute(self, name: str) -> str | None:
        """A field as written, None where it is absent."""
        attributes = self.fields.get("attrs")
        value = attributes.get(name) if isinstance(attributes, dict) else None
        return None if value is None else str(value)

    def child(self, name: str) -> JsonNode:
        """The node that a field points at; the null node where the field is absent."""
        value = self.attribute(name)
        return self.graph.node(0 if value is None else self.graph.index(value, self.index))

    def text(self, name: str) -> str:
        """A field that is a string, as such or as an object."""
        value = self.attribute(name) or ""
        if value.isdecimal() and self.graph.boxed:
            return self.graph.node(self.graph.index(value, self.index)).string()
        return value

    def string(self) -> str:
        """What a node that is a string says."""
        if "repr_str" in self.fields:
            return str(self.fields["repr_str"])
        if "repr_b64" in self.fields:
            return _base64(str(self.fields["repr_b64"]), self.index).decode("utf-8", "replace")
        return self.attribute("value") or str(self.fields.get("global_key") or "")

    def entries(self) -> Iterator[tuple[str, JsonNode]]:
        """(key, value) of a map with string keys, or of one with objects as keys, by their name."""
        if self.keys:
            yield from zip(self.keys, self.items(), strict=False)
            return
        pairs = list(self.items())
        for key, value in zip(pairs[::2], pairs[1::2], strict=False):
            yield (key.text("name_hint") or key.string()), value

    def error(self, what: str) -> ModelError:
        """An error about this node."""
        return ModelError(what, where=f"node {self.index} ({shorten(self.kind, 60)})")


@dataclass(frozen=True, eq=False)
class JsonGraph:
    """All nodes, and the arrays beside them.

    Attributes:
        nodes: as read.
        arrays: base64 text of each array.
        root: index of the node that was saved.
        boxed: whether strings are nodes of their own (TVM from 0.7 on).
        version: of the TVM that wrote it, "" where it does not say.
    """

    nodes: list[dict[str, Any]]
    arrays: list[str]
    root: int
    boxed: bool
    version: str

    def index(self, value: Any, at: int) -> int:
        """`value` as the index of a node."""
        try:
            index = int(value)
        except (TypeError, ValueError):
            index = -1
        if not 0 <= index < len(self.nodes):
            what = f"{shorten(str(value), 40)!r} is no node of this JSON"
            raise ModelError(what, where=f"node {at}")
        return index

    def node(self, index: int) -> JsonNode:
        """The node with that index."""
        fields = self.nodes[index]
        return JsonNode(self, index, str(fields.get("type_key") or ""), fields)

    def array(self, node: JsonNode) -> np.ndarray:
        """The array of a `relay.Constant` node."""
        text = node.attribute("data") or ""
        if not text.isdecimal() or len(text) > 9 or int(text) >= len(self.arrays):
            raise node.error(f"{shorten(text, 40)!r} is no array of this JSON")
        try:
            return read_array(_base64(self.arrays[int(text)], node.index))
        except ModelError as error:
            raise node.error(error.what) from error


def _base64(text: str, at: int) -> bytes:
    try:
        return base64.b64decode(text, validate=False)
    except (binascii.Error, ValueError) as error:
        raise ModelError("base64 text is damaged", where=f"node {at}") from error


def read_graph(text: str, what: str) -> JsonGraph:
    """The graph in `text`; `what` names the file in errors.

    Raises:
        ModelError: it is not JSON, or not the JSON that TVM wrote.
    """
    try:
        everything = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ModelError(f"the {what} is not JSON: {shorten(str(error), 120)}") from error
    nodes = everything.get("nodes") if isinstance(everything, dict) else None
    if not isinstance(nodes, list) or not all(isinstance(node, dict) for node in nodes):
        raise ModelError(f"the {what} is not JSON that TVM wrote: it has no nodes")
    arrays = everything.get("b64ndarrays") or []
    if not isinstance(arrays, list) or not all(isinstance(array, str) for array in arrays):
        raise ModelError(f"the {what} is not JSON that TVM wrote: its arrays are not text")
    about = everything.get("attrs")
    version = str(about.get("tvm_version", "")) if isinstance(about, dict) else ""
    boxed = any(node.get("type_key") in STRINGS for node in nodes)
    graph = JsonGraph(nodes, arrays, 0, boxed, version)
    if not nodes:
        raise ModelError(f"the {what} holds no nodes")
    root = graph.index(everything.get("root", -1), 0)
    return JsonGraph(nodes, arrays, root, boxed, version)
