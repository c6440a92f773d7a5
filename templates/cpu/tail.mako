## Requantisation and saturation: the one place where these layers round.

## Store `real` (float, in integer steps of the output): y = clip(rint(real) + zero point, lo, hi).
## Saturates before it converts, since an out-of-range conversion is undefined; NaN becomes lo.
## Where the bounds lie within 2^22, an addition that leaves no bits below 1 rounds to even: `rintf` is
## a call on many machines. It never falls as `real` grows, so what lies beyond stays beyond. A
## statement of its own: compilers that fuse what stands in one would leave out a rounding.
<%def name="saturate(t, real, target, ctype)">
% if max(abs(t.lo - t.zero_point), abs(t.hi - t.zero_point)) <= 2**22:
float steps = ${real};
steps = (steps + 0x1.8p+23f) - 0x1.8p+23f;
% else:
float steps = rintf(${real});
% endif
steps = steps > ${t.low} ? steps : ${t.low};
steps = steps < ${t.high} ? steps : ${t.high};
${target} = (${ctype})((int32_t)steps${t.offset});
</%def>

## Store fixed-point `t`: y = clip(shift_round(t) + zero point, lo, hi), in 64 bits.
<%def name="fixed(layer, t, target)">
<% tail = layer.tail %>
const int64_t t = ${t};
const int64_t steps = ${tail.shifted("t")}${tail.offset};
${target} = (${layer.operand("y").ctype})(steps < ${tail.lo} ? ${tail.lo} : steps > ${tail.hi} ? ${tail.hi} : steps);
</%def>

## Store the int32 sum `acc` of output channel `channel`, requantised where the layer has a tail.
<%def name="store(layer, acc, channel, target)">
% if layer.tail is None:
${target} = ${acc};
% elif layer.tail.shift is not None:
${fixed(layer, f"(int64_t){acc}{layer.times(channel)}{layer.plus(channel)}", target)}
% else:
<% index = 0 if layer.operand("scale").size == 1 else channel %>
${saturate(layer.tail, f"(float){acc} * scale[{index}]", target, layer.operand("y").ctype)}
% endif
</%def>
