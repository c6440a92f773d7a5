// What the vendor's aiecompiler is given: the graphs themselves.
#include "${network}_graphs.h"

% for g in graphs:
${g.name}_graph ${g.name};
% endfor
