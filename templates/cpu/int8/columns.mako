## A matrix that arrives at run time, packed as constant weights are, and what sums of its products lack.

## Pack images [from, to) of x1 [B, C, K], in the form that is multiplied: panels of columns, steps innermost.
<%def name="pack(layer, k)">
<%
p, x1, group, packed = k.shape, layer.operand("x1"), k.form.group, k.packed
wide, c, n = k.panel.columns, p.inputs, p.outputs
last = k.last.vectors * k.lanes if k.last else 0
element = packed.element + "_t"
def less(value):
    return value if not packed.subtract else f"{value} {'-' if packed.subtract > 0 else '+'} {abs(packed.subtract)}"
%>
static void ${layer.symbol}_pack(const ${x1.ctype} *x1, ${element} *packed, int32_t from, int32_t to)
{
    for (int32_t b = from; b < to; ++b) {
        const ${x1.ctype} *const matrix = x1 + b * ${c * n};
        for (int32_t first = 0; first < ${n}; first += ${wide}) {
            const int32_t real = ${n} - first < ${wide} ? ${n} - first : ${wide};
% if last and last != wide:
            const int32_t columns = ${n} - first < ${wide} ? ${last} : ${wide};
% else:
            const int32_t columns = ${wide};
% endif
            for (int32_t c = 0; c < ${k.steps}; c += ${group}) {
                for (int32_t j = 0; j < real; ++j) {
% for part in range(group):
                    packed[j * ${group}${f" + {part}" if part else ""}] = ${f"c + {part} >= {c} ? 0 : " if part and (c % group) and part >= c % group else ""}(${element})(${less(f"matrix[(c{f' + {part}' if part else ''}) * {n} + first + j]")});
% endfor
                }
                for (int32_t j = real * ${group}; j < columns * ${group}; ++j) {
                    packed[j] = 0;
                }
                packed += columns * ${group};
            }
        }
    }
}
% if packed.starts:

/* What sums of packed columns start from, for the zero points of both sides. */
MA_DOTS static void ${layer.symbol}_starts(const int8_t *packed, int32_t *starts, int32_t images)
{
    const ma_u32 ones = (ma_u32){0} + 0x01010101u;
    for (int32_t b = 0; b < images; ++b) {
% for count, vectors in ((k.panels, k.panel.vectors), (1 if k.last else 0, k.last.vectors if k.last else 0)):
% if count:
        for (int32_t panel = 0; panel < ${count}; ++panel, packed += ${vectors * k.lanes * k.steps}) {
            for (int32_t v = 0; v < ${vectors * k.lanes}; v += ${k.lanes}, starts += ${k.lanes}) {
                ma_u32 sum = {0};
                for (int32_t c = 0; c < ${k.steps}; c += ${group}) {
                    sum = ma_dot4(sum, ones, ma_load_i8(packed + c * ${vectors * k.lanes} + v * ${group}));
                }
                ma_store_u32(starts, ${(p.inputs * packed.x_zero * packed.zero) % 2 ** 32}u - sum * ${packed.x_zero % 2 ** 32}u);
            }
        }
% endif
% endfor
    }
}
% endif
% if packed.rows:

/* What sums of rows [i0, i1) of images [b0, b1) of x lack for the zero point of the other side. */
static void ${layer.symbol}_rows(const ${layer.operand("x").ctype} *x, int32_t *sums, int32_t b0, int32_t b1, int32_t i0, int32_t i1)
{
    for (int32_t b = b0; b < b1; ++b) {
        for (int32_t i = i0; i < i1; ++i) {
            const ${layer.operand("x").ctype} *const row = x + (b * ${p.pixels} + i) * ${c};
            int32_t sum = ${-c * k.form.subtract};
            for (int32_t c = 0; c < ${c}; ++c) {
                sum += row[c];
            }
            sums[(b - b0) * (i1 - i0) + i - i0] = sum * ${-packed.zero};
        }
    }
}
% endif
</%def>
