<%
    cell, turns = call.cell, call.turns
    lstm, before = cell == 'lstm', cell == 'gru_before'
    per = call.words // call.chunks
    def numbers(values):
        texts = [f'{float(value):.9g}' for value in values]
        texts = [text if '.' in text or 'e' in text else f'{text}.0' for text in texts]
        return ', '.join(f'{text}f' for text in texts)
%>\
// Gates and state of ${'an LSTM' if lstm else 'a GRU'} of ${call.whole} units in programmable logic, float32, for Vitis HLS: a ${'turn' if before else 'step'} each time it runs, without end.
% if before:
// In a step's first turn sums of r and z come, and what r lets through of the state leaves; in its second the new state's sum, and the state.
% endif
// Sums come from ${call.tiles} tile${'s' * (call.tiles > 1)}, ${call.words} words of 128 bits each; ${call.back[0]} leave.
#include <ap_axi_sdata.h>
#include <ap_int.h>
#include <hls_stream.h>

#include <cstdint>

// Only synthesis knows these.
#ifdef __SYNTHESIS__
#define MA_SYNTHESIS(...) _Pragma(#__VA_ARGS__)
#else
#define MA_SYNTHESIS(...)
#endif

namespace ${call.symbol}_parts {

using Word = ap_axiu<128, 0, 0, 0>;
constexpr unsigned lanes = 8, lines = ${len(tables['tanh'].slopes)};

// Lines of the functions.
% for name, table in tables.items():
const float ${name}_slopes[lines] = {${numbers(table.slopes)}};
const float ${name}_offsets[lines] = {${numbers(table.offsets)}};
% endfor

inline std::uint32_t bits_of(float value) {
    union {
        float real;
        std::uint32_t bits;
    } both;
    both.real = value;
    return both.bits;
}

inline float of_bits(std::uint32_t bits) {
    union {
        float real;
        std::uint32_t bits;
    } both;
    both.bits = bits;
    return both.real;
}

/// A function of a number that is held in [-8, 8]: of the line in whose 1/256 it lies. What is no number stays none.
inline float line(const float (&slopes)[lines], const float (&offsets)[lines], float x) {
    const float held = x > 8.0f ? 8.0f : x < -8.0f ? -8.0f : x;
    unsigned number = 0;
    if (held >= -8.0f) {
        const float at = held * 256.0f;
        const int whole = static_cast<int>(at);
        number = static_cast<unsigned>(static_cast<int>(lines / 2) + whole - (at < static_cast<float>(whole) ? 1 : 0));
        if (number > lines - 1) number = lines - 1;
    }
    const float part = slopes[number] * held;
    return part + offsets[number];
}

/// The logistic function of twice `half`.
inline float logistic(float half) { return line(logistic_slopes, logistic_offsets, half); }

inline float bent(float sum) { return line(tanh_slopes, tanh_offsets, sum); }

/// Number `lane` of eight floats in two words.
inline float of(const ap_uint<128> *words, unsigned lane) {
    const unsigned first = 32 * (lane % 4);
    return of_bits(static_cast<std::uint32_t>(words[lane / 4].range(first + 31, first)));
}

% if before:
/// What a unit's reset gate lets through; its other gate's sum is kept.
inline float reset(float state, float &update, const ap_uint<128> *sums, unsigned lane) {
    update = of(sums + 2, lane);
    return logistic(of(sums, lane)) * state;
}

% endif
% if lstm:
/// What a unit shows; its cell is `state`.
inline float next(float &state, const ap_uint<128> *sums, unsigned lane) {
    const float i = logistic(of(sums, lane)), o = logistic(of(sums + 2, lane)), f = logistic(of(sums + 4, lane));
    const float kept = f * state, more = i * bent(of(sums + 6, lane));
    state = kept + more;
    return o * bent(state);
}
% else:
/// A unit's next state.
inline float next(float &state, ${'float update, ' if before else ''}const ap_uint<128> *sums, unsigned lane) {
% if before:
    const float z = logistic(update), total = of(sums, lane);
% else:
    const float z = logistic(of(sums, lane)), inner = of(sums + 4, lane);
    const float let = logistic(of(sums + 2, lane)) * (inner + inner), total = of(sums + 6, lane) + let;
% endif
    const float kept = z * state, more = (1.0f - z) * bent(total);
    state = kept + more;
    return state;
}
% endif

}  // namespace ${call.symbol}_parts

extern "C" void ${call.symbol}(${', '.join(f'hls::stream<{call.symbol}_parts::Word> &sums{at}' for at in range(call.tiles))}, hls::stream<${call.symbol}_parts::Word> &states) {
% for at in range(call.tiles):
    MA_SYNTHESIS(HLS INTERFACE axis port=sums${at})
% endfor
    MA_SYNTHESIS(HLS INTERFACE axis port=states)
    MA_SYNTHESIS(HLS INTERFACE ap_ctrl_none port=return)
    using namespace ${call.symbol}_parts;
    constexpr unsigned units = ${call.whole}, words = ${call.words}, abreast = ${call.abreast};
    static float state[units];
    static unsigned turn = 0;
    MA_SYNTHESIS(HLS ARRAY_PARTITION variable=state cyclic factor=abreast)
% if before:
    static float update[units];
    MA_SYNTHESIS(HLS ARRAY_PARTITION variable=update cyclic factor=abreast)
% endif
    ap_uint<128> came[${call.tiles} * words], made[units / 4];
    MA_SYNTHESIS(HLS ARRAY_PARTITION variable=came complete)
    MA_SYNTHESIS(HLS ARRAY_PARTITION variable=made complete)
    for (unsigned at = 0; at < words; ++at) {
    MA_SYNTHESIS(HLS PIPELINE II=1)
% for at in range(call.tiles):
        came[${f'{at} * words + ' if at else ''}at] = sums${at}.read().data;
% endfor
    }
    for (unsigned first = 0; first < units; first += abreast) {
    MA_SYNTHESIS(HLS PIPELINE II=1)
        for (unsigned unit = first; unit < first + abreast; ++unit) {
    MA_SYNTHESIS(HLS UNROLL)
            const ap_uint<128> *sums = came + ${per} * (unit / lanes);
            float now = turn == 0 ? 0.0f : state[unit];
% if before:
            const float h = turn % 2 == 0 ? reset(now, update[unit], sums, unit % lanes) : next(now, update[unit], sums, unit % lanes);
% else:
            const float h = next(now, sums, unit % lanes);
% endif
            state[unit] = now;
            made[unit / 4].range(32 * (unit % 4) + 31, 32 * (unit % 4)) = bits_of(h);
        }
    }
    for (unsigned at = 0; at < units / 4; ++at) {
    MA_SYNTHESIS(HLS PIPELINE II=1)
        Word word;
        word.keep = -1;
        word.strb = -1;
        word.data = made[at];
        word.last = at + 1 == units / 4;
        states.write(word);
    }
    turn = turn + 1 == ${call.sends} ? 0 : turn + 1;
}

#undef MA_SYNTHESIS
