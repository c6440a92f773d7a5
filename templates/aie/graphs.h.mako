// Every layer on the array: a graph each, side by side.
#pragma once

% for g in graphs:
#include "${g.name}_graph.h"
% endfor

% for g in graphs:
extern ${g.name}_graph ${g.name};
% endfor
