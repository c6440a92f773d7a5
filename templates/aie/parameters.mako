<%page args="k"/>\
adf::input_buffer<${k.c_type(k.a)}> &__restrict x, const ${k.c_type(k.b)} (&w)[${k.k * k.n}]\
% if k.bias:
, const ${k.c_type(k.bias_dtype)} (&bias)[${k.n}]\
% endif
% if k.stores and k.requantise.form == 'channel':
, const int32 (&multiplier)[${k.n}]\
% endif
% if k.receives:
, input_cascade<${k.accumulator}> *from\
% endif
% if k.stores:
, adf::output_buffer<${k.c_type(k.requantise.dtype)}> &__restrict y\
% else:
, output_cascade<${k.accumulator}> *to\
% endif
