## Channels in blocks that fit the registers or the first cache, innermost so that they vectorise.

## Open a loop over blocks of channels from c0, with `acc` for each of the `n` that a block has.
## Where the last block is short, gcc cannot see that what it reads was written: hence the zeros.
<%def name="open_block(channels, block, ctype='int32_t')">
for (int32_t c0 = 0; c0 < ${channels}; c0 += ${block}) {
${ctype} acc[${block}]${" = {0}" if channels % block else ""};
% if channels % block:
const int32_t n = ${channels} - c0 < ${block} ? ${channels} - c0 : ${block};
% else:
const int32_t n = ${block};
% endif
</%def>
