## A function of each 8-bit element: its 256 values lie in a table, looked up by vectors where there are
## instructions for it.
<%namespace name="cores" file="cpu/cores.mako"/>
<%
split = layer.kernel.split
%>
${cores.open(layer, split)}
% if split is None:
    ma_look_up(table, x, y, ${layer.dim.K});
% else:
    ma_look_up(table, x + part_begin, y + part_begin, part_end - part_begin);
% endif
${cores.close(layer, split)}
