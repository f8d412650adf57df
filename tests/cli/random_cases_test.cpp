// SPDX-License-Identifier: MIT
// A seed and a number name a case wherever they were written down: failures reported, records, files of hashes.
#include <gtest/gtest.h>

#include <cstdint>

#include "campaign.hpp"
#include "case_answer.hpp"
#include "device_cases.hpp"
#include "gpu_selection/selection_case.hpp"

namespace kizami::cli {
namespace {

/// Of the texts of the first 1000 cases of seed 1.
template <class DrawCase>
std::uint64_t fingerprint(DrawCase draw_case) {
  BitsHash hash;
  for (std::int64_t i = 0; i < 1000; ++i) hash.add(line_hash(draw_case(1, i)));
  return hash.value();
}

TEST(RandomCases, AreWhatTheirSeedHasAlwaysMeant) {
  const char* const advice =
      "draws, matrix classes or the grammar changed: cases that were reported by seed and number are others now, or "
      "have other words";
  EXPECT_EQ(fingerprint(random_case), 16316777895509479862U) << advice;
  EXPECT_EQ(fingerprint(random_device_case), 12962713204191597231U) << advice;
  EXPECT_EQ(fingerprint(gpu_test::random_selection_case), 3184465514975222557U) << advice;
}

}  // namespace
}  // namespace kizami::cli
