## Channels in blocks that fit the registers or the first cache, innermost so that they vectorise.

## Open a loop over blocks of channels from c0; `n` is how many this block has.
<%def name="open_block(channels, block)">
for (int32_t c0 = 0; c0 < ${channels}; c0 += ${block}) {
% if channels % block:
const int32_t n = ${channels} - c0 < ${block} ? ${channels} - c0 : ${block};
% else:
const int32_t n = ${block};
% endif
</%def>
