// SPDX-License-Identifier: MIT
#include "base/cloned.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

namespace kizami::base {
namespace {

struct Shape {
  virtual ~Shape() = default;
  [[nodiscard]] virtual std::unique_ptr<Shape> clone() const = 0;
  [[nodiscard]] virtual int corners() const = 0;
  int size = 1;
};
struct Square : Shape {
  [[nodiscard]] std::unique_ptr<Shape> clone() const override { return std::make_unique<Square>(*this); }
  [[nodiscard]] int corners() const override { return 4; }
};
struct Triangle : Shape {
  [[nodiscard]] std::unique_ptr<Shape> clone() const override { return std::make_unique<Triangle>(*this); }
  [[nodiscard]] int corners() const override { return 3; }
};

TEST(Cloned, CopiesAreValuesOfTheSameType) {
  std::vector<Cloned<Shape>> shapes;
  shapes.emplace_back(std::make_unique<Square>());
  shapes.emplace_back(std::make_unique<Triangle>());
  std::vector<Cloned<Shape>> copies = shapes;
  copies[0]->size = 7;
  EXPECT_EQ(shapes[0]->size, 1) << "a copy is changed alone";
  EXPECT_EQ(copies[0]->size, 7);
  EXPECT_EQ(copies[0]->corners(), 4);
  EXPECT_EQ(copies[1]->corners(), 3);
  copies[1] = copies[0];
  EXPECT_EQ(copies[1]->corners(), 4);
  EXPECT_EQ((*copies[1]).size, 7);
  const Cloned<Shape> moved = std::move(copies[0]);
  EXPECT_EQ(moved->size, 7);
}

}  // namespace
}  // namespace kizami::base
