// SPDX-License-Identifier: MIT
// Ranks as threads of one process, with a communicator that can be made to fail. What waits for a rank that does not come
// gives up.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "kizami/ranks.hpp"

namespace kizami::multi {

/// What the threads share.
struct ThreadRoom {
  explicit ThreadRoom(int ranks) : size(ranks) {}

  int size;
  std::chrono::milliseconds patience{20000};
  std::mutex mutex;
  std::condition_variable changed;
  // A collective function: all give, then all take.
  int given = 0;
  int taken = 0;
  std::int64_t round = 0;
  std::vector<std::int64_t> values;
  std::vector<std::byte> bytes;
  std::map<std::pair<int, int>, std::vector<std::byte>> mail;  ///< from, to
  std::size_t bytes_sent = 0;
  int messages = 0;
};

class ThreadRanks final : public Communicator {
 public:
  ThreadRanks(ThreadRoom& room, int rank) : room_(room), rank_(rank) {}

  /// The function of that number, from 0, fails here.
  void fail_at(int call) { fails_at_ = call; }
  /// From the function of that number on nothing is heard of this rank.
  void die_at(int call) { dies_at_ = call; }
  [[nodiscard]] int num_calls() const { return num_calls_; }
  [[nodiscard]] int num_reductions() const { return num_reductions_; }

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return room_.size; }

  Status all_reduce(Reduction reduction, std::span<std::int64_t> values) override {
    ++num_reductions_;
    return meet(
        "all-reduce",
        [&] {
          if (room_.given == 0) room_.values.assign(values.begin(), values.end());
          if (room_.values.size() != values.size()) return false;
          if (room_.given == 0) return true;
          for (std::size_t i = 0; i < values.size(); ++i) {
            std::int64_t& all = room_.values[i];
            all = reduction == Reduction::kSum ? all + values[i] : std::max(all, values[i]);
          }
          return true;
        },
        [&] { std::copy(room_.values.begin(), room_.values.end(), values.begin()); });
  }

  Status broadcast(std::span<std::byte> bytes, int root) override {
    return meet(
        "broadcast",
        [&] {
          if (rank_ == root) room_.bytes.assign(bytes.begin(), bytes.end());
          return true;
        },
        [&] { std::copy(room_.bytes.begin(), room_.bytes.end(), bytes.begin()); });
  }

  /// Returns when it is received, as the worst of communicators would.
  Status send(std::span<const std::byte> bytes, int to) override {
    std::unique_lock lock(room_.mutex);
    if (fails()) return failure("send");
    const std::pair key(rank_, to);
    room_.mail[key].assign(bytes.begin(), bytes.end());
    room_.bytes_sent += bytes.size();
    ++room_.messages;
    room_.changed.notify_all();
    return wait(lock, "send", [&] { return !room_.mail.contains(key); });
  }

  Status receive(std::span<std::byte> bytes, int from) override {
    std::unique_lock lock(room_.mutex);
    if (fails()) return failure("receive");
    const std::pair key(from, rank_);
    KIZAMI_RETURN_IF_ERROR(wait(lock, "receive", [&] { return room_.mail.contains(key); }));
    const std::vector<std::byte>& message = room_.mail[key];
    if (message.size() != bytes.size()) return {StatusCode::kInternal, "a message of another length"};
    std::copy(message.begin(), message.end(), bytes.begin());
    room_.mail.erase(key);
    room_.changed.notify_all();
    return {};
  }

 private:
  [[nodiscard]] bool fails() {
    const int call = num_calls_++;
    return call == fails_at_ || call >= dies_at_;
  }
  [[nodiscard]] Status failure(const char* what) const {
    return {StatusCode::kInternal, std::string(what) + " failed on rank " + std::to_string(rank_)};
  }

  template <class Ready>
  Status wait(std::unique_lock<std::mutex>& lock, const char* what, const Ready& ready) {
    if (room_.changed.wait_for(lock, room_.patience, ready)) return {};
    return {StatusCode::kInternal, std::string(what) + ": a rank did not come in time"};
  }

  template <class Give, class Take>
  Status meet(const char* what, const Give& give, const Take& take) {
    std::unique_lock lock(room_.mutex);
    if (fails()) return failure(what);
    KIZAMI_RETURN_IF_ERROR(wait(lock, what, [&] { return room_.taken == 0; }));  // all have left the one before
    if (!give()) return {StatusCode::kInternal, std::string(what) + ": values of another number"};
    const std::int64_t round = room_.round;
    if (++room_.given == room_.size) {
      room_.taken = room_.size;
      ++room_.round;
      room_.changed.notify_all();
    }
    KIZAMI_RETURN_IF_ERROR(wait(lock, what, [&] { return room_.round != round; }));
    take();
    if (--room_.taken == 0) room_.given = 0;
    room_.changed.notify_all();
    return {};
  }

  ThreadRoom& room_;
  int rank_;
  int fails_at_ = -1;
  int dies_at_ = std::numeric_limits<int>::max();
  int num_calls_ = 0;
  int num_reductions_ = 0;
};

/// Calls body(its ranks) on a thread for each rank, but for those below `first`, who never come.
inline std::vector<Status> on_ranks(ThreadRoom& room, const std::function<Status(ThreadRanks&)>& body, int first = 0) {
  std::vector<Status> results(static_cast<std::size_t>(room.size));
  std::vector<std::thread> threads;
  for (int r = first; r < room.size; ++r) {
    threads.emplace_back([&, r] {
      ThreadRanks ranks(room, r);
      results[static_cast<std::size_t>(r)] = body(ranks);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return results;
}

}  // namespace kizami::multi
