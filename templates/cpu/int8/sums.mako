## Sums that a product takes along: its result, in steps that are never stored, added to bytes of the
## same place, or to a real value per channel.

## Real values per channel of `vectors`.
<%def name="per_channel(k, vectors)">
% for one in k.sums:
% if one.per_channel:
% for v in range(vectors):
    const ma_f32 ${one.name}_${v} = ma_load_f32(${one.name} + ${v * k.lanes});
% endfor
% endif
% endfor
</%def>

## The last bytes of every pixel where they are fewer than lanes.
<%def name="edges(k, rows, left, channels, first)">
% for one in k.sums:
% if not one.per_channel:
    ${one.ctype} ${one.name}_edge[${rows * k.lanes}] = {0};
% for i in range(rows):
    memcpy(${one.name}_edge + ${i * k.lanes}, ${one.name} + ${i * channels + first}, ${left});
% endfor
% endif
% endfor
</%def>
