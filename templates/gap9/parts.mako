## What the templates of the cluster share.
<%!
SUFFIX = {"uint8_t": "u8", "int8_t": "i8"}
%>

## Index of operand `name` in a tile's views.
<%def name="view(layer, name)">${f"(*t->view[{[o.name for o in layer.operands].index(name)}])"}</%def>

## Where in L1 it begins.
<%def name="at(layer, name)">ma_at(t, t->view[${[o.name for o in layer.operands].index(name)}])</%def>

## Starts a kernel on the workers with the argument that variable `name` is, and returns.
<%def name="fork(layer, kernel, name)">
% if layer.tiles.beside:
ma_tile_arrive(t);
return ma_fork_start(${kernel}, &${name}, sizeof ${name});
% else:
ma_fork(${kernel}, &${name});
return 0;
% endif
</%def>

## How the walk over tiles starts and awaits them: what initialises a struct ma_kernel.
<%def name="kernel(layer)">{${layer.symbol}_start, ${"ma_fork_wait" if layer.tiles.beside else "NULL"}, NULL}</%def>

## Fields of the tail that kernels share, of the argument that variable `name` is.
<%def name="tail(layer, name)">
% if layer.tail is not None:
${name}.shift = ${layer.tail.shift or 0};
${name}.lo = ${layer.tail.lo};
${name}.hi = ${layer.tail.hi};
${name}.zero_y = ${layer.tail.zero_point};
% endif
% if layer.operand("x").scale:
${name}.scale_x = ${layer.operand("x").scale};
% endif
% if layer.operand("y").scale:
${name}.scale_y = ${layer.operand("y").scale};
% endif
</%def>
