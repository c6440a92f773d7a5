## RMS norm along rows.
<%namespace name="cores" file="cpu/cores.mako"/>
<%
d, split = layer.dim, layer.kernel.split
begin, end = ("0", d.B) if split is None else ("part_begin", "part_end")
%>
${cores.open(layer, layer.kernel.split)}
    for (int32_t b = ${begin}; b < ${end}; ++b) {
        ma_rms_row(y + b * ${d.K}, x + b * ${d.K}, weight, ${d.K}, ${layer.kernel.epsilon});
    }
${cores.close(layer, split)}
