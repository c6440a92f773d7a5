// The array emulated on the host. One translation unit: the headers dominate compilation.
% for path in sources:
#include "../${path}"
% endfor
