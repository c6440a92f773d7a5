// Streams, cascades and buffers as kernels see them. Queues are unbounded: back-pressure and
// deadlock are a simulator's business.
#pragma once

#include <cstring>

#include "../aie_api/emulation/vector.hpp"
#include "waiting.hpp"

namespace aie_emulation {

/// First in, first out, in bytes.
class Queue {
  public:
    std::string name = "queue";

    void push(const void *bytes, std::size_t count);
    void pop(void *bytes, std::size_t count, Place place);
    std::size_t size() const { return bytes_.size() - head_; }

  private:
    std::vector<unsigned char> bytes_;
    std::size_t head_ = 0;
};

}  // namespace aie_emulation

template <typename T>
struct input_stream {
    aie_emulation::Queue *queue;
};
template <typename T>
struct output_stream {
    std::vector<aie_emulation::Queue *> queues;  // a stream may be broadcast
};
/// Packets of several senders, in no order: a header, then so many words.
struct input_pktstream {
    aie_emulation::Queue *queue;
    const std::vector<unsigned> *identifiers;  // by the merge's inputs
};
template <typename Tag>
struct input_cascade {
    aie_emulation::Queue *queue;
};
template <typename Tag>
struct output_cascade {
    aie_emulation::Queue *queue;
};

template <unsigned N, typename T>
aie::vector<T, N> readincr_v(input_stream<T> *from, AIE_EMULATION_HERE) {
    T lanes[N];
    from->queue->pop(lanes, sizeof(lanes), AIE_EMULATION_PLACE);
    aie::vector<T, N> values;
    for (unsigned i = 0; i < N; ++i) values[i] = lanes[i];
    return values;
}

template <typename T>
T readincr(input_stream<T> *from, AIE_EMULATION_HERE) {
    T value;
    from->queue->pop(&value, sizeof(value), AIE_EMULATION_PLACE);
    return value;
}

inline std::int32_t readincr(input_pktstream *from, AIE_EMULATION_HERE) {
    std::int32_t word;
    from->queue->pop(&word, sizeof(word), AIE_EMULATION_PLACE);
    return word;
}

/// What headers of the packets have that come in at input `index` of the merge.
inline unsigned getPacketid(input_pktstream *from, int index, AIE_EMULATION_HERE) {
    if (static_cast<std::size_t>(index) >= from->identifiers->size()) {
        aie_emulation::stop(AIE_EMULATION_PLACE, "no packets of that number come here");
    }
    return (*from->identifiers)[static_cast<std::size_t>(index)];
}

template <unsigned N, typename Tag>
aie::accum<Tag, N> readincr_v(input_cascade<Tag> *from, AIE_EMULATION_HERE) {
    typename aie::accum<Tag, N>::lane_type lanes[N];
    from->queue->pop(lanes, sizeof(lanes), AIE_EMULATION_PLACE);
    aie_emulation::core(AIE_EMULATION_PLACE).counters.cascade_in +=
        aie_emulation::words(sizeof(lanes), 64);
    aie::accum<Tag, N> sum;
    for (unsigned i = 0; i < N; ++i) sum.lane(i) = lanes[i];
    return sum;
}

template <typename T, unsigned N>
void writeincr(output_stream<T> *to, const aie::vector<T, N> &values, bool = false) {
    T lanes[N];
    for (unsigned i = 0; i < N; ++i) lanes[i] = values[i];
    for (aie_emulation::Queue *queue : to->queues) queue->push(lanes, sizeof(lanes));
}

template <typename T>
void writeincr(output_stream<T> *to, T value, bool = false) {
    for (aie_emulation::Queue *queue : to->queues) queue->push(&value, sizeof(value));
}

template <typename Tag, unsigned N>
void writeincr(output_cascade<Tag> *to, const aie::accum<Tag, N> &sum, AIE_EMULATION_HERE) {
    typename aie::accum<Tag, N>::lane_type lanes[N];
    for (unsigned i = 0; i < N; ++i) lanes[i] = sum.lane(i);
    aie_emulation::core(AIE_EMULATION_PLACE).counters.cascade_out +=
        aie_emulation::words(sizeof(lanes), 64);
    to->queue->push(lanes, sizeof(lanes));
}

namespace adf {

/// What a kernel reads in one firing.
template <typename T>
class input_buffer {
  public:
    using value_type = T;
    input_buffer(const T *data, unsigned size) : data_(data), size_(size) {}
    const T *data() const { return data_; }
    unsigned size() const { return size_; }

  private:
    const T *data_;
    unsigned size_;
};

/// What a kernel writes in one firing.
template <typename T>
class output_buffer {
  public:
    using value_type = T;
    output_buffer(T *data, unsigned size) : data_(data), size_(size) {}
    T *data() const { return data_; }
    unsigned size() const { return size_; }

  private:
    T *data_;
    unsigned size_;
};

/// What a kernel reads buffer after buffer, as often as it likes in one firing.
template <typename T>
class input_async_buffer {
  public:
    using value_type = T;
    virtual ~input_async_buffer() = default;
    virtual void acquire() = 0;
    virtual void release() = 0;
    virtual const T *data() const = 0;
    virtual unsigned size() const = 0;
};

/// What a kernel writes buffer after buffer.
template <typename T>
class output_async_buffer {
  public:
    using value_type = T;
    virtual ~output_async_buffer() = default;
    virtual void acquire() = 0;
    virtual void release() = 0;
    virtual T *data() const = 0;
    virtual unsigned size() const = 0;
};

}  // namespace adf
