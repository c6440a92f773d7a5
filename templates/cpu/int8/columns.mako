## A matrix that arrives at run time, packed as constant weights are.

## Pack images [from, to) of x1 [B, C, K], less its zero point: panels of columns, steps innermost.
<%def name="pack(layer, k)">
<%
p, x1, group = k.shape, layer.operand("x1"), k.form.group
wide, c, n = k.panel.columns, p.inputs, p.outputs
last = k.last.vectors * k.lanes if k.last else 0
%>
static void ${layer.symbol}_pack(const ${x1.ctype} *x1, int16_t *packed, int32_t from, int32_t to)
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
                    packed[j * ${group}${f" + {part}" if part else ""}] = ${f"c + {part} >= {c} ? 0 : " if c % group and part else ""}(int16_t)${x1.centred(f"matrix[(c{f' + {part}' if part else ''}) * {n} + first + j]")};
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
</%def>
