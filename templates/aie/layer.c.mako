## A layer on the array: the C++ beside the network's C runs it.
<%
    names = [operand.name for operand in layer.operands]
    types = ["const void *"] * (len(names) - 1) + ["void *"]
%>\
/* ${layer.summary} */
void ${layer.symbol}_array(${", ".join(t + n for t, n in zip(types, names))});
% if layer.held:
#ifdef MATCH_AIE_TRACE
const void *${layer.symbol}_held(void);
#endif
% endif

static void ${layer.symbol}(${layer.parameters}) {
    ${layer.symbol}_array(${", ".join(names)});
}
