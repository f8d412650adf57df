// SPDX-License-Identifier: MIT
// A value whose type is known at run time only: copies are clones.
#pragma once

#include <memory>
#include <utility>

namespace kizami::base {

/// @range T has `std::unique_ptr<T> clone() const`; never empty but after a move
template <class T>
class Cloned {
 public:
  explicit Cloned(std::unique_ptr<T> value) : value_(std::move(value)) {}
  Cloned(const Cloned& other) : value_(other.value_->clone()) {}
  Cloned(Cloned&&) noexcept = default;
  Cloned& operator=(const Cloned& other) { return *this = Cloned(other); }
  Cloned& operator=(Cloned&&) noexcept = default;
  ~Cloned() = default;

  [[nodiscard]] const T& operator*() const { return *value_; }
  [[nodiscard]] T& operator*() { return *value_; }
  [[nodiscard]] const T* operator->() const { return value_.get(); }
  [[nodiscard]] T* operator->() { return value_.get(); }

 private:
  std::unique_ptr<T> value_;
};

}  // namespace kizami::base
