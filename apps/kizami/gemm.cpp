// SPDX-License-Identifier: MIT
// kizami gemm: C = alpha op(A) op(B) + beta C0 from files to a file.
//   read A, B, C0 -> plan -> reserve the output -> multiply -> check -> write, sync, rename -> report
// Inputs are read whole before the output is touched, so the output may be one of them.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "commands.hpp"
#include "exact_sample.hpp"
#include "failure.hpp"
#include "gemm_report.hpp"
#include "kizami/plan.hpp"
#include "matrix_file.hpp"
#include "options.hpp"
#include "output_file.hpp"
#include "progress.hpp"

namespace kizami::cli {
namespace {

struct GemmOptions {
  std::string a, b, c0, output;
  bool trans_a = false;
  bool trans_b = false;
  std::string op;
  std::string alpha = "1";
  std::string beta;  ///< empty: not given
  PolicyOptions policy;
  bool is_checked = false;
  bool is_json = false;
  bool is_quiet = false;
};

/// The operands as read and the call as understood.
struct GemmCall {
  Matrix a, b;
  std::optional<Matrix> c0;
  Op op_a = Op::kNone;
  Op op_b = Op::kNone;
  double alpha = 1;  ///< exact in the type of the operands
  double beta = 0;
  std::int64_t m = 0, n = 0, k = 0;
};

void set_ops(const GemmOptions& options, GemmCall& call) {
  const std::string& op = options.op;
  if (!op.empty() && (options.trans_a || options.trans_b)) {
    throw Failure(ExitCode::kUsage, "--op and --trans-a or --trans-b say the same: give one of them");
  }
  const auto is_op = [](char c) { return c == 'n' || c == 't'; };
  if (!op.empty() && (op.size() != 2 || !is_op(op[0]) || !is_op(op[1]))) refuse_name("--op", op, "nn, nt, tn, tt");
  call.op_a = options.trans_a || op.starts_with('t') ? Op::kTranspose : Op::kNone;
  call.op_b = options.trans_b || op.ends_with('t') ? Op::kTranspose : Op::kNone;
}

void set_scalars(const GemmOptions& options, GemmCall& call) {
  call.alpha = real_option("--alpha", options.alpha, call.a.scalar);
  call.beta = options.beta.empty() ? 0 : real_option("--beta", options.beta, call.a.scalar);
}

/// What can be said before any file is read.
void check_usage(const GemmOptions& options) {
  if (!options.c0.empty() && options.beta.empty()) {
    throw Failure(ExitCode::kUsage, "--c is given, but without --beta it is not read: say --beta 1 to add it");
  }
  const double beta = options.beta.empty() ? 0 : real_option("--beta", options.beta, Scalar::kF64);
  if (options.c0.empty() && beta != 0) {
    throw Failure(ExitCode::kUsage, fmt::format("--beta = {}, but no matrix to scale: give it by --c", options.beta));
  }
}

void require_same_dtype(const Matrix& x, const Matrix& y) {
  if (x.scalar == y.scalar) return;
  throw Failure(ExitCode::kBadInput, fmt::format("{} is {}, but {} is {}: all matrices must have one type", x.name,
                                                 dtype_name(x.scalar), y.name, dtype_name(y.scalar)));
}

std::string shape_text(const Matrix& x, Op op) {
  return fmt::format("{} is {} x {}{}", x.name, x.rows, x.cols, op == Op::kNone ? "" : ", transposed");
}

void set_shape(GemmCall& call) {
  const bool is_a_transposed = call.op_a == Op::kTranspose;
  const bool is_b_transposed = call.op_b == Op::kTranspose;
  call.m = is_a_transposed ? call.a.cols : call.a.rows;
  call.k = is_a_transposed ? call.a.rows : call.a.cols;
  call.n = is_b_transposed ? call.b.rows : call.b.cols;
  const std::int64_t b_rows = is_b_transposed ? call.b.cols : call.b.rows;
  if (call.k != b_rows) {
    throw Failure(ExitCode::kShapeMismatch,
                  fmt::format("the shapes do not fit: {}, {}: the inner dimensions {} and {} must be equal",
                              shape_text(call.a, call.op_a), shape_text(call.b, call.op_b), call.k, b_rows));
  }
  for (const std::int64_t dim : {call.m, call.n, call.k}) {
    if (dim >= kDimLimit)
      throw Failure(ExitCode::kShapeMismatch, fmt::format("a dimension is {}, must be < {}", dim, kDimLimit));
  }
  if (call.c0 && (call.c0->rows != call.m || call.c0->cols != call.n)) {
    throw Failure(ExitCode::kShapeMismatch, fmt::format("the shapes do not fit: {}, must be {} x {} as op(A) op(B)",
                                                        shape_text(*call.c0, Op::kNone), call.m, call.n));
  }
}

GemmCall read_call(const GemmOptions& options) {
  GemmCall call;
  set_ops(options, call);
  call.a = read_matrix(options.a);
  call.b = read_matrix(options.b);
  require_same_dtype(call.a, call.b);
  if (!options.c0.empty()) {
    call.c0 = read_matrix(options.c0);
    require_same_dtype(call.a, *call.c0);
  }
  set_scalars(options, call);
  set_shape(call);
  return call;
}

/// The matrix that becomes C: C0 itself where its order allows, for memory is dear.
template <class T>
Matrix start_of_c(GemmCall& call) {
  if (call.c0 && !call.c0->is_fortran_order) return std::move(*call.c0);
  Matrix c = make_matrix("C", call.a.scalar, call.m, call.n);
  if (!call.c0) return c;
  const MatrixView<T> to = c.view<T>();
  const MatrixView<T> from = call.c0->view<T>();
  for (std::int64_t i = 0; i < call.m; ++i) {
    for (std::int64_t j = 0; j < call.n; ++j) to(i, j) = from(i, j);
  }
  call.c0.reset();
  return c;
}

template <class T>
MatrixView<const T> operand(const Matrix& x, Op op) {
  return op == Op::kNone ? x.view<T>() : x.view<T>().transposed();
}

template <class T>
std::int64_t count_nonfinite_rows(MatrixView<const T> x) {
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < x.rows; ++i) {
    bool is_finite = true;
    for (std::int64_t j = 0; is_finite && j < x.cols; ++j) is_finite = std::isfinite(x(i, j));
    count += is_finite ? 0 : 1;
  }
  return count;
}

/// Overwrites c, which holds C0 if beta is not 0.
template <class T>
void multiply(const GemmOptions& options, const GemmCall& call, Matrix& c, GemmReport& report) {
  const MatrixView<const T> a = operand<T>(call.a, call.op_a);
  const MatrixView<const T> b = operand<T>(call.b, call.op_b);
  const T alpha = static_cast<T>(call.alpha);
  const T beta = static_cast<T>(call.beta);
  std::optional<ExactSample<T>> sample;
  if (options.is_checked) sample.emplace(alpha, a, b, beta, c.view<T>());
  {
    const ProgressBar bar(!options.is_quiet, report.plan.predicted_seconds());
    const auto start = std::chrono::steady_clock::now();
    throw_if_error(run<T>(report.plan, alpha, a, b, beta, c.view<T>(), {}, &report.outcome));
    report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  if (report.outcome.engine == to_string(EngineName::kNativeBlas)) {  // which does not look at the elements
    report.outcome.nonfinite_rows = count_nonfinite_rows(a);
    report.outcome.nonfinite_cols = count_nonfinite_rows(b.transposed());
  }
  if (sample) report.check = sample->judge(c.view<T>(), report.outcome.bound, report.outcome.gauge, report.threads);
}

void tell(const GemmOptions& options, const GemmReport& report) {
  if (const std::string note = nonfinite_note(report.outcome); !note.empty() && !options.is_quiet) print_note(note);
  if (options.is_json) {
    write_stdout(as_json(report));
  } else if (!options.is_quiet && !report.output.empty()) {
    write_stdout(as_text(report));
  }
}

ExitCode run_gemm(const GemmOptions& options) {
  check_usage(options);
  const Policy policy = policy_of(options.policy);
  GemmCall call = read_call(options);
  const std::uint64_t output_bytes = npy_file_bytes(call.a.scalar, call.m, call.n);
  const Result<Plan> plan = make_plan(call.a.scalar, call.m, call.n, call.k, policy);
  throw_if_error(plan.status());
  const unsigned processors = std::thread::hardware_concurrency();
  const int threads = policy.threads > 0 ? policy.threads : static_cast<int>(processors > 0 ? processors : 1);
  GemmReport report{plan.value(), policy, call.op_a, call.op_b, call.alpha, call.beta, threads};

  const bool is_f32 = call.a.scalar == Scalar::kF32;
  Matrix c = is_f32 ? start_of_c<float>(call) : start_of_c<double>(call);
  OutputFile output(options.output, output_bytes);
  is_f32 ? multiply<float>(options, call, c, report) : multiply<double>(options, call, c, report);
  if (report.check && !(report.check->error_over_bound <= 1)) {
    tell(options, report);
    throw Failure(
        ExitCode::kCheckFailed,
        fmt::format(
            "element ({}, {}) of C errs by {:.3g} times what is allowed (bound {:.3g}, gauge {}); nothing was written",
            report.check->row, report.check->col, report.check->error_over_bound, report.outcome.bound,
            to_string(report.outcome.gauge)));
  }
  output.write(npy_header_of(c));
  output.write(data_bytes_of(c));
  output.commit();
  report.output = options.output;
  tell(options, report);
  return ExitCode::kOk;
}

}  // namespace

Command add_gemm(CLI::App& program) {
  CLI::App* const app =
      program.add_subcommand("gemm", "compute C = alpha op(A) op(B) + beta C0 from .npy files to a .npy file");
  const auto options = std::make_shared<GemmOptions>();
  app->add_option("A", options->a, "first operand")->required()->type_name("");
  app->add_option("B", options->b, "second operand")->required()->type_name("");
  app->add_option("-o,--output", options->output, "where C goes; may be one of the inputs")
      ->required()
      ->type_name("C.npy");
  app->add_flag("--trans-a", options->trans_a, "op(A) is the transpose of A");
  app->add_flag("--trans-b", options->trans_b, "op(B) is the transpose of B");
  app->add_option("--op", options->op, "both at once: n as it is, t transposed [nn]")->type_name("nn|nt|tn|tt");
  app->add_option("--alpha", options->alpha, "[1]")->type_name("X");
  app->add_option("--beta", options->beta, "[0: C0 is not read]")->type_name("X");
  app->add_option("--c", options->c0, "C0, the matrix that beta multiplies")->type_name("C0.npy");
  app->add_flag("--check", options->is_checked,
                "compare up to 1024 elements of C with the exact product; write nothing if one breaks the bound");
  app->add_flag("--json", options->is_json, "print one JSON object instead of the summary");
  app->add_flag("-q,--quiet", options->is_quiet, "no summary, no notes, no progress bar");
  add_policy_options(*app, options->policy);
  app->footer(
      "\nFiles are NumPy's .npy, versions 1 to 3, float32 or float64, two dimensions, C or Fortran order, either byte "
      "order. The\n"
      "file must end with the data. C is written as NumPy writes it: C order, little-endian. It appears whole or not "
      "at all: an\n"
      "error, a full disk or an interruption leaves an existing file as it was. NaN and Inf are multiplied as IEEE "
      "arithmetic\n"
      "does, with a note. The bound of the report is |C - AB| / G for alpha = 1 and beta = 0, with G as --gauge "
      "says.\n");
  return {app, [options] { return run_gemm(*options); }};
}

}  // namespace kizami::cli
