## Convolutions and dense layers on DIANA's analog array: a job per tile.
<%namespace name="tiles" file="common/tiles.mako"/>
<%
names = [o.name for o in layer.operands]
def view(name):
    return f"t->view[{names.index(name)}]"
%>
${tiles.table(layer)}

static uint32_t ${layer.symbol}_start(const struct ma_tile *t, const void *context)
{
    struct ma_diana_job job = {
        .kind = MA_DIANA_ANALOG,
        .weight = ma_at(t, ${view("weight")}),
        .multiplier = ma_at(t, ${view("multiplier")}),
        .offset = ma_at(t, ${view("offset")}),
        .filter = ${layer.dim.FY if layer.kind == "conv2d" else 1},
        .stride = ${layer.window.sy if layer.kind == "conv2d" else 1},
        .shift = ${layer.tail.shift},
        .relu = ${int(layer.tail.lo == 0)},
        .gain = ${layer.kernel},
    };
    (void)context;
% if layer.kind == "conv2d":
    ma_diana_image(&job, t, ${view("x")}, ${view("y")});
% else:
    ma_diana_rows(&job, t, ${view("x")}, ${view("y")});
% endif
    return 0;
}
${tiles.function(layer, "{%s_start, NULL, NULL}" % layer.symbol)}
