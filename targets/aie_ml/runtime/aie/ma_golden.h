// Files of numbers as AMD's simulators read and write them, and their comparison with golden ones.
#ifndef MA_GOLDEN_H
#define MA_GOLDEN_H

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

namespace ma {

/// The numbers of a file. Simulators write times ("T 413 ns") and ends of packets ("TLAST") between.
inline std::vector<std::string> words(const std::string &path) {
    std::ifstream file(path);
    if (!file) {
        std::fprintf(stderr, "%s cannot be read\n", path.c_str());
        std::exit(2);
    }
    std::vector<std::string> found;
    for (std::string line; std::getline(file, line);) {
        std::istringstream text(line);
        std::string word;
        if (!(text >> word) || word == "T") {
            continue;
        }
        do {
            if (word != "TLAST") {
                found.push_back(word);
            }
        } while (text >> word);
    }
    return found;
}

/// Ends the program: a file is not what a run takes.
[[noreturn]] inline void refuse(const std::string &path, const std::string &why) {
    std::fprintf(stderr, "%s %s\n", path.c_str(), why.c_str());
    std::exit(2);
}

/// Refuses a file that holds fewer than a run takes; it may hold more.
inline void demand(const std::string &path, std::size_t held, std::size_t least, const char *what) {
    if (held < least) {
        refuse(path, "holds " + std::to_string(held) + what + ", and a run takes " + std::to_string(least));
    }
}

/// Whether all of a word is a number.
inline bool is_number(const std::string &word, double &value) {
    char *end = nullptr;
    value = std::strtod(word.c_str(), &end);
    return end != word.c_str() && *end == '\0';
}

/// The same as numbers of one type, at least so many.
template <typename T>
std::vector<T> numbers(const std::string &path, std::size_t least = 0) {
    std::vector<T> found;
    for (const std::string &word : words(path)) {
        double value;
        if (!is_number(word, value)) {
            refuse(path, "holds '" + word + "', which is no number");
        }
        if constexpr (!std::is_floating_point_v<T>) {
            const long long whole = std::strtoll(word.c_str(), nullptr, 10);
            if (static_cast<double>(whole) != value || static_cast<long long>(static_cast<T>(whole)) != whole) {
                refuse(path, "holds " + word + ", which is none of its type's numbers");
            }
            found.push_back(static_cast<T>(whole));
        } else {
            found.push_back(static_cast<T>(value));
        }
    }
    demand(path, found.size(), least, " numbers");
    return found;
}

/// Bytes, two hexadecimal digits each, at least so many.
inline std::vector<unsigned char> bytes(const std::string &path, std::size_t least = 0) {
    std::vector<unsigned char> found;
    for (const std::string &word : words(path)) {
        if (word.size() % 2 != 0 || word.find_first_not_of("0123456789abcdefABCDEF") != std::string::npos) {
            refuse(path, "holds '" + word + "', which is no bytes in hexadecimal");
        }
        for (std::size_t at = 0; at < word.size(); at += 2) {
            found.push_back(static_cast<unsigned char>(std::strtoul(word.substr(at, 2).c_str(), nullptr, 16)));
        }
    }
    demand(path, found.size(), least, " bytes");
    return found;
}

/// Whether two words are one number, or the same text. Those with a fraction are of float32 at most,
/// and tools may write more digits, or fewer, than tell them apart.
inline bool alike(const std::string &one, const std::string &other) {
    double a, b;
    if (one == other) {
        return true;
    }
    if (!is_number(one, a) || !is_number(other, b)) {
        return false;
    }
    const bool real = (one + other).find_first_of(".eE") != std::string::npos;
    return real ? static_cast<float>(a) == static_cast<float>(b) : a == b;
}

/// How many words differ from the golden ones; the first is named. Golden "x" stands for any number.
inline std::size_t compare(const char *what, const std::vector<std::string> &got,
                           const std::vector<std::string> &golden) {
    std::size_t wrong = 0;
    for (std::size_t at = 0; at < golden.size(); ++at) {
        const bool same = at < got.size() && (golden[at] == "x" || alike(golden[at], got[at]));
        if (!same && wrong++ == 0) {
            std::printf("%s: number %zu is %s, and %s is golden\n", what, at,
                        at < got.size() ? got[at].c_str() : "missing", golden[at].c_str());
        }
    }
    if (got.size() > golden.size()) {
        wrong += got.size() - golden.size();
        std::printf("%s: %zu numbers, and %zu are golden\n", what, got.size(), golden.size());
    }
    std::printf("%s: %zu of %zu numbers differ\n", what, wrong, golden.size());
    return wrong;
}

/// The same of numbers in memory, the frames of one way one after the other.
template <typename T>
std::size_t compare(const char *what, const std::vector<T> &got, const std::string &golden) {
    std::vector<std::string> text;
    for (const T value : got) {
        char word[64];
        std::snprintf(word, sizeof(word), "%.9g", static_cast<double>(value));
        text.push_back(word);
    }
    return compare(what, text, words(golden));
}

}  // namespace ma

#endif
