## Convolutions, dense layers and sums on DIANA's digital array: a job per tile.
<%namespace name="tiles" file="common/tiles.mako"/>
<%
names = [o.name for o in layer.operands]
def view(name):
    return f"t->view[{names.index(name)}]"
depthwise = layer.kind == "conv2d" and layer.dim.G > 1
kind = "DEPTHWISE" if depthwise else layer.kind.upper()
%>
${tiles.table(layer)}

static uint32_t ${layer.symbol}_start(const struct ma_tile *t, const void *context)
{
    struct ma_diana_job job = {
        .kind = MA_DIANA_${kind},
% if "weight" in names:
        .weight = ma_at(t, ${view("weight")}),
% endif
        .offset = ma_at(t, ${view("offset")}),
        .filter = ${layer.dim.FY if layer.kind == "conv2d" else 1},
        .stride = ${layer.window.sy if layer.kind == "conv2d" else 1},
        .shift = ${layer.tail.shift},
        .relu = ${int(layer.tail.lo == 0)},
    };
    (void)context;
% if layer.kind == "conv2d":
    ma_diana_image(&job, t, ${view("x")}, ${view("y")});
% elif layer.kind == "dense":
    ma_diana_rows(&job, t, ${view("x")}, ${view("y")});
% else:
    ma_diana_elements(&job, t, ${view("x")}, ${view("x1")}, ${view("y")}, ${len(layer.operand("y").shape)});
% endif
    return 0;
}
${tiles.function(layer, "{%s_start, NULL, NULL}" % layer.symbol)}
