// Kernels of layer ${name}.
#pragma once

#include <adf.h>

% for call in calls:
void ${call.symbol}(${', '.join(call.arguments)});
% endfor
