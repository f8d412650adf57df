// SPDX-License-Identifier: MIT
#include "multi/rank_run.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <complex>
#include <cstring>
#include <functional>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/aligned_buffer.hpp"
#include "base/default_threads.hpp"
#include "base/instantiate.hpp"
#include "certify/equilibration_gain.hpp"
#include "exec/environment.hpp"
#include "exec/plan_cache.hpp"
#include "exec/run.hpp"
#include "multi/pieces.hpp"
#include "multi/plan.hpp"
#include "multi/rank_grid.hpp"
#include "problem/lines.hpp"
#include "schemes/ozaki2/stage.hpp"

namespace kizami::multi {
namespace {

using problem::kTerms;

template <class T>
[[nodiscard]] std::vector<Rect> rects_of(std::span<const Piece<T>> pieces) {
  std::vector<Rect> rects;
  for (const Piece<T>& piece : pieces) rects.push_back({piece.row, piece.col, piece.view.rows, piece.view.cols});
  return rects;
}

/// A part of a piece.
template <class T>
[[nodiscard]] MatrixView<T> part_of(const Piece<T>& piece, const Rect& rect) {
  return piece.view.block(rect.row - piece.row, rect.col - piece.col, rect.rows, rect.cols);
}

/// Elements as numbers: what is conjugated is so no more.
template <class T>
void copy_matrix(const MatrixView<const T>& from, const MatrixView<T>& to) {
  for (std::int64_t j = 0; j < to.cols; ++j) {
    for (std::int64_t i = 0; i < to.rows; ++i) {
      if constexpr (kIsComplex<T>) {
        to(i, j) = from.is_conjugated ? std::conj(from(i, j)) : from(i, j);
      } else {
        to(i, j) = from(i, j);
      }
    }
  }
}

/// A number's bits.
[[nodiscard]] std::int64_t bits_of(double x) { return std::bit_cast<std::int64_t>(x); }
template <class T>
[[nodiscard]] std::array<std::int64_t, 2> bits_of_factor(T x) {
  if constexpr (kIsComplex<T>) {
    return {bits_of(static_cast<double>(x.real())), bits_of(static_cast<double>(x.imag()))};
  } else {
    return {bits_of(static_cast<double>(x)), 0};
  }
}

/// What a rank without a block says.
class NoPart final : public ozaki2::Part {
 public:
  Status count(Counts& /*counts*/) override { return {}; }
  Status find_exponents(std::span<std::int32_t> /*a*/, std::span<std::int32_t> /*b*/) override { return {}; }
  Status count_equilibrated(std::span<const std::int32_t> /*a*/, std::span<const std::int32_t> /*b*/,
                            Counts& /*counts*/) override {
    return {};
  }
};

/// The rung of the whole, by all ranks.
class WholeOfRanks final : public ozaki2::Whole {
 public:
  WholeOfRanks(const plan::Plan& plan, Agreement& ranks, bool counts_rows, bool counts_cols,
               std::function<Status(std::int32_t& gain)> find_gain)
      : plan_(plan),
        ranks_(ranks),
        counts_rows_(counts_rows),
        counts_cols_(counts_cols),
        find_gain_(std::move(find_gain)) {}

  [[nodiscard]] bool counts_rows() const override { return counts_rows_; }
  [[nodiscard]] bool counts_cols() const override { return counts_cols_; }
  Status decide(ozaki2::Part& part, num::Selection& selection) override {
    KIZAMI_RETURN_IF_ERROR(
        multi::decide(ozaki2::ozaki2_of(plan_), plan_.shape.k, part, find_gain_, &ranks_, counts_, selection));
    return ranks_.known(require_what_is_needed(plan_, counts_, selection));
  }
  [[nodiscard]] const Counts& counts() const { return counts_; }

 private:
  const plan::Plan& plan_;
  Agreement& ranks_;
  bool counts_rows_;
  bool counts_cols_;
  std::function<Status(std::int32_t& gain)> find_gain_;
  Counts counts_;
};

template <class T>
class RankCall {
 public:
  RankCall(Communicator& ranks, const RankProblem<T>& problem, Outcome& outcome)
      : ranks_(ranks), problem_(problem), shape_(problem.shape), outcome_(outcome) {}

  Status run() { return ranks_.close(run_unto_error()); }

 private:
  [[nodiscard]] bool has_terms() const { return shape_.k > 0 && problem_.alpha != T{0}; }

  Status run_unto_error() {
    KIZAMI_RETURN_IF_ERROR(validate_arguments());
    KIZAMI_RETURN_IF_ERROR(require_equal_arguments());
    KIZAMI_RETURN_IF_ERROR(plan_whole());
    KIZAMI_RETURN_IF_ERROR(find_places());
    outcome_ = {};
    outcome_.engine = "none";
    outcome_.scheme = whole_->first().scheme;
    outcome_.gauge = whole_->first().gauge;
    if (!has_terms()) {
      if (problem_.beta != T{1}) {
        for (const Piece<T>& piece : problem_.c) problem::scale_matrix(problem_.beta, piece.view);
      }
      return {};
    }
    if (shape_.m == 0 || shape_.n == 0) return {};
    KIZAMI_RETURN_IF_ERROR(make_room());
    KIZAMI_RETURN_IF_ERROR(ranks_.agree({}));  // nobody begins to send where one has no room to receive
    KIZAMI_RETURN_IF_ERROR(bring_panels());
    return multiply();
  }

  Status validate_arguments() const {
    KIZAMI_RETURN_IF_ERROR(problem::validate_shape(shape_.m, shape_.n, shape_.k));
    const auto validate = [](const char* name, const auto& pieces) -> Status {
      for (const auto& piece : pieces) {
        if (piece.view.rows <= 0 || piece.view.cols <= 0) continue;
        KIZAMI_RETURN_IF_ERROR(problem::validate_operand<T>(name, piece.view, piece.view.rows, piece.view.cols));
      }
      return {};
    };
    KIZAMI_RETURN_IF_ERROR(validate("A", problem_.a));
    KIZAMI_RETURN_IF_ERROR(validate("B", problem_.b));
    for (const Piece<T>& piece : problem_.c) {
      if (piece.view.rows <= 0 || piece.view.cols <= 0) continue;
      KIZAMI_RETURN_IF_ERROR(problem::validate_output<T>(piece.view, piece.view.rows, piece.view.cols));
      for (const auto& operand : {problem_.a, problem_.b}) {
        for (const Piece<const T>& other : operand) {
          if (other.view.rows > 0 && other.view.cols > 0 && problem::overlaps<T>(other.view, piece.view))
            return {StatusCode::kInvalidArgument, "C overlaps an operand in memory, must be disjoint from A and B"};
        }
      }
    }
    return {};
  }

  Status require_equal_arguments() {
    const std::array<std::int64_t, 2> alpha = bits_of_factor(problem_.alpha);
    const std::array<std::int64_t, 2> beta = bits_of_factor(problem_.beta);
    const Fact facts[] = {{"the type of elements", static_cast<std::int64_t>(shape_.scalar), false},
                          {"m", shape_.m},
                          {"n", shape_.n},
                          {"k", shape_.k},
                          {"alpha", alpha[0], false},
                          {"alpha", alpha[1], false},
                          {"beta", beta[0], false},
                          {"beta", beta[1], false},
                          {"the policy's word on NaN and Inf", problem_.policy.reject_nonfinite ? 1 : 0, false}};
    return ranks_.require_equal(facts);
  }

  Status plan_whole() {
    auto whole = exec::cached_plan(shape_, problem_.policy, exec::environment());
    if (!whole.ok()) return whole.status();
    whole_ = std::move(whole).value();
    const auto numerics = static_cast<std::int64_t>(plan::numerics_hash(*whole_));
    const Fact fact{"what fixes the bits (accuracy, scheme and engine of the policy, or the processor)", numerics,
                    false};
    KIZAMI_RETURN_IF_ERROR(ranks_.require_equal({&fact, 1}));
    return ranks_.size() == 1 ? Status{} : ranks_.known(validate_scheme(*whole_));
  }

  /// Which rank holds and computes what.
  Status find_places() {
    const std::vector<Rect> lists[] = {rects_of(problem_.a), rects_of(problem_.b), rects_of(problem_.c)};
    RectTable tables[3];
    KIZAMI_RETURN_IF_ERROR(ranks_.gather(lists, tables));
    a_ = std::move(tables[0]);
    b_ = std::move(tables[1]);
    c_ = std::move(tables[2]);
    KIZAMI_RETURN_IF_ERROR(ranks_.known(validate_pieces("C", shape_.m, shape_.n, c_.rects)));
    if (has_terms()) {
      KIZAMI_RETURN_IF_ERROR(ranks_.known(validate_pieces("A", shape_.m, shape_.k, a_.rects)));
      KIZAMI_RETURN_IF_ERROR(ranks_.known(validate_pieces("B", shape_.k, shape_.n, b_.rects)));
    }
    grids_.resize(static_cast<std::size_t>(ranks_.size()));
    for (int r = 0; r < ranks_.size(); ++r) {
      KIZAMI_RETURN_IF_ERROR(
          ranks_.known(find_grid("rank " + std::to_string(r), c_.of(r), grids_[static_cast<std::size_t>(r)])));
    }
    return {};
  }

  [[nodiscard]] const RankGrid& grid_of(int rank) const { return grids_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] const RankGrid& mine() const { return grid_of(ranks_.rank()); }

  /// What passes from one rank to another.
  struct Message {
    std::vector<Passing> a;
    std::vector<Passing> b;

    [[nodiscard]] std::int64_t num_elements() const {
      std::int64_t count = 0;
      for (const auto* parts : {&a, &b}) {
        for (const Passing& part : *parts) count += part.rect.rows * part.rect.cols;
      }
      return count;
    }
  };
  [[nodiscard]] Message message(int from, int to) const {
    const RankGrid& grid = grid_of(to);
    if (grid.is_empty()) return {};
    return {passing_rows(a_.of(from), grid.rows), passing_cols(b_.of(from), grid.cols)};
  }

  /// Plan, panels, and room for messages.
  Status make_room() {
    const RankGrid& grid = mine();
    std::int64_t most_sent = 0;
    std::int64_t most_received = 0;
    for (int other = 0; other < ranks_.size(); ++other) {
      if (other == ranks_.rank()) continue;
      most_sent = std::max(most_sent, message(ranks_.rank(), other).num_elements());
      most_received = std::max(most_received, message(other, ranks_.rank()).num_elements());
    }
    KIZAMI_RETURN_IF_ERROR(take("a message to another rank", most_sent, sent_));
    KIZAMI_RETURN_IF_ERROR(take("a message of another rank", most_received, received_));
    if (grid.is_empty()) return {};

    auto part = exec::cached_plan({shape_.scalar, grid.num_rows, grid.num_cols, shape_.k},
                                  policy_of_blocks(*whole_, problem_.policy), exec::environment());
    if (!part.ok()) return part.status();
    part_ = std::move(part).value();
    const bool promises_bits = whole_->first().scheme == Scheme::kOzaki2 ||
                               problem_.policy.reproducibility == Reproducibility::kEngineToEngine;
    if (promises_bits && plan::numerics_hash(*part_) != plan::numerics_hash(*whole_)) {
      return {StatusCode::kUnsupported, "a block of " + std::to_string(grid.num_rows) + " x " +
                                            std::to_string(grid.num_cols) +
                                            " has other numerics than the whole product, which takes one rank"};
    }
    KIZAMI_RETURN_IF_ERROR(find_panel(
        "A", problem_.a, grid.rows.size() == 1 ? Rect{grid.rows[0].first, 0, grid.num_rows, shape_.k} : Rect{},
        grid.num_rows, shape_.k, a_panel_));
    KIZAMI_RETURN_IF_ERROR(find_panel(
        "B", problem_.b, grid.cols.size() == 1 ? Rect{0, grid.cols[0].first, shape_.k, grid.num_cols} : Rect{},
        shape_.k, grid.num_cols, b_panel_));
    const bool is_in_place = grid.rows.size() == 1 && grid.cols.size() == 1;
    if (is_in_place) {
      for (const Piece<T>& piece : problem_.c) {
        if (piece.view.rows > 0 && piece.view.cols > 0) c_view_ = piece.view;
      }
      return {};
    }
    KIZAMI_RETURN_IF_ERROR(take("this rank's pieces of C", grid.num_rows * grid.num_cols, c_memory_));
    c_view_ = {reinterpret_cast<T*>(c_memory_.data()), grid.num_rows, grid.num_cols, 1, grid.num_rows};
    return {};
  }

  static Status take(const char* what, std::int64_t count, base::AlignedBuffer& memory) {
    memory = base::AlignedBuffer(static_cast<std::size_t>(count) * sizeof(T));
    if (memory.ok()) return {};
    return {StatusCode::kOutOfMemory,
            std::string(what) + ": " + std::to_string(memory.size()) + " bytes refused by the system"};
  }

  /// One operand of this rank's block.
  struct Panel {
    MatrixView<const T> view;
    MatrixView<T> written;  ///< where its parts are copied to; null: it is read in place
    base::AlignedBuffer memory;
  };

  /// @param wanted  the panel as one rectangle of its matrix, or empty
  static Status find_panel(const char* name, std::span<const Piece<const T>> pieces, const Rect& wanted,
                           std::int64_t rows, std::int64_t cols, Panel& panel) {
    for (const Piece<const T>& piece : pieces) {
      if (wanted.is_empty() || !contains({piece.row, piece.col, piece.view.rows, piece.view.cols}, wanted)) continue;
      panel.view = part_of(piece, wanted);
      return {};
    }
    KIZAMI_RETURN_IF_ERROR(take(name, rows * cols, panel.memory));
    panel.written = {reinterpret_cast<T*>(panel.memory.data()), rows, cols, 1, rows};
    panel.view = panel.written;
    return {};
  }

  /// Calls visit(part of a piece of this rank, count) for all that passes.
  template <class Visit>
  void pack(const Message& parts, const Visit& visit) const {
    for (const Passing& part : parts.a) visit(part_of(problem_.a[part.piece], part.rect), a_panel_, part);
    for (const Passing& part : parts.b) visit(part_of(problem_.b[part.piece], part.rect), b_panel_, part);
  }

  /// In turns in which ranks meet in pairs; the lower one sends first.
  Status bring_panels() {
    const int me = ranks_.rank();
    pack(message(me, me), [](const MatrixView<const T>& from, const Panel& panel, const Passing& part) {
      if (panel.written.data != nullptr)
        copy_matrix<T>(from, panel.written.block(part.row, part.col, part.rect.rows, part.rect.cols));
    });
    for (int turn = 0; turn < num_turns(ranks_.size()); ++turn) {
      const int other = partner_of(me, ranks_.size(), turn);
      if (other == me) continue;
      if (me < other) KIZAMI_RETURN_IF_ERROR(send(other));
      KIZAMI_RETURN_IF_ERROR(receive(other));
      if (me > other) KIZAMI_RETURN_IF_ERROR(send(other));
    }
    return {};
  }

  Status send(int other) {
    const Message parts = message(ranks_.rank(), other);
    T* at = reinterpret_cast<T*>(sent_.data());
    pack(parts, [&](const MatrixView<const T>& from, const Panel& /*panel*/, const Passing& /*part*/) {
      copy_matrix<T>(from, {at, from.rows, from.cols, 1, from.rows});
      at += from.rows * from.cols;
    });
    const auto bytes = static_cast<std::size_t>(parts.num_elements()) * sizeof(T);
    return bytes == 0 ? Status{} : ranks_.send({sent_.data(), bytes}, other);
  }

  Status receive(int other) {
    const Message parts = message(other, ranks_.rank());
    const auto bytes = static_cast<std::size_t>(parts.num_elements()) * sizeof(T);
    if (bytes == 0) return {};
    KIZAMI_RETURN_IF_ERROR(ranks_.receive({received_.data(), bytes}, other));
    const T* at = reinterpret_cast<const T*>(received_.data());
    const auto unpack = [&](const std::vector<Passing>& passing, const MatrixView<T>& to) {
      for (const Passing& part : passing) {
        const Rect& rect = part.rect;
        copy_matrix<T>(MatrixView<const T>{at, rect.rows, rect.cols, 1, rect.rows},
                       to.block(part.row, part.col, rect.rows, rect.cols));
        at += rect.rows * rect.cols;
      }
    };
    unpack(parts.a, a_panel_.written);
    unpack(parts.b, b_panel_.written);
    return {};
  }

  /// Visits (a piece of C, its place in c_view_), if that is memory of its own.
  template <class Visit>
  void for_each_staged(const Visit& visit) const {
    if (c_memory_.data() == nullptr) return;
    const auto place = [](const std::vector<LineRange>& ranges, std::int64_t first) {
      const auto range = std::find_if(ranges.begin(), ranges.end(),
                                      [&](const LineRange& candidate) { return candidate.first == first; });
      return range->at;
    };
    for (const Piece<T>& piece : problem_.c) {
      if (piece.view.rows <= 0 || piece.view.cols <= 0) continue;
      visit(piece.view, c_view_.block(place(mine().rows, piece.row), place(mine().cols, piece.col), piece.view.rows,
                                      piece.view.cols));
    }
  }

  Status multiply() {
    const bool is_exchanged = whole_->first().scheme == Scheme::kOzaki2;
    const RankGrid& grid = mine();
    // Rows are counted by the ranks that have column 0 of C, and columns by those that have row 0.
    WholeOfRanks whole(*whole_, ranks_, !grid.is_empty() && grid.cols.front().first == 0,
                       !grid.is_empty() && grid.rows.front().first == 0,
                       [this](std::int32_t& gain) { return find_gain(gain); });
    if (grid.is_empty()) {
      NoPart none;
      num::Selection selection;
      if (is_exchanged) KIZAMI_RETURN_IF_ERROR(whole.decide(none, selection));
      report_without_part(selection);
    } else {
      if (problem_.beta != T{0})
        for_each_staged([](const MatrixView<T>& piece, const MatrixView<T>& staged) { copy_matrix<T>(piece, staged); });
      const problem::Problem<T> part{problem_.alpha, a_panel_.view, b_panel_.view, problem_.beta, c_view_};
      KIZAMI_RETURN_IF_ERROR(
          (exec::run<T, T>(*part_, part, nullptr, nullptr, {}, outcome_, is_exchanged ? &whole : nullptr)));
      for_each_staged([](const MatrixView<T>& piece, const MatrixView<T>& staged) { copy_matrix<T>(staged, piece); });
    }
    if (!is_exchanged) return {};
    outcome_.nonfinite_rows = whole.counts().nonfinite_rows;
    outcome_.nonfinite_cols = whole.counts().nonfinite_cols;
    if (!whole_->first().is_correct) return {};
    return ranks_.sum({&outcome_.repaired, 1});  // elements that no rung decides
  }

  void report_without_part(const num::Selection& selection) {
    const plan::Stage& first = whole_->first();
    outcome_.engine = first.engine_name();
    outcome_.bound = first.bound;
    if (first.scheme != Scheme::kOzaki2) return;
    outcome_.rung = selection.rung;
    const num::Ladder& ladder = ozaki2::ozaki2_of(*whole_).ladder;
    outcome_.moduli = selection.rung < 0 ? 0 : ladder.rungs[static_cast<std::size_t>(selection.rung)].num_moduli;
    outcome_.equilibrated = selection.equilibrated;
    outcome_.repaired = selection.num_repaired;
  }

  /// Of the lines that one call would sample: each element comes from the rank that holds it.
  Status find_gain(std::int32_t& gain) {
    const auto k = static_cast<std::size_t>(shape_.k);
    const auto gather = [&](std::span<const Piece<const T>> pieces, bool is_a, std::int64_t num_lines,
                            std::vector<T>& lines) -> Status {
      std::vector<std::int64_t> terms(certify::kGainLines * k * static_cast<std::size_t>(kTerms<T>));
      for (int s = 0; s < certify::kGainLines; ++s) {
        const std::int64_t line = certify::gain_line(num_lines, s);
        for (const Piece<const T>& piece : pieces) {
          const MatrixView<const T> view = is_a ? piece.view : piece.view.transposed();
          const std::int64_t row = line - (is_a ? piece.row : piece.col);
          const std::int64_t first = is_a ? piece.col : piece.row;
          if (row < 0 || row >= view.rows) continue;
          for (std::int64_t h = 0; h < view.cols; ++h) {
            const T element = view(row, h);
            std::array<RealOf<T>, static_cast<std::size_t>(kTerms<T>)> parts;
            std::memcpy(parts.data(), &element, sizeof element);
            const std::size_t at =
                (static_cast<std::size_t>(s) * k + static_cast<std::size_t>(first + h)) * parts.size();
            for (std::size_t t = 0; t < parts.size(); ++t) terms[at + t] = bits_of(static_cast<double>(parts[t]));
          }
        }
      }
      KIZAMI_RETURN_IF_ERROR(ranks_.sum(terms));
      lines.resize(certify::kGainLines * k);
      auto* const reals = reinterpret_cast<RealOf<T>*>(lines.data());
      for (std::size_t t = 0; t < terms.size(); ++t) reals[t] = static_cast<RealOf<T>>(std::bit_cast<double>(terms[t]));
      return {};
    };
    std::vector<T> a;
    std::vector<T> b;
    KIZAMI_RETURN_IF_ERROR(gather(problem_.a, true, shape_.m, a));
    KIZAMI_RETURN_IF_ERROR(gather(problem_.b, false, shape_.n, b));
    gain = gain_of_samples(a.data(), b.data(), shape_.k, base::default_threads());
    return {};
  }

  Agreement ranks_;
  const RankProblem<T>& problem_;
  const problem::Shape& shape_;
  Outcome& outcome_;
  std::shared_ptr<const plan::Plan> whole_;
  std::shared_ptr<const plan::Plan> part_;  ///< of this rank's block; null: it has none
  RectTable a_;
  RectTable b_;
  RectTable c_;
  std::vector<RankGrid> grids_;
  base::AlignedBuffer sent_;
  base::AlignedBuffer received_;
  Panel a_panel_;
  Panel b_panel_;
  MatrixView<T> c_view_;
  base::AlignedBuffer c_memory_;
};

}  // namespace

template <class T>
Status run_rank(Communicator& ranks, const RankProblem<T>& problem, Outcome& outcome) {
  return RankCall<T>(ranks, problem, outcome).run();
}

#define KIZAMI_INSTANTIATE(T) template Status run_rank<T>(Communicator&, const RankProblem<T>&, Outcome&)

KIZAMI_FOR_EACH_ELEMENT(KIZAMI_INSTANTIATE);
#undef KIZAMI_INSTANTIATE

}  // namespace kizami::multi
