// SPDX-License-Identifier: MIT
// What programs that time forwarded calls share: medians of interleaved rounds of a call that goes to a function
// directly and of one that goes through a preloaded library.
#pragma once

#include <chrono>
#include <vector>

#include "harness/spread.hpp"

namespace bench {

template <class Call>
double nanoseconds_per_call(Call& call) {
  constexpr int kCalls = 20000;
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < kCalls; ++i) call();
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count() / kCalls;
}

/// In nanoseconds a call.
struct Overhead {
  double direct;
  double forwarded;
};

template <class Direct, class Forwarded>
Overhead overhead_of(Direct&& direct, Forwarded&& forwarded) {
  constexpr int kRounds = 31;
  std::vector<double> of_direct;
  std::vector<double> of_forwarded;
  nanoseconds_per_call(forwarded);                 // finds the native library, plans
  for (int round = 0; round < kRounds; ++round) {  // in turns, so that both see the same clock
    of_direct.push_back(nanoseconds_per_call(direct));
    of_forwarded.push_back(nanoseconds_per_call(forwarded));
  }
  return {median(of_direct), median(of_forwarded)};
}

}  // namespace bench
