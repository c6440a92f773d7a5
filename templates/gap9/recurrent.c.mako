## GRU and LSTM on the cluster: a kernel a step, or two.
<%namespace name="tiles" file="common/tiles.mako"/>
<%namespace name="parts" file="gap9/parts.mako"/>
<%
kernels = ["ma_lstm"] if layer.kind == "lstm" else ["ma_gru"] if layer.kernel.parts == 1 else ["ma_gru_gates", "ma_gru_states"]
%>
${tiles.table(layer)}

static uint32_t ${layer.symbol}_start(const struct ma_tile *t, const void *context)
{
    static void (*const kernels[])(const void *) = {${", ".join(kernels)}};
    const struct ma_view *const x = &${parts.view(layer, "x")}, *const y = &${parts.view(layer, "y")};
    struct ma_recurrent recurrent = {
        .x = ma_at(t, x),
        .weight = ${parts.at(layer, "weight")},
        .recurrent = ${parts.at(layer, "recurrent")},
        .bias = (const float *)(const void *)${parts.at(layer, "bias")},
        .y = (float *)(void *)ma_at(t, y),
        .inputs = ${layer.dim.C},
        .units = ${layer.dim.K},
        .unsigned_x = ${int(layer.operand("x").ctype == "uint8_t")},
    };
    (void)context;
% if layer.tiles.beside:
    ma_tile_arrive(t);
% endif
    return ma_fork_steps(kernels, ${len(kernels)}, &recurrent, ${layer.dim.OY}, x->stride[0], y->stride[0], t->scratch, ${int(layer.tiles.beside)});
}
${tiles.function(layer, capture(parts.kernel, layer))}
