## What the templates of the cluster share.
<%!
SUFFIX = {"uint8_t": "u8", "int8_t": "i8"}
%>

## Index of operand `name` in a tile's views.
<%def name="view(layer, name)">${f"(*t->view[{[o.name for o in layer.operands].index(name)}])"}</%def>

## Where in L1 it begins.
<%def name="at(layer, name)">ma_at(t, t->view[${[o.name for o in layer.operands].index(name)}])</%def>

## Fields of the tail that kernels share.
<%def name="tail(layer)">
% if layer.tail is not None:
.shift = ${layer.tail.shift or 0},
.lo = ${layer.tail.lo},
.hi = ${layer.tail.hi},
.zero_y = ${layer.tail.zero_point},
% endif
% if layer.operand("x").scale:
.scale_x = ${layer.operand("x").scale},
% endif
% if layer.operand("y").scale:
.scale_y = ${layer.operand("y").scale},
% endif
</%def>
