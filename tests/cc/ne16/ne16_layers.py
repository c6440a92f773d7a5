"""Layers and tiles of NE16 that hypothesis draws."""

from hypothesis import strategies as st

from match_aie.targets.gap9.ne16.job import Mode, Ne16Layer, Ne16Tile


@st.composite
def layers(draw):
    mode = draw(st.sampled_from(list(Mode)))
    scale_bits = draw(st.sampled_from([0, 8, 16, 32]))
    zero = draw(st.none() | st.integers(0, 255))
    return Ne16Layer(
        mode,
        draw(st.sampled_from([1, 2])),
        draw(st.integers(2, 8)),
        4 if scale_bits == 0 else draw(st.sampled_from([1, 1, 4])),
        scale_bits,
        True,
        draw(st.integers(0, 31)),
        draw(st.booleans()),
        zero,
    )


@st.composite
def tiles(draw, layer):
    rows, columns = draw(st.integers(1, 9)), draw(st.integers(1, 9))
    outputs = draw(st.sampled_from([2, 10, 16, 32, 34, 48]))
    inputs = outputs if layer.mode is Mode.DEPTHWISE else draw(st.integers(1, 40))
    pad = 1 if layer.filter == 3 else 0
    top, left, bottom, right = (draw(st.integers(0, pad)) for _ in range(4))
    in_rows = (rows - 1) * layer.stride + layer.filter - top - bottom
    in_columns = (columns - 1) * layer.stride + layer.filter - left - right
    # Sometimes there is more input than the output needs, as strides leave.
    in_rows, in_columns = max(1, in_rows), max(1, in_columns)
    extra = draw(st.integers(0, 1)) if not (bottom or right) else 0
    return Ne16Tile(rows, columns, outputs, in_rows + extra, in_columns + extra, inputs, top, left)
