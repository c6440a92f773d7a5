# For the Vitis linker (v++ --link --config): ${call.symbol} between the streams of graph ${g.name}.
[connectivity]
nk=${call.symbol}:1:${call.symbol}_0
% for at in range(call.tiles):
stream_connect=ai_engine_0.${g.name}_sums${at}:${call.symbol}_0.sums${at}
% endfor
stream_connect=${call.symbol}_0.states:ai_engine_0.${g.name}_states
% if call.narrow:
stream_connect=${call.symbol}_0.results:ai_engine_0.${g.name}_results
% endif
