// SPDX-License-Identifier: MIT
// Copies between devices in the order in which a call asks for them, played without devices.
#include "multi/source_turns.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "multi/pieces.hpp"

namespace kizami::multi {
namespace {

constexpr int kDevices = 4;

struct Copy {
  int source = 0;
  int reader = 0;
  double begin = 0;
  double end = 0;
};

/// Each device wants a panel of which all devices have as much, in parts; a copy of 1 takes 1 while nobody else reads there. Asked for in rounds.
/// @param late  when a device may begin
std::vector<Copy> play(const std::vector<double>& late, int num_parts) {
  std::vector<Rect> pieces;  // k in quarters
  std::vector<int> devices;
  for (int d = 0; d < kDevices; ++d) {
    pieces.push_back({0, 64 * d, 1024, 64});
    devices.push_back(d);
  }
  std::vector<std::vector<int>> sources(kDevices);
  for (int d = 0; d < kDevices; ++d) {
    const Rect panel{512 * (d / 2), 0, 512, 256};
    for (int part = 0; part < num_parts; ++part) {
      const std::int64_t lines = panel.rows / num_parts;
      for (const Holding& holding : holdings_in_turn({panel.row + part * lines, 0, lines, 256}, pieces, devices, d)) {
        if (devices[holding.piece] != d) sources[static_cast<std::size_t>(d)].push_back(devices[holding.piece]);
      }
    }
  }
  std::vector<char> places(2 * kDevices);  // in place of streams, whose addresses alone are looked at
  std::vector<char> events(sources[0].size() * kDevices);
  SourceTurns turns;
  std::map<const void*, double> done;  // by event
  std::vector<double> free(late);
  std::vector<Copy> copies;
  for (std::size_t round = 0; round < sources[0].size(); ++round) {
    for (int d = 0; d < kDevices; ++d) {
      const auto i = static_cast<std::size_t>(d);
      const auto* const stream = reinterpret_cast<const CUstream_st*>(&places[i]);
      auto* const event = reinterpret_cast<CUevent_st*>(&events[copies.size()]);
      const int source = sources[i][round];
      const CUevent_st* const before = turns.before(source, stream);
      const double begin = std::max(free[i], before == nullptr ? 0.0 : done.at(before));
      turns.follow(source, stream, event);
      done[event] = free[i] = begin + 1;
      copies.push_back({source, d, begin, begin + 1});
    }
  }
  return copies;
}

/// No device is read by two at a time, and where all begin together nobody waits.
TEST(SourceTurns, NoTwoReadFromOneDevice) {
  for (const int num_parts : {1, 4}) {
    for (const std::vector<double>& late :
         {std::vector<double>{0, 0, 0, 0}, {0, 0.1, 0.2, 0.3}, {0.9, 0, 0.4, 0}, {0, 0, 0, 5}}) {
      const std::vector<Copy> copies = play(late, num_parts);
      double last = 0;
      for (const Copy& x : copies) {
        EXPECT_NE(x.source, x.reader);
        for (const Copy& y : copies)
          EXPECT_TRUE(&x == &y || x.source != y.source || x.end <= y.begin || y.end <= x.begin);
        last = std::max(last, x.end);
      }
      // Who begins last makes others wait as long once, and no longer.
      EXPECT_NEAR(last, 3.0 * num_parts + *std::max_element(late.begin(), late.end()), 1e-9);
    }
  }
}

TEST(SourceTurns, CopiesOfOneStreamFollowAnyway) {
  char streams[2];
  char event = 0;
  const auto* const one = reinterpret_cast<const CUstream_st*>(&streams[0]);
  const auto* const other = reinterpret_cast<const CUstream_st*>(&streams[1]);
  auto* const behind = reinterpret_cast<CUevent_st*>(&event);
  SourceTurns turns;
  EXPECT_EQ(turns.before(3, one), nullptr);
  turns.follow(3, one, behind);
  EXPECT_EQ(turns.before(3, one), nullptr);
  EXPECT_EQ(turns.before(3, other), behind);
  EXPECT_EQ(turns.before(2, other), nullptr);
}

}  // namespace
}  // namespace kizami::multi
