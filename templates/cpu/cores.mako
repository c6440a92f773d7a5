## The layer's function; where the layer is divided over cores, a function of a part, and one that
## has all parts done.

## Open the function, `split` being a match_aie.targets.cpu.cores.Split or None. A part covers
## part_begin to part_end of what is divided, and has `nbytes` of scratch. `meet` where parts wait for
## each other (ma_meet): then there may be one part only, that covers all. `attribute` stands before it.
<%def name="open(layer, split, nbytes=0, meet=False, attribute='')" filter="trim">
% if split is None:
/* ${layer.summary} */
${attribute}static void ${layer.symbol}(${layer.parameters})
{
% else:
${attribute}static void ${layer.symbol}_part(${layer.parameters}, int32_t part${", int32_t parts" if meet else ""})
{
    static const int32_t bounds[] = {${", ".join(map(str, split.bounds))}};
    const int32_t part_begin = bounds[part], part_end = bounds[${f"parts == 1 ? {split.parts} : part + 1" if meet else "part + 1"}];
    (void)part_end; /* bodies whose parts are all as large need no end */
% if nbytes:
    scratch += part * ${nbytes};
% endif
% endif
</%def>

## Close it.
<%def name="close(layer, split, meet=False)" filter="trim">
}
% if split is not None:
<%
parameters = [word.replace("restrict ", "") for word in layer.parameters.split(", ")]
names = [word.split()[-1].lstrip("*") for word in parameters]
symbol = layer.symbol
%>

struct ${symbol}_call {
% for word in parameters:
    ${word};
% endfor
};

static void ${symbol}_run(const void *argument, int32_t part, int32_t parts)
{
    const struct ${symbol}_call *const call = argument;
    ${symbol}_part(${", ".join(f"call->{name}" for name in names)}, part${", parts" if meet else ""});
% if not meet:
    (void)parts;
% endif
}

/* ${layer.summary} */
static void ${symbol}(${layer.parameters})
{
    const struct ${symbol}_call call = {${", ".join(names)}};
    ${"ma_together" if meet else "ma_divide"}(${symbol}_run, &call, ${split.parts});
}
% endif
</%def>
