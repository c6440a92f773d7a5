## Register tiles: y[mr][nrv vectors] += a[mr][r] * b[r][nrv vectors], everything named so that
## compilers keep it in registers. `t` is a match_aie.targets.cpu.float_tile.Tile.

## The fused part of the tail that is cheap enough to do in registers; the rest is done on the
## stored tile, which lies in the first cache: not in y, whose rows may all fall into one set of it.
<%!
SIMPLE = {"identity": "{}", "relu": "ma_relu({})", "clip": "ma_clip({}, {lo}, {hi})"}
%>

<%def name="load(address, valid, lanes)">\
${f"ma_load({address})" if valid == lanes else f"ma_load_part({address}, {valid}, 0.0f)"}\
</%def>

<%def name="store(address, value, valid, lanes)">\
${f"ma_store({address}, {value});" if valid == lanes else f"ma_store_part({address}, {value}, {valid});"}\
</%def>

## One register tile as a function.
##   name     of the C function
##   mr, nrv  rows, vectors per row
##   valid    elements of the last vector that exist in y
##   lanes    elements of a vector
##   a_row, a_step   distance of the rows of a, of its elements
##   ldy      distance of the rows of y and of the residual
##   k        what to do with the sum: a match_aie.targets.cpu.float_tile.Ending
##   nest     loops around the reduction: (size, distance in a) pairs, outermost first; () for none
##   line     (rows of a line of a, distance of its lines) where the rows are of several
##   fetch    cache lines that are fetched ahead for every `unroll` steps, from `next` on; 0 for none
##   bounds   whether the outermost loop of the nest runs from `from` to `to` only
<%def name="tile(name, mr, nrv, valid, lanes, a_row, a_step, ldy, k, nest=(), line=None, fetch=0, bounds=False, unroll=4)">
<%
rows, vectors = range(mr), range(nrv)
width = nrv * lanes
last_valid = lambda j: valid if j == nrv - 1 else lanes
per, apart = line or (mr, 0)
starts = [i // per * apart + i % per * a_row for i in rows]
if nest and (not k.length or k.length % unroll): unroll = 1
plain = SIMPLE.get(k.activation)
%>
<%
words = ["const float *restrict a", "const float *restrict b", "float *y"]
if not k.length: words.insert(2, "int32_t length")
if k.bias: words.append("const float *bias")
if k.residual: words.append("const float *residual")
if k.row_scale: words.append("const float *scale")
if k.split: words += ["int32_t first", "int32_t last"]
if fetch: words.append("const float *next")
if bounds: words += ["int32_t from", "int32_t to"]
inside = k.length * width
for size, _ in nest[1:]: inside *= size
%>
## A function of its own: inlined, its constants take registers from the sums (gcc 12, seen).
% if plain is None:
MA_APART void ${name}_ending(float *y, const float *held)
{
    for (int32_t i = 0; i < ${mr}; ++i) {
        float *const line = y + i * ${ldy};
% if nrv > 1 or valid == lanes:
        for (int32_t j = 0; j < ${width if valid == lanes else width - lanes}; j += ${lanes}) {
            ma_store(line + j, ma_${k.activation}(ma_load(held + i * ${width} + j)));
        }
% endif
% if valid != lanes:
        ma_store_part(line + ${width - lanes}, ma_${k.activation}(ma_load(held + i * ${width} + ${width - lanes})), ${valid});
% endif
    }
}

% endif
MA_APART void ${name}(${", ".join(words)})
{
% for i in rows:
    ma_vf ${", ".join(f"c{i}_{j} = ma_splat(0.0f)" for j in vectors)};
% endfor
% if bounds:
    b += from * ${inside};
% endif
% for depth, (size, distance) in enumerate(nest):
<% lo, hi = ("from", "to") if bounds and depth == 0 else ("0", size) %>
    const float *const a_at${depth} = a;
    for (int32_t f${depth} = ${lo}; f${depth} < ${hi}; ++f${depth}) {
    a = a_at${depth} + f${depth} * ${distance};
% endfor
<% length = str(k.length) if k.length else "length" %>
% if unroll > 1:
    int32_t r = 0;
    for (; r + ${unroll} <= ${length}; r += ${unroll}) {
        ${ahead(fetch)}
% for u in range(unroll):
        ${step(starts, vectors, lanes, a_step, u, width)}
% endfor
        a += ${unroll * a_step};
        b += ${unroll * width};
    }
% if not k.length or k.length % unroll:
    for (; r < ${length}; ++r) {
        ${step(starts, vectors, lanes, a_step, 0, width)}
        a += ${a_step};
        b += ${width};
    }
% endif
% else:
    for (int32_t r = 0; r < ${length}; ++r) {
        ${ahead(-(-fetch // 4))}
        ${step(starts, vectors, lanes, a_step, 0, width)}
        a += ${a_step};
        b += ${width};
    }
% endif
% for _ in nest:
    }
% endfor
% if k.split:
    if (!first) {
% for i in rows:
% for j in vectors:
        c${i}_${j} += ${load(f"y + {i * ldy + j * lanes}", last_valid(j), lanes)};
% endfor
% endfor
    }
    if (!last) {
% for i in rows:
% for j in vectors:
        ${store(f"y + {i * ldy + j * lanes}", f"c{i}_{j}", last_valid(j), lanes)}
% endfor
% endfor
        return;
    }
% endif
% if plain is None:
    float held[${mr * width}];
% endif
% for i in rows:
% for j in vectors:
<%
at = i * ldy + j * lanes
c = f"c{i}_{j}"
%>
% if k.factor:
    ${c} *= ${k.factor};
% endif
% if k.row_scale:
    ${c} *= scale[${i}];
% endif
% if k.bias == "columns":
    ${c} += ma_load(bias + ${j * lanes});
% elif k.bias == "rows":
    ${c} += bias[${i}];
% endif
% if k.residual:
    ${c} += ${load(f"residual + {at if k.residual_row is None else i * k.residual_row + j * lanes}", last_valid(j), lanes)};
% endif
% if plain is None:
    ma_store(held + ${i * width + j * lanes}, ${c});
% else:
    ${store(f"y + {at}", plain.format(c, lo=k.lo, hi=k.hi), last_valid(j), lanes)}
% endif
% endfor
% endfor
% if plain is None:
    ${name}_ending(y, held);
% endif
}
</%def>

## Ask for so many cache lines of what `next` points at, and go on.
<%def name="ahead(lines)">
% for at in range(lines):
        ma_fetch(next + ${at * 16});
% endfor
% if lines:
        next += ${lines * 16};
% endif
</%def>

## One step of the reduction, `u` steps on from where a and b point; rows begin at `starts`.
<%def name="step(starts, vectors, lanes, a_step, u, width)">
{
% if len(starts) > 1:
const ma_vf ${", ".join(f"b{j} = ma_load(b + {u * width + j * lanes})" for j in vectors)};
% endif
% for i, start in enumerate(starts):
{
const ma_vf s = ma_splat(a[${start + u * a_step}]);
% for j in vectors:
c${i}_${j} = ma_fma(s, ${f"b{j}" if len(starts) > 1 else f"ma_load(b + {u * width + j * lanes})"}, c${i}_${j});
% endfor
}
% endfor
}
</%def>

## The register tiles of a product, as functions `prefix`_<rows>x<vectors>.
##   p        a match_aie.targets.cpu.float_kernel.Product
<%def name="tiles(prefix, p, around=(), fetch=0, bounds=False)">
% for mr in p.row_tiles:
% for panel in p.panels:
${tile(f"{prefix}_{mr}x{panel.vectors}{panel.mark}", mr, panel.vectors, panel.valid, p.tile.lanes, p.a_row, 1, p.ldy, p.ending, around, p.line, fetch, bounds)}
% endfor
% endfor
</%def>

## Call them for rows m_lo .. m_hi and all columns: a, b, y are C expressions of addresses (of row
## 0, of the first panel), `more` gives further arguments.
## `inner` is the reduction's length where a run gives it.
<%def name="cover(prefix, p, m_lo, m_hi, a, b, y, more, n_lo='0', n_hi=None, inner=None)">
<%
inner = p.inner if inner is None else inner
length = "" if p.ending.length else f", {inner}"
%>
% for panel in p.panels:
${panels(panel, n_lo, n_hi or str(p.columns), p.columns, panel.width)}
    int32_t m = ${m_lo};
% for mr in p.row_tiles:
<% whole = p.any_rows or mr == p.tile.mr %>
    ${"while" if whole else "if"} (${m_hi} - m ${">=" if whole else "=="} ${mr}) {
        ${prefix}_${mr}x${panel.vectors}${panel.mark}(${a} + m * ${p.a_row}, ${b} + n * ${inner}${length}, ${y} + m * ${p.ldy} + n${more("m", "n")});
        m += ${mr};
    }
% endfor
}
% endfor
</%def>

## Open a loop over the panels of one width that begin within columns n_lo to n_hi, of `columns`.
<%def name="panels(panel, n_lo, n_hi, columns, width)">
<%
lo = str(panel.start) if n_lo == "0" else (n_lo if panel.start == 0 else f"({n_lo} > {panel.start} ? {n_lo} : {panel.start})")
hi = str(panel.stop) if n_hi == str(columns) else (n_hi if panel.stop == columns else f"({n_hi} < {panel.stop} ? {n_hi} : {panel.stop})")
%>
for (int32_t n = ${lo}; n < ${hi}; n += ${width}) {
</%def>
