// Queues.
#pragma once

#include "../stream.hpp"

namespace aie_emulation {

AIE_EMULATION_BODY void Queue::push(const void *bytes, std::size_t count) {
    const auto *from = static_cast<const unsigned char *>(bytes);
    bytes_.insert(bytes_.end(), from, from + count);
    ++arrivals();
}

AIE_EMULATION_BODY void Queue::pop(void *bytes, std::size_t count, Place place) {
    while (size() < count && others()) others()();
    if (size() < count) {
        stop(place, "reads " + std::to_string(count) + " bytes from " + name + ", which holds " +
                        std::to_string(size()));
    }
    if (count == 0) return;
    std::memcpy(bytes, bytes_.data() + head_, count);
    head_ += count;
    if (head_ == bytes_.size() || head_ > (std::size_t{1} << 20)) {
        bytes_.erase(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(head_));
        head_ = 0;
    }
}

}  // namespace aie_emulation
