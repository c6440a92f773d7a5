## RMS norm along rows.
<%namespace name="cores" file="cpu/cores.mako"/>
<%
d, split = layer.dim, layer.kernel.split
at, to = layer.kernel.places(d.K)
begin, end = ("0", d.B) if split is None else ("part_begin", "part_end")
%>
${cores.open(layer, split, layer.kernel.part_bytes)}
% if layer.kernel.wide:
    float *const row = (float *)(void *)scratch;
% endif
    for (int32_t b = ${begin}; b < ${end}; ++b) {
% if layer.kernel.wide:
        ma_widen_row(row, x + b * ${d.K}, ${d.K});
% endif
        ma_rms_row(${to}, ${at}, weight, ${d.K}, ${layer.kernel.epsilon});
% if layer.kernel.wide:
        ma_narrow_row(y + b * ${d.K}, row, ${d.K});
% endif
    }
${cores.close(layer, split)}
