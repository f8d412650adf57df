// SPDX-License-Identifier: MIT
// The order of operations of examples/13_cholesky.cu and 14_lu.cu, and the kernel that factors a panel, by plain loops.
// Operations of two queues come in any order that their signals admit.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "dropin/factorizations/moves.hpp"
#include "dropin/factorizations/panel_steps.hpp"
#include "dropin/factorizations/recursion.hpp"
#include "examples/factorizations/substitution_steps.hpp"
#include "examples/panel_on_host.hpp"

namespace factorizations {
namespace {

using namespace kizami::dropin::factorizations;  // NOLINT(google-build-using-namespace)

struct Dense {
  std::int64_t n;
  std::vector<double> values;
  explicit Dense(std::int64_t size) : n(size), values(static_cast<std::size_t>(size * size)) {}
  [[nodiscard]] double& at(std::int64_t i, std::int64_t j) { return values[static_cast<std::size_t>(i + j * n)]; }
  [[nodiscard]] Matrix matrix() { return {values.data(), n, n, n}; }
};

Dense random_dense(std::int64_t n, std::uint64_t seed) {
  Dense a(n);
  std::mt19937_64 source(seed);
  std::uniform_real_distribution<double> unit(-0.5, 0.5);
  for (double& x : a.values) x = unit(source);
  return a;
}

double& at(const Matrix& x, std::int64_t i, std::int64_t j) { return x.data[i + j * x.ld]; }

void add_product(double alpha, const Matrix& a, const Matrix& b, bool is_transposed, const Matrix& c, bool is_lower) {
  for (std::int64_t j = 0; j < c.cols; ++j) {
    for (std::int64_t i = is_lower ? j : 0; i < c.rows; ++i) {
      double sum = 0;
      for (std::int64_t k = 0; k < a.cols; ++k) sum += at(a, i, k) * (is_transposed ? at(b, j, k) : at(b, k, j));
      at(c, i, j) += alpha * sum;
    }
  }
}

constexpr int kWidth = 8;  // of a panel
constexpr std::int64_t kSolved = 16;

/// What the panels of a test tell, one after another.
struct PanelMemory {
  PanelOffers<kWidth> offers{};
  std::uint32_t next_tag = 1;
};

/// The panel by the steps of the kernel.
Moves<kWidth> factor_by_steps(const Matrix& a) {
  static const auto memory = std::make_unique<PanelMemory>();
  const auto num_blocks = static_cast<int>((a.rows + kPanelThreads - 1) / kPanelThreads);
  Moves<kWidth> moves{};
  const PanelCall<kWidth> call{a.data,
                               a.ld,
                               static_cast<std::int32_t>(a.rows),
                               static_cast<std::int32_t>(a.cols),
                               num_blocks,
                               memory->next_tag,
                               &memory->offers,
                               &moves};
  memory->next_tag += kWidth;
  factor_panel_on_host(call);
  return moves;
}

void move_rows(const Matrix& c, const MovedRows& moved) {
  const auto count = static_cast<std::size_t>(moved.count);
  for (std::int64_t j = 0; j < c.cols; ++j) {
    double* const column = &at(c, moved.first_row, j);
    const std::vector<double> leaves(column, column + count);
    std::vector<double> comes(count);
    for (std::size_t i = 0; i < count; ++i) comes[i] = column[moved.from[i]];
    for (std::size_t i = 0; i < count; ++i) {
      column[i] = comes[i];
      if (moved.to[i] >= 0) column[moved.to[i]] = leaves[i];
    }
  }
}
void move_rows(const Matrix& c, const Moves<kWidth>& moves, std::int64_t first_row) {
  const std::int64_t count = std::min<std::int64_t>(kWidth, c.rows - first_row);
  move_rows(c, {first_row, static_cast<std::int32_t>(count), moves.from, moves.to});
}

/// compose() by all threads of a block in turn.
void compose_by_steps(const ComposeCall<kWidth>& call) {
  constexpr int kThreads = 12;
  std::vector<ComposeSteps<kWidth>> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back(call, i, kThreads);
  compose<kWidth>(
      call,
      [&](const auto& step) {
        for (ComposeSteps<kWidth>& thread : threads) step(thread);
      },
      [] {}, [](std::int32_t& x, std::int32_t y) { return std::exchange(x, y); });
}

/// Holds operations back until run(), which takes them from either queue as `seed` says.
class Loops {
 public:
  void factor(const Matrix& a) {
    sizes.push_back(a.rows);
    for (std::int64_t j = 0; j < a.cols; ++j) {
      for (std::int64_t k = 0; k < j; ++k) {
        for (std::int64_t i = j; i < a.rows; ++i) at(a, i, j) -= at(a, i, k) * at(a, j, k);
      }
      const double root = std::sqrt(at(a, j, j));
      for (std::int64_t i = j; i < a.rows; ++i) at(a, i, j) /= root;
    }
  }
  void ready(const Matrix& l) { ready(l, 0); }
  void ready(const Matrix& l, std::int64_t) { ready_ = l; }
  void solve_transposed(const Matrix& l, const Matrix& b) {
    expect_ready(l);
    for (std::int64_t j = 0; j < l.rows; ++j) {
      for (std::int64_t k = 0; k < j; ++k) {
        for (std::int64_t i = 0; i < b.rows; ++i) at(b, i, j) -= at(b, i, k) * at(l, j, k);
      }
      for (std::int64_t i = 0; i < b.rows; ++i) at(b, i, j) /= at(l, j, j);
    }
  }
  void multiply(double alpha, const Matrix& a, const Matrix& b, bool is_transposed, const Matrix& c) {
    terms += static_cast<double>(c.rows) * static_cast<double>(c.cols) * static_cast<double>(a.cols);
    enqueue([=] { add_product(alpha, a, b, is_transposed, c, false); });
  }
  void update(const Matrix& a, const Matrix& c) {
    inner_sizes.push_back(a.cols);
    add_product(-1, a, a, true, c, true);
  }

  void solve(const Matrix& l, const Matrix& b) {
    expect_ready(l);
    if (b.cols >= kSolved) {
      EXPECT_EQ((l.data - matrix) % l.ld % kSolved, 0) << "inverses of blocks that overlap";
    }
    enqueue([=] {
      for (std::int64_t k = 0; k < l.rows; ++k) {
        for (std::int64_t j = 0; j < b.cols; ++j) {
          for (std::int64_t i = k + 1; i < l.rows; ++i) at(b, i, j) -= at(l, i, k) * at(b, k, j);
        }
      }
    });
  }
  void update(const Matrix& l, const Matrix& u, const Matrix& c, bool keeps) {
    if (keeps) {
      EXPECT_EQ(kept, nullptr) << "what is kept is not used";
      kept = l.data;
    } else if (kept == l.data) {
      ++num_kept_used;
      kept = nullptr;
    }
    multiply(-1, l, u, false, c);
  }
  void panel(const Matrix& a, std::int64_t index) {
    sizes.push_back(a.cols);
    enqueue([=, this] { moves[static_cast<std::size_t>(index)] = factor_by_steps(a); });
  }
  void move(const Matrix& c, std::int64_t first, std::int64_t last) {
    enqueue([=, this] {
      for (std::int64_t p = first; p < last; ++p) move_rows(c, moves[static_cast<std::size_t>(p)], p * kWidth);
    });
  }
  void use(Queue queue) { queue_ = queue; }
  void signal(Queue queue) { signalled_[index(queue)] = queues_[index(queue)].size(); }
  void await(Queue queue) {
    if (queue == queue_) return;
    const std::size_t needed = signalled_[index(queue)];
    queues_[index(queue_)].push_back({{}, queue, needed});
  }

  /// @param hurries  the share of turns that the queue of panels gets, while both could go on
  void run(double hurries, std::uint64_t seed) {
    std::mt19937_64 source(seed);
    std::uniform_real_distribution<double> unit(0, 1);
    std::array<std::size_t, 2> done{};
    const auto is_ready = [&](std::size_t q) {
      if (done[q] == queues_[q].size()) return false;
      const Operation& next = queues_[q][done[q]];
      return next.work || done[index(next.other)] >= next.needed;
    };
    for (;;) {
      const bool is_first = is_ready(0);
      const bool is_second = is_ready(1);
      if (!is_first && !is_second) break;
      const std::size_t q = is_first && is_second ? (unit(source) < hurries ? 1U : 0U) : is_second ? 1U : 0U;
      const Operation& next = queues_[q][done[q]++];
      if (next.work) next.work();
    }
    ASSERT_EQ(done[0], queues_[0].size()) << "the queues wait for each other";
    ASSERT_EQ(done[1], queues_[1].size()) << "the queues wait for each other";
  }

  bool is_immediate = true;
  const double* matrix = nullptr;
  std::vector<std::int64_t> sizes, inner_sizes;
  double terms = 0;
  std::vector<Moves<kWidth>> moves;
  const double* kept = nullptr;
  int num_kept_used = 0;

 private:
  struct Operation {
    std::function<void()> work;  // empty: waits
    Queue other = Queue::kUpdate;
    std::size_t needed = 0;
  };
  /// Is on the diagonal of what was said to be ready last.
  void expect_ready(const Matrix& l) const {
    const std::int64_t distance = l.data - ready_.data;
    EXPECT_EQ(distance % (l.ld + 1), 0);
    EXPECT_TRUE(distance >= 0 && distance / (l.ld + 1) + l.rows <= ready_.rows) << distance;
  }
  [[nodiscard]] static std::size_t index(Queue queue) { return queue == Queue::kPanel ? 1 : 0; }
  void enqueue(std::function<void()> work) {
    if (is_immediate) return work();
    queues_[index(queue_)].push_back({std::move(work)});
  }
  std::array<std::vector<Operation>, 2> queues_;
  std::array<std::size_t, 2> signalled_{};
  Queue queue_ = Queue::kUpdate;
  Matrix ready_;
};

/// The largest element of |x| over n u |A|, of a difference of products of order n.
double relative(double worst, double largest, std::int64_t n) {
  return worst / (static_cast<double>(n) * 0x1p-53 * largest);
}

/// The larger one. A NaN stays.
double worse(double worst, double size) { return std::isnan(worst) || size <= worst ? worst : size; }

double cholesky_residual(Dense& l, Dense& a) {
  double worst = 0;
  double largest = 0;
  for (std::int64_t j = 0; j < a.n; ++j) {
    for (std::int64_t i = j; i < a.n; ++i) {
      double sum = 0;
      for (std::int64_t k = 0; k <= j; ++k) sum += l.at(i, k) * l.at(j, k);
      worst = worse(worst, std::abs(sum - a.at(i, j)));
      largest = std::max(largest, std::abs(a.at(i, j)));
    }
  }
  return relative(worst, largest, a.n);
}

TEST(Factorizations, HalvesAreMultiplesOfTheBase) {
  EXPECT_EQ(first_half(200, 24), 96);
  EXPECT_EQ(first_half(32768, 2048), 16384);
  for (std::int64_t size = 9; size < 100; ++size) {
    const std::int64_t half = first_half(size, 8);
    EXPECT_TRUE(half > 0 && half < size && half % 8 == 0) << size;
  }
}

TEST(Factorizations, CholeskyOfOddOrdersAndBlocks) {
  for (const std::int64_t n : {std::int64_t{1}, std::int64_t{30}, std::int64_t{97}, std::int64_t{200}}) {
    Dense a = random_dense(n, 3);
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = 0; j < i; ++j) a.at(j, i) = a.at(i, j);
      a.at(i, i) = std::sqrt(static_cast<double>(n));
    }
    for (const CholeskyBlocks& blocks : {CholeskyBlocks{24, 12}, CholeskyBlocks{10, 10, 40}, CholeskyBlocks{15, 5}}) {
      Dense l = a;
      for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t j = i + 1; j < n; ++j) l.at(i, j) = 1e100;  // neither read nor written
      }
      Loops loops;
      cholesky(loops, l.matrix(), blocks);
      EXPECT_LE(cholesky_residual(l, a), 1.0) << n << " by " << blocks.factored;
      for (const std::int64_t size : loops.sizes) EXPECT_LE(size, blocks.factored);
      for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t j = i + 1; j < n; ++j) ASSERT_EQ(l.at(i, j), 1e100);
      }
    }
  }
}

// What the order is for: four fifths of the operations have inner sizes of 4096 and more.
TEST(Factorizations, CholeskyHasLargeInnerSizes) {
  struct Counts {
    double all = 0, large = 0;
    void add(double m, double n, double k) {
      all += m * n * k;
      if (k >= 4096) large += m * n * k;
    }
    void factor(const Matrix&) {}
    void ready(const Matrix&) {}
    void solve_transposed(const Matrix& l, const Matrix& b) {
      add(static_cast<double>(b.rows), static_cast<double>(l.rows) / 2, static_cast<double>(l.rows));
    }
    void multiply(double, const Matrix& a, const Matrix&, bool, const Matrix& c) {
      add(static_cast<double>(c.rows), static_cast<double>(c.cols), static_cast<double>(a.cols));
    }
    void update(const Matrix& a, const Matrix& c) {
      add(static_cast<double>(c.rows), static_cast<double>(c.rows) / 2, static_cast<double>(a.cols));
    }
  };
  Counts counts;
  const std::int64_t n = 32768;
  cholesky(counts, Matrix{nullptr, n, n, n}, CholeskyBlocks{});
  EXPECT_NEAR(counts.all / (std::pow(static_cast<double>(n), 3) / 6), 1.0, 0.01);
  EXPECT_GT(counts.large / counts.all, 0.8);
}

/// Of all blocks of threads, each thread in turn.
void substitute_by_steps(const SubstitutionCall& call) {
  for (std::int64_t block = 0; block * kSubstitutionColumns < call.cols; ++block) {
    SubstitutionShared shared;
    std::vector<SubstitutionSteps> threads;
    for (int i = 0; i < kSubstitutionThreads; ++i) threads.emplace_back(call, shared, i, block);
    substitute(
        call, block,
        [&](const auto& step) {
          for (SubstitutionSteps& thread : threads) step(thread);
        },
        [] {});
  }
}

TEST(Factorizations, SubstitutionSolvesAndInverts) {
  constexpr double kUntouched = 1e100;
  for (const bool has_unit_diagonal : {false, true}) {
    for (const std::int64_t rows : {1, 8, 61, 256}) {
      const std::int64_t cols = 21;
      SCOPED_TRACE(std::to_string(rows) + (has_unit_diagonal ? " unit" : ""));
      Dense l = random_dense(rows, 7);
      for (std::int64_t j = 0; j < rows; ++j) {
        for (std::int64_t i = 0; i < j; ++i) l.at(i, j) = kUntouched;
        for (std::int64_t i = j + 1; i < rows; ++i) l.at(i, j) /= 8;
        l.at(j, j) = has_unit_diagonal ? kUntouched : 2 + l.at(j, j);
      }
      const auto of_l = [&](std::int64_t i, std::int64_t k) { return i == k && has_unit_diagonal ? 1.0 : l.at(i, k); };
      // Column by column |L X - B| <= (2 rows + 2) u |L||X|, of substitution and of the sum here.
      const auto expect_solved = [&](const Matrix& x, const std::function<double(std::int64_t, std::int64_t)>& b) {
        for (std::int64_t j = 0; j < x.cols; ++j) {
          for (std::int64_t i = 0; i < rows; ++i) {
            double sum = 0;
            double size = 0;
            for (std::int64_t k = 0; k <= i; ++k) {
              sum += of_l(i, k) * at(x, k, j);
              size += std::abs(of_l(i, k) * at(x, k, j));
            }
            ASSERT_LE(std::abs(sum - b(i, j)), static_cast<double>(2 * rows + 2) * 0x1p-53 * size) << i << " " << j;
          }
        }
      };
      const std::int64_t ld = rows + 1;
      std::vector<double> values(static_cast<std::size_t>(ld * (cols + 1)), kUntouched);
      const Matrix x{values.data(), rows, cols, ld};
      std::mt19937_64 source(8);
      for (std::int64_t j = 0; j < cols; ++j) {
        for (std::int64_t i = 0; i < rows; ++i) at(x, i, j) = std::uniform_real_distribution<double>(-1, 1)(source);
      }
      std::vector<double> before = values;
      substitute_by_steps(
          {l.values.data(), rows, static_cast<std::int32_t>(rows), has_unit_diagonal, x.data, ld, cols, false});
      expect_solved(x, [&](std::int64_t i, std::int64_t j) { return before[static_cast<std::size_t>(i + j * ld)]; });
      for (std::int64_t j = 0; j <= cols; ++j) {
        ASSERT_EQ(values[static_cast<std::size_t>(rows + j * ld)], kUntouched);
      }
      ASSERT_EQ(values[static_cast<std::size_t>(cols * ld)], kUntouched);

      Dense inverse = random_dense(rows, 9);  // what is there before does not matter
      substitute_by_steps({l.values.data(), rows, static_cast<std::int32_t>(rows), has_unit_diagonal,
                           inverse.values.data(), rows, rows, true});
      expect_solved(inverse.matrix(), [](std::int64_t i, std::int64_t j) { return i == j ? 1.0 : 0.0; });
      for (std::int64_t j = 0; j < rows; ++j) {
        for (std::int64_t i = 0; i < j; ++i) ASSERT_EQ(inverse.at(i, j), 0.0) << i << " " << j;
      }
    }
  }
}

/// P A - L U, and whether |L| <= 1. @param moves in the order in which they were made
double lu_residual(Dense& factors, Dense a, const std::vector<Moves<kWidth>>& moves) {
  for (std::size_t p = 0; p < moves.size(); ++p) move_rows(a.matrix(), moves[p], static_cast<std::int64_t>(p) * kWidth);
  double worst = 0;
  double largest = 0;
  for (std::int64_t j = 0; j < a.n; ++j) {
    for (std::int64_t i = 0; i < a.n; ++i) {
      double sum = i <= j ? factors.at(i, j) : 0;
      for (std::int64_t k = 0; k < std::min(i, j + 1); ++k) sum += factors.at(i, k) * factors.at(k, j);
      worst = worse(worst, std::abs(sum - a.at(i, j)));
      largest = std::max(largest, std::abs(a.at(i, j)));
      if (i > j) {
        EXPECT_LE(std::abs(factors.at(i, j)), 1.0);
      }
    }
  }
  return relative(worst, largest, a.n);
}

TEST(Factorizations, LuInAnyOrderThatItsSignalsAdmit) {
  for (const std::int64_t n : {std::int64_t{5}, std::int64_t{64}, std::int64_t{99}, std::int64_t{200}}) {
    Dense reference(0);
    for (const bool looks_ahead : {false, true}) {
      for (const double hurries : {0.0, 0.5, 1.0}) {
        Dense a = random_dense(n, 4);
        Dense factors = a;
        Loops loops;
        loops.is_immediate = false;
        loops.matrix = factors.values.data();
        loops.moves.resize(static_cast<std::size_t>((n + kWidth - 1) / kWidth));
        lu(loops, factors.matrix(), LuBlocks{48, kWidth, kSolved}, looks_ahead);
        loops.run(hurries, 5);
        EXPECT_LE(lu_residual(factors, a, loops.moves), 4.0) << n << " " << looks_ahead << " " << hurries;
        if (reference.n == 0) reference = factors;
        EXPECT_EQ(factors.values, reference.values) << "the order changes bits";
        EXPECT_EQ(loops.kept, nullptr);
        EXPECT_EQ(loops.num_kept_used, n == 200 ? 3 : n == 99 ? 1 : 0) << "L is split once for two updates";
      }
    }
  }
}

/// Partial pivoting by the book, with the first of equal pivots.
std::vector<int> factor_by_the_book(const Matrix& a) {
  std::vector<int> pivots;
  for (std::int64_t c = 0; c < std::min(a.rows, a.cols); ++c) {
    std::int64_t p = c;
    for (std::int64_t i = c; i < a.rows; ++i) {
      if (std::abs(at(a, i, c)) > std::abs(at(a, p, c))) p = i;
    }
    pivots.push_back(static_cast<int>(p) + 1);
    for (std::int64_t j = 0; j < a.cols; ++j) std::swap(at(a, c, j), at(a, p, j));
    for (std::int64_t i = c + 1; i < a.rows; ++i) {
      if (at(a, c, c) != 0) at(a, i, c) /= at(a, c, c);
      for (std::int64_t j = c + 1; j < a.cols; ++j) at(a, i, j) = std::fma(-at(a, i, c), at(a, c, j), at(a, i, j));
    }
  }
  return pivots;
}

TEST(Factorizations, PanelsHaveTheBitsAndThePivotsOfTheBook) {
  std::mt19937_64 source(6);
  for (const std::int64_t rows : {3, 8, 9, 255, 256, 257, 1000}) {
    for (const std::int64_t cols : {1, 5, 8}) {
      for (const bool has_ties : {false, true}) {
        const std::int64_t ld = rows + 3;
        std::vector<double> values(static_cast<std::size_t>(ld * cols));
        for (double& x : values)
          x = has_ties ? static_cast<double>(static_cast<int>(source() % 3) - 1)
                       : std::uniform_real_distribution<double>(-1, 1)(source);
        std::vector<double> expected = values;
        const std::vector<double> before = values;
        const std::vector<int> pivots = factor_by_the_book({expected.data(), rows, cols, ld});
        const Moves<kWidth> moves = factor_by_steps({values.data(), rows, cols, ld});
        SCOPED_TRACE(std::to_string(rows) + "x" + std::to_string(cols) + (has_ties ? " ties" : ""));
        for (std::int64_t j = 0; j < cols; ++j) {
          for (std::int64_t i = 0; i < ld; ++i)
            ASSERT_EQ(values[static_cast<std::size_t>(i + j * ld)], expected[static_cast<std::size_t>(i + j * ld)])
                << i << " " << j;
        }
        Moves<kWidth> by_pivots{};
        moves_of(pivots.data(), static_cast<std::int32_t>(rows), static_cast<std::int32_t>(pivots.size()), by_pivots);
        for (std::int64_t i = 0; i < std::min<std::int64_t>(kWidth, rows); ++i) {
          EXPECT_EQ(moves.from[i], by_pivots.from[i]) << i;
          EXPECT_EQ(moves.to[i], by_pivots.to[i]) << i;
        }
        std::vector<double> one = before;
        std::vector<double> other = before;
        move_rows({one.data(), rows, cols, ld}, moves, 0);
        for (std::size_t c = 0; c < pivots.size(); ++c) {
          for (std::int64_t j = 0; j < cols; ++j)
            std::swap(at({other.data(), rows, cols, ld}, static_cast<std::int64_t>(c), j),
                      at({other.data(), rows, cols, ld}, pivots[c] - 1, j));
        }
        EXPECT_EQ(one, other);
      }
    }
  }
}

TEST(Factorizations, ComposedMovesAreThoseOfPanelsAfterOneAnother) {
  std::mt19937_64 source(10);
  for (const std::int64_t rows : {5, 8, 29, 64, 300}) {
    const std::int64_t num_panels = (rows + kWidth - 1) / kWidth;
    std::vector<std::int32_t> row_at(static_cast<std::size_t>(rows));
    std::iota(row_at.begin(), row_at.end(), 0);
    const std::vector<std::int32_t> in_order = row_at;
    for (int round = 0; round < 20; ++round) {
      std::vector<Moves<kWidth>> moves(static_cast<std::size_t>(num_panels));
      for (std::int64_t p = 0; p < num_panels; ++p) {
        const std::int64_t here = rows - p * kWidth;
        std::vector<int> pivots;
        for (std::int64_t c = 0; c < std::min<std::int64_t>(kWidth, here); ++c) {
          // From all rows, from few, so that the same places are exchanged by several panels, or none at all.
          const std::int64_t first = round % 3 == 1 ? std::max(c, here - 4) : c;
          const auto choice = static_cast<std::int64_t>(source() % static_cast<std::uint64_t>(here - first));
          pivots.push_back(static_cast<int>(round % 7 == 6 ? c : first + choice) + 1);
        }
        moves_of(pivots.data(), static_cast<std::int32_t>(here), static_cast<std::int32_t>(pivots.size()),
                 moves[static_cast<std::size_t>(p)]);
      }
      const auto first = static_cast<std::int64_t>(source() % static_cast<std::uint64_t>(num_panels));
      const std::int64_t last =
          first + 1 + static_cast<std::int64_t>(source() % static_cast<std::uint64_t>(num_panels - first));
      SCOPED_TRACE(std::to_string(rows) + ": panels " + std::to_string(first) + " to " + std::to_string(last));
      const auto size = static_cast<std::size_t>((last - first) * kWidth);
      std::vector<std::int32_t> from(size);
      std::vector<std::int32_t> to(size);
      const ComposeCall<kWidth> call{moves.data(),
                                     static_cast<std::int32_t>(first),
                                     static_cast<std::int32_t>(last),
                                     static_cast<std::int32_t>(rows),
                                     row_at.data(),
                                     from.data(),
                                     to.data()};
      compose_by_steps(call);
      EXPECT_EQ(row_at, in_order) << "the next composition would begin with other rows";
      std::vector<double> one(in_order.begin(), in_order.end());
      std::vector<double> other = one;
      const Matrix by_panels{one.data(), rows, 1, rows};
      for (std::int64_t p = first; p < last; ++p) move_rows(by_panels, moves[static_cast<std::size_t>(p)], p * kWidth);
      move_rows({other.data(), rows, 1, rows}, {call.first_row(), call.count(), from.data(), to.data()});
      EXPECT_EQ(one, other);
    }
  }
}

TEST(Factorizations, ANanInAPanelIsSeen) {
  std::vector<double> values(20 * 4, 1.0);
  values[7] = std::nan("");
  const Moves<kWidth> moves = factor_by_steps({values.data(), 20, 4, 20});
  EXPECT_EQ(moves.from[0], 7);
  EXPECT_EQ(moves.to[7], -1);
  EXPECT_TRUE(std::isnan(values[0]));
}

}  // namespace
}  // namespace factorizations
