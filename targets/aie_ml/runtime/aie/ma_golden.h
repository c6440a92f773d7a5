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

/// The same as numbers of one type.
template <typename T>
std::vector<T> numbers(const std::string &path) {
    std::vector<T> found;
    for (const std::string &word : words(path)) {
        if constexpr (std::is_floating_point_v<T>) {
            found.push_back(static_cast<T>(std::strtod(word.c_str(), nullptr)));
        } else {
            found.push_back(static_cast<T>(std::strtoll(word.c_str(), nullptr, 10)));
        }
    }
    return found;
}

/// Bytes, two hexadecimal digits each.
inline std::vector<unsigned char> bytes(const std::string &path) {
    std::vector<unsigned char> found;
    for (const std::string &word : words(path)) {
        for (std::size_t at = 0; at + 1 < word.size(); at += 2) {
            found.push_back(static_cast<unsigned char>(std::strtoul(word.substr(at, 2).c_str(), nullptr, 16)));
        }
    }
    return found;
}

/// How many words differ from the golden ones; the first is named. Golden "x" stands for any number.
inline std::size_t compare(const char *what, const std::vector<std::string> &got,
                           const std::vector<std::string> &golden) {
    std::size_t wrong = 0;
    for (std::size_t at = 0; at < golden.size(); ++at) {
        const bool same = at < got.size() && (golden[at] == "x" || golden[at] == got[at] ||
                                              std::strtod(golden[at].c_str(), nullptr) ==
                                                  std::strtod(got[at].c_str(), nullptr));
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
