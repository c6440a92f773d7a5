## Convolution in float32: output pixels of a line as rows, channels as columns, the window as the
## reduction. Register tiles read the image as it lies; where windows reach over its edges, it is
## copied into a frame of zeros first.
<%namespace name="micro" file="cpu/float/micro.mako"/>
<%namespace name="cores" file="cpu/cores.mako"/>
<%
k = layer.kernel
p = k.product
d = layer.dim
w = layer.window
channels, outputs = d.G * d.C, d.G * d.K
tile = f"{layer.symbol}_tile"
blocked = k.block < d.K
part = ("n_begin", "n_end") if blocked else ()
lines = k.framed and k.split is not None and k.split.dim == "OY"
def more(m, n):
    bias = f", bias + g * {k.bias_group} + {n}" if p.ending.bias else ""
    residual = f", residual + at + {m} * {outputs} + {n}" if p.ending.residual else ""
    begin = k.over("OY", d.OY)[0]
    tile = f"((oy - {begin}) / {k.lines} * {k.tiles} + {m} / {p.tile.mr})"
    later = f"({n} + {k.block} < {d.K} ? {n} + {k.block} : {n})"
    fetch = f", panels + {later} * {p.inner} + {tile} * {k.share(d.OY)}" if k.fetch else ""
    return bias + residual + fetch + (", from, to" if k.skips else "")
%>
_Static_assert(MA_LANES == ${p.tile.lanes}, "weights are packed for vectors of ${p.tile.lanes} elements");
${micro.tiles(tile, p, k.nest, k.fetch, k.skips)}

${cores.open(layer, k.split, k.part_bytes)}
% if k.framed:
    float *const image = (float *)(void *)scratch;
% endif
    for (int32_t b = ${k.over("B", d.B)[0]}; b < ${k.over("B", d.B)[1]}; ++b) {
% if k.framed:
% if lines:
        memset(image, 0, sizeof(float) * ${k.height * k.width * channels});
        /* Lines of the image that the part sees, from `top` on. */
        const int32_t top = part_begin * ${w.sy} - ${w.top}, bottom = (part_end - 1) * ${w.sy} + ${(d.FY - 1) * w.dy + 1} - ${w.top};
        for (int32_t line = top > 0 ? top : 0; line < bottom && line < ${w.rows}; ++line) {
            memcpy(image + ((line - top) * ${k.width} + ${w.left}) * ${channels}, x + (b * ${w.rows} + line) * ${w.columns * channels}, sizeof(float) * ${k.copied_columns * channels});
        }
% else:
<%
above, left = min(w.top, k.height), min(w.left, k.width)
wide, right = k.width * channels, k.width - left - k.copied_columns
below = k.height - above - k.copied_rows
%>
% if above:
        memset(image, 0, sizeof(float) * ${above * wide});
% endif
        for (int32_t line = 0; line < ${k.copied_rows}; ++line) {
            float *const to = image + (line + ${above}) * ${wide};
% if left:
            memset(to, 0, sizeof(float) * ${left * channels});
% endif
            memcpy(to + ${left * channels}, x + (b * ${w.rows} + line) * ${w.columns * channels}, sizeof(float) * ${k.copied_columns * channels});
% if right:
            memset(to + ${(left + k.copied_columns) * channels}, 0, sizeof(float) * ${right * channels});
% endif
        }
% if below:
        memset(image + ${(above + k.copied_rows) * wide}, 0, sizeof(float) * ${below * wide});
% endif
% endif
% else:
        const float *const image = x + b * ${w.rows * w.columns * channels};
% endif
        for (int32_t g = 0; g < ${d.G}; ++g) {
            const float *const panels = weight + g * ${p.packed};
% if blocked:
            /* All lines with the weights of so many channels, which stay in the cache meanwhile. */
            for (int32_t n_begin = 0; n_begin < ${d.K}; n_begin += ${k.block}) {
            const int32_t n_end = ${d.K} - n_begin < ${k.block} ? ${d.K} : n_begin + ${k.block};
% endif
            for (int32_t oy = ${k.over("OY", d.OY)[0]}; oy < ${k.over("OY", d.OY)[1]}; oy += ${k.lines}) {
% if k.lines > 1:
                const int32_t rows = (${k.over("OY", d.OY)[1]} - oy < ${k.lines} ? ${k.over("OY", d.OY)[1]} - oy : ${k.lines}) * ${d.OX};
% endif
                const int32_t at = (b * ${d.OY} + oy) * ${d.OX * outputs} + g * ${d.K};
                const float *const line = image + ${"(oy - part_begin)" if lines else "oy"} * ${w.sy * k.width * channels} + g * ${d.C};
% if k.skips:
                /* Rows of the window that see more than padding, of any of the lines. */
                const int32_t far = oy${f" + {k.lines - 1}" if k.lines > 1 else ""};
                const int32_t above = far * ${w.sy} < ${w.top} ? (${w.top + w.dy - 1} - far * ${w.sy}) / ${w.dy} : 0;
                const int32_t from = above < ${d.FY} ? above : ${d.FY};
                const int32_t below = (${w.top + w.rows + w.dy - 1} - oy * ${w.sy}) / ${w.dy};
                const int32_t to = below < ${d.FY} ? below : ${d.FY};
% endif
                ${micro.cover(tile, p, "0", "rows" if k.lines > 1 else str(d.OX), "line", "panels", "(y + at)", more, *part)}
            }
% if blocked:
            }
% endif
        }
    }
${cores.close(layer, k.split)}
