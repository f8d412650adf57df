// SPDX-License-Identifier: MIT
#include "npy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "check/text.hpp"
#include "python_literal.hpp"

namespace kizami::cli {
namespace {

using check::invalid;
using Kind = PythonLiteral::Kind;

constexpr std::size_t kAlignment = 64;
/// Blanks that NumPy leaves behind the header, so that the first dimension can grow in place to this many digits.
constexpr std::size_t kGrowthDigits = 21;

struct TypeName {
  std::string_view descr;  ///< without the byte order
  std::string_view numpy;
  Scalar scalar;
};
constexpr std::array<TypeName, 4> kTypes{{{"f4", "float32", Scalar::kF32},
                                          {"f8", "float64", Scalar::kF64},
                                          {"c8", "complex64", Scalar::kC64},
                                          {"c16", "complex128", Scalar::kC128}}};

const TypeName& type_of(Scalar scalar) {
  return *std::find_if(kTypes.begin(), kTypes.end(), [scalar](const TypeName& type) { return type.scalar == scalar; });
}

std::uint64_t little_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

/// Finds the header text and sets data_offset.
Result<std::string_view> find_header_text(std::string_view start, std::uint64_t file_bytes, NpyHeader& out) {
  if (!start.starts_with(kNpyMagic)) return invalid("not a .npy file: it does not begin with \\x93NUMPY");
  if (start.size() < kNpyMagic.size() + 2) return invalid("truncated: no version number");
  const int major = static_cast<unsigned char>(start[6]);
  const int minor = static_cast<unsigned char>(start[7]);
  if (major < 1 || major > 3 || minor != 0) {
    return invalid(fmt::format("format version {}.{}, must be 1.0, 2.0 or 3.0", major, minor));
  }
  const std::size_t text_at = major == 1 ? 10 : 12;
  if (start.size() < text_at) return invalid("truncated: no header length");
  const std::uint64_t length = little_endian(start.substr(8, text_at - 8));
  if (length > kMaxNpyHeaderBytes) {
    return invalid(fmt::format("header length = {}, must be <= {}", length, kMaxNpyHeaderBytes));
  }
  if (length > file_bytes - text_at) {
    return invalid(
        fmt::format("truncated: header length = {}, but only {} bytes follow", length, file_bytes - text_at));
  }
  out.data_offset = text_at + length;
  return start.substr(text_at, length);
}

/// Types of numbers that NumPy has and a product hasn't, and what they had better become.
struct OtherType {
  std::string_view descr;  ///< without the byte order
  std::string_view numpy;
  std::string_view astype;
};
constexpr OtherType kOtherTypes[] = {
    {"b1", "bool", "float64"},    {"i1", "int8", "float64"},        {"i2", "int16", "float64"},
    {"i4", "int32", "float64"},   {"i8", "int64", "float64"},       {"u1", "uint8", "float64"},
    {"u2", "uint16", "float64"},  {"u4", "uint32", "float64"},      {"u8", "uint64", "float64"},
    {"f2", "float16", "float64"}, {"f16", "longdouble", "float64"}, {"c32", "clongdouble", "complex128"}};

Status read_descr(const PythonLiteral& value, NpyHeader& out) {
  constexpr std::string_view kNames = "must be float32, float64, complex64 or complex128";
  constexpr std::string_view kAllowed =
      "must be '<f4', '<f8', '<c8' or '<c16' (float32, float64, complex64 or complex128; '>' for big-endian)";
  if (value.kind != Kind::kString) return invalid(fmt::format("dtype is structured, {}", kAllowed));
  std::string_view name = value.string;
  if (!name.empty() && (name.front() == '<' || name.front() == '>' || name.front() == '=')) {
    out.is_big_endian = name.front() == '>';
    name.remove_prefix(1);
  }
  for (const TypeName& type : kTypes) {
    if (type.descr == name) return out.scalar = type.scalar, Status{};
  }
  if (name.starts_with('|')) name.remove_prefix(1);  // one byte has no order
  for (const OtherType& type : kOtherTypes) {
    if (type.descr != name) continue;
    return invalid(fmt::format("dtype = {} is {}, {}; use astype(\"{}\")", in_quotes(value.string), type.numpy, kNames,
                               type.astype));
  }
  return invalid(fmt::format("dtype = {}, {}", in_quotes(value.string), kAllowed));
}

Status read_shape(const PythonLiteral& value, NpyHeader& out) {
  if (value.kind != Kind::kSequence) return invalid("'shape' is not a tuple");
  for (const PythonLiteral& dim : value.items) {
    if (dim.kind != Kind::kInt) return invalid("'shape' holds something that is no integer");
    if (dim.integer < 0) return invalid(fmt::format("'shape' holds {}, must be >= 0", dim.integer));
  }
  const std::size_t dims = value.items.size();
  if (dims != 2 && dims != 3) {
    return invalid(fmt::format(
        "the array has {} dimension{}, must have 2, or 3 with the batch first (reshape a vector to one row or column)",
        dims, dims == 1 ? "" : "s"));
  }
  out.is_batch = dims == 3;
  if (out.is_batch) out.batch = value.items[0].integer;
  out.rows = value.items[dims - 2].integer;
  out.cols = value.items[dims - 1].integer;
  return {};
}

Status read_entries(const PythonLiteral& dict, NpyHeader& out) {
  if (dict.kind != Kind::kDict) return invalid("the header is not a dictionary");
  bool has_descr = false;
  bool has_order = false;
  bool has_shape = false;
  for (std::size_t i = 0; i < dict.items.size(); i += 2) {
    const PythonLiteral& key = dict.items[i];
    const PythonLiteral& value = dict.items[i + 1];
    if (key.kind != Kind::kString) return invalid("the header has a key that is no string");
    if (key.string == "descr" && !std::exchange(has_descr, true)) {
      KIZAMI_RETURN_IF_ERROR(read_descr(value, out));
    } else if (key.string == "shape" && !std::exchange(has_shape, true)) {
      KIZAMI_RETURN_IF_ERROR(read_shape(value, out));
    } else if (key.string == "fortran_order" && !std::exchange(has_order, true)) {
      if (value.kind != Kind::kBool) return invalid("'fortran_order' is neither True nor False");
      out.is_fortran_order = value.boolean;
    } else {
      return invalid(fmt::format("header key {} is unknown or given twice; must be descr, fortran_order and shape",
                                 in_quotes(key.string)));
    }
  }
  if (!has_descr || !has_order || !has_shape) {
    return invalid(fmt::format("header key '{}' is missing", !has_descr   ? "descr"
                                                             : !has_order ? "fortran_order"
                                                                          : "shape"));
  }
  return {};
}

/// Compares the shape with the size of the file: the guard of every later allocation.
Status check_size(NpyHeader& out, std::uint64_t file_bytes) {
  const std::string shape = out.is_batch ? fmt::format("({}, {}, {})", out.batch, out.rows, out.cols)
                                         : fmt::format("({}, {})", out.rows, out.cols);
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(out.rows, out.cols, &bytes) || __builtin_mul_overflow(bytes, out.batch, &bytes) ||
      __builtin_mul_overflow(bytes, size_bytes(out.scalar), &bytes)) {
    return invalid(fmt::format("shape = {} has more elements than memory has addresses", shape));
  }
  const std::uint64_t present = file_bytes - out.data_offset;
  out.data_bytes = static_cast<std::uint64_t>(bytes);
  if (present == out.data_bytes) return {};
  return invalid(fmt::format("{}: shape = {} of {} takes {} bytes, but {} follow the header",
                             present < out.data_bytes ? "truncated" : "unexpected bytes at the end", shape,
                             dtype_name(out.scalar), bytes, present));
}

}  // namespace

Result<NpyHeader> parse_npy_header(std::string_view start, std::uint64_t file_bytes) {
  NpyHeader out;
  const Result<std::string_view> text = find_header_text(start, file_bytes, out);
  if (!text.ok()) return text.status();
  const Result<PythonLiteral> literal = parse_python_literal(text.value());
  if (!literal.ok()) return invalid(fmt::format("damaged header: {}", literal.status().reason()));
  KIZAMI_RETURN_IF_ERROR(read_entries(literal.value(), out));
  KIZAMI_RETURN_IF_ERROR(check_size(out, file_bytes));
  return out;
}

std::string_view dtype_name(Scalar scalar) noexcept {
  return scalar == Scalar::kDD ? "double-double" : type_of(scalar).numpy;
}

std::string make_npy_header(Scalar scalar, std::span<const std::int64_t> shape) {
  std::string text = fmt::format("{{'descr': '<{}', 'fortran_order': False, 'shape': ({}), }}", type_of(scalar).descr,
                                 fmt::join(shape, ", "));
  text.append(kGrowthDigits - std::min(kGrowthDigits, fmt::formatted_size("{}", shape.front())), ' ');
  const std::size_t unpadded = kNpyMagic.size() + 4 + text.size() + 1;
  text.append(kAlignment - unpadded % kAlignment, ' ');  // 64 blanks, not 0, when it was aligned already: so does NumPy
  text += '\n';
  std::string out(kNpyMagic);
  out += {'\x01', '\x00', static_cast<char>(text.size() & 0xff), static_cast<char>(text.size() >> 8)};
  return out + text;
}

}  // namespace kizami::cli
