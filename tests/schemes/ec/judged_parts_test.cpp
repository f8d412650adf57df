// SPDX-License-Identifier: MIT
// Parts of lines that splits on a device judge by themselves, and what a CTA holds of a line: plain arithmetic, which kernels take as it
// is.
#include "schemes/ec/judged_parts.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace kizami::ec {
namespace {

TEST(JudgedParts, LinesHavePartsOfRunsByTurns) {
  for (std::int64_t length = 1; length < 5000; ++length) {
    std::vector<std::int64_t> counts(kJudgedParts);
    for (std::int64_t t = 0; t < length; ++t) ++counts[static_cast<std::size_t>(judged_part(t))];
    int parts = 0;
    for (int part = 0; part < kJudgedParts; ++part) {
      const std::int64_t count = counts[static_cast<std::size_t>(part)];
      ASSERT_EQ(terms_of_part(length, part), count) << length << " terms, part " << part;
      parts += count > 0 ? 1 : 0;
    }
    ASSERT_EQ(num_judged_parts(length), parts) << length;
  }
}

TEST(JudgedParts, ClustersHoldEachTermOnceAndWholeParts) {
  for (const int length : {1, 256, 257, 512, 513, 1024, 1025, 2047, 2048, 2049, 3000, 4096, 4097, 6000, 8191, 8192}) {
    const int ranks = HeldTerms::ranks_of(length);
    std::vector<int> held(static_cast<std::size_t>(ranks * HeldTerms(length, 0).count()));
    ASSERT_GE(std::ssize(held), length);
    for (int rank = 0; rank < ranks; ++rank) {
      const HeldTerms terms(length, rank);
      ASSERT_LE(terms.count(), HeldTerms::kMostOfCta);
      int before = -1;
      for (int local = 0; local < terms.count(); ++local) {
        const int term = terms.term(local);
        ASSERT_GT(term, before);
        before = term;
        ASSERT_LT(static_cast<std::size_t>(term), held.size());
        ++held[static_cast<std::size_t>(term)];
        ASSERT_EQ(terms.first_part() + local / kJudgedRun % terms.num_parts(), judged_part(term)) << term;
        if (local % kJudgedRun != 0) {
          ASSERT_EQ(term, terms.term(local - 1) + 1) << "a run is together";
        }
      }
    }
    EXPECT_EQ(held, std::vector<int>(held.size(), 1));
  }
}

}  // namespace
}  // namespace kizami::ec
