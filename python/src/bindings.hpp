// SPDX-License-Identifier: MIT
// What the translation units of the extension module kizami._core share: they turn a Status into an exception, and each
// adds its part to the module. The module is thin: it takes arrays by DLPack or the buffer protocol, views them as
// stacks of matrices and calls include/kizami; what arrays mean to a user is decided in python/kizami.
#pragma once

#include <nanobind/nanobind.h>

#include <exception>
#include <string>
#include <string_view>
#include <utility>

#include "kizami/status.hpp"
#include "kizami/types.hpp"

namespace kizami::python {

namespace nb = nanobind;

/// A Status on its way to Python, where it becomes the exception of its code (python/kizami/_errors.py).
class StatusError : public std::exception {
 public:
  explicit StatusError(Status status) : status_(std::move(status)) {}
  [[nodiscard]] const char* what() const noexcept override { return status_.reason().c_str(); }
  [[nodiscard]] StatusCode code() const noexcept { return status_.code(); }

 private:
  Status status_;
};

inline void check(const Status& status) {
  if (!status.ok()) throw StatusError(status);
}
template <class T>
[[nodiscard]] T value_of(Result<T> result) {
  check(result.status());
  return std::move(result).value();
}
[[noreturn]] inline void refuse(std::string reason) {
  throw StatusError({StatusCode::kInvalidArgument, std::move(reason)});
}

/// The type that NumPy calls float32, float64, complex64 or complex128. @status kInvalidArgument for any other name
[[nodiscard]] Scalar scalar_of(std::string_view name);
/// The reverse.
[[nodiscard]] std::string_view numpy_name(Scalar scalar);

void bind_errors(nb::module_& m);
void bind_policy(nb::module_& m);
void bind_plan(nb::module_& m);
void bind_products(nb::module_& m);
void bind_double_double(nb::module_& m);
void bind_device(nb::module_& m);
void bind_multi(nb::module_& m);

}  // namespace kizami::python
