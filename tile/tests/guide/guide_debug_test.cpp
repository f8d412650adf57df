// SPDX-License-Identifier: MIT
// The guide's kernels under the checks of the debug mode: those that are right have no faults, and those with a mistake
// have the faults that tile/docs/debug.md shows (faults.txt).
#define KIZAMI_TILE_DEBUG
#include "tile/tests/guide/guide_cases.hpp"

#include <fstream>
#include <string>

namespace kizami::tile_guide {
inline namespace KIZAMI_TILE_BACKEND {

/// The first fault of a launch, and how many there were; "" if there was none.
template <class Launch>
std::string first_fault(const Launch& launch) {
  tile::LaunchOptions options;
  options.max_threads = 1;  // the first fault is that of the first block
  const Status status = launch(&options);
  return status.reason();
}

TEST(DebugMode, FaultsAreThoseOfTheGuide) {
  const std::vector<float> x(40, 1.0F);
  std::vector<float> y(40);
  const std::vector<int> integers(40, 1);
  const std::vector<int> large(256, std::numeric_limits<int>::max());
  int total = 0;
  std::vector<std::string> faults;
  faults.push_back(
      first_fault([&](tile::Stream s) { return KIZAMI_TILE_LAUNCH(copy_past_the_end, 3, s, x.data(), y.data(), 40); }));
  faults.push_back(
      first_fault([&](tile::Stream s) { return KIZAMI_TILE_LAUNCH(store_undefined, 1, s, x.data(), y.data(), 10); }));
  faults.push_back(first_fault(
      [&](tile::Stream s) { return KIZAMI_TILE_LAUNCH(total_without_atomics, 3, s, integers.data(), &total, 40); }));
  faults.push_back(
      first_fault([&](tile::Stream s) { return KIZAMI_TILE_LAUNCH(triple, 1, s, x.data(), y.data(), 40); }));
  faults.push_back(
      first_fault([&](tile::Stream s) { return KIZAMI_TILE_LAUNCH(add_up, 1, s, large.data(), &total, 256); }));

  std::ifstream file(KIZAMI_GUIDE_FAULTS);
  ASSERT_TRUE(file.is_open()) << KIZAMI_GUIDE_FAULTS;
  std::vector<std::string> expected;
  for (std::string line; std::getline(file, line);) expected.push_back(line);
  EXPECT_EQ(faults, expected);
}

}  // namespace KIZAMI_TILE_BACKEND
}  // namespace kizami::tile_guide
