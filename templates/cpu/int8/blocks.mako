## The loops over tiles of a mapping.

<%def name="open(loop_)">
% if loop_.variable:
for (int32_t ${loop_.variable} = ${loop_.start}; ${loop_.variable} < ${loop_.end}; ${loop_.variable} += ${loop_.step}) {
% if not loop_.exact:
const int32_t ${loop_.variable}_end = ${loop_.variable} + ${loop_.step} < ${loop_.end} ? ${loop_.variable} + ${loop_.step} : ${loop_.end};
% endif
% endif
</%def>
