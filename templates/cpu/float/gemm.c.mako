## Matrix products in float32, one factor perhaps known at compile time: rows by columns by a
## reduction, in register tiles over panels of the second factor.
<%namespace name="micro" file="cpu/float/micro.mako"/>
<%namespace name="cores" file="cpu/cores.mako"/>
<%
k = layer.kernel
t = k.tile
name = layer.symbol
a_row, a_step = (k.a.row, 1) if k.a.how == "direct" else (1, None)
ending = k.ending
m_range, n_range = k.over("m", k.rows), k.over("n", k.columns)
%>
_Static_assert(MA_LANES == ${t.lanes}, "weights are packed for vectors of ${t.lanes} elements");
<%def name="variant(mr, panel)">${layer.symbol}_${mr}x${panel.vectors}${"" if panel.valid == layer.kernel.tile.lanes else "p"}</%def>
% for mr in k.row_tiles:
% for panel in k.panels:
${micro.tile(capture(variant, mr, panel).strip(), mr, panel.vectors, panel.valid, t.lanes,
             k.a.row if k.a.how == "direct" else 1, 1 if k.a.how == "direct" else mr, k.ldy, ending, fetch=k.fetch)}
% endfor
% endfor

${cores.open(layer, k.split, k.part_bytes)}
% if k.scratch:
    float *const packed = (float *)(void *)scratch;
% endif
% for outer in k.batches:
    for (int32_t ${outer.variable} = ${k.over(outer.variable, outer.size)[0]}; ${outer.variable} < ${k.over(outer.variable, outer.size)[1]}; ++${outer.variable}) {
% endfor
    const float *const a_base = ${k.a.base};
    const float *const b_base = ${k.b.base};
    float *const y_base = ${k.y_base};
% if k.a.how == "pack_rows":
    for (int32_t m = ${m_range[0]}; m < ${m_range[1]}; m += ${t.mr}) {
        const int32_t tall = ${k.rows} - m < ${t.mr} ? ${k.rows} - m : ${t.mr};
        ma_pack_rows(packed + m * ${k.inner}, a_base + m, ${k.inner}, tall, tall, ${k.a.row});
    }
% endif
% if k.b.how != "constant":
% for panel in k.panels:
    ${micro.panels(panel, *n_range, k.columns, t.width)}
        ma_${k.b.how}(packed + ${k.b_offset} + n * ${k.inner}, b_base + n * ${k.b.step}, ${k.inner}, ${panel.width}, ${panel.elements}, ${k.b.row});
    }
% endfor
% endif
    ${nest(k.loops, 0, {"m": m_range, "n": n_range, "r": ("0", k.inner)})}
% for _ in k.batches:
    }
% endfor
${cores.close(layer, k.split)}

## The mapping's loops over blocks, outermost first; then the panels and tiles of a block.
<%def name="nest(loops, depth, ranges)">
% if not loops:
${block(ranges)}
% else:
<%
now = loops[0]
lo, hi = ranges[now.axis]
v = f"{now.axis}{depth}"
end = f"{v}e"
%>
for (int32_t ${v} = ${lo}; ${v} < ${hi}; ${v} += ${now.step}) {
    const int32_t ${end} = ${hi} - ${v} < ${now.step} ? ${hi} : ${v} + ${now.step};
    ${nest(loops[1:], depth + 1, {**ranges, now.axis: (v, end)})}
}
% endif
</%def>

<%def name="block(ranges)">
<%
k = layer.kernel
t = k.tile
(m_lo, m_hi), (n_lo, n_hi), (r_lo, r_hi) = (ranges[axis] for axis in "mnr")
a = "packed" if k.a.how == "pack_rows" else "a_base"
b = "b_base" if k.b.how == "constant" else f"(packed + {k.b_offset})"
%>
for (int32_t n = ${n_lo}; n < ${n_hi}; n += ${t.width}) {
    const float *const panel = ${b} + n * ${k.inner};
% if k.fetch:
    /* Its tiles ask for the next panel, each for a share of it. */
    const float *const next = n + ${t.width} < ${n_hi} ? panel + ${t.width * k.inner} : panel;
    const int32_t share = (${r_hi} - ${r_lo}) * ${t.width} / (${m_hi} - ${m_lo});
% endif
% if k.any_rows:
    int32_t m = ${m_lo};
% for mr in k.row_tiles:
    for (; m + ${mr} <= ${m_hi}; m += ${mr}) {
        ${choose(k, t, a, r_lo, r_hi, m_lo, (mr,))}
    }
% endfor
% else:
    for (int32_t m = ${m_lo}; m < ${m_hi}; m += ${t.mr}) {
        ${choose(k, t, a, r_lo, r_hi, m_lo, k.row_tiles)}
    }
% endif
}
</%def>

## The tile of `heights` that fits the rows from m on.
<%def name="choose(k, t, a, r_lo, r_hi, m_lo, heights)">
% for x, mr in enumerate(heights):
% for z, panel in enumerate(k.panels):
<%
tests = []
if len(heights) > 1:
    tests.append(f"{k.rows} - m {'>=' if x == 0 else '<'} {t.mr}")
if len(k.panels) > 1:
    tests.append(f"n {'<' if z == 0 else '>='} {k.panels[0].stop}")
start = f"m * {k.a.row} + {r_lo}" if k.a.how == "direct" else f"m * {k.inner} + {r_lo} * {mr}"
words = [f"{a} + {start}", f"panel + {r_lo} * {panel.width}"]
if not k.ending.length:
    words.append(f"{r_hi} - {r_lo}")
words.append(f"y_base + m * {k.ldy} + n")
if k.ending.bias:
    words.append("bias + " + ("n" if k.ending.bias == "columns" else "m"))
if k.ending.residual:
    words.append(f"residual + m * {k.ldy} + n")
if k.ending.split:
    words += [f"{r_lo} == 0", f"{r_hi} == {k.inner}"]
if k.fetch:
    words.append(f"next + {r_lo} * {panel.width} + (m - {m_lo}) * share")
%>
% if tests:
if (${" && ".join(tests)}) {
% endif
${variant(mr, panel)}(${", ".join(words)});
% if tests:
}
% endif
% endfor
% endfor
</%def>
