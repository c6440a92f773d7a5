## A layer on the array: a job per tile.
<%namespace name="tiles" file="common/tiles.mako"/>
<%
at = {o.name: i for i, o in enumerate(layer.operands)}
x, y, w, d = layer.operand("x"), layer.operand("y"), layer.window, layer.dim
tile = lambda o: f"systolic_tile(t, {at[o.name]}, {len(o.lies)}, {o.zero_point}, {int(o.ctype == 'int8_t')})"
constant = lambda name: f"(const void *)ma_at(t, t->view[{at[name]}])"
%>
${tiles.table(layer)}
${tiles.sums(layer)}
static uint32_t ${layer.symbol}_start(const struct ma_tile *t, const void *context)
{
    const struct systolic_job job = {
        .x = ${tile(x)}, .y = ${tile(y)}, .lo = ${layer.tail.lo}, .hi = ${layer.tail.hi},
% if layer.kind == "add":
        .x1 = ${tile(layer.operand("x1"))},
        .scale_x = ${x.scale}, .scale_x1 = ${layer.operand("x1").scale}, .scale_y = ${y.scale}, .outputs = ${tile(y)}.channels,
% else:
<% weight = f"t->view[{at['weight']}]" %>\
        .weight = ${constant("weight")}, .bias = ${constant("bias")}, .scale = ${constant("scale")},
        .k_step = ${weight}->stride[0], .c_step = ${weight}->stride[1], .sums = ${layer.symbol}_sums(t),
        .depthwise = ${int(d.G > 1)}, .scales = ${layer.operand("scale").size}, .fy = ${d.FY}, .fx = ${d.FX}, .outputs = t->view[${at['bias']}]->extent[0], .sx = ${w.sx if w else 1},
% endif
% if w:
        .sy = ${w.sy}, .dy = ${w.dy}, .dx = ${w.dx}, .top = t->view[0]->before[${len(x.lies) - 3}], .left = t->view[0]->before[${len(x.lies) - 2}],
% endif
    };
    (void)context;
    ma_tile_arrive(t);
    systolic_run(&job);
    return 0;
}
${tiles.function(layer, "{%s_start, NULL, NULL}" % layer.symbol)}
