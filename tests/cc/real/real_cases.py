"""Random float32 workloads: prime extents, 1, and one off multiples of vectors and tiles."""

from hypothesis import strategies as st

from match_aie.workload import (
    CODES,
    RealTail,
    Window,
    attention,
    function,
    layer_norm,
    narrow,
    real_conv2d,
    real_dense,
    real_matmul,
    real_pair,
    real_pool2d,
    real_softmax,
    recurrent,
    rms_norm,
)

EXTENTS = st.sampled_from([1, 2, 3, 5, 7, 8, 9, 13, 15, 16, 17, 23, 24, 25, 31, 33, 47, 49])
FLAGS = st.booleans()
#: Axes of what is added to scores: causal, of words that count, of relative positions.
MASKS = [("OY", "OX"), ("B", "OX"), ("G", "OY", "OX"), ("B", "G", "OY", "OX"), ("OX",)]
TAILS = st.one_of(
    st.builds(
        RealTail,
        st.sampled_from(["identity", "relu", "gelu", "gelu_tanh", "silu", "tanh", "sigmoid"]),
    ),
    st.just(RealTail("clip", 1.0, -0.5, 1.5)),
)


@st.composite
def denses(draw):
    turned = draw(st.sampled_from([("B", "C"), ("C", "B")]))
    stored = draw(st.sampled_from([("B", "K"), ("K", "B")]))
    return real_dense(
        rows=draw(EXTENTS),
        inputs=draw(EXTENTS),
        outputs=draw(EXTENTS),
        bias=draw(FLAGS),
        residual=draw(FLAGS),
        tail=draw(TAILS),
        x_axes=turned,
        y_axes=stored,
    )


@st.composite
def matmuls(draw):
    sizes = {"OY": draw(EXTENTS), "C": draw(EXTENTS), "K": draw(EXTENTS)}
    sizes = {"B": draw(st.integers(1, 2)), "G": draw(st.integers(1, 3)), **sizes}
    x = draw(st.sampled_from([("B", "G", "OY", "C"), ("B", "OY", "G", "C"), ("B", "G", "C", "OY")]))
    x1 = draw(st.sampled_from([("B", "G", "C", "K"), ("B", "K", "G", "C"), ("B", "C", "G", "K")]))
    y = draw(st.sampled_from([("B", "G", "OY", "K"), ("B", "OY", "G", "K")]))
    tail = RealTail(factor=draw(st.sampled_from([1.0, 0.125])))
    return real_matmul(sizes, x, x1, y, tail, draw(st.sampled_from([(), ("x",), ("x1",)])))


@st.composite
def conv2ds(draw):
    groups = draw(st.sampled_from([1, 1, 2, 17]))
    c, k = draw(st.integers(1, 5)), draw(st.sampled_from([1, 3, 8, 17]))
    if groups == 17:
        c, k = 1, draw(st.sampled_from([1, 1, 2]))
    fy, fx = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    pads = draw(st.tuples(*[st.integers(0, 2)] * 4))
    window = Window(
        (draw(st.integers(1, 2)), draw(st.integers(1, 2))),
        (draw(st.integers(1, 2)), draw(st.integers(1, 2))),
        pads,
    )
    return real_conv2d(
        shape=(
            draw(st.integers(1, 2)),
            draw(st.integers(5, 9)),
            draw(st.integers(5, 9)),
            groups * c,
        ),
        weight_shape=(groups * k, fy, fx, c),
        groups=groups,
        window=window,
        bias=draw(FLAGS),
        residual=draw(FLAGS),
        tail=draw(TAILS),
    )


@st.composite
def pools(draw):
    filter_shape = (draw(st.integers(1, 3)), draw(st.integers(1, 3)))
    sides = [draw(st.integers(0, size - 1)) for size in filter_shape * 2]
    window = Window(
        (draw(st.integers(1, 3)), draw(st.integers(1, 2))),
        (1, draw(st.integers(1, 2))),
        tuple(sides),
        draw(FLAGS),
    )
    extents = (draw(st.integers(1, 2)), draw(st.integers(5, 9)), draw(st.integers(5, 9)))
    whole = draw(FLAGS) and draw(FLAGS)
    return real_pool2d(
        draw(st.sampled_from(["avg_pool2d", "max_pool2d"])),
        shape=(*extents, draw(EXTENTS)),
        filter_shape=extents[1:] if whole else filter_shape,
        window=Window() if whole else window,
    )


def rows():
    columns = st.one_of(EXTENTS, st.sampled_from([64, 65, 131, 197]))  # four sums, and behind them
    return st.one_of(
        st.builds(real_softmax, rows=st.integers(1, 3), columns=columns),
        st.builds(layer_norm, rows=st.integers(1, 3), columns=columns, epsilon=st.just(1e-5)),
        st.builds(rms_norm, rows=st.integers(1, 3), columns=columns, epsilon=st.just(1e-5)),
    )


def elements():
    """Functions of single elements, sums and products of two tensors."""
    names = st.sampled_from(["gelu", "gelu_tanh", "silu", "tanh", "sigmoid"])
    return st.one_of(
        st.builds(function, names, elements=st.integers(1, 300)),
        sums(),
        st.builds(real_pair, st.just("mul"), elements=st.integers(1, 300)),
    )


def sums():
    return st.builds(
        real_pair, st.just("add"), elements=st.integers(1, 300), tail=TAILS.filter(_bounds)
    )


def _bounds(tail):
    return tail.activation in ("identity", "relu", "clip")


@st.composite
def attentions(draw):
    return attention(
        batch=draw(st.integers(1, 2)),
        heads=draw(st.integers(1, 3)),
        queries=draw(EXTENTS),
        keys=draw(EXTENTS),
        size=draw(EXTENTS),
        value_size=draw(EXTENTS),
        factor=draw(st.sampled_from([1.0, 0.25])),
        mask=draw(st.sampled_from([None, *MASKS])),
        known=draw(FLAGS),
    )


@st.composite
def recurrents(draw):
    kind = draw(st.sampled_from(["gru", "lstm"]))
    return recurrent(
        kind,
        steps=draw(st.sampled_from([1, 2, 3, 50])),
        batch=draw(st.integers(1, 3)),
        inputs=draw(EXTENTS),
        hidden=draw(EXTENTS),
        initial=draw(FLAGS),
        cell=kind == "lstm" and draw(FLAGS),
        known=draw(st.sampled_from([(), ("x1",), ("x1", "x2")])),
        last_cell=kind == "lstm" and draw(FLAGS),
        cell_clip=draw(st.sampled_from([0.0, 0.4])) if kind == "lstm" else 0.0,
        state_codes=draw(st.sampled_from(CODES)) if kind == "lstm" else "",
        linear_before_reset=draw(FLAGS),
    )


@st.composite
def byte_lstms(draw):
    """LSTMs of one sequence whose products are of 8 bits."""
    return recurrent(
        "lstm",
        steps=draw(st.sampled_from([1, 2, 3, 50])),
        batch=1,
        inputs=draw(st.integers(8, 41)),
        hidden=draw(st.integers(8, 41)),
        initial=draw(FLAGS),
        cell=draw(FLAGS),
        known=draw(st.sampled_from([(), ("x1",), ("x1", "x2")])),
        last_cell=draw(FLAGS),
        cell_clip=draw(st.sampled_from([0.0, 0.4])),
        state_codes="uint8",
        input_codes="uint8",
        integer_rows=True,
    )


KINDS = {
    "dense": denses(),
    "matmul": matmuls(),
    "conv2d": conv2ds(),
    "pools": pools(),
    "rows": rows(),
    "elements": elements(),
    "narrow": st.one_of(rows(), elements()).map(narrow),
    "attention": attentions(),
    "recurrent": recurrents(),
    "bytes": byte_lstms(),
}
#: Loop dimensions that a product may be blocked along.
BLOCKED = {"dense": ("B", "K", "C"), "matmul": ("OY", "K", "C")}
