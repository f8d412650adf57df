// SPDX-License-Identifier: MIT
// The kernel of panel_steps.hpp on a host: of each block all threads in turn, and all blocks at the same time, as fast as
// each may go, for they wait for each other.
#pragma once

#include <cstddef>
#include <thread>
#include <vector>

#include "dropin/factorizations/panel_steps.hpp"

namespace kizami::dropin::factorizations {

template <int W>
class PanelBlockOnHost {
 public:
  PanelBlockOnHost(const PanelCall<W>& call, int block) : call_(call) {
    for (int i = 0; i < kPanelThreads; ++i) threads_.emplace_back(call_, shared_, i, block);
  }
  void run() { factor_panel<W>(call_, *this); }

  template <class Step>
  void each(const Step& step) {
    for (PanelSteps<W>& thread : threads_) step(thread);
  }
  template <class Make, class Take>
  void compare(const Make& make, const Take& take) {
    for (std::size_t first = 0; first < threads_.size(); first += 32) {
      Offer best = make(threads_[first]);
      for (std::size_t i = first + 1; i < first + 32; ++i) {
        const Offer offer = make(threads_[i]);
        if (is_before(offer, best)) best = offer;
      }
      for (std::size_t i = first; i < first + 32; ++i) take(threads_[i], best);
    }
  }
  void sync() {}
  void sync_warp() {}
  template <class IsThere>
  void wait(const IsThere& is_there) {
    while (!is_there()) std::this_thread::yield();
  }

 private:
  PanelCall<W> call_;
  PanelShared<W> shared_{};
  std::vector<PanelSteps<W>> threads_;
};

template <int W>
void factor_panel_on_host(const PanelCall<W>& call) {
  std::vector<std::thread> others;
  for (int block = 1; block < call.num_blocks; ++block)
    others.emplace_back([&call, block] { PanelBlockOnHost<W>(call, block).run(); });
  PanelBlockOnHost<W>(call, 0).run();
  for (std::thread& other : others) other.join();
}

}  // namespace kizami::dropin::factorizations
