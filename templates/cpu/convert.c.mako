## Between float and integer steps, element by element.
<%namespace name="tail" file="cpu/tail.mako"/>
<%
x, y = layer.operand("x"), layer.operand("y")
at, to = layer.index("x"), layer.index("y")
%>
/* ${layer.summary} */
static void ${layer.symbol}(${layer.parameters})
{
% for loop_ in layer.elements:
    for (int32_t ${loop_.variable} = 0; ${loop_.variable} < ${loop_.size}; ++${loop_.variable}) {
% endfor
% if layer.kind == "quantize":
        ${tail.saturate(layer.tail, f"x[{at}] / {y.scale}", f"y[{to}]", y.ctype)}
% else:
        y[${to}] = (float)${x.centred(f"x[{at}]")} * ${x.scale};
% endif
% for _ in layer.elements:
    }
% endfor
}
