## Convolutions and dense layers on NE16: what the layer's jobs share; ma_ne16_tile.h does the rest.
<%namespace name="tiles" file="common/tiles.mako"/>
<% jobs, near = layer.kernel.layer, layer.tiles.near %>
${tiles.table(layer)}

static const struct ma_ne16_kernel ${layer.symbol}_jobs${"_image" if near else ""} = {
    .layer = {
        .mode = MA_NE16_${jobs.mode.name},
        .stride = ${jobs.stride},
        .weight_bits = ${jobs.weight_bits},
        .out_bytes = ${jobs.out_bytes},
        .scale_bits = ${jobs.scale_bits},
        .shift = ${jobs.shift},
        .relu = ${int(jobs.relu)},
        .weight_zero = ${jobs.zero},
    },
    .dense = ${int(layer.kind == "dense")},
    .bordered = ${int(layer.kernel.bordered)},
};
% if near:
static MA_NEAR struct ma_ne16_kernel ${layer.symbol}_jobs;
% endif
${tiles.function(layer, "{ma_ne16_start, ma_ne16_wait, &%s_jobs}" % layer.symbol, ["jobs"])}
