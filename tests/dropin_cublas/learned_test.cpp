// SPDX-License-Identifier: MIT
// What calls tell of their elements, and whom the next ones are left to.
#include <string>

#include "dropin/policy/answer.hpp"
#include "dropin_cublas/process.hpp"

namespace kizami::dropin_test {
namespace {

class Learned : public Interposer {
 protected:
  void SetUp() override {
    Interposer::SetUp();
    on_kizami_call() = [this](const KizamiCall& call) {
      kizami.push_back(call);
      if (is_told) efforts().tell(call.note, effort);
      return Status();
    };
    effort.num_exceptions = 1;
  }
  void TearDown() override { configuration() = dropin::Configuration{}; }

  [[nodiscard]] std::function<cublasStatus_t()> dgemm(int m = 10) {
    return [this, m] {
      const double one = 1;
      return cublasDgemm_v2(handle.get(), CUBLAS_OP_N, CUBLAS_OP_N, m, 20, 30, &one, address<const double>(0xA000), m,
                            address<const double>(0xB000), 30, &one, address<double>(0xC000), m);
    };
  }
  /// Who answers so many calls: K or N.
  std::string answers(int calls, const std::function<cublasStatus_t()>& function) {
    std::string who;
    for (int i = 0; i < calls; ++i) {
      EXPECT_EQ(call(function), CUBLAS_STATUS_SUCCESS);
      EXPECT_EQ(kizami.size() + native.size(), 1U);
      who += native.empty() ? 'K' : 'N';
    }
    return who;
  }
  bool is_told = true;
  Effort effort;  ///< of every call of Kizami
};

TEST_F(Learned, TheThirdCallThatWouldLoseIsCublas) {
  EXPECT_EQ(answers(2 + 16 + 1 + 3, dgemm()), "KK" + std::string(16, 'N') + "KNNN");
  EXPECT_EQ(answers(2, dgemm(11)), "KK") << "of another shape";
}

TEST_F(Learned, WhatThePlannerCountsOnStaysKizamis) {
  effort.num_exceptions = 0;
  EXPECT_EQ(answers(10, dgemm()), std::string(10, 'K'));
}

TEST_F(Learned, AWinBringsTheCallsBack) {
  EXPECT_EQ(answers(2 + 16, dgemm()), "KK" + std::string(16, 'N'));
  effort.num_exceptions = 0;
  EXPECT_EQ(answers(5, dgemm()), "KKKKK");
}

TEST_F(Learned, WhoIsToldNothingLearnsNothing) {
  is_told = false;
  EXPECT_EQ(answers(10, dgemm()), std::string(10, 'K'));
}

TEST_F(Learned, WhereBitsArePromisedNothingIsLearned) {
  const std::vector<std::function<void(dropin::Settings&)>> promises = {
      [](dropin::Settings& x) { x.policy.scheme = Scheme::kOzaki2; },
      [](dropin::Settings& x) { x.policy.scheme = Scheme::kEc; },
      [](dropin::Settings& x) { x.policy.engine = EngineName::kHopper; },
      [](dropin::Settings& x) { x.policy.reproducibility = Reproducibility::kEngineToEngine; },
      [](dropin::Settings& x) { x.min_size = 0; },
      [](dropin::Settings& x) { x.is_own_lines = true; },
      [](dropin::Settings& x) { x.is_learned = false; },
  };
  for (std::size_t i = 0; i < promises.size(); ++i) {
    configuration().settings = {};
    promises[i](configuration().settings);
    for (int c = 0; c < 4; ++c) {
      EXPECT_EQ(call(dgemm()), CUBLAS_STATUS_SUCCESS);
      ASSERT_EQ(kizami.size(), 1U) << i;
      EXPECT_EQ(kizami[0].note.word, nullptr) << i;
    }
  }
}

// With accuracy bits=52, say: cuBLAS does not guarantee that, whatever it takes.
TEST_F(Learned, WhereCublasIsNotAccurateEnoughNothingIsLearned) {
  planner().can_be_native = false;
  EXPECT_EQ(answers(5, dgemm()), "KKKKK");
}

TEST_F(Learned, WithoutWordsNothingIsLearned) {
  dropin::cublas::forget_lessons();
  efforts().has_memory = false;
  EXPECT_EQ(answers(5, dgemm()), "KKKKK");
}

TEST_F(Learned, LogAndSummaryTellWhy) {
  configuration().is_summary_wanted = true;
  configuration().monitor_period = 1;  // call() logs
  runtime().is_capturing = true;       // no sample is taken
  EXPECT_EQ(answers(3, dgemm()), "KKN");
  const std::string reason = std::string("native: ") + dropin::kByLearning;
  EXPECT_NE(logged.find(reason), std::string::npos) << logged;
  EXPECT_NE(dropin::process_record().text().find("10x20x30: " + reason), std::string::npos)
      << dropin::process_record().text();
}

// Products beside the diagonal blocks of a routine of a triangle have places, too.
TEST_F(Learned, BlocksOfLevel3AreLearned) {
  const auto dsyrk = [this] {
    const double one = 1;
    return cublasDsyrk_v2(handle.get(), CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, 4096, 4096, &one,
                          address<const double>(0xA000), 4096, &one, address<double>(0xC000), 4096);
  };
  EXPECT_EQ(call(dsyrk), CUBLAS_STATUS_SUCCESS);
  ASSERT_EQ(kizami.size(), 1U);
  EXPECT_EQ(kizami[0].m, 2048);
  EXPECT_EQ(call(dsyrk), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(kizami.size(), 1U);
  EXPECT_EQ(call(dsyrk), CUBLAS_STATUS_SUCCESS);
  EXPECT_TRUE(kizami.empty());
  ASSERT_EQ(native.size(), 3U);
  EXPECT_EQ(native[1].name, "cublasDgemm_v2_64");
}

}  // namespace
}  // namespace kizami::dropin_test
