## A layer that moves tiles: the table for `ma_run_tiles`, and the layer's function around it.
<%!
def listed(values):
    return "{" + ", ".join(str(value) for value in values) + "}"

def span(span):
    loops, coefficients = ([term[i] for term in span.terms] or [0] for i in (0, 1))
    return listed([len(span.terms), span.first, span.last, listed(loops), listed(coefficients)])
%>

## The program as a constant table; nothing here is computed, `match_aie.hardware.tiles` is.
<%def name="table(layer)">
<% program = layer.tiles %>
static const struct ma_program ${layer.symbol}_program = {
    .loops = ${len(program.loops)},
    .operands = ${len(program.operands)},
    .l1_bytes = ${max(program.total, 16)},
    .scratch = ${program.scratch},
% if program.loops:
    .loop = {${", ".join(listed((loop.step, program.around(i)[1], program.around(i)[0])) for i, loop in enumerate(program.loops))}},
% endif
    .operand = {
% for operand in program.operands:
        {
            /* ${operand.name} */
            .cut = ${operand.cut}, .copies = ${operand.copies}, .rank = ${len(operand.axes)}, .itemsize = ${operand.itemsize}, .parts = ${int(program.in_parts(operand))},
            .l1 = ${operand.offset}, .copy_bytes = ${operand.copy_bytes}, .l2_bytes = ${operand.nbytes},
            .axes = {
% for axis in operand.axes:
                {${axis.size}, ${axis.unit}, ${axis.stride}, ${span(program.span(axis, operand.cut))}, ${span(program.span(axis, len(program.loops)))}},
% endfor
            },
        },
% endfor
    },
};
</%def>

## The layer's function, called on the controller. `kernel` initialises a struct ma_kernel.
<%def name="function(layer, kernel)">
/* ${layer.summary} */
static void ${layer.symbol}(${layer.parameters})
{
    const struct ma_kernel kernel = ${kernel};
    void *const l2[] = {
% for operand in layer.operands:
        (void *)(uintptr_t)${operand.name},
% endfor
    };
    ma_run_tiles(&${layer.symbol}_program, l2, &kernel);
}
</%def>
