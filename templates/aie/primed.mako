<%page args="nest"/>\
<%
    s = nest.call.spec
    bias = dict(nest.begins)['bias']
    size = s.tiling.m * s.tiling.n
%>\
/// ${'The bias of each column' if bias else 'Zeros'} in all rows of a row of tiles, from which the first turn starts.
static MATCH_AIE_INLINE void ${nest.symbol}_prime(int32 *to, unsigned tiles${', const int32 *__restrict bias' if bias else ''}) {
    for (unsigned at = 0; at < tiles; ++at) chess_prepare_for_pipelining {
% if bias:
        const auto one = aie::load_v<8>(bias + at * 8);
        const auto rows = aie::concat(one, one);
% else:
        const auto rows = aie::zeros<int32, 16>();
% endif
% for at in range(0, size, 16):
        aie::store_v(to + at * ${size} + ${at}, rows);
% endfor
    }
}

% if nest.halved:
/// Half of the numbers by column, as they came behind the weights of a turn.
static MATCH_AIE_INLINE void ${nest.symbol}_hold(int32 *to, const int32 *__restrict from) {
    for (unsigned at = 0; at < ${nest.half_words}; at += 8) chess_prepare_for_pipelining {
        aie::store_v(to + at, aie::load_v<8>(from + at));
    }
}

% endif
/// All turns but the last: stands in program memory once.
static __attribute__((noinline)) void ${nest.symbol}_turn(const ${nest.kernels[0].family}::Call &call) { ${nest.kernels[0].family}::run(call); }
