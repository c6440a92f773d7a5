// Compares files that a simulator wrote with golden ones: check FILE GOLDEN [FILE GOLDEN ...].
#include "ma_golden.h"

int main(int count, char **names) {
    std::size_t wrong = 0;
    for (int at = 1; at + 1 < count; at += 2) {
        wrong += ma::compare(names[at], ma::words(names[at]), ma::words(names[at + 1]));
    }
    std::printf("%s\n", wrong == 0 ? "PASSED" : "FAILED");
    return wrong == 0 ? 0 : 1;
}
