// SPDX-License-Identifier: MIT
// Where a calibration lies, and what becomes of one that is damaged.
#include "exec/calibration_file.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "exec/device_rates.hpp"
#include "model/print.hpp"

namespace kizami::exec {
namespace {

using model::Fact;

class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* const before = std::getenv(name)) before_ = before;
    if (value != nullptr) {
      setenv(name, value, 1);
    } else {
      unsetenv(name);
    }
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  ~Variable() {
    if (before_.has_value()) {
      setenv(name_, before_->c_str(), 1);
    } else {
      unsetenv(name_);
    }
  }

 private:
  const char* name_;
  std::optional<std::string> before_;
};

TEST(Calibration, LiesInTheCache) {
  const Variable home("HOME", "/home/x");
  {
    const Variable cache("XDG_CACHE_HOME", "/cache");
    EXPECT_EQ(calibration_path_of("ab-13000-1.0"), "/cache/kizami/device-ab-13000-1.0.v1.json");
  }
  {
    const Variable relative("XDG_CACHE_HOME", "cache");  // which the specification says is to be ignored
    EXPECT_EQ(calibration_path_of("ab"), "/home/x/.cache/kizami/device-ab.v1.json");
  }
  const Variable none("XDG_CACHE_HOME", nullptr);
  const Variable homeless("HOME", nullptr);
  EXPECT_EQ(calibration_path_of("ab"), "");
}

TEST(Calibration, IsReadOrIsAsIfItWereNotThere) {
  const std::filesystem::path path = std::filesystem::path(::testing::TempDir()) / "kizami_calibration.json";
  std::filesystem::remove(path);
  EXPECT_FALSE(read_calibration(path).has_value());
  model::Device device = *model::find_device("rtx4090");
  device.measured[static_cast<std::size_t>(Fact::kCopyTbs)] = device.sheet[static_cast<std::size_t>(Fact::kL2Mb)];
  device.measured[static_cast<std::size_t>(Fact::kCopyTbs)]->value = 0.86;
  std::ofstream(path) << model::print_device(device);
  const std::optional<model::Device> read = read_calibration(path);
  ASSERT_TRUE(read.has_value());
  EXPECT_NEAR(rates_of(*read).memory, 0.2, 1e-9);  // of the 4.3 TB/s of an H200, not of its sheet
  EXPECT_LT(rates_of(*model::find_device("rtx4090")).memory, 0.22);
  std::filesystem::resize_file(path, 100);
  EXPECT_FALSE(read_calibration(path).has_value());
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace kizami::exec
