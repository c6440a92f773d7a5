## A function of each element, or a sum or product of two tensors: vectors, then what is left.
## Tensors are float32 or bfloat16, which is stored by its bits; a function of those is a table.
<%namespace name="cores" file="cpu/cores.mako"/>
<%
k, d = layer.kernel, layer.dim
begin, end = k.over("K", d.B * d.K)
value = k.value(*(f"v_{name}" for name, _ in k.loads))
%>
${cores.open(layer, k.split)}
    const int32_t end = ${end};
    int32_t i = ${begin};
% if k.looks_up:
    for (; i < end; ++i) {
        y[i] = table[x[i]];
    }
% else:
    for (; i + MA_LANES <= end; i += MA_LANES) {
% for name, load in k.loads:
        const ma_vf v_${name} = ma_load${load}(${name} + i);
% endfor
        ma_store${k.stores}(y + i, ${value});
    }
    if (i < end) {
% for name, load in k.loads:
        const ma_vf v_${name} = ma_load${load}_part(${name} + i, end - i, 0.0f);
% endfor
        ma_store${k.stores}_part(y + i, ${value}, end - i);
    }
% endif
${cores.close(layer, k.split)}
