// SPDX-License-Identifier: MIT
// A product of several ranks has the bits and the outcome of one call, for every cut of the matrices; and what goes wrong
// on one rank is the error of all, soon.
#include "kizami/ranks.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <memory>
#include <random>

#include "kizami/gemm.hpp"
#include "kizami/predict.hpp"
#include "multi/rank_grid.hpp"
#include "multi/thread_ranks.hpp"
#include "tests/sanitized.hpp"

namespace kizami::multi {
namespace {

/// A column-major matrix, perhaps stored by rows.
template <class T>
struct Matrix {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::vector<T> values;

  Matrix(std::int64_t num_rows, std::int64_t num_cols)
      : rows(num_rows), cols(num_cols), values(static_cast<std::size_t>(num_rows * num_cols)) {}
  [[nodiscard]] T& at(std::int64_t i, std::int64_t j) { return values[static_cast<std::size_t>(j * rows + i)]; }
  [[nodiscard]] MatrixView<const T> view() const { return {values.data(), rows, cols, 1, rows}; }
};

template <class T>
[[nodiscard]] T random_element(std::mt19937_64& rng) {
  std::normal_distribution<double> normal;
  if constexpr (kIsComplex<T>) {
    const double re = normal(rng);
    return {static_cast<RealOf<T>>(re), static_cast<RealOf<T>>(normal(rng))};
  } else {
    return static_cast<T>(normal(rng));
  }
}

/// What elements are like.
struct Kind {
  const char* name;
  double grade = 0;  ///< bits by which columns of A rise along the inner index, and rows of B fall
  int num_odd = 0;   ///< lines at the beginning whose large elements do not meet: a higher rung, or repairs
  double gap = 0;    ///< bits by which those are larger
  bool has_nonfinite = false;
};

template <class T>
struct Operands {
  Matrix<T> a;
  Matrix<T> b;
  Matrix<T> c;
};

template <class T>
[[nodiscard]] Operands<T> operands_of(const Kind& kind, std::int64_t m, std::int64_t n, std::int64_t k) {
  std::mt19937_64 rng(17);
  Operands<T> x{{m, k}, {k, n}, {m, n}};
  const double grade = sizeof(RealOf<T>) == 4 ? kind.grade / 2 : kind.grade;
  const double gap = sizeof(RealOf<T>) == 4 ? kind.gap / 4 : kind.gap;
  for (std::int64_t h = 0; h < k; ++h) {
    const double rise = grade * static_cast<double>(h) / static_cast<double>(k);
    const auto scaled = [&](double exponent, bool is_large) {
      return random_element<T>(rng) * static_cast<RealOf<T>>(std::exp2(exponent + (is_large ? gap : 0.0)));
    };
    for (std::int64_t i = 0; i < m; ++i) x.a.at(i, h) = scaled(rise, i < kind.num_odd && h % 2 == 1);
    for (std::int64_t j = 0; j < n; ++j) x.b.at(h, j) = scaled(-rise, j < kind.num_odd && h % 2 == 0);
  }
  for (T& element : x.c.values) element = random_element<T>(rng);
  if (kind.has_nonfinite) {
    x.a.at(m - 1, 1) = std::numeric_limits<RealOf<T>>::infinity();
    x.b.at(2, 0) = std::numeric_limits<RealOf<T>>::quiet_NaN();
  }
  return x;
}

/// How matrices are cut: C by ranges of rows and columns, in turns to the ranks of a grid; operands likewise.
struct Cut {
  int grid_rows;
  int grid_cols;
  std::int64_t block;  ///< lines of a range; 0: one range a rank
  bool is_by_rows = false;
  [[nodiscard]] int size() const { return grid_rows * grid_cols; }
};

/// A rank's part of a matrix, copied to memory of its own.
template <class T>
class Held {
 public:
  Held(const Matrix<T>& matrix, const Cut& cut, int rank) {
    const auto ranges = [&](std::int64_t extent, int parts, int part) {
      std::vector<std::pair<std::int64_t, std::int64_t>> all;
      const std::int64_t length = cut.block != 0 ? cut.block : (extent + parts - 1) / parts;
      for (std::int64_t first = part * length; length > 0 && first < extent; first += parts * length)
        all.emplace_back(first, std::min(length, extent - first));
      return all;
    };
    for (const auto& [row, rows] : ranges(matrix.rows, cut.grid_rows, rank % cut.grid_rows)) {
      for (const auto& [col, cols] : ranges(matrix.cols, cut.grid_cols, rank / cut.grid_rows)) {
        const std::int64_t gap = 3;
        memory_.push_back(std::make_unique<std::vector<T>>(static_cast<std::size_t>((rows + gap) * (cols + gap))));
        MatrixView<T> view{memory_.back()->data(), rows, cols, 1, rows + gap};
        if (cut.is_by_rows) view = {view.data, rows, cols, cols + gap, 1};
        for (std::int64_t j = 0; j < cols; ++j) {
          for (std::int64_t i = 0; i < rows; ++i)
            view(i, j) = matrix.values[static_cast<std::size_t>((col + j) * matrix.rows + row + i)];
        }
        pieces.push_back({row, col, view});
      }
    }
  }
  [[nodiscard]] std::vector<Piece<const T>> const_pieces() const {
    std::vector<Piece<const T>> all;
    for (const Piece<T>& piece : pieces) all.push_back({piece.row, piece.col, piece.view});
    return all;
  }
  void copy_to(Matrix<T>& matrix) const {
    for (const Piece<T>& piece : pieces) {
      for (std::int64_t j = 0; j < piece.view.cols; ++j) {
        for (std::int64_t i = 0; i < piece.view.rows; ++i) matrix.at(piece.row + i, piece.col + j) = piece.view(i, j);
      }
    }
  }
  std::vector<Piece<T>> pieces;

 private:
  std::vector<std::unique_ptr<std::vector<T>>> memory_;
};

void expect_equal(const Outcome& x, const Outcome& y) {
  EXPECT_EQ(x.scheme, y.scheme);
  EXPECT_EQ(x.engine, y.engine);
  EXPECT_EQ(x.bound, y.bound);
  EXPECT_EQ(x.gauge, y.gauge);
  EXPECT_EQ(x.moduli, y.moduli);
  EXPECT_EQ(x.rung, y.rung);
  EXPECT_EQ(x.equilibrated, y.equilibrated);
  EXPECT_EQ(x.repaired, y.repaired);
  EXPECT_EQ(x.nonfinite_rows, y.nonfinite_rows);
  EXPECT_EQ(x.nonfinite_cols, y.nonfinite_cols);
}

[[nodiscard]] Policy policy_of(Accuracy accuracy) {
  Policy policy;
  policy.scheme = Scheme::kOzaki2;
  policy.accuracy = accuracy;
  policy.threads = 1;
  return policy;
}

/// @return the outcome, that of one call
template <class T>
Outcome expect_one_call(const Operands<T>& x, const Cut& cut, T alpha, T beta, const Policy& policy) {
  Matrix<T> want = x.c;
  Outcome one;
  const Status status = gemm<T>(alpha, x.a.view(), x.b.view(), beta,
                                MatrixView<T>{want.values.data(), want.rows, want.cols, 1, want.rows}, policy, &one);
  EXPECT_TRUE(status.ok()) << status.reason();
  Matrix<T> got = x.c;
  ThreadRoom room(cut.size());
  const std::vector<Status> results = on_ranks(room, [&](ThreadRanks& ranks) {
    const Held<T> a(x.a, cut, ranks.rank());
    const Held<T> b(x.b, cut, ranks.rank());
    const Held<T> c(x.c, cut, ranks.rank());
    Outcome outcome;
    Status done = run<T>(ranks, x.c.rows, x.c.cols, x.a.cols, alpha, a.const_pieces(), b.const_pieces(), beta, c.pieces,
                         policy, &outcome);
    c.copy_to(got);
    const std::lock_guard lock(room.mutex);
    expect_equal(outcome, one);
    return done;
  });
  for (const Status& done : results) EXPECT_TRUE(done.ok()) << done.reason();
  EXPECT_EQ(std::memcmp(got.values.data(), want.values.data(), want.values.size() * sizeof(T)), 0);
  return one;
}

constexpr Cut kCuts[] = {{1, 1, 0}, {2, 1, 0}, {1, 2, 0}, {2, 2, 0}, {3, 1, 0}, {2, 2, 7}, {2, 3, 5, true}};

template <class T>
void expect_one_call_everywhere() {
  const Kind kinds[] = {
      {"normal"},     {"a pair of odd lines", 0, 1, 240}, {"odd lines", 0, 8, 40}, {"less odd lines", 0, 8, 14},
      {"graded", 90}, {"NaN and Inf", 0, 0, 0, true}};
  int climbed = 0;
  int equilibrated = 0;
  int repaired = 0;
  int turn = 0;
  for (const Kind& kind : kinds) {
    const Operands<T> x = operands_of<T>(kind, 67, 83, 200);
    for (const Cut& cut : kCuts) {
      if (tests::is_left_out(turn++, 5)) continue;  // each kind comes, and each cut but one
      SCOPED_TRACE(std::string(kind.name) + ", " + std::to_string(cut.grid_rows) + " x " +
                   std::to_string(cut.grid_cols) + " ranks, blocks " + std::to_string(cut.block));
      const Outcome outcome = expect_one_call<T>(x, cut, T(1.5), T(-0.5), policy_of(Accuracy::native()));
      climbed += outcome.rung > 0 ? 1 : 0;
      equilibrated += outcome.equilibrated ? 1 : 0;
      repaired += outcome.repaired > 0 ? 1 : 0;
      if (&kind == kinds) expect_one_call<T>(x, cut, T(1), T(0), policy_of(Accuracy::native()));
    }
  }
  EXPECT_GT(climbed, 0);
  EXPECT_GT(equilibrated, 0);
  EXPECT_GT(repaired, 0);
}

TEST(Ranks, HaveTheBitsOfOneCallAtEveryAccuracy) {
  const Operands<double> x = operands_of<double>({"normal"}, 40, 50, 90);
  int turn = 0;
  for (const Cut& cut : kCuts) {
    if (tests::is_left_out(turn++, 3)) continue;
    expect_one_call<double>(x, cut, 1, 0.5, policy_of(Accuracy::at_bits(30)));
    expect_one_call<double>(x, cut, -1, 0, policy_of(Accuracy::correct()));
    Policy norm = policy_of(Accuracy::at_bits(40));
    norm.gauge = Gauge::kNorm;
    expect_one_call<double>(x, cut, 1, 0, norm);
    Policy slices = policy_of(Accuracy::native());
    slices.scheme = Scheme::kOzaki1;
    slices.gauge = Gauge::kNorm;
    slices.slices.num_slices = 7;
    expect_one_call<double>(x, cut, 2, 0, slices);
  }
}

TEST(Ranks, WithoutTermsScale) {
  const Operands<double> x = operands_of<double>({"normal"}, 20, 30, 10);
  expect_one_call<double>(x, {2, 2, 0}, 0, 3, policy_of(Accuracy::native()));
  expect_one_call<double>(operands_of<double>({"normal"}, 20, 30, 0), {2, 2, 0}, 1, 0, policy_of(Accuracy::native()));
  expect_one_call<double>(operands_of<double>({"normal"}, 1, 3, 10), {2, 2, 0}, 1, 0, policy_of(Accuracy::native()));
}

TEST(Ranks, HaveTheBitsOfOneCallF32) { expect_one_call_everywhere<float>(); }
TEST(Ranks, HaveTheBitsOfOneCallF64) { expect_one_call_everywhere<double>(); }
TEST(Ranks, HaveTheBitsOfOneCallC64) { expect_one_call_everywhere<std::complex<float>>(); }
TEST(Ranks, HaveTheBitsOfOneCallC128) { expect_one_call_everywhere<std::complex<double>>(); }

// ---- what goes wrong -----------------------------------------------------------------------------------------------

using std::chrono::steady_clock;

/// A call of four ranks, each with what change(rank, call) makes of it.
struct RankCallArguments {
  std::int64_t m = 24;
  std::int64_t n = 20;
  std::int64_t k = 30;
  double alpha = 1;
  std::vector<Piece<const double>> a;
  std::vector<Piece<const double>> b;
  std::vector<Piece<double>> c;
  Policy policy = policy_of(Accuracy::native());
  int fails_at = -1;
  int dies_at = std::numeric_limits<int>::max();
};

struct Ended {
  std::vector<Status> statuses;
  Matrix<double> c;
  int num_calls = 0;
  double seconds = 0;
};

template <class Change>
[[nodiscard]] Ended run_changed(const Change& change, int first_rank = 0, int patience_ms = 20000) {
  const Operands<double> x = operands_of<double>({"normal"}, 24, 20, 30);
  const Cut cut{2, 2, 0};
  ThreadRoom room(cut.size());
  room.patience = std::chrono::milliseconds(patience_ms);
  Ended ended{{}, x.c};
  const auto begin = steady_clock::now();
  ended.statuses = on_ranks(
      room,
      [&](ThreadRanks& ranks) {
        const Held<double> a(x.a, cut, ranks.rank());
        const Held<double> b(x.b, cut, ranks.rank());
        const Held<double> c(x.c, cut, ranks.rank());
        RankCallArguments call;
        call.a = a.const_pieces();
        call.b = b.const_pieces();
        call.c = c.pieces;
        change(ranks.rank(), call);
        ranks.fail_at(call.fails_at);
        ranks.die_at(call.dies_at);
        Status status =
            run<double>(ranks, call.m, call.n, call.k, call.alpha, call.a, call.b, 0.5, call.c, call.policy);
        c.copy_to(ended.c);
        const std::lock_guard lock(room.mutex);
        ended.num_calls = std::max(ended.num_calls, ranks.num_calls());
        return status;
      },
      first_rank);
  ended.seconds = std::chrono::duration<double>(steady_clock::now() - begin).count();
  return ended;
}

/// All ranks end with the same error, and C is as it was.
void expect_error(const Ended& ended, StatusCode code, const std::string& words) {
  for (const Status& status : ended.statuses) {
    EXPECT_EQ(status.code(), code) << status.reason();
    EXPECT_EQ(status.reason(), ended.statuses[0].reason());
  }
  EXPECT_NE(ended.statuses[0].reason().find(words), std::string::npos) << ended.statuses[0].reason();
  EXPECT_EQ(ended.c.values, operands_of<double>({"normal"}, 24, 20, 30).c.values);
  EXPECT_LT(ended.seconds, 10);
}

TEST(RanksThatFail, DifferInArguments) {
  const auto on_rank_2 = [](const auto& change) {
    return run_changed([&](int rank, RankCallArguments& call) {
      if (rank == 2) change(call);
    });
  };
  constexpr StatusCode kInvalid = StatusCode::kInvalidArgument;
  expect_error(on_rank_2([](RankCallArguments& call) { call.m = 25; }), kInvalid,
               "m differs between ranks, from 24 to 25, must be equal on all");
  expect_error(on_rank_2([](RankCallArguments& call) { call.k = 29; }), kInvalid, "k differs between ranks");
  expect_error(on_rank_2([](RankCallArguments& call) { call.alpha = 2; }), kInvalid, "alpha differs between ranks");
  expect_error(on_rank_2([](RankCallArguments& call) { call.policy.accuracy = Accuracy::at_bits(20); }), kInvalid,
               "what fixes the bits");
  expect_error(on_rank_2([](RankCallArguments& call) { call.policy.reject_nonfinite = true; }), kInvalid,
               "the policy's word on NaN and Inf differs");
}

TEST(RanksThatFail, DifferInType) {
  ThreadRoom room(2);
  const std::vector<Status> statuses = on_ranks(room, [](ThreadRanks& ranks) {
    return ranks.rank() == 0 ? run<double>(ranks, 4, 4, 4, 1.0, {}, {}, 0.0, {})
                             : run<float>(ranks, 4, 4, 4, 1.0F, {}, {}, 0.0F, {});
  });
  for (const Status& status : statuses)
    EXPECT_EQ(status.reason(), "the type of elements differs between ranks, must be equal on all");
}

TEST(RanksThatFail, RefuseOneRanksArguments) {
  expect_error(run_changed([](int rank, RankCallArguments& call) {
                 if (rank == 1) call.b[0].view.data = nullptr;
               }),
               StatusCode::kInvalidArgument, "rank 1: B is null");
  expect_error(run_changed([](int rank, RankCallArguments& call) {
                 if (rank == 3) call.policy.workspace_limit_bytes = 100;
               }),
               StatusCode::kWorkspaceTooSmall, "rank 3: ");
  expect_error(run_changed([](int rank, RankCallArguments& call) {  // both fail: the first is named
                 if (rank >= 2) call.c[0].view.row_stride = -1;
               }),
               StatusCode::kInvalidArgument, "rank 2: C");
}

TEST(RanksThatFail, HaveOtherPieces) {
  expect_error(run_changed([](int rank, RankCallArguments& call) {
                 if (rank == 1) call.a.clear();
               }),
               StatusCode::kInvalidArgument, "A: its pieces have 540 elements, must have all 720 of 24 x 30");
  expect_error(run_changed([](int rank, RankCallArguments& call) {
                 if (rank == 1) call.c[0].row = 0;
               }),
               StatusCode::kInvalidArgument, "must have no element in common");
  // Rank 0 has an L of three pieces.
  const auto take_corner = [](int rank, RankCallArguments& call) {
    const Piece<double> piece = call.c[0];
    const auto part = [&](std::int64_t i, std::int64_t j, std::int64_t rows, std::int64_t cols) {
      return Piece<double>{piece.row + i, piece.col + j, piece.view.block(i, j, rows, cols)};
    };
    if (rank == 0) call.c = {part(0, 0, 6, 5), part(6, 0, 6, 5), part(0, 5, 6, 5)};
    if (rank == 0) call.c.push_back(part(6, 5, 6, 4));
    if (rank == 0) call.c.push_back(part(6, 9, 6, 1));
  };
  expect_error(run_changed(take_corner), StatusCode::kInvalidArgument,
               "C: the 5 pieces of rank 0 must be all of some ranges of rows by some ranges of columns");
}

TEST(RanksThatFail, RejectNonfinite) {
  const Operands<double> x = operands_of<double>({"NaN and Inf", 0, 0, 0, true}, 24, 20, 30);
  Policy policy = policy_of(Accuracy::native());
  policy.reject_nonfinite = true;
  ThreadRoom room(4);
  const std::vector<Status> statuses = on_ranks(room, [&](ThreadRanks& ranks) {
    const Held<double> a(x.a, {2, 2, 0}, ranks.rank());
    const Held<double> b(x.b, {2, 2, 0}, ranks.rank());
    const Held<double> c(x.c, {2, 2, 0}, ranks.rank());
    return run<double>(ranks, 24, 20, 30, 1, a.const_pieces(), b.const_pieces(), 0, c.pieces, policy);
  });
  for (const Status& status : statuses) {
    EXPECT_EQ(status.code(), StatusCode::kNonFinite);
    EXPECT_EQ(status.reason().substr(0, 60), "NaN or Inf in 1 rows of op(A) and 1 columns of op(B), must b");
  }
}

/// A matrix whose elements all are one: large, and without memory.
TEST(RanksThatFail, HaveNoMemory) {
  if (tests::kIsSanitized) GTEST_SKIP() << "a sanitizer ends the program where the system refuses memory";
  constexpr std::int64_t kLong = std::int64_t{1} << 22;
  double one = 1;
  ThreadRoom room(2);
  const std::vector<Status> statuses = on_ranks(room, [&](ThreadRanks& ranks) {
    const std::int64_t half = kLong / 2;
    const Piece<const double> a{0, ranks.rank() * half, {&one, kLong, half, 0, 0}};
    const Piece<const double> b{ranks.rank() * half, 0, {&one, half, 1, 0, 0}};
    std::vector<double> memory(ranks.rank() == 0 ? kLong : 0);
    std::vector<Piece<double>> c;
    if (ranks.rank() == 0) c.push_back({0, 0, {memory.data(), kLong, 1, 1, kLong}});
    return run<double>(ranks, kLong, 1, kLong, 1, {&a, 1}, {&b, 1}, 0, c, policy_of(Accuracy::native()));
  });
  for (const Status& status : statuses) {
    EXPECT_EQ(status.code(), StatusCode::kOutOfMemory);
    EXPECT_EQ(status.reason(), statuses[0].reason());
    EXPECT_NE(status.reason().find("bytes refused by the system"), std::string::npos) << status.reason();
  }
}

TEST(RanksThatFail, EndWithTheirCommunicator) {
  const Ended good = run_changed([](int, RankCallArguments&) {});
  for (const Status& status : good.statuses) ASSERT_TRUE(status.ok()) << status.reason();
  ASSERT_GT(good.num_calls, 10);
  for (int call = 0; call < good.num_calls; ++call) {
    const Ended ended = run_changed(
        [&](int rank, RankCallArguments& arguments) {
          if (rank == 1) arguments.fails_at = call;
        },
        0, 100);
    SCOPED_TRACE(call);
    EXPECT_LT(ended.seconds, 5);
    EXPECT_EQ(ended.statuses[1].code(), StatusCode::kInternal);
    EXPECT_NE(ended.statuses[1].reason().find("failed on rank 1"), std::string::npos) << ended.statuses[1].reason();
    for (const Status& status : ended.statuses) EXPECT_FALSE(status.ok());
  }
}

/// The others hear nothing of it: each ends by its own patience, once for a message and once for the word that follows.
TEST(RanksThatFail, Die) {
  const Ended good = run_changed([](int, RankCallArguments&) {});
  for (int call = 0; call < good.num_calls; ++call) {
    const Ended ended = run_changed(
        [&](int rank, RankCallArguments& arguments) {
          if (rank == 2) arguments.dies_at = call;
        },
        0, 100);
    SCOPED_TRACE(call);
    EXPECT_LT(ended.seconds, 5);
    for (std::size_t r = 0; r < 4; ++r) {
      EXPECT_EQ(ended.statuses[r].code(), StatusCode::kInternal);
      const char* const says = r == 2 ? "failed on rank 2" : "a rank did not come in time";
      EXPECT_NE(ended.statuses[r].reason().find(says), std::string::npos) << ended.statuses[r].reason();
    }
  }
}

TEST(RanksThatFail, NeverCome) {
  const Ended ended = run_changed([](int, RankCallArguments&) {}, 1, 200);
  EXPECT_LT(ended.seconds, 5);
  for (std::size_t r = 1; r < 4; ++r) EXPECT_EQ(ended.statuses[r].reason(), "all-reduce: a rank did not come in time");
}

// ---- who has and sends what ----------------------------------------------------------------------------------------

TEST(RankGrid, EachRankMeetsEachOtherOnce) {
  for (int size = 1; size <= 9; ++size) {
    std::vector<std::vector<int>> met(static_cast<std::size_t>(size));
    for (int turn = 0; turn < num_turns(size); ++turn) {
      for (int rank = 0; rank < size; ++rank) {
        const int other = partner_of(rank, size, turn);
        ASSERT_TRUE(other >= 0 && other < size);
        EXPECT_EQ(partner_of(other, size, turn), rank);
        if (other != rank) met[static_cast<std::size_t>(rank)].push_back(other);
      }
    }
    for (int rank = 0; rank < size; ++rank) {
      std::vector<int>& others = met[static_cast<std::size_t>(rank)];
      std::sort(others.begin(), others.end());
      std::vector<int> want;
      for (int other = 0; other < size; ++other) {
        if (other != rank) want.push_back(other);
      }
      EXPECT_EQ(others, want);
    }
  }
}

TEST(RankGrid, PiecesOfACyclicCutLieBesideOneAnother) {
  const std::vector<Rect> pieces = {{10, 4, 5, 2}, {0, 4, 5, 2}, {0, 12, 5, 1}, {10, 12, 5, 1}, {3, 3, 0, 9}};
  RankGrid grid;
  ASSERT_TRUE(find_grid("rank 0", pieces, grid).ok());
  EXPECT_EQ(grid.num_rows, 10);
  EXPECT_EQ(grid.num_cols, 3);
  ASSERT_EQ(grid.rows.size(), 2);
  EXPECT_EQ(grid.rows[1].first, 10);
  EXPECT_EQ(grid.rows[1].at, 5);
  const std::vector<Rect> held = {{3, 0, 9, 50}};
  const std::vector<Passing> passing = passing_rows(held, grid.rows);
  ASSERT_EQ(passing.size(), 2);
  EXPECT_EQ(passing[0].rect, (Rect{3, 0, 2, 50}));
  EXPECT_EQ(passing[1].rect, (Rect{10, 0, 2, 50}));
  EXPECT_EQ(passing[1].row, 5);
}

TEST(RankGrid, OnlyWhatIsWantedTravels) {
  const Operands<double> x = operands_of<double>({"normal"}, 24, 20, 30);
  ThreadRoom room(2);
  const std::vector<Status> statuses = on_ranks(room, [&](ThreadRanks& ranks) {
    const Held<double> a(x.a, {2, 1, 0}, ranks.rank());  // rows of A and C: A stays
    const Held<double> b(x.b, {1, 2, 0}, ranks.rank());  // columns of B: both halves cross
    const Held<double> c(x.c, {2, 1, 0}, ranks.rank());
    Status status = run<double>(ranks, 24, 20, 30, 1, a.const_pieces(), b.const_pieces(), 0, c.pieces,
                                policy_of(Accuracy::native()));
    EXPECT_EQ(ranks.num_reductions(), model::kReductions);  // what predictions count on
    return status;
  });
  for (const Status& status : statuses) EXPECT_TRUE(status.ok()) << status.reason();
  EXPECT_EQ(room.messages, 2);
  EXPECT_EQ(room.bytes_sent, 30 * 20 * sizeof(double));
}

}  // namespace
}  // namespace kizami::multi
