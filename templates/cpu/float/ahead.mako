## The inputs' product of the next time steps beside the state's product of this one, see
## match_aie.targets.cpu.float_ahead.

## A panel of the state's product with a slice of a register tile of the inputs': steps `from` to
## `from` + `count` of its reduction. Its sums wait in `kept` for the slices that are left.
<%def name="beside(name, k, d)">
<%
way, gates = k.ahead, k.gates
tile = way.tile
lanes, width = tile.lanes, tile.width
rows, vectors = range(tile.mr), range(tile.vectors)
columns = gates * d.K
per = way.beside
%>
MA_APART void ${name}(const float *restrict a, const float *restrict b, float *sums, const float *bias, const float *restrict x, const float *restrict w, float *restrict y, const float *x_bias, float *restrict kept, int32_t from, int32_t count)
{
    ma_vf ${", ".join(f"s{g} = ma_splat(0.0f)" for g in range(gates))};
% for i in rows:
    ma_vf ${", ".join(f"c{i}_{j} = ma_splat(0.0f)" for j in vectors)};
% endfor
    if (from > 0) {
% for i in rows:
% for j in vectors:
        c${i}_${j} = ma_load(kept + ${i * width + j * lanes});
% endfor
% endfor
    }
    for (int32_t r = 0; r < count; ++r) {
        const ma_vf ${", ".join(f"w{j} = ma_load(w + {j * lanes})" for j in vectors)};
% for at in range(max(per, tile.mr)):
% for i in (i for i in rows if i * max(per, tile.mr) // tile.mr == at):
        {
            const ma_vf s = ma_splat(x[${i * d.C}]);
% for j in vectors:
            c${i}_${j} = ma_fma(s, w${j}, c${i}_${j});
% endfor
        }
% endfor
% for u in (u for u in range(per) if u * max(per, tile.mr) // per == at):
        ${state(u, gates, lanes)}
% endfor
% endfor
        x += 1;
        w += ${width};
        a += ${per};
        b += ${per * gates * lanes};
    }
    for (int32_t r = ${f"{per} * " if per > 1 else ""}count; r < ${d.K}; ++r) {
        ${state(0, gates, lanes)}
        a += 1;
        b += ${gates * lanes};
    }
% for g in range(gates):
    ma_store(sums + ${g * lanes}, s${g} + ma_load(bias + ${g * lanes}));
% endfor
    if (from + count < ${d.C}) {
% for i in rows:
% for j in vectors:
        ma_store(kept + ${i * width + j * lanes}, c${i}_${j});
% endfor
% endfor
    } else {
% for i in rows:
% for j in vectors:
        ma_store(y + ${i * columns + j * lanes}, c${i}_${j} + ma_load(x_bias + ${j * lanes}));
% endfor
% endfor
    }
}
</%def>

## A step of the state's reduction, `u` steps on from where a and b point.
<%def name="state(u, gates, lanes)">
{
const ma_vf h = ma_splat(a[${u}]);
% for g in range(gates):
s${g} = ma_fma(h, ma_load(b + ${u * gates * lanes + g * lanes}), s${g});
% endfor
}
</%def>

## One panel of the state's product, with the next slice where one is left.
<%def name="panel(layer, read, weights, bias)">
<%
k = layer.kernel
d = layer.dim
way = k.ahead
symbol = f"{layer.symbol}_state"
%>
if (slice < slices) {
    const int32_t n = slice / ${way.slices} * ${way.tile.width}, from = slice % ${way.slices} * ${way.length};
    ${symbol}_beside(${read}, ${weights}, sums, ${bias}, rows + from, weight + n * ${d.C} + from * ${way.tile.width}, next + n, bias + n, kept, from, ${d.C} - from < ${way.length} ? ${d.C} - from : ${way.length});
    ++slice;
} else {
    ${symbol}0(${read}, ${weights}, sums, ${bias});
}
</%def>
