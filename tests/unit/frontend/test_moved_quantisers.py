"""Operators that only move elements go behind quantize and before dequantize, exactly."""

import numpy as np
import pytest
from onnx import TensorProto, helper

from match_aie.frontend import load, normalize
from tests.unit.frontend.test_normalize import dq, model_of, operators, parameters, q, run

runtime = pytest.importorskip("onnxruntime")

MOVES = {"reshape", "permute_dims", "squeeze", "expand_dims", "flatten"}


def moves(rng, shape, count, known):
    """(nodes from "r0" on, shapes of their results) of random operators that only move."""
    nodes, shapes = [], [shape]
    for at in range(count):
        names, old = (f"r{at}", f"r{at + 1}"), shapes[-1]
        kind = rng.choice(["Reshape", "Transpose", "Squeeze", "Unsqueeze", "Flatten"])
        inputs, options = [names[0]], {}
        if kind == "Transpose":
            order = rng.permutation(len(old)).tolist()
            options, new = {"perm": order}, tuple(old[axis] for axis in order)
        elif kind == "Flatten":
            axis = int(rng.integers(len(old) + 1))
            options = {"axis": axis}
            new = (int(np.prod(old[:axis])), int(np.prod(old[axis:])))
        else:
            ones = [axis for axis, size in enumerate(old) if size == 1]
            if kind == "Squeeze" and ones and len(old) > 1:
                value, new = [ones[0]], old[: ones[0]] + old[ones[0] + 1 :]
            elif kind == "Unsqueeze" and len(old) < 5:
                value = [int(rng.integers(len(old) + 1))]
                new = (*old[: value[0]], 1, *old[value[0] :])
            else:
                kind, new = "Reshape", (old[-1], int(np.prod(old[:-1])))
                value = list(new)
            known[f"v{at}"] = np.array(value, np.int64)
            inputs.append(f"v{at}")
        nodes.append(helper.make_node(kind, inputs, [names[1]], **options))
        shapes.append(new)
    return nodes, shapes


def network(seed):
    """Moves before and behind a function of elements, between quantisations of other steps."""
    rng = np.random.default_rng(seed)
    shape = tuple(int(size) for size in rng.integers(1, 5, rng.integers(1, 5)))
    known = parameters("x", 0.02, 5) | parameters("i", 0.013, -7)
    nodes, shapes = moves(rng, shape, 4, known)
    cut = int(rng.integers(5))
    if cut < len(nodes):
        nodes[cut].input[0] = "e"
    last = "r4" if cut < len(nodes) else "e"
    every = [dq("x", "r0"), *nodes[:cut], helper.make_node("Sigmoid", [f"r{cut}"], ["e"])]
    every += [*nodes[cut:], q(last, "i"), helper.make_node("Identity", ["i"], ["y"])]
    ports = [("x", TensorProto.INT8, shape)], [("y", TensorProto.INT8, len(shapes[-1]))]
    return model_of(every, *ports, known), rng.integers(-128, 128, shape).astype(np.int8)


@pytest.mark.parametrize("seed", range(12))
def test_floats_meet_their_quantisers_and_mean_the_same(seed) -> None:
    model, x = network(seed)
    normalised = normalize(load(model))
    order = [name for name in operators(normalised) if name not in MOVES]
    assert order == ["dequantize", "sigmoid", "quantize"]
    found = operators(normalised)
    at = found.index("dequantize")
    assert found[at : at + 3] == order
    (got,) = run(normalised, x)
    session = runtime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    (want,) = session.run(None, {"x": x})
    assert got.shape == want.shape
    # The two libraries' sigmoids may differ by a rounding of float32.
    assert np.abs(got.astype(int) - want).max() <= 1


@pytest.mark.parametrize(
    ("shape", "index"), [((5, 1, 3), [4, 2, 2, -5]), ((4, 3), 2), ((6,), 1), ((6,), [-1, 0])]
)
def test_elements_that_are_taken_are_integers(shape, index) -> None:
    known = parameters("x", 0.02, 5) | {"at": np.array(index, np.int64)}
    nodes = [dq("x", "r"), helper.make_node("Gather", ["r", "at"], ["t"], axis=0)]
    nodes.append(helper.make_node("Exp", ["t"], ["y"]))
    rank = np.ones(shape)[index].ndim
    ports = [("x", TensorProto.INT8, shape)], [("y", TensorProto.FLOAT, rank)]
    model = model_of(nodes, *ports, known)
    x = np.random.default_rng(0).integers(-128, 128, shape).astype(np.int8)
    for unsigned in (False, True):
        normalised = normalize(load(model), unsigned=unsigned)
        assert operators(normalised)[-3:] == ["take", "dequantize", "exp"]
        (got,) = run(normalised, x)
        want = np.exp((x[index].astype(np.float32) - 5) * np.float32(0.02))
        assert got.shape == want.shape
        np.testing.assert_allclose(got, want, rtol=1e-6)


def test_gelu_between_reshapes_stays_on_the_array() -> None:
    import match_aie as match
    from match_aie.targets.versal import VersalAIEML

    known = parameters("x", 0.03, 5) | parameters("y", 0.02, -110)
    known |= {"s": np.array([1, 24, 32], np.int64), "t": np.array([24, 32], np.int64)}
    nodes = [
        dq("x", "a"),
        helper.make_node("Reshape", ["a", "s"], ["b"]),
        helper.make_node("Gelu", ["b"], ["c"]),
        helper.make_node("Reshape", ["c", "t"], ["d"]),
        q("d", "y"),
    ]
    ports = [("x", TensorProto.INT8, (24, 32))], [("y", TensorProto.INT8, 2)]
    model = model_of(nodes, *ports, known)
    model.opset_import[0].version = 20
    net = match.compile(model, VersalAIEML(columns_per_layer=1))
    assert [(layer.module, layer.workload.kind) for layer in net.program.schedule.layers] == [
        ("array", "table")
    ]
