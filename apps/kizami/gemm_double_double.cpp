// SPDX-License-Identifier: MIT
#include "gemm_double_double.hpp"

#include <fmt/format.h>

#include <chrono>
#include <vector>

#include "failure.hpp"
#include "kizami/kizami.hpp"
#include "kizami/plan.hpp"
#include "matrix_file.hpp"
#include "output_file.hpp"
#include "progress.hpp"

namespace kizami::cli {
namespace {

/// An operand as read: rows x cols, with low parts or without.
struct Operand {
  Matrix file;
  bool has_low_parts = false;
  std::int64_t rows = 0;
  std::int64_t cols = 0;

  [[nodiscard]] MatrixView<const double> single() const { return file.view<double>(); }
  [[nodiscard]] MatrixView<const DoubleDouble> pairs() const {
    return {reinterpret_cast<const DoubleDouble*>(file.data.data()), rows, cols, cols, 1};
  }
};

Operand read_operand(const std::string& path) {
  Operand out;
  out.file = read_matrix(path);
  const MatrixShape& shape = out.file.shape;
  const auto refuse = [&](const std::string& what) {
    throw Failure(ExitCode::kBadInput, fmt::format("{}: {}", path, what));
  };
  if (out.file.scalar != Scalar::kF64)
    refuse(fmt::format("dtype is {}, must be f64 for --dd", to_string(out.file.scalar)));
  out.has_low_parts = shape.is_batch;
  if (shape.is_batch && shape.cols != 2)
    refuse(fmt::format("shape is {}, must be rows x columns, or rows x columns x 2 for --dd", to_string(shape)));
  if (shape.is_batch && out.file.is_fortran_order) refuse("is in Fortran order, must be in C order for --dd");
  out.rows = shape.is_batch ? shape.batch : shape.rows;
  out.cols = shape.is_batch ? shape.rows : shape.cols;
  return out;
}

/// The same with low parts, zeros if the file has none.
std::vector<DoubleDouble> with_low_parts(const Operand& x) {
  std::vector<DoubleDouble> out;
  out.reserve(static_cast<std::size_t>(x.rows * x.cols));
  for (std::int64_t i = 0; i < x.rows; ++i) {
    for (std::int64_t j = 0; j < x.cols; ++j)
      out.push_back(x.has_low_parts ? x.pairs()(i, j) : DoubleDouble(x.single()(i, j)));
  }
  return out;
}

}  // namespace

GemmReport multiply_double_double(const DoubleDoubleCall& call) {
  const Operand a = read_operand(call.a);
  const Operand b = read_operand(call.b);
  const auto op = [](auto view, Op what) { return is_transposed(what) ? view.transposed() : view; };
  const std::int64_t m = is_transposed(call.op_a) ? a.cols : a.rows;
  const std::int64_t k = is_transposed(call.op_a) ? a.rows : a.cols;
  const std::int64_t n = is_transposed(call.op_b) ? b.rows : b.cols;
  const std::int64_t b_rows = is_transposed(call.op_b) ? b.cols : b.rows;
  if (k != b_rows) {
    throw Failure(ExitCode::kShapeMismatch,
                  fmt::format("the shapes do not fit: the inner dimensions {} and {} must be equal", k, b_rows));
  }
  if (output_format(call.output) != FileFormat::kNpy)
    throw Failure(ExitCode::kUsage, fmt::format("output {}: --dd writes .npy files only", call.output));
  const Result<Plan> plan = make_plan(Scalar::kDD, m, n, k, call.policy);
  throw_if_error(plan.status());
  const int threads = call.policy.threads > 0 ? call.policy.threads : default_threads();
  GemmReport report{plan.value(), call.policy, call.op_a, call.op_b, call.alpha, 0.0, threads};

  const MatrixShape shape{true, m, n, 2};
  const Matrix c = make_matrix("C", Scalar::kF64, shape);
  const MatrixView<DoubleDouble> c_view{reinterpret_cast<DoubleDouble*>(c.data.data()), m, n, n, 1};
  OutputFile output(call.output, file_bytes(FileFormat::kNpy, Scalar::kF64, shape));
  Outcome outcome;
  const ProgressBar bar(!call.is_quiet, plan.value().predicted_seconds());
  const auto start = std::chrono::steady_clock::now();
  if (a.has_low_parts || b.has_low_parts) {
    const std::vector<DoubleDouble> a_pairs = with_low_parts(a);
    const std::vector<DoubleDouble> b_pairs = with_low_parts(b);
    const MatrixView<const DoubleDouble> a_view{a_pairs.data(), a.rows, a.cols, a.cols, 1};
    const MatrixView<const DoubleDouble> b_view{b_pairs.data(), b.rows, b.cols, b.cols, 1};
    throw_if_error(run_dd<DoubleDouble>(plan.value(), call.alpha, op(a_view, call.op_a), op(b_view, call.op_b), 0.0,
                                        c_view, {}, &outcome));
  } else {
    throw_if_error(run_dd<double>(plan.value(), call.alpha, op(a.single(), call.op_a), op(b.single(), call.op_b), 0.0,
                                  c_view, {}, &outcome));
  }
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  report.add(0, outcome);
  write_matrix(output, FileFormat::kNpy, c);
  output.commit();
  report.output = call.output;
  return report;
}

}  // namespace kizami::cli
