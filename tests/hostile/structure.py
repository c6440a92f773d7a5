"""Bombs of structure: depth, length, expansion, names, edges that make no sense."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import onnx
from onnx import helper

from tests.hostile.building import BOOL, FLOAT, INT64, case, ints, model, node, value
from tests.hostile.case import Case, of_bytes


def functions(_rng: random.Random) -> Iterator[Case]:
    """Local functions that call each other."""

    def function(name: str, *nodes: onnx.NodeProto) -> onnx.FunctionProto:
        return helper.make_function(
            "own", name, ["a"], ["b"], list(nodes), [helper.make_opsetid("", 17), own]
        )

    def call(name: str, source: str, to: str) -> onnx.NodeProto:
        return node(name, [source], [to], domain="own")

    own = helper.make_opsetid("own", 1)
    for depth, width in ((30, 2), (60, 2), (8, 10), (200, 1), (3000, 1)):
        made = [function("F0", node("Neg", ["a"], ["b"]))]
        for i in range(1, depth + 1):
            calls = [
                call(f"F{i - 1}", f"t{k}" if k else "a", f"t{k + 1}" if k < width - 1 else "b")
                for k in range(width)
            ]
            made.append(function(f"F{i}", *calls))
        top = [call(f"F{depth}", "x", "y")]
        yield case(f"functions_{depth}_{width}", top, functions=made)
    itself = function("F", call("F", "a", "b"))
    yield case("function_calls_itself", [call("F", "x", "y")], functions=[itself])
    two = [function("F", call("G", "a", "b")), function("G", call("F", "a", "b"))]
    yield case("functions_call_each_other", [call("F", "x", "y")], functions=two)
    twice = [function("F", node("Neg", ["a"], ["b"])), function("F", node("Abs", ["a"], ["b"]))]
    yield case("function_twice", [call("F", "x", "y")], functions=twice)
    yield case(
        "function_many_inputs",
        [node("F", ["x"] * 1000, ["y"], domain="own")],
        functions=[twice[0]],
    )
    yield case("function_missing", [call("Nowhere", "x", "y")], functions=[twice[0]])


def chains(rng: random.Random, long: int = 5000) -> Iterator[Case]:
    """Long, legal graphs: of `long` nodes, or in a fixed proportion to it."""
    kinds: dict[str, Callable[[int], list[onnx.NodeProto]]] = {
        "relu_neg": lambda i: [node("Relu" if i % 2 else "Neg", [f"v{i}"], [f"v{i + 1}"])],
        "add": lambda i: [node("Add", [f"v{i}", "k"], [f"v{i + 1}"])],
        "add_itself": lambda i: [node("Add", [f"v{i}", f"v{i}"], [f"v{i + 1}"])],
        "identity": lambda i: [node("Identity", [f"v{i}"], [f"v{i + 1}"])],
        "softmax": lambda i: [node("Softmax", [f"v{i}"], [f"v{i + 1}"])],
        "matmul": lambda i: [node("MatMul", [f"v{i}", "m"], [f"v{i + 1}"])],
        "transpose": lambda i: [node("Transpose", [f"v{i}"], [f"v{i + 1}"])],
        "residual": lambda i: [node("Add", [f"v{i}", f"v{max(i - 1, 0)}"], [f"v{i + 1}"])],
        "to_the_first": lambda i: [node("Sub", [f"v{i}", "v0"], [f"v{i + 1}"])],
    }
    held = {"k": np.ones((1, 4), np.float32), "m": np.eye(4, dtype=np.float32)}

    def linked(link: Callable[[int], list[onnx.NodeProto]]) -> list[onnx.NodeProto]:
        middle = [made for i in range(long) for made in link(i)]
        ends = node("Identity", ["x"], ["v0"]), node("Identity", [f"v{long}"], ["y"])
        return [ends[0], *middle, ends[1]]

    for name, link in kinds.items():
        yield case(f"chain_{name}", partial(linked, link), held)
    constant = [node("Neg", ["k" if i == 0 else f"v{i}"], [f"v{i + 1}"]) for i in range(long)]
    yield case("chain_of_constants", [*constant, node("Add", ["x", f"v{long}"], ["y"])], held)
    quantised = []
    scale = {"s": np.float32(0.1), "z": np.int8(rng.randint(-5, 5))}
    for i in range(long // 2):
        quantised.append(node("QuantizeLinear", [f"v{i}", "s", "z"], [f"q{i}"]))
        quantised.append(node("DequantizeLinear", [f"q{i}", "s", "z"], [f"v{i + 1}"]))
    ends = [node("Identity", ["x"], ["v0"]), *quantised, node("Identity", [f"v{long // 2}"], ["y"])]
    yield case("chain_quantised", ends, scale)
    fan = [node("Relu", ["x"], [f"b{i}"]) for i in range(2000)]
    yield case("wide_sum", [*fan, node("Sum", [f"b{i}" for i in range(2000)], ["y"])])
    joined = node("Concat", [f"b{i}" for i in range(2000)], ["y"], axis=0)
    yield case("wide_concat", [*fan, joined])
    outputs = [value(f"b{i}", [1, 4]) for i in range(2000)]
    yield case("wide_outputs", fan, outputs=outputs)
    parts = [value("x", [5000, 2])]
    split = node("Split", ["x"], [f"b{i}" for i in range(5000)])
    yield case("wide_split", [split, node("Identity", ["b7"], ["y"])], inputs=parts)
    ports = [value(f"x{i}", [1, 4]) for i in range(1000)]
    yield case("wide_inputs", [node("Sum", [p.name for p in ports], ["y"])], inputs=ports)
    yield case(
        "a_hundred_thousand",
        lambda: [
            node("Relu", ["x" if i == 0 else f"v{i}"], [f"v{i + 1}" if i < 99_999 else "y"])
            for i in range(100_000)
        ],
    )


def recurrent(_rng: random.Random) -> Iterator[Case]:
    """Recurrent layers of very many steps, or very large."""
    gates = {"LSTM": 4, "GRU": 3, "RNN": 1}
    for op, count in gates.items():
        for steps, inner in ((100_000, 4), (2**31, 1), (2000, 4), (4, 5000)):
            held = {
                "w": np.zeros((1, count * inner, 2), np.float32),
                "r": np.zeros((1, count * inner, inner if inner < 100 else 1), np.float32),
            }
            layer = node(op, ["x", "w", "r"], ["y"], hidden_size=inner)
            port = [value("x", [steps, 1, 2])]
            yield case(f"{op.lower()}_{steps}_{inner}", [layer], held, inputs=port)
    cells = [node("Identity", ["x"], ["v0"])]
    held = {"w": np.zeros((1, 16, 4), np.float32), "r": np.zeros((1, 16, 4), np.float32)}
    for i in range(50):
        cells.append(node("LSTM", [f"v{i}", "w", "r"], [f"h{i}"], hidden_size=4))
        cells.append(node("Squeeze", [f"h{i}", "axis"], [f"v{i + 1}"]))
    held["axis"] = ints(1)
    cells.append(node("Identity", ["v50"], ["y"]))
    yield case("lstm_50_layers", cells, held, inputs=[value("x", [100, 1, 4])])


def control(_rng: random.Random) -> Iterator[Case]:
    """Subgraphs in subgraphs."""

    def branch(*nodes: onnx.NodeProto) -> onnx.GraphProto:
        return helper.make_graph(list(nodes), "branch", [], [value("r", [1, 4])])

    for depth in (5, 14):
        inner = branch(node("Relu", ["x"], ["r"]))
        for _ in range(depth):
            inner = branch(node("If", ["c"], ["r"], then_branch=inner, else_branch=inner))
        last = [node("If", ["c"], ["y"], then_branch=inner, else_branch=inner)]
        yield case(f"if_{depth}_known", last, {"c": np.array(True)})
        asked = [value("x", [1, 4]), value("c", [], BOOL)]
        yield case(f"if_{depth}_asked", last, inputs=asked)
    straight = branch(node("Relu", ["x"], ["r"]))
    other = branch(node("Neg", ["x"], ["r"]))
    for _ in range(30):
        straight = branch(node("If", ["c"], ["r"], then_branch=straight, else_branch=other))
    top = node("If", ["c"], ["y"], then_branch=straight, else_branch=other)
    yield case("if_straight", [top], {"c": np.array(True)})
    for trips in (0, 1, 2**62, -1):
        body = helper.make_graph(
            [node("Neg", ["v"], ["w"]), node("Identity", ["c"], ["d"])],
            "body",
            [value("i", [], INT64), value("c", [], BOOL), value("v", [1, 4])],
            [value("d", [], BOOL), value("w", [1, 4])],
        )
        loop = node("Loop", ["n", "t", "x"], ["y"], body=body)
        yield case(f"loop_{trips}", [loop], {"n": ints(trips), "t": np.array(True)})
    nested = helper.make_graph(
        [node("Neg", ["v"], ["w"])], "body", [value("v", [4])], [value("w", [4])]
    )
    for _ in range(20):
        scan = node("Scan", ["v"], ["w"], body=nested, num_scan_inputs=1)
        nested = helper.make_graph([scan], "body", [value("v", [4])], [value("w", [4])])
    yield case("scan_nested", [node("Scan", ["x"], ["y"], body=nested, num_scan_inputs=1)])


def edges(rng: random.Random) -> Iterator[Case]:
    """Graphs that are none."""
    relu = node("Relu", ["x"], ["y"])
    yield case(
        "cycle",
        [node("Add", ["x", "b"], ["a"]), node("Neg", ["a"], ["b"]), node("Neg", ["b"], ["y"])],
    )
    yield case("own_input", [node("Add", ["x", "y"], ["y"])])
    yield case("backwards", [node("Neg", ["a"], ["y"]), node("Neg", ["x"], ["a"])])
    yield case("written_twice", [relu, node("Neg", ["x"], ["y"])])
    yield case("missing_value", [node("Add", ["x", "nowhere"], ["y"])])
    yield case("missing_output", [node("Neg", ["x"], ["a"])])
    yield case("empty_graph", [], inputs=[], outputs=[])
    yield case("no_nodes", [])
    yield case("no_inputs", [node("Identity", ["k"], ["y"])], {"k": ints(1)}, inputs=[])
    yield case("no_outputs", [relu], outputs=[])
    yield case("output_is_input", [relu], outputs=[value("x", [1, 4])])
    yield case("output_is_constant", [relu], {"k": ints(1)}, outputs=[value("k", [1], INT64)])
    yield case("output_twice", [relu], outputs=[value("y", [1, 4])] * 2)
    yield case("input_twice", [relu], inputs=[value("x", [1, 4])] * 2)
    yield case("inputs_no_type", [relu], inputs=[onnx.ValueInfoProto(name="x")])
    yield case("stored_twice", [node("Add", ["x", "k"], ["y"])])
    doubled = model([node("Add", ["x", "k"], ["y"])], {"k": np.ones(4, np.float32)})
    doubled.graph.initializer.append(doubled.graph.initializer[0])
    yield of_bytes("initialiser_twice", doubled.SerializeToString())
    yield case("no_operator", [node("", ["x"], ["y"])])
    yield case("unknown_operator", [node("Frobnicate", ["x"], ["y"])])
    yield case("unknown_domain", [node("Relu", ["x"], ["y"], domain="org.nowhere")])
    yield case("too_many_inputs", [node("Relu", ["x"] * 50_000, ["y"])])
    yield case("too_many_outputs", [node("Relu", ["x"], ["y", *map(str, range(9000))])])
    yield case("no_inputs_at_all", [node("Conv", [], ["y"])])
    for op in ("Add", "Conv", "LSTM", "Gemm", "Resize", "QLinearConv", "Concat", "Where", "Clip"):
        yield case(f"absent_{op}", [node(op, ["x", "", ""], ["y"])])
    for version in (0, 1, 6, 9999, -1, 2**62):
        yield case(f"opset_{version}", [relu], opset=version)
    bare = model([relu])
    del bare.opset_import[:]
    yield of_bytes("opset_none", bare.SerializeToString())
    bare.opset_import.extend([helper.make_opsetid("", v) for v in (13, 17, 9)])
    yield of_bytes("opset_three", bare.SerializeToString())
    for version in (0, 9999, 2**62):
        old = model([relu])
        old.ir_version = version
        yield of_bytes(f"ir_{version}", old.SerializeToString())
    yield from _kinds(rng)


def _kinds(_rng: random.Random) -> Iterator[Case]:
    """Values that are no tensors, or tensors of odd types."""
    relu = [node("Relu", ["x"], ["y"])]
    for kind in (0, 8, 14, 17, 20, 23):
        yield case(f"input_type_{kind}", relu, inputs=[value("x", [4], kind)])
    for kind in (99, -1, 2**31 - 1):
        odd = onnx.ValueInfoProto(name="x")
        odd.type.tensor_type.elem_type = kind
        odd.type.tensor_type.shape.dim.add().dim_value = 4
        yield case(f"input_type_{kind}", relu, inputs=[odd])
    sequence = helper.make_tensor_sequence_value_info("x", FLOAT, [4])
    yield case("input_sequence", relu, inputs=[sequence])
    parts = [node("SplitToSequence", ["x"], ["s"]), node("SequenceAt", ["s", "i"], ["y"])]
    yield case("sequence", parts, {"i": ints(2**62)})
    sparse = model([node("Add", ["x", "w"], ["y"])])
    stored = sparse.graph.sparse_initializer.add()
    stored.values.name, stored.values.data_type = "w", FLOAT
    stored.values.dims.append(1)
    stored.values.raw_data = bytes(4)
    stored.indices.data_type, stored.indices.raw_data = INT64, bytes(8)
    stored.indices.dims.append(1)
    stored.dims.append(2**40)
    yield of_bytes("sparse_2_40", sparse.SerializeToString())


def names(_rng: random.Random) -> Iterator[Case]:
    """Names that are no names."""
    for label, name in {
        "empty": "",
        "slash": "../../../etc/passwd",
        "newline": "a\nb\r\x1b[31m",
        "nul": "a\x00b",
        "comment": "*/ int x; /*",
        "long": "n" * (1 << 20),
        "percent": "%s%n{}${x}",
        "unicode": "\u202eabc\U0001f4a3",
    }.items():
        port = value(name, [1, 4])
        yield case(f"name_input_{label}", [node("Relu", [name], ["y"])], inputs=[port])
        yield case(f"name_node_{label}", [node("Relu", ["x"], ["y"], name=name)])
        renamed = [node("Relu", ["x"], [name])]
        yield case(f"name_output_{label}", renamed, outputs=[value(name, [1, 4])])
    sound = model([node("Relu", ["x"], ["marked"]), node("Neg", ["marked"], ["y"], name="marked")])
    data = sound.SerializeToString().replace(b"marked", b"\xff\xfe\x80\xc3\x28\xa0")
    yield of_bytes("name_not_utf8", data)
    listed = model([node("Relu", ["x"], ["y"], name=f"n{i}") for i in range(1)])
    listed.graph.node[0].doc_string = "d" * (1 << 24)
    listed.metadata_props.extend(
        onnx.StringStringEntryProto(key=f"k{i}", value="v" * 100) for i in range(20_000)
    )
    yield of_bytes("much_text", listed.SerializeToString())
