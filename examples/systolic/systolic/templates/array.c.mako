## A layer on the array: a job per tile.
<%namespace name="tiles" file="common/tiles.mako"/>
<%
at = {o.name: i for i, o in enumerate(layer.operands)}
x, y, w, d = layer.operand("x"), layer.operand("y"), layer.window, layer.dim
def tile(o):
    return f"systolic_tile(t, {at[o.name]}, {len(o.shape)}, {o.zero_point}, {int(o.ctype == 'int8_t')})"
def constant(name):
    return f"(const void *)ma_at(t, t->view[{at[name]}])"
%>
${tiles.table(layer)}
${tiles.sums(layer)}
static uint32_t ${layer.symbol}_start(const struct ma_tile *t, const void *context)
{
    const struct systolic_job job = {
        .x = ${tile(x)}, .y = ${tile(y)}, .lo = ${layer.tail.lo}, .hi = ${layer.tail.hi},
% if layer.kind == "add":
        .x1 = ${tile(layer.operand("x1"))},
        .scale_x = ${x.scale}, .scale_x1 = ${layer.operand("x1").scale}, .scale_y = ${y.scale},
% else:
<% weight = f"t->view[{at['weight']}]" %>\
        .weight = ${constant("weight")}, .bias = ${constant("bias")}, .scale = ${constant("scale")},
        .k_step = ${weight}->stride[0], .c_step = ${weight}->stride[1], .sums = ${layer.symbol}_sums(t),
        .depthwise = ${int(d.G > 1)}, .per_channel = ${int(layer.operand("scale").size > 1)}, .fy = ${d.FY}, .fx = ${d.FX}, .sx = ${w.sx if w else 1},
% endif
% if w:
        .sy = ${w.sy}, .dy = ${w.dy}, .dx = ${w.dx},
        .top = t->view[0]->before[1], .left = t->view[0]->before[2],
% endif
    };
    (void)context;
    systolic_run(&job);
    return 0;
}
${tiles.function(layer, "{%s_start, NULL, NULL}" % layer.symbol)}
