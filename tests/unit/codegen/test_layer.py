"""Rendering one layer: parameters, errors that name the place, and one function per text."""

from dataclasses import replace

import pytest

from match_aie import templates
from match_aie.codegen.ctype import ctype, float_literal, int_literal
from match_aie.codegen.layer import render_layer
from match_aie.codegen.view import element_loops, parameters
from match_aie.errors import InternalError, TargetError
from match_aie.lowering import LayerProgram
from match_aie.mapping import search
from match_aie.targets.cpu import CPUModule
from match_aie.workload import Quantized, dense, elementwise, full_range

X = Quantized("int8", 0.5)
TAIL = full_range("int8", 0)


class Scratchy(CPUModule):
    """A CPU module whose layers want scratch."""

    def scratch_bytes(self, workload):
        return 8


def add(shape=(1, 1, 2, 3), shape1=(1, 1, 2, 3)):
    return elementwise("add", X, X, X, shape=shape, shape1=shape1, out=(1, 1, 2, 3), tail=TAIL)


def layer(workload=None, module=None, **changes):
    workload, module = workload or add(), module or CPUModule()
    (best,) = search(workload, module)
    made = LayerProgram(
        "net_l0", "cpu", "p", module.template(workload), workload, best.mapping, best.cost, ()
    )
    return replace(made, **changes)


def broken(monkeypatch, text, helper=""):
    """Replace the templates of additions and their helpers."""
    texts = {"cpu/broken.mako": text, "cpu/helper.mako": helper}
    source = templates.source
    monkeypatch.setattr(templates, "source", lambda name: texts.get(name) or source(name))


@pytest.fixture(autouse=True)
def fresh_templates():
    from match_aie.codegen import layer as module

    module.library.cache_clear()
    yield
    module.library.cache_clear()


def test_the_operands_that_may_share_storage_are_not_restrict():
    module = CPUModule()
    both = parameters(add(), module)
    assert both == "const int8_t *x, const int8_t *x1, int8_t *y"
    one = parameters(add(shape1=(1, 1, 1, 3)), module)
    assert one == "const int8_t *x, const int8_t *restrict x1, int8_t *y"
    none = parameters(dense(X, X, rows=1, inputs=2, outputs=2, tail=TAIL, scales=1), module)
    assert none == (
        "const int8_t *restrict x, const int8_t *restrict weight, const int32_t *restrict bias, "
        "const float *restrict scale, int8_t *restrict y"
    )


def test_scratch_comes_last():
    assert parameters(add(), Scratchy()).endswith(", uint8_t *restrict scratch")


def test_adjacent_loops_merge():
    def sizes(**shapes):
        return [loop.size for loop in element_loops(add(**shapes))]

    assert sizes() == [6]
    assert sizes(shape1=(1, 1, 1, 3)) == [2, 3]
    assert sizes(shape1=(1, 1, 2, 1)) == [2, 3]
    assert sizes(shape1=(1, 1, 1, 1)) == [6]


def test_another_modules_layer_is_refused():
    with pytest.raises(InternalError, match="module npu"):
        render_layer(replace(layer(), module="npu"), CPUModule())


def test_a_package_of_its_own_brings_templates(tmp_path, monkeypatch):
    package = tmp_path / "outside_chip"
    (package / "templates").mkdir(parents=True)
    (package / "__init__.py").write_text("")
    helper, tail = "outside_chip:templates/parts.mako", "cpu/tail.mako"
    (package / "templates" / "parts.mako").write_text('<%def name="half(x)">${x} / 2</%def>')
    (package / "templates" / "add.c.mako").write_text(
        f'<%namespace name="parts" file="{helper}"/><%namespace name="tail" file="{tail}"/>\n'
        "/* ${layer.symbol} ${parts.half('x')} */\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    text = render_layer(layer(template="outside_chip:templates/add.c.mako"), CPUModule())
    assert text == "/* net_l0 x / 2 */\n"


@pytest.mark.parametrize("name", ["no_such_chip:add.c.mako", ":add.c.mako", "os.path:add.c.mako"])
def test_a_template_of_no_package_is_refused(name):
    with pytest.raises(TargetError, match="template"):
        render_layer(layer(template=name), CPUModule())


@pytest.mark.parametrize(
    "name",
    [
        "cpu/nothing.c.mako",
        "../setup.py",
        "/etc/passwd",
        "cpu",
        "match_aie:../templates/cpu/dense.c.mako",
        "match_aie:/etc/passwd.mako",
        "match_aie:errors.py",
    ],
)
def test_a_missing_template_is_named(name):
    with pytest.raises(TargetError, match="no layer template"):
        render_layer(layer(template=name), CPUModule())


@pytest.mark.parametrize(
    ("text", "place", "what"),
    [
        ("a\nb ${nothing}", "cpu/broken.mako, line 2", "NameError"),
        ("a\n\n${layer.operand('z')}", "cpu/broken.mako, line 3", "no operand 'z'"),
        ("a\n% if True:\n", "cpu/broken.mako, line 2", "Unterminated"),
        ("${1 +}", "cpu/broken.mako, line 1", "SyntaxException"),
        (
            '<%namespace name="h" file="cpu/helper.mako"/>\n${h.bad()}',
            "cpu/helper.mako, line 2",
            "ZeroDivisionError",
        ),
    ],
)
def test_a_failing_template_names_template_line_and_layer(monkeypatch, text, place, what):
    broken(monkeypatch, text, '<%def name="bad()">\n${1 // 0}\n</%def>')
    with pytest.raises(TargetError) as caught:
        render_layer(layer(template="cpu/broken.mako"), CPUModule())
    assert place in caught.value.what
    assert what in caught.value.what
    assert "layer net_l0 (add: x int8[1,1,2,3]" in caught.value.where


def test_text_is_indented_by_braces(monkeypatch):
    broken(
        monkeypatch, "\n/* a */\n\n\nvoid f(void)\n{\n\n  if (1) {\n#define A\n x;   \n}\n  }\n\n"
    )
    text = render_layer(layer(template="cpu/broken.mako"), CPUModule())
    assert text == ("/* a */\n\nvoid f(void)\n{\n    if (1) {\n#define A\n        x;\n    }\n}\n")


def test_rendering_twice_gives_the_same_text():
    assert render_layer(layer(), CPUModule()) == render_layer(layer(), CPUModule())


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.0, "0x1p+0f"),
        (-0.0, "-0x0p+0f"),
        (1 / 3, "0x1.555556p-2f"),
        (1e-45, "0x1p-149f"),
        (2.0**127 * 1.9999999, "0x1.fffffep+127f"),
    ],
)
def test_float_literals_are_exact(value, text):
    assert float_literal(value) == text


@pytest.mark.parametrize("value", [float("inf"), float("nan"), 1e39])
@pytest.mark.filterwarnings("ignore:overflow")
def test_no_literal_for_what_is_not_finite(value):
    with pytest.raises(ValueError, match="no float32 literal"):
        float_literal(value)


def test_integer_literals():
    assert int_literal(2**31 - 1) == "2147483647"
    with pytest.raises(ValueError, match="no int32"):
        int_literal(2**31)
    with pytest.raises(ValueError, match="complex64"):
        ctype("complex64")
