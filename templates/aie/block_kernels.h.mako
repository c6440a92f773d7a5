// Kernels of layer ${b.name}.
#pragma once

#include <adf.h>

% for position in b.positions:
<% k = b.kernel_at(position) %>\
void ${b.name}_${position}(<%include file="aie/parameters.mako" args="k=k"/>);
% endfor
