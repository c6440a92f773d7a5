"""Whole networks through the fallback alone, and what the compilers say about the C."""

import numpy as np
import onnx
import pytest
from harness import build, call, check_functions, evaluate, run
from tvm import relax
from tvm.relax import op

from match_aie.fallback import lower
from match_aie.frontend import load
from tests.needs import needs
from tests.shared import model_file
from tests.thinned import thinned

RNG = np.random.default_rng(0)
LARGEST_DIFFERENCE = 1e-4  # absolute, of any output element, from onnxruntime


def _normal(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def _everything(emit, x, w, index):
    """One graph with every kind of construct that the printer knows."""
    y = emit(op.nn.conv2d(x, w, padding=1))
    y = emit(op.nn.gelu(y))
    y = emit(op.nn.max_pool2d(y, (2, 2), (2, 2), ceil_mode=True))
    z = emit(op.nn.softmax(emit(op.reshape(y, (4, 20))), -1))
    q = emit(op.quantize(z, relax.const(0.01), relax.const(3, "uint8"), 0, "uint8"))
    picked = emit(op.take(emit(op.astype(q, "int64")), index, axis=1))
    third = emit(op.floor_divide(picked, relax.const(3, "int64")))
    best = emit(op.argmax(z, 1))
    order = emit(op.argsort(z, 1))
    shifted = emit(op.left_shift(emit(op.astype(q, "uint32")), relax.const(2, "uint32")))
    clipped = emit(op.clip(emit(op.astype(q, "int32")), 5, 60))
    chosen = emit(op.where(emit(op.greater(z, relax.const(0.05))), z, emit(op.negative(z))))
    return [z, q, third, best, order, shifted, clipped, chosen, emit(op.isnan(z)), x]


@pytest.mark.parametrize("compiler", [pytest.param(c, marks=needs(c)) for c in ("gcc", "clang")])
@pytest.mark.parametrize("level", thinned(["-O0", "-O2", "-O3"], 3, 2))
def test_no_warning_at_any_level(compiler, level):
    x, w = _normal(1, 3, 7, 9), _normal(4, 3, 3, 3)
    index = np.array([0, 19, 5], np.int64)
    results = evaluate(_everything, x, w, index, compiler=compiler, flags=(level,))
    np.testing.assert_array_equal(results[-1], x)
    np.testing.assert_allclose(results[0].sum(1), 1, rtol=1e-6)


def test_optimisation_changes_no_bit_of_sums():
    a, b = _normal(6, 40), _normal(40, 24)
    results = [
        evaluate(lambda emit, x, y: emit(op.matmul(x, y)), a, b, flags=(level,))[0]
        for level in ("-O0", "-O3")
    ]
    np.testing.assert_array_equal(results[0], results[1])


def test_tensors_without_elements():
    x, y = np.zeros((0, 4), np.float32), _normal(2, 4)
    got = evaluate(
        lambda emit, a, b: [
            emit(op.nn.relu(a)), emit(op.concat([a, b], 0)), emit(op.sum(a, [0])), a,
            emit(op.max(a, [0])), emit(op.matmul(b, emit(op.permute_dims(a)))),
        ],
        x, y, flags=("-O2",),
    )  # fmt: skip
    wanted = [x, y, np.zeros(4), x, np.full(4, -np.inf), np.zeros((2, 0))]
    for value, reference in zip(got, wanted, strict=True):
        np.testing.assert_array_equal(value, reference)


def test_large_temporaries_leave_the_stack():
    x = _normal(64, 700)
    got = evaluate(
        lambda emit, v: emit(op.nn.softmax(emit(op.permute_dims(emit(op.nn.softmax(v, 0)))), 1)), x
    )
    assert got[0].shape == (700, 64)


def test_parts_of_several_tuples_in_one_function():
    """TVM's fusion exchanged operands of such a function, in an order that hung on addresses."""
    arrays = [_normal(2, 8) for _ in range(6)]
    shifts = [np.float32([k, 1, -k, 2]) for k in range(1, 5)]

    def parts(emit, x):
        return emit(op.split(x, 2, axis=1))

    def body(emit, *values):
        split = [parts(emit, x) for x in values]
        results = []
        for _ in range(2):
            total = None
            for at, part in enumerate(split):
                first = emit(op.multiply(part[0], relax.const(shifts[at % 4])))
                term = emit(op.add(first, part[1]))
                total = term if total is None else emit(op.multiply(total, term))
            results.append(emit(op.tanh(total)) if results else total)
        return relax.Tuple(results)

    halves = [(a[:, :4], a[:, 4:]) for a in arrays]
    wanted = np.prod([a * shifts[k % 4] + b for k, (a, b) in enumerate(halves)], axis=0)
    for _ in range(8):  # addresses differ from one to the next
        got = evaluate(body, *arrays)
        np.testing.assert_allclose(got[0], wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "name", thinned(["resnet8", "bert_enc_s8", "nsnet2_step", "gru400_s6"], 4, 2)
)
def test_float_network_equals_onnxruntime(name):
    runtime = pytest.importorskip("onnxruntime")
    path = model_file(f"{name}.onnx")
    model = load(path)
    remainder = lower(model.module, prefix="net", labels=model.labels)
    library = build(remainder, flags=("-O3", "-march=native"))
    session = runtime.InferenceSession(path, providers=["CPUExecutionProvider"])
    inputs = [_normal(*port.shape) for port in model.inputs]
    names = [port.name for port in onnx.load(path).graph.input]
    wanted = session.run(None, dict(zip(names, inputs, strict=True)))
    results = call(library, remainder, inputs)
    check_functions(library, remainder, inputs, results)
    for value, reference in zip(results, wanted, strict=True):
        assert np.abs(value - reference).max() <= LARGEST_DIFFERENCE


def test_a_long_loop_does_not_multiply_the_code():
    model = load(model_file("gru400_s40.onnx"))
    remainder = lower(model.module, prefix="net", labels=model.labels)
    assert len(remainder.calls) > 40
    assert len(remainder.functions) < 20
    assert run(remainder, [_normal(40, 1, 400)])[0].shape == (40, 1, 400)
