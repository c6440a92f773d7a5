<%page args="start, steps"/>\
/// 1 / value by Newton's steps, from a guess by its bits.
MATCH_AIE_INLINE Split inverse(const Floats &value) {
    const Split exact = split(value);
    const Floats two = everywhere(2.0f);
    Split guess = split(guessed(${hex(start)}, value.to_vector<float>().cast_to<int32>()));
    for (unsigned step = 0; step < ${steps}; ++step) {
        guess = split(times(guess, split(aie::sub(two, times(exact, guess)))));
    }
    return guess;
}
