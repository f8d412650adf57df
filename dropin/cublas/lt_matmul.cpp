// SPDX-License-Identifier: MIT
#include "dropin/cublas/lt_matmul.hpp"

#include <algorithm>
#include <utility>

#include "dropin/cublas/native.hpp"
#include "dropin/cublas/types.hpp"
#include "dropin/policy/audit.hpp"

namespace kizami::dropin::cublas {
namespace {

constexpr const char* kUnreadable = "a descriptor cannot be read";
constexpr const char* kEpilogue = "an epilogue, a scale or a part of D is asked for";
constexpr const char* kPointerMode = "alpha or beta is a vector";
constexpr const char* kOrder = "the order of a matrix is neither by columns nor by rows";
constexpr const char* kBatch = "the batches are not of equal counts with strides";
constexpr const char* kOtherC = "C is not D";

constinit NativeFunction get_of_description(find_in<Library::kCublasLt>, "cublasLtMatmulDescGetAttribute");
constinit NativeFunction get_of_layout(find_in<Library::kCublasLt>, "cublasLtMatrixLayoutGetAttribute");

/// What is not known to this cuBLASLt stays as it is.
template <class Descriptor, class Value>
bool read(NativeFunction& getter, Descriptor descriptor, int attribute, Value& out) {
  auto* function = getter.as<cublasStatus_t(Descriptor, int, void*, std::size_t, std::size_t*)>();
  if (function == nullptr || descriptor == nullptr) return false;
  Value value{};
  std::size_t written = 0;
  if (function(descriptor, attribute, &value, sizeof value, &written) != CUBLAS_STATUS_SUCCESS) return false;
  out = value;
  return true;
}

struct LtLayout {
  std::uint32_t type = 0;
  std::int32_t order = CUBLASLT_ORDER_COL;
  std::uint64_t rows = 0;
  std::uint64_t cols = 0;
  std::int64_t ld = 0;
  std::int32_t count = 1;
  std::int64_t stride = 0;
  std::int64_t plane_offset = 0;
  std::int32_t batch_mode = 0;  // CUBLASLT_BATCH_MODE_STRIDED, which older headers do not have

  friend bool operator==(const LtLayout&, const LtLayout&) = default;
  [[nodiscard]] bool is_by_rows() const { return order == CUBLASLT_ORDER_ROW; }
};

bool read_layout(cublasLtMatrixLayout_t layout, LtLayout& out) {
  const auto get = [&](int attribute, auto& value) { return read(get_of_layout, layout, attribute, value); };
  const bool is_read = get(CUBLASLT_MATRIX_LAYOUT_TYPE, out.type) && get(CUBLASLT_MATRIX_LAYOUT_ORDER, out.order) &&
                       get(CUBLASLT_MATRIX_LAYOUT_ROWS, out.rows) && get(CUBLASLT_MATRIX_LAYOUT_COLS, out.cols) &&
                       get(CUBLASLT_MATRIX_LAYOUT_LD, out.ld) && get(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, out.count) &&
                       get(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, out.stride) &&
                       get(CUBLASLT_MATRIX_LAYOUT_PLANE_OFFSET, out.plane_offset);
  constexpr int kBatchMode = 8;  // CUBLASLT_MATRIX_LAYOUT_BATCH_MODE
  static_cast<void>(get(kBatchMode, out.batch_mode));
  return is_read;
}

struct LtDescription {
  std::int32_t compute = 0;
  std::int32_t scale_type = 0;
  std::int32_t pointer_mode = 0;
  std::int32_t op_a = 0;
  std::int32_t op_b = 0;
};

/// @return why the product is native, or null
const char* read_description(cublasLtMatmulDesc_t description, LtDescription& out) {
  const auto get = [&](int attribute, auto& value) { return read(get_of_description, description, attribute, value); };
  std::int32_t op_c = CUBLAS_OP_N;
  std::int32_t fill_mode = CUBLAS_FILL_MODE_FULL;
  std::uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  const bool is_read =
      get(CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, out.compute) && get(CUBLASLT_MATMUL_DESC_SCALE_TYPE, out.scale_type) &&
      get(CUBLASLT_MATMUL_DESC_POINTER_MODE, out.pointer_mode) && get(CUBLASLT_MATMUL_DESC_TRANSA, out.op_a) &&
      get(CUBLASLT_MATMUL_DESC_TRANSB, out.op_b) && get(CUBLASLT_MATMUL_DESC_TRANSC, op_c) &&
      get(CUBLASLT_MATMUL_DESC_FILL_MODE, fill_mode) && get(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue);
  if (!is_read) return kUnreadable;
  if (op_c != CUBLAS_OP_N || fill_mode != CUBLAS_FILL_MODE_FULL || epilogue != CUBLASLT_EPILOGUE_DEFAULT)
    return kEpilogue;
  // Scales of A, B, C and D, the largest |D|, the scale of D that is returned, a description of emulation.
  for (const int attribute : {17, 18, 19, 20, 21, 36, 38}) {
    const void* pointer = nullptr;
    static_cast<void>(get(attribute, pointer));
    if (pointer != nullptr) return kEpilogue;
  }
  const bool is_open =
      out.pointer_mode == CUBLASLT_POINTER_MODE_HOST || out.pointer_mode == CUBLASLT_POINTER_MODE_DEVICE;
  return is_open ? nullptr : kPointerMode;
}

/// An operand in column-major memory.
struct ColumnMajor {
  const void* data;
  std::int64_t ld;
  std::int64_t stride;
  bool is_transposed;
  bool is_conjugated;

  void transpose() { is_transposed = !is_transposed; }
  [[nodiscard]] char letter() const {
    return is_transposed ? (is_conjugated ? 'C' : 'T') : (is_conjugated ? 'R' : 'N');
  }
};

ColumnMajor column_major(const void* data, const LtLayout& layout, std::int32_t op) {
  ColumnMajor out{data, layout.ld, layout.stride, op != CUBLAS_OP_N, op == CUBLAS_OP_C};
  if (layout.is_by_rows()) out.transpose();
  return out;
}

/// Sizes of op(X).
std::pair<std::uint64_t, std::uint64_t> sizes_of(const LtLayout& layout, std::int32_t op) {
  return op == CUBLAS_OP_N ? std::pair(layout.rows, layout.cols) : std::pair(layout.cols, layout.rows);
}

/// Whether alpha and beta are in host memory, and beta is 0.
bool is_c_unread(const LtOperands& x, const LtDescription& description, Scalar scalar) {
  if (x.beta == nullptr || description.pointer_mode != CUBLASLT_POINTER_MODE_HOST) return false;
  const bool is_f64 = real_of(scalar) == Scalar::kF64;
  const auto part = [&](int i) {
    return is_f64 ? static_cast<const double*>(x.beta)[i] : static_cast<double>(static_cast<const float*>(x.beta)[i]);
  };
  return part(0) == 0 && (!is_complex(scalar) || part(1) == 0);
}

/// Fills the call, as far as it is a product. @return why it is none, or null
const char* read_product(cublasLtMatmulDesc_t description, const LtOperands& x, Call& call) {
  LtLayout a;
  LtLayout b;
  LtLayout c;
  LtLayout d;
  if (!read_layout(x.layout_a, a)) return kUnreadable;
  LtDescription how;
  if (!is_scalar(static_cast<cudaDataType>(a.type))) return kOtherTypes;  // the usual one, at once
  if (const char* reason = read_description(description, how)) return reason;
  if (!read_layout(x.layout_b, b) || !read_layout(x.layout_c, c) || !read_layout(x.layout_d, d)) return kUnreadable;
  set_types(call, {static_cast<cudaDataType>(a.type), static_cast<cudaDataType>(b.type),
                   static_cast<cudaDataType>(d.type), static_cast<cublasComputeType_t>(how.compute)});
  if (call.why_native != nullptr) return call.why_native;
  if (how.scale_type != static_cast<std::int32_t>(d.type)) return kOtherTypes;
  if (std::max({a.order, b.order, d.order}) > CUBLASLT_ORDER_ROW || std::min({a.order, b.order, d.order}) < 0)
    return kOrder;
  for (const LtLayout* layout : {&a, &b, &d}) {
    if (layout->count != d.count || layout->batch_mode != 0 || layout->plane_offset != 0) return kBatch;
  }
  if (!(c == d) || (x.c != x.d && !is_c_unread(x, how, call.scalar))) return kOtherC;
  const auto [m, k] = sizes_of(a, how.op_a);
  const auto [rows_b, n] = sizes_of(b, how.op_b);
  if (rows_b != k || d.rows != m || d.cols != n || how.op_a > CUBLAS_OP_C || how.op_b > CUBLAS_OP_C) return kUnreadable;
  ColumnMajor left = column_major(x.a, a, how.op_a);
  ColumnMajor right = column_major(x.b, b, how.op_b);
  call.m = static_cast<std::int64_t>(m);
  call.n = static_cast<std::int64_t>(n);
  call.k = static_cast<std::int64_t>(k);
  if (d.is_by_rows()) {  // D^T = op(B)^T op(A)^T
    left.transpose();
    right.transpose();
    std::swap(left, right);
    std::swap(call.m, call.n);
    call.is_exchanged = true;
  }
  call.op_a = left.letter();
  call.a = left.data;
  call.lda = left.ld;
  call.stride_a = left.stride;
  call.op_b = right.letter();
  call.b = right.data;
  call.ldb = right.ld;
  call.stride_b = right.stride;
  call.c = x.d;
  call.ldc = d.ld;
  call.stride_c = d.stride;
  call.form = d.count == 1 ? Form::kOne : Form::kStrided;
  call.num_products = d.count;
  call.context->has_device_factors = how.pointer_mode == CUBLASLT_POINTER_MODE_DEVICE;
  return nullptr;
}

/// Sizes of what Kizami leaves alone, for an audit.
void read_sizes(cublasLtMatmulDesc_t description, const LtOperands& x, Call& call) {
  LtLayout a;
  LtLayout d;
  LtDescription how;
  if (!read_layout(x.layout_a, a) || !read_layout(x.layout_d, d)) return;
  static_cast<void>(read_description(description, how));
  call.m = static_cast<std::int64_t>(d.rows);
  call.n = static_cast<std::int64_t>(d.cols);
  call.k = static_cast<std::int64_t>(sizes_of(a, how.op_a).second);
  call.num_products = d.count;
}

}  // namespace

Call read_matmul(cublasLtMatmulDesc_t description, const LtOperands& operands, cudaStream_t stream) {
  Call call;
  call.context = Context{stream, false};
  call.alpha = operands.alpha;
  call.beta = operands.beta;
  call.why_native = read_product(description, operands, call);
  if (call.why_native != nullptr && is_audited()) read_sizes(description, operands, call);
  return call;
}

}  // namespace kizami::dropin::cublas
