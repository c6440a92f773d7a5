"""A Relay module that `tvm.ir.save_json` of TVM up to 0.19 wrote, as the syntax tree.

Expressions there are a graph of nodes. It becomes bindings in the order of first use (every call
is bound to a variable named after its node), so that nothing nests, however deep the network is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import isfinite

from match_aie.errors import ModelError, shorten
from match_aie.frontend.relay import syntax
from match_aie.frontend.relay.json_graph import STRINGS, JsonGraph, JsonNode, is_number, read_graph
from match_aie.frontend.relay.types import ALIASES, DTYPES

#: Node types that are not compiled, and what they are called.
REFUSED = {
    "relay.If": "control flow (if)",
    "relay.Match": "matching on algebraic data types (match)",
    "relay.Constructor": "algebraic data types (constructors)",
    "relay.RefCreate": "mutable references (ref)",
    "relay.RefRead": "mutable references (ref_read)",
    "relay.RefWrite": "mutable references (ref_write)",
}
#: What each kind of expression needs to be known before itself.
_PARTS = {
    "relay.Call": ("op", "args"),
    "relay.Tuple": ("fields",),
    "relay.TupleGetItem": ("tuple_value", "tuple"),
    "relay.Let": ("body",),
}


def read_module(text: str) -> syntax.Module:
    """The module in the JSON `text`.

    Raises:
        ModelError: it is not Relay in JSON, is damaged, or holds what is not compiled.
    """
    graph = read_graph(text, "module")
    root = graph.node(graph.root)
    if root.kind in ("relay.Function", "Function"):
        return syntax.Module({"main": _Reader(graph).function(root)})
    if root.kind not in ("IRModule", "relay.Module"):
        raise ModelError(
            f"the JSON holds a {shorten(root.kind, 60) or 'null'}, not a Relay module",
            hint="save the IRModule itself: tvm.ir.save_json(mod)",
        )
    functions = {
        name: _Reader(graph).function(node)
        for name, node in root.child("functions").entries()
        if node.kind in ("relay.Function", "Function")
    }
    if not functions:
        raise root.error("the module holds no Relay function")
    return syntax.Module(functions)


@dataclass
class _Scope:
    """A function body being flattened: bindings so far, and what each node became."""

    bindings: list[syntax.Binding] = field(default_factory=list)
    known: dict[int, syntax.Expression] = field(default_factory=dict)


class _Reader:
    """Turns nodes into syntax."""

    def __init__(self, graph: JsonGraph) -> None:
        self.graph = graph
        self.open: list[int] = []
        self.names: dict[int, str] = {}

    def function(self, node: JsonNode) -> syntax.Function:
        """A function node."""
        if node.index in self.open or len(self.open) > 32:
            raise node.error("a function contains itself, or nests more than 32 deep")
        self.open.append(node.index)
        parameters = tuple(self.parameter(item) for item in node.child("params").items())
        scope = _Scope()
        result = self.flattened(node.child("body"), scope)
        self.open.pop()
        body = syntax.Block(node.index, tuple(scope.bindings), result)
        return syntax.Function(node.index, parameters, body, self.dictionary(node.child("attrs")))

    def parameter(self, node: JsonNode) -> syntax.Parameter:
        """A `relay.Var` as parameter."""
        annotation = node.child("type_annotation")
        kind = None if not annotation.kind else self.type(annotation)
        return syntax.Parameter(node.index, self.name(node), kind)

    def name(self, node: JsonNode) -> str:
        """A variable's name, made unique: variables are told apart by node, not by name."""
        if node.index not in self.names:
            name = node.child("vid").text("name_hint") or node.text("name_hint") or "v"
            if name in self.names.values():
                name = f"{name}.{node.index}"
            self.names[node.index] = name
        return self.names[node.index]

    def flattened(self, root: JsonNode, scope: _Scope) -> syntax.Expression:
        """`root` as an expression over variables; what it needs is bound in `scope`."""
        stack = [root]
        visited: set[int] = set()
        while stack:
            node = stack[-1]
            if node.index in scope.known:
                stack.pop()
                continue
            waiting = [part for part in self.parts(node) if part.index not in scope.known]
            if not waiting:
                stack.pop()
                scope.known[node.index] = self.expression(node, scope)
            elif node.index in visited:
                raise node.error("the expression contains itself")
            else:
                visited.add(node.index)
                stack.extend(self.lets(node, scope) or reversed(waiting))
        return scope.known[root.index]

    def lets(self, node: JsonNode, scope: _Scope) -> list[JsonNode]:
        """Bind a chain of lets, one after the other; gives the body of the last."""
        body: list[JsonNode] = []
        seen: set[int] = set()
        while node.kind == "relay.Let":
            if node.index in seen:
                raise node.error("the expression contains itself")
            seen.add(node.index)
            value = self.flattened(node.child("value"), scope)
            scope.bindings.append(syntax.Binding(node.index, self.name(node.child("var")), value))
            node = node.child("body")
            body = [node]
        return body

    def parts(self, node: JsonNode) -> Iterator[JsonNode]:
        """The expressions that must be known before `node`."""
        for name in _PARTS.get(node.kind, ()):
            if node.attribute(name) is None:
                continue
            child = node.child(name)
            if child.kind in ("Array", "runtime.Array"):
                yield from child.items()
            else:
                yield child

    def expression(self, node: JsonNode, scope: _Scope) -> syntax.Expression:
        """One node whose parts are known."""
        at, kind = node.index, node.kind
        known = scope.known
        if kind in REFUSED:
            raise node.error(f"{REFUSED[kind]}: only straight-line networks are compiled")
        if kind == "relay.Call":
            arguments = tuple(_known(known, child) for child in node.child("args").items())
            attributes = self.attributes(node.child("attrs"))
            call = syntax.Call(at, _known(known, node.child("op")), arguments, attributes)
            return self.bound(call, scope)
        if kind == "relay.Tuple":
            items = tuple(_known(known, child) for child in node.child("fields").items())
            return self.bound(syntax.Tuple(at, items), scope)
        if kind == "relay.TupleGetItem":
            name = "tuple_value" if node.attribute("tuple_value") is not None else "tuple"
            index = node.attribute("index") or ""
            if not index.isdecimal() or len(index) > 6:
                raise node.error(f"{shorten(index, 40)!r} is no index of a tuple's field")
            return syntax.Project(at, _known(known, node.child(name)), int(index))
        if kind == "relay.Let":
            return _known(known, node.child("body"))
        return self.leaf(node)

    def leaf(self, node: JsonNode) -> syntax.Expression:
        """A node without parts."""
        at = node.index
        match node.kind:
            case "relay.Var":
                return syntax.Local(at, self.name(node))
            case "relay.Constant":
                return syntax.Constant(at, self.graph.array(node))
            case "relay.Function":
                return self.function(node)
            case "GlobalVar" | "relay.GlobalVar":
                return syntax.Global(at, node.text("name_hint"))
            case "Op" | "relay.Op":
                return syntax.Operator(at, node.string() or node.text("name"))
        raise node.error(f"a {shorten(node.kind, 60) or 'null'} stands where an expression should")

    def bound(self, value: syntax.Expression, scope: _Scope) -> syntax.Local:
        """A variable for `value`; `$` keeps it apart from those of the module."""
        name = f"${value.at}"
        scope.bindings.append(syntax.Binding(value.at, name, value))
        return syntax.Local(value.at, name)

    def type(self, node: JsonNode, depth: int = 0) -> syntax.Type:
        """A type node."""
        kind = node.kind.rpartition(".")[2]
        if kind == "TensorType":
            dtype = node.attribute("dtype") or ""
            dtype = ALIASES.get(dtype, dtype)
            if dtype not in DTYPES:
                raise node.error(f"there are no tensors of {shorten(dtype, 40)} here")
            sizes = tuple(self.size(item) for item in node.child("shape").items())
            return syntax.TensorType(sizes, dtype)
        if kind == "TupleType" and depth < 32:
            fields = tuple(self.type(item, depth + 1) for item in node.child("fields").items())
            return syntax.TupleType(fields)
        return syntax.OtherType(kind)

    def size(self, node: JsonNode) -> int | None:
        """A dimension; None where it is not a number."""
        value = node.attribute("value") or ""
        return (
            int(value) if node.kind == "IntImm" and value.isdecimal() and len(value) < 13 else None
        )

    def attributes(self, node: JsonNode) -> syntax.Attributes:
        """The attributes of a call."""
        if not node.kind:
            return syntax.NOTHING
        if node.kind in ("DictAttrs", "Map", "runtime.Map"):
            return self.dictionary(node)
        written = node.fields.get("attrs")
        names = list(written) if isinstance(written, dict) else []
        return {name: self.field(node, name) for name in names}

    def field(self, node: JsonNode, name: str) -> syntax.Attribute:
        """One field of an attributes node."""
        text = node.attribute(name) or ""
        if is_number(node.kind, name):
            return _number(node, text)
        if text.isdecimal():
            return self.value(node.child(name))
        return text

    def value(self, node: JsonNode, depth: int = 0) -> syntax.Attribute:
        """A node that stands for an attribute's value."""
        if not node.kind:
            return None
        if node.kind in STRINGS:
            return node.string()
        if node.kind in ("IntImm", "FloatImm", "Integer", "Bool"):
            return _number(node, node.attribute("value") or "")
        if node.kind == "relay.Constant":
            return self.graph.array(node)
        if node.kind in ("Array", "runtime.Array") and depth < 32:
            return tuple(self.value(item, depth + 1) for item in node.items())
        return syntax.Opaque(shorten(node.kind, 60))

    def dictionary(self, node: JsonNode) -> syntax.Attributes:
        """Attributes of a function."""
        if node.attribute("__dict__") is not None:
            node = node.child("__dict__")
        if not node.kind:
            return syntax.NOTHING
        return {name: self.value(value) for name, value in node.entries()}


def _known(known: dict[int, syntax.Expression], node: JsonNode) -> syntax.Expression:
    """What a part of an expression became."""
    if node.index not in known:
        raise node.error("this stands where an expression should")
    return known[node.index]


def _number(node: JsonNode, text: str) -> int | float:
    """A decimal field."""
    try:
        if text.lstrip("-").isdecimal():
            return int(text)
        value = float(text)
    except ValueError as error:
        raise node.error(f"{shorten(text, 40)!r} is not a number") from error
    return int(value) if isfinite(value) and value == int(value) and "." not in text else value
