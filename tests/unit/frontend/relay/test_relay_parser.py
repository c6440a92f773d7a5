"""Relay text to syntax: what is read, and where errors point."""

import re

import numpy as np
import pytest
from relay_samples import REAL, metadata

from match_aie.errors import ModelError
from match_aie.frontend.relay import read, syntax
from match_aie.frontend.relay.attributes import literal
from match_aie.frontend.relay.cursor import Cursor
from match_aie.frontend.relay.lexer import tokenize
from match_aie.frontend.relay.source import Source


def parse(text: str) -> syntax.Module:
    return read(text)[1]


def body(text: str) -> syntax.Block:
    return (
        parse(f"def @main(%x: Tensor[(2, 2), float32], %y: int32) {{\n{text}\n}}")
        .functions["main"]
        .body
    )


def scalar(text: str) -> np.ndarray:
    source = Source(text)
    value = literal(Cursor(source, tokenize(source)))
    assert value is not None
    return value


def test_what_real_files_hold():
    main = parse(REAL).functions["main"]
    assert [p.name for p in main.parameters] == [
        "data",
        "onnx::Conv_0",
        "input.1",
        "conv1/weights:0",
    ]
    assert main.parameters[0].type == syntax.TensorType((1, 4, 6, 6), "int8")
    assert main.parameters[2].type is None
    assert main.attributes["hash"] == "ab/*not a comment*/"
    assert main.attributes["executor"].kind == "Executor"
    assert [b.name for b in main.body.bindings] == ["0", "1", "5", "x", "x_1"]
    conv = main.body.bindings[0].value
    assert conv.attributes == {
        "padding": (0, 0, 0, 0),
        "channels": 8,
        "kernel_size": (3, 3),
        "out_dtype": "int32",
    }
    inner = main.body.bindings[1].value
    assert inner.attributes["Composite"] == "match.requant"
    assert len(inner.body.bindings) == 3
    result = main.body.result
    assert isinstance(result, syntax.Tuple)
    assert isinstance(result.items[1], syntax.Project)


@pytest.mark.parametrize(
    ("text", "value", "dtype"),
    [
        ("1", 1, "int32"),
        ("-7", -7, "int32"),
        ("2i64", 2, "int64"),
        ("-1i8", -1, "int8"),
        ("3i16", 3, "int16"),
        ("255u8", 255, "uint8"),
        ("9u32", 9, "uint32"),
        ("1f", 1, "float32"),
        ("0.5f", 0.5, "float32"),
        ("1e-05f", np.float32(1e-5), "float32"),
        ("2.5", 2.5, "float32"),
        ("1.5f64", 1.5, "float64"),
        ("2f16", 2, "float16"),
        ("2h", 2, "float16"),
        ("True", True, "bool"),
        ("False", False, "bool"),
        ("-inff", -np.inf, "float32"),
        ("1f32", 1, "float32"),
        ("3.40282e+38f", np.float32(3.40282e38), "float32"),
    ],
)
def test_literals(text, value, dtype):
    found = scalar(text)
    assert found.dtype == dtype
    assert found == value


def test_a_projection_is_told_from_a_name_with_points():
    block = body(
        "%0 = split(%x, indices_or_sections=2);\n%x.1 = (%0, (%x, %x));\n(%0.1, %x.1.1.0, %x.1)"
    )
    first, second, third = block.result.items
    assert (first.source.name, first.index) == ("0", 1)
    assert (second.index, second.source.index, second.source.source.name) == (0, 1, "x.1")
    assert third.name == "x.1"


def test_infix_operators_bind_as_usual():
    call = body("%x + %x * %x < -%x").result
    assert call.function.name == "less"
    assert [a.function.name for a in call.arguments] == ["add", "negative"]
    assert call.arguments[0].arguments[1].function.name == "multiply"
    minus = body("%x - %x - 1f").result
    assert minus.arguments[0].function.name == "subtract"


def test_a_function_or_an_expression_alone_is_main():
    function = parse('#[version = "0.0.5"]\nfn (%x: float32) { %x }').functions["main"]
    assert [p.name for p in function.parameters] == ["x"]
    free = parse("free_var %a: Tensor[(3), int8];\nfree_var %b: Tensor[(3), int8];\nadd(%a, %b)\n")
    assert [p.name for p in free.functions["main"].parameters] == ["a", "b"]
    old = parse("v0.0.4\ndef @main(%x: Tensor[(1), float32]) -> Tensor[(1), float32] {\n  %x\n}\n")
    assert list(old.functions) == ["main"]


def test_types():
    kinds = "%a: (Tensor[(), bool], int8), %b: fn (int8, (int8,)) -> int8, "
    kinds += "%c: Tensor[(?, Any, 3), uint1]"
    a, b, c = parse(f"def @main({kinds}) {{ %a }}").functions["main"].parameters
    assert a.type.fields == (syntax.TensorType((), "bool"), syntax.TensorType((), "int8"))
    assert isinstance(b.type, syntax.OtherType)
    assert c.type == syntax.TensorType((None, None, 3), "bool")


def test_the_metadata_section():
    value = np.arange(6, dtype=np.int8).reshape(2, 3)
    text = "def @main() {\n  meta[relay.Constant][1]\n}\n\n"
    module = parse(text + metadata(np.float32(2.5), value))
    assert module.constants["relay.Constant", 0] == np.float32(2.5)
    assert np.array_equal(module.constants["relay.Constant", 1], value)
    with pytest.raises(ModelError, match="JSON") as caught:
        parse(text + "#[metadata]\n{ broken")
    assert "line 5" in caught.value.where


@pytest.mark.parametrize(
    ("text", "what", "where"),
    [
        (
            "def @main(%x: Tensor[(2), float32]) {\n  %0 = add(%x, %z);\n  %0\n}",
            "variable %z is not defined",
            "line 2, column 16",
        ),
        (
            "def @main(%x: Tensor[(2), float32]) {\n  add(%x %x)\n}",
            "expected ')', found '%x'",
            "line 2, column 10",
        ),
        ("def @main(%x: Tensor[(2, float32]) {\n  %x\n}", "expected ')'", "line 1, column 33"),
        (
            "def @main(%x: Tensor[(2), float99]) {\n  %x\n}",
            "no tensors of float99",
            "line 1, column 27",
        ),
        (
            "def @main(%x: Tensor[(2), float32]) {\n  nn.relu\n}",
            "expected '(' behind operator nn.relu",
            "line 3, column 1",
        ),
        ("def @main() {\n  /* open /* */\n}", "not closed: expected */", "line 2, column 3"),
        ('def @main() {\n  foo(a="x)\n}', "a string is not closed", "line 2, column 9"),
        ("def @main() {\n  $\n}", "starts nothing", "line 2, column 3"),
        ("def @main() {\n  %0 = 300i8;\n  %0\n}", "does not fit int8", "line 2, column 8"),
        ("def @main() {\n  1\n", "expected '}', found the end", "line 3, column 1"),
        ("def @main() {\n  1\n}\nfoo", "expected def", "line 4, column 1"),
        ("def main() {\n  1\n}", "a function's name", "line 1, column 5"),
        ("\n", "expected def @main", "line 2, column 1"),
        ("def @main(%x: int8, %x: int8) {\n %x\n}", "share a name", "line 1"),
        ("def @main() {\n  foo(1, a=1, a=2)\n}", "given twice", "line 2, column 15"),
        ("def @main() {\n  foo(1, a=)\n}", "an attribute's value", "line 2, column 12"),
    ],
)
def test_errors_say_where_and_what_was_expected(text, what, where):
    with pytest.raises(ModelError, match=re.escape(what)) as caught:
        parse(text)
    assert where in caught.value.where


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("def @main(%x: bool) {\n  if (%x) { 1 } else { 2 }\n}", "control flow"),
        ("def @main(%x: int8) {\n  match (%x) { Nil => 1 }\n}", "algebraic data types"),
        ("type List[A] { Cons(A, List[A]), Nil }\ndef @main() { 1 }", "algebraic data types"),
        ("def @main() { 1 }\ntype List[A] { Nil }", "algebraic data types"),
        ("def @main(%x: List[int8]) { 1 }", "algebraic data type"),
        ("def @main() {\n  let %r = ref(1);\n  ref_read(%r)\n}", "mutable references"),
        ('import "prelude.rly"\ndef @main() { 1 }', "imports"),
        ("extern type Opaque\n", "algebraic data types"),
    ],
)
def test_what_is_no_straight_line_is_refused_by_name(text, what):
    with pytest.raises(ModelError, match=what) as caught:
        parse(text)
    assert "line" in caught.value.where


@pytest.mark.parametrize(
    "text",
    [
        "(" * 5000,
        "-" * 5000 + "1",
        "f(" * 5000,
        "%0 = (" * 5000,
        "fn () { " * 3000,
        "f(a=" + "[" * 5000,
        "{" * 5000,
        "let %x = " * 4000,
    ],
)
def test_deep_nesting_is_an_error_not_a_crash(text):
    with pytest.raises(ModelError, match=r"nested|expected|not defined"):
        parse("def @main() {\n" + text)
    with pytest.raises(ModelError):
        parse("def @main(%x: " + "(" * 5000 + ") {}")
