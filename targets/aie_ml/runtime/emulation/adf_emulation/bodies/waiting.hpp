// Circles: whose turn it is.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "../waiting.hpp"

namespace aie_emulation {

AIE_EMULATION_BODY std::uint64_t &arrivals() {
    static std::uint64_t count = 0;
    return count;
}

AIE_EMULATION_BODY std::function<void()> &others() {
    thread_local std::function<void()> turn;
    return turn;
}

class Circle {
  public:
    /// Does all `jobs` to their ends.
    void run(const std::vector<std::function<void()>> &jobs) {
        jobs_ = std::vector<Job>(jobs.size());
        now_ = 0;
        std::vector<std::thread> threads;
        for (std::size_t at = 0; at < jobs.size(); ++at) {
            threads.emplace_back([this, at, &job = jobs[at]] { work(at, job); });
        }
        for (std::thread &thread : threads) thread.join();
    }

  private:
    struct Job {
        bool done = false;
        bool waits = false;
        std::uint64_t seen = 0;  // arrivals when it began to wait
    };

    void work(std::size_t at, const std::function<void()> &job) {
        others() = [this, at] { yield(at); };
        {
            std::unique_lock lock(mutex_);
            changed_.wait(lock, [&] { return now_ == at; });
        }
        job();
        const std::lock_guard lock(mutex_);
        jobs_[at].done = true;
        next(at);
    }

    void yield(std::size_t at) {
        std::unique_lock lock(mutex_);
        jobs_[at].waits = true;
        jobs_[at].seen = arrivals();
        next(at);
        changed_.wait(lock, [&] { return now_ == at; });
        jobs_[at].waits = false;
    }

    /// Whose turn is after `at`: one for whom something may have come.
    void next(std::size_t at) {
        bool all = true;
        for (std::size_t step = 1; step <= jobs_.size(); ++step) {
            const std::size_t other = (at + step) % jobs_.size();
            const Job &job = jobs_[other];
            all = all && job.done;
            if (job.done || (job.waits && job.seen == arrivals())) continue;
            now_ = other;
            changed_.notify_all();
            return;
        }
        if (!all) stop({"graph", 0}, "everything in a circle of connections waits for something else");
    }

    std::vector<Job> jobs_;
    std::size_t now_ = 0;
    std::mutex mutex_;
    std::condition_variable changed_;
};

AIE_EMULATION_BODY void run_circle(const std::vector<std::function<void()>> &jobs) { Circle().run(jobs); }

}  // namespace aie_emulation
