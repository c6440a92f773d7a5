"""Transposed convolutions, or convolutions: the cheapest form of a network is what is compiled."""

from types import SimpleNamespace

import pytest

import match_aie as match
from match_aie.errors import OptionError
from match_aie.forms import TRANSPOSED, cheapest
from match_aie.options import CompileOptions
from match_aie.targets.xdna import XDNA
from tests.transposed import upsampling


def decision(cycles, placed=("a",), energy=None):
    """Transposed convolutions a and b, those of `placed` in a module."""
    nodes = [SimpleNamespace(operator=TRANSPOSED, label=n, output=f"{n}1") for n in "ab"]
    return SimpleNamespace(
        assignment=SimpleNamespace(
            placed={f"{name}1": "array" for name in placed},
            pricing=SimpleNamespace(graph=SimpleNamespace(nodes=nodes)),
            cost=SimpleNamespace(total=cycles),
            energy=None if energy is None else SimpleNamespace(total=energy),
        )
    )


@pytest.mark.parametrize("best", [False, True, frozenset({"b"})])
def test_three_forms_are_compared(best):
    """As they are, all as convolutions, and those alone that no module takes."""
    forms = {form: decision(1 if form == best else 2) for form in (False, True, frozenset({"b"}))}
    assert cheapest(forms.__getitem__, CompileOptions(None, {})) is forms[best]


def test_energy_is_compared_where_it_is_what_is_wanted():
    forms = {False: decision(1, "ab", energy=5), True: decision(2, "ab", energy=3)}
    asked = CompileOptions(None, {}, objective="energy")
    assert cheapest(forms.__getitem__, asked) is forms[True]


def test_without_prices_nothing_is_compared():
    forms = {False: decision(2)}
    asked = CompileOptions(None, {}, selection="match")
    assert cheapest(forms.__getitem__, asked) is forms[False]


def test_a_form_without_what_is_pinned_is_none():
    def decided(form):
        if form is True:
            raise OptionError("pinned")
        return forms[form]

    forms = {False: decision(2), frozenset({"b"}): decision(3)}
    assert cheapest(decided, CompileOptions(None, {})) is forms[False]


def test_what_only_a_convolution_can_be_pinned_to():
    """The first refusal counts where no form keeps the pins."""
    forms = {True: decision(3)}

    def decided(form):
        if form not in forms:
            raise OptionError(f"pinned, {form}")
        return forms[form]

    assert cheapest(decided, CompileOptions(None, {})) is forms[True]
    forms.clear()
    with pytest.raises(OptionError, match="pinned, False"):
        cheapest(decided, CompileOptions(None, {}))


def test_what_is_cheaper_elsewhere_is_a_convolution_of_the_processor():
    """The fallback computed it, in a loop of scalars."""
    net = match.compile(upsampling(), target=XDNA(columns_per_layer=1))
    layers = [layer.workload.kind for layer in net.program.schedule.layers]
    assert layers.count("conv2d") == 3
    assert "conv2d_transpose" not in layers
