// SPDX-License-Identifier: MIT
// What tests of shared products have in common: devices of a placement, and matrices in pieces on them.
#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "gpu/device_memory.hpp"
#include "gpu/planned_call.hpp"
#include "kizami/multi.hpp"
#include "kizami/outcome.hpp"
#include "multi/plan.hpp"
#include "schemes/ozaki2/plan.hpp"
#include "schemes/ozaki2/strassen.hpp"

namespace kizami::gpu_test {

using multi::Piece;
using multi::Placement;

inline int num_devices() {
  int count = 0;
  check(cudaGetDeviceCount(&count), "cudaGetDeviceCount");
  return count;
}

/// Devices that share, of those that are there.
inline std::vector<std::vector<int>> placements() {
  std::vector<std::vector<int>> all = {{0}, {0, 0}, {0, 0, 0}};
  if (num_devices() >= 2) {
    all.push_back({0, 1});
    all.push_back({1, 0, 1});
  }
  if (num_devices() >= 4) all.push_back({3, 2, 1, 0});
  return all;
}

inline std::string text_of(const std::vector<int>& devices) {
  std::string text = "devices";
  for (const int device : devices) text += ' ' + std::to_string(device);
  return text;
}

/// Column-major, without gaps.
template <class T>
std::vector<std::remove_const_t<T>> dense(const MatrixView<T>& view) {
  std::vector<std::remove_const_t<T>> out;
  out.reserve(static_cast<std::size_t>(view.rows * view.cols));
  for (std::int64_t j = 0; j < view.cols; ++j) {
    for (std::int64_t i = 0; i < view.rows; ++i) out.push_back(view(i, j));
  }
  return out;
}

/// A copy of a part of a matrix on a device, stored in the same order with a gap between lines.
template <class T>
class DevicePiece {
 public:
  DevicePiece(const MatrixView<const T>& matrix, std::int64_t row, std::int64_t col, std::int64_t rows,
              std::int64_t cols, int device)
      : device_(device), row_(row), col_(col) {
    check(cudaSetDevice(device), "cudaSetDevice");
    const MatrixView<const T> part = matrix.block(row, col, rows, cols);
    const bool is_by_cols = matrix.row_stride <= matrix.col_stride;
    const std::int64_t gap = 1;
    view_ = {nullptr, rows, cols, is_by_cols ? 1 : cols + gap, is_by_cols ? rows + gap : 1, matrix.is_conjugated};
    const std::int64_t count = rows == 0 || cols == 0 ? 1 : (rows + gap) * (cols + gap);
    host_.assign(static_cast<std::size_t>(count), T{7});
    for (std::int64_t j = 0; j < cols; ++j) {
      for (std::int64_t i = 0; i < rows; ++i) at(i, j) = part(i, j);
    }
    array_ = std::make_unique<DeviceArray<T>>(host_);
    view_.data = array_->data();
    check(cudaSetDevice(0), "cudaSetDevice");
  }
  [[nodiscard]] Piece<T> piece() const { return {row_, col_, view_}; }
  [[nodiscard]] Piece<const T> const_piece() const { return {row_, col_, view_}; }
  /// To column-major memory of the whole matrix.
  void download_to(std::vector<T>& whole, std::int64_t whole_rows) {
    check(cudaSetDevice(device_), "cudaSetDevice");
    EXPECT_TRUE(array_->guards_are_intact());
    host_ = array_->download();
    check(cudaSetDevice(0), "cudaSetDevice");
    for (std::int64_t j = 0; j < view_.cols; ++j) {
      for (std::int64_t i = 0; i < view_.rows; ++i)
        whole[static_cast<std::size_t>((col_ + j) * whole_rows + row_ + i)] = at(i, j);
    }
  }

 private:
  [[nodiscard]] T& at(std::int64_t i, std::int64_t j) {
    return host_[static_cast<std::size_t>(i * view_.row_stride + j * view_.col_stride)];
  }

  int device_;
  std::int64_t row_;
  std::int64_t col_;
  std::vector<T> host_;
  MatrixView<T> view_;
  std::unique_ptr<DeviceArray<T>> array_;
};

/// A matrix in ragged pieces, on the devices in turn; some are empty.
template <class T>
std::vector<std::unique_ptr<DevicePiece<T>>> cut(const MatrixView<const T>& matrix, int row_parts, int col_parts,
                                                 const std::vector<int>& devices) {
  std::vector<std::unique_ptr<DevicePiece<T>>> pieces;
  for (int i = 0; i < row_parts; ++i) {
    for (int j = 0; j < col_parts; ++j) {
      const auto begin = [](std::int64_t extent, int part, int parts) {
        return extent * part * part / (parts * parts);
      };
      const std::int64_t row = begin(matrix.rows, i, row_parts);
      const std::int64_t col = begin(matrix.cols, j, col_parts);
      pieces.push_back(std::make_unique<DevicePiece<T>>(matrix, row, col, begin(matrix.rows, i + 1, row_parts) - row,
                                                        begin(matrix.cols, j + 1, col_parts) - col,
                                                        devices[pieces.size() % devices.size()]));
    }
  }
  return pieces;
}

/// Memory of each device of a plan, of exactly what it says, where nothing is finite. Leaves device 0 current.
class Workspaces {
 public:
  explicit Workspaces(const multi::Plan& plan) {
    for (int i = 0; i < plan.num_devices(); ++i) {
      devices_.push_back(plan.device(i));
      check(cudaSetDevice(devices_.back()), "cudaSetDevice");
      memories_.push_back(std::make_unique<DeviceArray<std::byte>>(plan.workspace_bytes(i)));
      check(cudaMemset(memories_.back()->data(), 0xff, memories_.back()->size()), "filling a workspace");
      spans_.emplace_back(memories_.back()->data(), memories_.back()->size());
      check(cudaDeviceSynchronize(), "filling a workspace");
    }
    check(cudaSetDevice(0), "cudaSetDevice");
  }
  Workspaces(const Workspaces&) = delete;
  Workspaces& operator=(const Workspaces&) = delete;
  ~Workspaces() {
    for (std::size_t i = 0; i < memories_.size(); ++i) {
      EXPECT_EQ(cudaSetDevice(devices_[i]), cudaSuccess);
      EXPECT_TRUE(memories_[i]->guards_are_intact());
      memories_[i].reset();
    }
    EXPECT_EQ(cudaSetDevice(0), cudaSuccess);
  }
  [[nodiscard]] std::span<const std::span<std::byte>> spans() const { return spans_; }

 private:
  std::vector<int> devices_;
  std::vector<std::unique_ptr<DeviceArray<std::byte>>> memories_;
  std::vector<std::span<std::byte>> spans_;
};

/// Page-locks memory of the host, which copies then leave and reach while the host goes on.
class PageLocked {
 public:
  template <class T>
  explicit PageLocked(std::span<T> memory) : data_(memory.data()) {
    check(cudaHostRegister(data_, memory.size_bytes(), cudaHostRegisterPortable), "page-locked memory");
  }
  PageLocked(const PageLocked&) = delete;
  PageLocked& operator=(const PageLocked&) = delete;
  ~PageLocked() { EXPECT_EQ(cudaHostUnregister(data_), cudaSuccess); }

 private:
  void* data_;
};

/// Plans of blocks that all take Strassen's products, whatever their size.
[[nodiscard]] inline multi::PlanOn plans_by_strassen() {
  return
      [](int device, const problem::Shape& shape, const Policy& policy) -> Result<std::shared_ptr<const plan::Plan>> {
        check(cudaSetDevice(device), "cudaSetDevice");
        Case block;
        block.scalar = shape.scalar;
        block.m = shape.m;
        block.n = shape.n;
        block.k = shape.k;
        plan::Plan plan = planned(block, policy);
        auto& stage = plan::edit_stage<ozaki2::Ozaki2Stage>(plan);
        stage.chunk.mc = shape.m;
        stage.chunk.nc = shape.n;
        stage.takes_strassen = false;
        EXPECT_TRUE(ozaki2::may_take_strassen(plan)) << shape.m << " x " << shape.n << " x " << shape.k;
        stage.takes_strassen = true;
        plan.schedule.product_bytes = plan.schedule.workspace_bytes = ozaki2::product_bytes(plan);
        return std::make_shared<const plan::Plan>(std::move(plan));
      };
}
/// @param least_part_bytes  of panels that come in parts
[[nodiscard]] inline multi::Plan plan_of(Result<multi::MultiPlan> made, std::int64_t least_part_bytes,
                                         const std::string& what) {
  check(cudaSetDevice(0), "cudaSetDevice");
  if (!made.ok()) throw std::runtime_error(what + ": " + made.status().reason());
  multi::MultiPlan plan = std::move(made).value();
  plan.least_part_bytes = least_part_bytes;
  return multi::Plan(std::make_shared<const multi::MultiPlan>(std::move(plan)));
}

enum class Where { kOnDevice, kInPieces, kOnHost };
constexpr Where kEverywhere[] = {Where::kOnDevice, Where::kInPieces, Where::kOnHost};

inline void expect_outcome(const Outcome& got, const Outcome& want, const std::string& what) {
  EXPECT_EQ(got.scheme, want.scheme) << what;
  EXPECT_EQ(got.engine, want.engine) << what;
  EXPECT_EQ(got.bound, want.bound) << what;
  EXPECT_EQ(got.gauge, want.gauge) << what;
  EXPECT_EQ(got.rung, want.rung) << what;
  EXPECT_EQ(got.moduli, want.moduli) << what;
  EXPECT_EQ(got.slices, want.slices) << what;
  EXPECT_EQ(got.equilibrated, want.equilibrated) << what;
  EXPECT_EQ(got.repaired, want.repaired) << what;
  EXPECT_EQ(got.nonfinite_rows, want.nonfinite_rows) << what;
  EXPECT_EQ(got.nonfinite_cols, want.nonfinite_cols) << what;
}

}  // namespace kizami::gpu_test
