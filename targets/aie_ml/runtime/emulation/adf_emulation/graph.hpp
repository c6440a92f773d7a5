// The graph: the vendor's class, which an emitted one is derived from.
#pragma once

#include "attributes.hpp"

namespace aie_emulation {

class Schedule;

}  // namespace aie_emulation

namespace adf {

enum return_code { ok = 0, user_error };

/// A graph; an outermost one is a program, and several may be there.
class graph {
  public:
    graph();
    virtual ~graph();
    graph(const graph &) = delete;
    graph &operator=(const graph &) = delete;

    virtual return_code init();
    virtual return_code run(unsigned iterations);
    virtual return_code wait();
    virtual return_code wait(unsigned long long);
    virtual return_code end();

    /// Of this emulation: other graphs that do so have the same tiles, and run at other times.
    void by_turns();

    template <typename T>
    return_code update(const port_handle &port, const T *values, std::size_t count) {
        set(port, values, count * sizeof(T));
        return ok;
    }

    template <typename T>
        requires std::is_arithmetic_v<T>
    return_code update(const port_handle &port, T value) {
        return update(port, &value, 1);
    }

  private:
    void set(const port_handle &port, const void *values, std::size_t bytes);

    std::unique_ptr<aie_emulation::Schedule> schedule_;
    unsigned number_;
};

}  // namespace adf
