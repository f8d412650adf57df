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
      "draws, matrix classes or the grammar changed: cases that were reported by seed and number are others now";
  EXPECT_EQ(fingerprint(random_case), 2802347323895845270U) << advice;
  EXPECT_EQ(fingerprint(random_device_case), 1984272572648801152U) << advice;
  EXPECT_EQ(fingerprint(gpu_test::random_selection_case), 5884538207333832569U) << advice;
}

}  // namespace
}  // namespace kizami::cli
