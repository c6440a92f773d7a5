"""What leaves a target's methods: a typed error that names the class and the method."""

import numpy as np
import pytest

import match_aie
from match_aie.errors import TargetError
from match_aie.hardware import ChipCosts, MatchTarget
from match_aie.targets.cpu import CPU
from tests.hostile.building import model, node


class Careless(CPU, ChipCosts):
    """A target whose `fallback_cost` divides by zero."""

    def fallback_cost(self, operation):
        return 1 / 0


class Lazy(MatchTarget):
    """A target that gives its modules one by one, and fails on the way."""

    name = "Lazy"

    def modules(self):
        yield from ()
        raise KeyError("no such module")


class Typed(CPU):
    """A target that says itself what is wrong."""

    def build_profile(self):
        raise TargetError("no compiler for this chip")


def network():
    return model([node("MatMul", ["x", "w"], ["y"])], {"w": np.ones((4, 4), np.float32)})


@pytest.mark.parametrize(
    ("target", "method", "cause"),
    [(Careless, "fallback_cost", ZeroDivisionError), (Lazy, "modules", KeyError)],
)
def test_an_authors_exception_names_the_method(target, method, cause):
    with pytest.raises(TargetError) as error:
        match_aie.compile(network(), target(), cache=False)
    assert f"{target.__name__}.{method}()" in error.value.what
    assert "test_guard.py, line" in error.value.what
    assert isinstance(error.value.__cause__, cause)


def test_an_authors_own_error_stays():
    with pytest.raises(TargetError, match="no compiler for this chip"):
        match_aie.compile(network(), Typed(), cache=False).sources()


def test_cost_models_are_guarded():
    class Model:
        def cost(self, workload, mapping):
            raise IndexError("no such table")

        def kernel_cycles(self, workload, tile):
            raise IndexError("no such table")

    base = type(CPU().modules()[0])

    class Module(base):
        def cost_model(self, workload):
            return Model()

    made = object.__new__(Module)
    with pytest.raises(TargetError, match=r"Model\.kernel_cycles\(\) failed: IndexError"):
        made.cost_model(None).kernel_cycles(None, {})
