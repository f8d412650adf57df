// SPDX-License-Identifier: MIT
// What a process makes at first use, so that the child of a fork never waits for a thread that it does not have. A
// child has only the thread that called fork(): a mutex that another one held stays locked there, what it guarded may
// be half changed, and a static variable of a function that another one was initialising stays "being initialised". So
// this library has neither a lock that a child shares with its parent nor such variables:
// docs/adr/0021-nothing-is-locked-across-a-fork.md. Both classes are constant-initialised (declare them constinit), and
// what they make is never destroyed: a BLAS may be called by destructors of static objects.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

namespace kizami::base {

/// How many forks lie between this process and the one that loaded the library: another number in every child.
[[nodiscard]] std::uint64_t num_forks() noexcept;

/// One T that does not change once it is made. Threads that come first together may each make one; all get the same.
/// The child of a fork finds it whole, or makes its own.
template <class T>
class MadeOnce {
 public:
  constexpr MadeOnce() = default;
  MadeOnce(const MadeOnce&) = delete;
  MadeOnce& operator=(const MadeOnce&) = delete;

  /// @param make gives the T; may be called though another thread's is taken. What it throws leaves nothing behind.
  template <class Make>
  [[nodiscard]] const T& get(const Make& make) {
    const T* known = made_.load(std::memory_order_acquire);
    if (known != nullptr) return *known;
    std::unique_ptr<const T> fresh(new T(make()));
    if (!made_.compare_exchange_strong(known, fresh.get(), std::memory_order_acq_rel, std::memory_order_acquire))
      return *known;
    return *fresh.release();
  }
  [[nodiscard]] const T& get() {
    return get([] { return T(); });
  }

 private:
  std::atomic<const T*> made_{nullptr};
};

/// One T for each process, with whatever locks it has: the child of a fork gets a new one, in which nothing is known
/// and no lock is held. What the parent's held stays in memory, and pointers to it stay valid.
template <class T>
class PerProcess {
 public:
  constexpr PerProcess() = default;
  PerProcess(const PerProcess&) = delete;
  PerProcess& operator=(const PerProcess&) = delete;

  [[nodiscard]] T& get() {
    Node* node = node_.load(std::memory_order_acquire);
    if (node != nullptr && node->forks == num_forks()) [[likely]]
      return node->value;
    std::unique_ptr<Node> fresh(new Node{num_forks(), node, {}});
    if (!node_.compare_exchange_strong(node, fresh.get(), std::memory_order_acq_rel, std::memory_order_acquire))
      return node->value;  // of another thread of this process
    return fresh.release()->value;
  }

  /// Null if this process has not asked for it yet.
  [[nodiscard]] T* known() {
    Node* const node = node_.load(std::memory_order_acquire);
    return node != nullptr && node->forks == num_forks() ? &node->value : nullptr;
  }

 private:
  struct Node {
    std::uint64_t forks;
    Node* inherited;
    T value;
  };
  std::atomic<Node*> node_{nullptr};
};

}  // namespace kizami::base
