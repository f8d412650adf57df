// SPDX-License-Identifier: MIT
// kizami gemm: C = alpha op(A) op(B) + beta C0 from files to a file.
//   read A, B, C0 -> plan -> reserve the output -> multiply -> check -> write, sync, rename -> report
// Who multiplies is this host or a CUDA device (gemm_product.hpp); all else is the same.
// A batch is a loop over one plan and one workspace: each product has the bits that it would have alone.
// Inputs are read whole before the output is touched, so the output may be one of them.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <complex>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "address_space.hpp"
#include "calibration_note.hpp"
#include "commands.hpp"
#include "device.hpp"
#include "device_option.hpp"
#include "exact_sample.hpp"
#include "failure.hpp"
#include "gemm_double_double.hpp"
#include "gemm_product.hpp"
#include "gemm_report.hpp"
#include "kizami/kizami.hpp"
#include "kizami/plan.hpp"
#include "kizami/text.hpp"
#include "matrix_file.hpp"
#include "npy.hpp"
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
  bool is_double_double = false;
  DeviceOption device;
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
  std::complex<double> alpha = 1;  ///< exact in the type of the operands
  std::complex<double> beta = 0;
  std::int64_t k = 0;
  MatrixShape c_shape;
};

template <class T>
T as_scalar(std::complex<double> x) {
  if constexpr (kIsComplex<T>) {
    return T(x);
  } else {
    return static_cast<T>(x.real());
  }
}

Op op_named(const std::string& text, char letter) {
  switch (letter) {
    case 'n':
      return Op::kNone;
    case 't':
      return Op::kTranspose;
    case 'c':
      return Op::kConjTranspose;
    case 'r':
      return Op::kConjugate;
    default:
      refuse_name("--op", text, "two letters of n, t, c, r");
  }
}

void set_ops(const GemmOptions& options, GemmCall& call) {
  const std::string& op = options.op;
  if (!op.empty() && (options.trans_a || options.trans_b)) {
    throw Failure(ExitCode::kUsage, "--op and --trans-a or --trans-b say the same: give one of them");
  }
  if (op.empty()) {
    call.op_a = options.trans_a ? Op::kTranspose : Op::kNone;
    call.op_b = options.trans_b ? Op::kTranspose : Op::kNone;
    return;
  }
  call.op_a = op_named(op, op.size() == 2 ? op[0] : '?');
  call.op_b = op_named(op, op[1]);
}

void set_scalars(const GemmOptions& options, GemmCall& call) {
  call.alpha = scalar_option("--alpha", options.alpha, call.a.scalar);
  if (!options.beta.empty()) call.beta = scalar_option("--beta", options.beta, call.a.scalar);
}

/// A name that says another format than those that are written: its file would not be what it says.
void refuse_output_name(const std::string& output) {
  const std::string ending = ending_of(output);
  if (output == "-")
    throw Failure(ExitCode::kUsage, "--output = '-', must name a file: -q -o /dev/stdout writes .npy to a pipe");
  static constexpr std::string_view kOthers[]{".csv", ".tsv", ".txt", ".npz", ".mat", ".h5",      ".hdf5", ".json",
                                              ".gz",  ".xz",  ".bz2", ".zip", ".zst", ".parquet", ".xlsx", ".pt"};
  if (std::ranges::find(kOthers, ending) != std::end(kOthers))
    throw Failure(ExitCode::kUsage,
                  fmt::format("--output = {}: {} is not written, must be .npy, or .mtx for Matrix Market",
                              in_quotes(output), ending));
}

/// What can be said before any file is read.
void check_usage(const GemmOptions& options) {
  if (options.device.is_given()) refuse_options_of_processor(options.policy);
  refuse_output_name(options.output);
  if (!options.c0.empty() && options.beta.empty()) {
    throw Failure(ExitCode::kUsage, "--c is given, but without --beta it is not read: say --beta 1 to add it");
  }
  if (!options.c0.empty() || options.beta.empty()) return;
  if (scalar_option("--beta", options.beta, Scalar::kC128) != 0.0) {
    throw Failure(ExitCode::kUsage, fmt::format("--beta = {}, but no matrix to scale: give it by --c", options.beta));
  }
}

void require_same_dtype(const Matrix& x, const Matrix& y) {
  if (x.scalar == y.scalar) return;
  throw Failure(ExitCode::kBadInput, fmt::format("{} is {}, but {} is {}: all matrices must have one type", x.name,
                                                 dtype_name(x.scalar), y.name, dtype_name(y.scalar)));
}

std::string shape_text(const Matrix& x, Op op) {
  return fmt::format("{} is {}{}", x.name, to_string(x.shape), is_transposed(op) ? ", transposed" : "");
}

/// The shape of C and the inner dimension.
void set_shape(GemmCall& call) {
  const MatrixShape& a = call.a.shape;
  const MatrixShape& b = call.b.shape;
  const std::int64_t m = is_transposed(call.op_a) ? a.cols : a.rows;
  const std::int64_t n = is_transposed(call.op_b) ? b.rows : b.cols;
  const std::int64_t b_rows = is_transposed(call.op_b) ? b.cols : b.rows;
  call.k = is_transposed(call.op_a) ? a.rows : a.cols;
  const auto refuse = [&call](std::string_view dimensions, std::int64_t x, std::int64_t y, std::string_view rule) {
    throw Failure(ExitCode::kShapeMismatch,
                  fmt::format("the shapes do not fit: {}, {}: the {} {} and {} must be equal{}",
                              shape_text(call.a, call.op_a), shape_text(call.b, call.op_b), dimensions, x, y, rule));
  };
  if (call.k != b_rows) refuse("inner dimensions", call.k, b_rows, "");
  if (a.batch != b.batch && a.batch != 1 && b.batch != 1) refuse("batches", a.batch, b.batch, ", or one of them 1");
  for (const std::int64_t dim : {m, n, call.k}) {
    if (dim >= kDimLimit)
      throw Failure(ExitCode::kShapeMismatch, fmt::format("a dimension is {}, must be < {}", dim, kDimLimit));
  }
  call.c_shape = {a.is_batch || b.is_batch, a.batch == 1 ? b.batch : a.batch, m, n};
}

/// C0 is a matrix for each product, or one for all.
void check_shape_of_c0(const GemmCall& call) {
  if (!call.c0) return;
  const MatrixShape& c = call.c_shape;
  MatrixShape given = call.c0->shape;
  if (c.is_batch && given.batch == 1) given = {true, c.batch, given.rows, given.cols};
  if (given == c) return;
  throw Failure(ExitCode::kShapeMismatch, fmt::format("the shapes do not fit: {}, must be {} as op(A) op(B)",
                                                      shape_text(*call.c0, Op::kNone), to_string(c)));
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
  check_shape_of_c0(call);
  return call;
}

/// Matrix number `index` of a batch, or the one that stands for all.
template <class T>
MatrixView<T> matrix_of(const Matrix& x, std::int64_t index) {
  return x.view<T>(x.shape.batch == 1 ? 0 : index);
}

/// The matrix that becomes C: C0 itself where its order allows, for memory is dear.
template <class T>
Matrix start_of_c(GemmCall& call) {
  if (call.c0 && !call.c0->is_fortran_order && call.c0->shape == call.c_shape) return std::move(*call.c0);
  Matrix c = make_matrix("C", call.a.scalar, call.c_shape);
  if (!call.c0 || c.data.size() == 0) return c;
  for (std::int64_t index = 0; index < call.c_shape.batch; ++index) {
    const MatrixView<T> to = c.view<T>(index);
    const MatrixView<T> from = matrix_of<T>(*call.c0, index);
    for (std::int64_t i = 0; i < to.rows; ++i) {
      for (std::int64_t j = 0; j < to.cols; ++j) to(i, j) = from(i, j);
    }
  }
  call.c0.reset();
  return c;
}

template <class T>
MatrixView<const T> operand(const Matrix& x, std::int64_t index, Op op) {
  MatrixView<T> view = matrix_of<T>(x, index);
  if (is_transposed(op)) view = view.transposed();
  return kIsComplex<T> && is_conjugated(op) ? view.conjugated() : view;
}

template <class T>
Product<T> product_of(const GemmCall& call, const Matrix& c, std::int64_t index) {
  return {as_scalar<T>(call.alpha), operand<T>(call.a, index, call.op_a), operand<T>(call.b, index, call.op_b),
          as_scalar<T>(call.beta), c.view<T>(index)};
}

/// Multiplies, and adds outcome and time to the report.
template <class T>
Outcome run_timed(const Product<T>& x, std::int64_t index, const Multiply<T>& multiply, GemmReport& report) {
  Outcome outcome;
  const Result<double> seconds = multiply(x, outcome);
  if (!seconds.ok() && report.batch) {
    const Status& status = seconds.status();
    throw Failure(exit_code_of(status.code()), fmt::format("batch index {}: {}", index, status.reason()));
  }
  throw_if_error(seconds.status());
  report.seconds += seconds.value();
  add_what_native_ignores(x, outcome);
  report.add(index, outcome);
  return outcome;
}

/// The same, and judges elements of C. The sample is taken before C0 is overwritten.
template <class T>
void run_checked(const Product<T>& x, std::int64_t index, const Multiply<T>& multiply, GemmReport& report) {
  const ExactSample<T> sample(x.alpha, x.a, x.b, x.beta, x.c);
  const Outcome outcome = run_timed(x, index, multiply, report);
  if (report.policy.accuracy.kind == Accuracy::Kind::kCorrect) {
    const check::Verdict verdict = sample.correctly_rounded(x.c, report.threads);
    if (!verdict) {
      throw Failure(
          ExitCode::kCheckFailed,
          fmt::format("C is not correctly rounded; in the sample of it, {}; nothing was written", verdict.message));
    }
  }
  report.add(index, sample.judge(x.c, outcome.bound, outcome.gauge, outcome.is_conditional, report.threads));
}

/// Overwrites c, which holds C0 if beta is not 0.
template <class T>
void multiply_all(const GemmOptions& options, const GemmCall& call, const Matrix& c, GemmReport& report) {
  // Products without elements are all alike, and a file of no bytes may claim any number of them.
  const std::int64_t count = c.data.size() > 0 ? c.shape.batch : std::min<std::int64_t>(c.shape.batch, 1);
  const Multiply<T> multiply = report.device ? multiply_on_device<T>(report.plan) : multiply_on_host<T>(report.plan);
  const ProgressBar bar(!options.is_quiet, report.plan.predicted_seconds() * static_cast<double>(count));
  for (std::int64_t index = 0; index < count; ++index) {
    const Product<T> product = product_of<T>(call, c, index);
    if (options.is_checked) {
      run_checked(product, index, multiply, report);
    } else {
      run_timed(product, index, multiply, report);
    }
  }
}

void tell(const GemmOptions& options, const GemmReport& report) {
  if (const std::string note = nonfinite_note(report.outcome); !note.empty() && !options.is_quiet) print_note(note);
  if (options.is_json) {
    write_stdout(as_json(report));
  } else if (!options.is_quiet && !report.output.empty()) {
    write_stdout(as_text(report));
  }
}

/// The same when C is in place, which is then said if it fails.
void tell_done(const GemmOptions& options, const GemmReport& report) {
  try {
    tell(options, report);
  } catch (const Failure& failure) {
    throw Failure(failure.code(),
                  fmt::format("{}; the report is lost, C is complete in {}", failure.what(), options.output));
  }
}

/// The same when nothing is written, which the exit code says, whatever becomes of the report.
void tell_refused(const GemmOptions& options, const GemmReport& report) {
  try {
    tell(options, report);
  } catch (const Failure& failure) {
    print_note(failure.what());
  }
}

/// --dd: what can be said before any file is read, then the product.
ExitCode run_double_double(const GemmOptions& options) {
  if (!options.beta.empty() || !options.c0.empty())
    throw Failure(ExitCode::kUsage, "--dd takes neither --beta nor --c");
  if (options.is_checked) throw Failure(ExitCode::kUsage, "--dd takes no --check");
  if (options.device.is_given()) throw Failure(ExitCode::kUsage, "--dd takes no --device");
  GemmCall ops;
  set_ops(options, ops);
  const double alpha = scalar_option("--alpha", options.alpha, Scalar::kF64).real();
  const GemmReport report = multiply_double_double(
      {options.a, options.b, options.output, ops.op_a, ops.op_b, alpha, policy_of(options.policy), options.is_quiet});
  tell_done(options, report);
  return ExitCode::kOk;
}

ExitCode run_gemm(const GemmOptions& options) {
  if (options.is_double_double) return run_double_double(options);
  check_usage(options);
  const Policy policy = policy_of(options.policy);
  std::optional<std::string> device;
  if (options.device.is_given()) {
    use_device(options.device);
    device = device_names().device;
  }
  GemmCall call = read_call(options);
  const Scalar scalar = call.a.scalar;
  const MatrixShape& shape = call.c_shape;
  const FileFormat format = output_format(options.output);
  if (format == FileFormat::kMatrixMarket && shape.is_batch) {
    throw Failure(ExitCode::kUsage,
                  fmt::format("output {}: a Matrix Market file holds one matrix, but C is {}: use .npy", options.output,
                              to_string(shape)));
  }
  const std::uint64_t output_bytes = file_bytes(format, scalar, shape);
  if (device) require_room(product_bytes(scalar, shape.rows, shape.cols, call.k, 1, 0), device_room());
  if (!device && policy.reproducibility == Reproducibility::kNotGuaranteed) note_unused_calibration();
  const Result<Plan> plan = device ? device_plan(scalar, shape.rows, shape.cols, call.k, policy)
                                   : make_plan(scalar, shape.rows, shape.cols, call.k, policy);
  throw_if_unplanned(plan.status(), policy, scalar);
  if (device) {
    require_room(product_bytes(scalar, shape.rows, shape.cols, call.k, 1, plan.value().workspace_bytes()),
                 device_room());
  } else {
    require_room_for_native_blas(plan.value());
  }
  const int threads = policy.threads > 0 ? policy.threads : default_threads();
  GemmReport report{plan.value(), policy, call.op_a, call.op_b, call.alpha, call.beta, threads};
  if (shape.is_batch) report.batch = shape.batch;
  report.device = device;

  Matrix c = with_scalar(scalar, [&]<class T>() { return start_of_c<T>(call); });
  OutputFile output(options.output, output_bytes);
  with_scalar(scalar, [&]<class T>() { multiply_all<T>(options, call, c, report); });
  if (report.check && !(report.check->error_over_bound <= 1)) {
    tell_refused(options, report);
    throw Failure(ExitCode::kCheckFailed,
                  fmt::format("element ({}{}, {}) of C errs by {:.3g} times what is allowed (bound {:.3g}, gauge {}); "
                              "nothing was written",
                              shape.is_batch ? fmt::format("{}, ", report.worst_product) : "", report.check->row,
                              report.check->col, report.check->error_over_bound, report.outcome.bound,
                              to_string(report.outcome.gauge)));
  }
  write_matrix(output, format, c);
  output.commit();
  report.output = options.output;
  tell_done(options, report);
  return ExitCode::kOk;
}

}  // namespace

Command add_gemm(CLI::App& program) {
  CLI::App* const app = program.add_subcommand("gemm", "compute C = alpha op(A) op(B) + beta C0 from files to a file");
  const auto options = std::make_shared<GemmOptions>();
  app->add_option("A", options->a, "first operand")->required()->type_name("");
  app->add_option("B", options->b, "second operand")->required()->type_name("");
  app->add_option("-o,--output", options->output, "where C goes; may be one of the inputs")
      ->required()
      ->type_name("C.npy|C.mtx");
  app->add_flag("--trans-a", options->trans_a, "op(A) is the transpose of A");
  app->add_flag("--trans-b", options->trans_b, "op(B) is the transpose of B");
  app->add_option("--op", options->op,
                  "both at once: n as it is, t transposed, c conjugated and transposed, r conjugated [nn]")
      ->type_name("XY");
  app->add_option("--alpha", options->alpha, "a number; for complex types also x+yi or x+yj [1]")->type_name("X");
  app->add_option("--beta", options->beta, "likewise [0: C0 is not read]")->type_name("X");
  app->add_option("--c", options->c0, "C0, the matrix that beta multiplies")->type_name("C0.npy");
  app->add_flag(
      "--dd", options->is_double_double,
      "C in double-double, up to bits=100: an array of float64 (rows, columns, 2) of high and low parts; so may "
      "A and B be, else matrices of float64");
  add_device_option(*app, options->device,
                    "multiply, one product after another with matrices copied there and back, on the current CUDA "
                    "device");
  app->add_flag(
      "--check", options->is_checked,
      "compare up to 1024 elements of each product with the exact one; write nothing if one breaks the bound");
  app->add_flag("--json", options->is_json, "print one JSON object instead of the summary");
  app->add_flag("-q,--quiet", options->is_quiet, "no summary, no notes, no progress bar");
  add_policy_options(*app, options->policy);
  app->footer(
      "\nExamples:\n"
      "  kizami gemm A.npy B.npy -o C.npy                        C = A B, never worse than a native product "
      "guarantees\n"
      "  kizami gemm A.npy B.npy -o C.npy --accuracy bits=40     |error| <= 2^-40 |A||B| in every element\n"
      "  kizami gemm A.npy B.npy -o C.npy --op tn --alpha -1 --beta 1 --c C.npy   C = C - A^T B\n"
      "  kizami gemm A.npy B.npy -o C.npy --dd --accuracy bits=100   C in double-double\n"
      "\nFiles are NumPy's .npy, versions 1 to 3: float32, float64, complex64 or complex128, two dimensions, or three "
      "with "
      "the\n"
      "batch first; C or Fortran order, either byte order. The file must end with the data. Or Matrix Market: array "
      "or\n"
      "coordinate; real, integer or complex; any symmetry; the matrix becomes a dense one of float64 or complex128. "
      "What an\n"
      "input is, its first bytes tell; all must have one type. C is written as Matrix Market (array, general, digits "
      "that\n"
      "read back as the same bits) if its name ends in .mtx, else as NumPy writes it: C order, little-endian. It "
      "appears\n"
      "whole or not at all: an error, a full disk or an interruption leaves an existing file as it was.\n"
      "Batches multiply as numpy.matmul does: equal batches, or one matrix for all; so does C0. Each product has the "
      "bits\n"
      "that it would have alone; the report gives the largest bound and the sums of what is counted.\n"
      "NaN and Inf are multiplied as IEEE arithmetic does, with a note. The bound of the report is |C - AB| / G for "
      "alpha = "
      "1\n"
      "and beta = 0, with G as --gauge says.\n");
  return {app, [options] { return run_gemm(*options); }};
}

}  // namespace kizami::cli
