// SPDX-License-Identifier: MIT
// Strassen's products in the residues: the bits of the whole product, and that the call took them.
#include <gtest/gtest.h>

#include <complex>
#include <cstdint>
#include <optional>
#include <string>

#include "device/state.hpp"
#include "gpu/device_memory.hpp"
#include "gpu/planned_call.hpp"
#include "gpu/sm90_test.hpp"
#include "num/rung.hpp"
#include "schemes/ozaki2/device_block.hpp"
#include "schemes/ozaki2/device_buffers.hpp"
#include "schemes/ozaki2/plan.hpp"
#include "schemes/ozaki2/strassen.hpp"

namespace kizami::gpu_test {
namespace {

class StrassenTest : public Sm90Test {};

/// Lines of a chunk of C; 0: all.
struct Lines {
  std::int64_t m = 0;
  std::int64_t n = 0;
};

/// The plan of a case by engine hopper, with Strassen's products or without, whatever the planner takes.
[[nodiscard]] plan::Plan plan_with(const Case& c, bool takes_strassen, const Lines& of_chunk = {}) {
  plan::Plan plan = planned(c, device_policy(c, EngineName::kHopper));
  auto& stage = plan::edit_stage<ozaki2::Ozaki2Stage>(plan);
  stage.takes_strassen = false;
  stage.chunk.mc = of_chunk.m == 0 ? c.m : of_chunk.m;
  stage.chunk.nc = of_chunk.n == 0 ? c.n : of_chunk.n;
  EXPECT_TRUE(ozaki2::may_take_strassen(plan)) << check::print(c);
  stage.takes_strassen = takes_strassen;
  plan.schedule.product_bytes = ozaki2::product_bytes(plan);
  plan.schedule.workspace_bytes = plan.schedule.product_bytes;
  return plan;
}

template <class T>
device::DeviceState run_both_of(const std::string& line, const Case& c, std::optional<device::Look> look,
                                const Lines& of_chunk) {
  PlannedCall<T> with(c, plan_with(c, true, of_chunk));
  PlannedCall<T> without(c, plan_with(c, false, of_chunk));
  with.run(look);
  without.run(look);
  expect_same(with.c(), without.c(), line);
  const device::DeviceState state = with.state();
  const device::DeviceState reference = without.state();
  EXPECT_EQ(state.selection.rung, reference.selection.rung) << line;
  EXPECT_EQ(state.num_repairs, reference.num_repairs) << line;
  EXPECT_EQ(state.sampled_failures, reference.sampled_failures) << line;
  EXPECT_EQ(state.nonfinite_rows, reference.nonfinite_rows) << line;
  EXPECT_EQ(state.nonfinite_cols, reference.nonfinite_cols) << line;
  EXPECT_EQ(reference.num_strassen_products, 0) << line;
  return state;
}
/// Runs both ways and compares every bit. @return the state behind the call with Strassen's products
device::DeviceState run_both(const std::string& line, std::optional<device::Look> look = std::nullopt,
                             const Lines& of_chunk = {}) {
  const Case c = case_of(line);
  if (c.scalar == Scalar::kC64) return run_both_of<std::complex<float>>(line, c, look, of_chunk);
  if (c.scalar == Scalar::kC128) return run_both_of<std::complex<double>>(line, c, look, of_chunk);
  return run_both_of<double>(line, c, look, of_chunk);
}

void expect_taken(const std::string& line, const Lines& of_chunk = {}) {
  const device::DeviceState state = run_both(line, std::nullopt, of_chunk);
  EXPECT_GT(state.num_products, 0) << line;
  EXPECT_EQ(state.num_strassen_products, 7 * state.num_products) << line;
  EXPECT_EQ(state.num_whole_products, 0) << line;
}
void expect_left(const std::string& line, std::optional<device::Look> look = std::nullopt, const Lines& of_chunk = {}) {
  const device::DeviceState state = run_both(line, look, of_chunk);
  EXPECT_EQ(state.num_strassen_products, 0) << line;
}

TEST_F(StrassenTest, HasTheBitsOfTheWholeProduct) {
  const auto expect_of = [](const std::string& type_and_op) {
    for (const char* shape : {"512x512x512", "256x384x1024", "1000x520x777", "1041x1023x1030", "96x2048x130"})
      expect_taken(type_and_op + " " + shape + " A=exprand:phi=0.5 B=exprand:phi=0.5");
  };
  for (const char* op : {"nn", "nt", "tn", "tt"}) expect_of("d " + std::string(op));
  for (const char* op : {"nn", "nc", "tn", "ct"}) {
    expect_of("z " + std::string(op));
    expect_of("c " + std::string(op));
  }
}

/// Fewer moduli, whose sums take two pieces, and counts that are odd.
TEST_F(StrassenTest, TakesOtherAccuracies) {
  for (const char* bits : {"20", "30", "40"}) expect_taken("d nn 200x210x500 accuracy=bits=" + std::string(bits));
}

TEST_F(StrassenTest, TakesLinesOfEveryLength) {
  for (const int k : {127, 128, 129, 255, 257, 4096, 5000, 8192, 9001, 15800, 16000, 16384}) {
    for (const char* type : {"d", "z", "c"}) expect_taken(type + std::string(" nt 130x70x") + std::to_string(k));
  }
  // Where sampled digits, padded, lie beyond what one pass has of such lines, at one stride of them or another.
  for (const int bits : {20, 25, 30, 35, 40}) {
    for (const int k : {14400, 15400, 16000})
      expect_taken("d nt 66x70x" + std::to_string(k) + " accuracy=bits=" + std::to_string(bits));
  }
  for (const int m : {1, 15, 16, 17, 31, 33}) {
    for (const std::string type : {"d", "z", "c"}) {
      expect_taken(type + " tn " + std::to_string(m) + "x64x300");
      expect_taken(type + " nn 64x" + std::to_string(m) + "x300");
    }
  }
}

/// Too long for the split in one pass: statistics come first, and sums are made with them.
TEST_F(StrassenTest, TakesLongLines) {
  for (const char* op : {"nn", "nt", "tn", "tt"}) {
    for (const char* shape : {"130x70x16385", "64x300x16500", "257x33x20001"})
      expect_taken("d " + std::string(op) + " " + shape);
  }
  for (const char* shape : {"1x1x32768", "128x64x32768", "17x200x32900", "40x30x131000", "16x16x131072"})
    expect_taken("d nt " + std::string(shape));
  for (const std::string type : {"z", "c"}) {
    for (const char* shape : {"130x70x16385", "257x33x20001"}) expect_taken(type + " cn " + shape);
    expect_taken(type + " nt 301x203x17000 a=1-2i b=1 ld+3 off+1");
    expect_left(type + " nn 100x110x16600 A=exprand:phi=4 B=exprand:phi=4");
  }
  expect_taken("d nn 301x203x17000 a=-1 b=1 ld+3 off+1");
  expect_taken("d tn 301x203x17000 layout=row");
  expect_taken("d nt 200x210x16600 A=randn,nan@middle B=randn,inf@corner");
  expect_taken("d nn 200x210x16600 A=zeros");
  expect_taken("d nn 200x210x16600 accuracy=bits=30");
  expect_left("d nn 100x110x16600 A=exprand:phi=4 B=exprand:phi=4");
  expect_left("d nn 100x110x16600 A=grade:inner,span=400 B=grade:inner,span=400");
  expect_left("d nn 100x110x16600 a=0 b=2");
}

/// Quadrants of each chunk: whole ones, a last one of few lines, lines of A that a further chunk splits again.
TEST_F(StrassenTest, TakesChunks) {
  for (const Lines& of_chunk : {Lines{256, 0}, Lines{0, 256}, Lines{256, 256}, Lines{512, 256}}) {
    for (const char* op : {"nn", "nt", "tn", "tt"}) {
      for (const char* shape : {"600x520x300", "512x768x1024", "513x769x130", "1000x300x1100"})
        expect_taken("d " + std::string(op) + " " + shape + " A=exprand:phi=0.5 B=exprand:phi=0.5", of_chunk);
    }
    expect_taken("z nc 600x520x300", of_chunk);
    expect_taken("c tn 513x769x130 a=0.5+1i b=2", of_chunk);
    for (const int k : {127, 128, 129, 1025, 5000, 16385}) expect_taken("d nt 270x530x" + std::to_string(k), of_chunk);
    expect_taken("d nn 601x503x405 a=0.3 b=-2 ld+3 off+1", of_chunk);
    expect_taken("d nt 600x510x500 A=randn,nan@middle B=randn,inf@corner", of_chunk);
    expect_left("d nn 600x610x520 A=exprand:phi=4 B=exprand:phi=4", std::nullopt, of_chunk);
    expect_left("d nn 600x610x520 a=0 b=2", std::nullopt, of_chunk);
  }
}

TEST_F(StrassenTest, TakesFactorsAndStrides) {
  expect_taken("d nn 300x200x400 a=0.3 b=-2");
  expect_taken("d nt 301x203x405 a=-1 b=1 ld+3 off+1");
  expect_taken("d tn 301x203x405 layout=row");
  for (const std::string type : {"z", "c"}) {
    expect_taken(type + " nn 300x200x400 a=0.3-1i b=-2+1i");
    expect_taken(type + " cn 301x203x405 a=-1 b=1 ld+3 off+1");
    expect_taken(type + " nt 301x203x405 layout=row");
  }
}

TEST_F(StrassenTest, LeavesLinesThatAreNotFinite) {
  expect_taken("d nn 200x210x500 A=randn,nan@middle");
  expect_taken("d nt 200x210x500 A=randn B=randn,inf@corner");
  expect_taken("d nn 200x210x500 A=zeros");
  expect_taken("d nn 200x210x500 A=randn,x2^-990");
  expect_taken("z nn 200x210x500 A=randn,nan@middle");
  expect_taken("z nt 200x210x500 A=randn,x2^-990");
  expect_taken("c nt 200x210x500 A=randn B=randn,inf@corner");
  expect_taken("c nn 200x210x500 A=zeros");
}

TEST_F(StrassenTest, LeavesHigherRungsToTheWholeProduct) {
  expect_left("d nn 300x310x520 A=exprand:phi=4 B=exprand:phi=4");
  expect_left("d nn 300x310x520 A=grade:inner,span=400 B=grade:inner,span=400");
  expect_left("d nn 300x310x520 a=0 b=2");
  for (const std::string type : {"z", "c"}) {
    expect_left(type + " nn 300x310x520 A=exprand:phi=4 B=exprand:phi=4");
    expect_left(type + " nn 300x310x520 a=0 b=2");
  }
}

TEST_F(StrassenTest, LeavesBlocksToTheWholeProduct) {
  for (const device::Look look : {device::Look::kBlocks, device::Look::kBlocksFirst})
    expect_left("d nn 300x310x520", look);
}

/// Where a scout decides while the call runs, both splits are enqueued.
TEST_F(StrassenTest, FollowsAScout) {
  expect_taken("d nn 3080x3073x3072 A=exprand:phi=0.5 B=exprand:phi=0.5");
  expect_left("d nt 3072x3073x3100 A=exprand:phi=1 B=exprand:phi=1");
  expect_left("d tn 3073x3080x3090 A=exprand:phi=4 B=exprand:phi=4");
  expect_taken("c nc 3080x3073x3072 A=exprand:phi=0.5 B=exprand:phi=0.5");
}

template <class T>
void expect_guess_taken(const char* line) {
  const Case c = case_of(line);
  PlannedCall<T> with(c, plan_with(c, true));
  PlannedCall<T> without(c, plan_with(c, false));
  const auto both = [&](const auto& enqueue, const std::string& what) {
    ASSERT_TRUE(enqueue(with).ok() && enqueue(without).ok()) << line << ", " << what;
    expect_same(with.c(), without.c(), std::string(line) + ", " + what);
  };
  both([](PlannedCall<T>& call) { return ozaki2::speculate_device_block(call.block()); }, "speculated");
  const device::DeviceState guess = with.state();
  const bool is_sampled = guess.look == device::Look::kSample;
  EXPECT_EQ(guess.num_strassen_products, is_sampled ? 7 * guess.num_products : 0) << line;
  EXPECT_EQ(guess.num_products, without.state().num_products) << line;
  EXPECT_EQ(guess.look, without.state().look) << line;
  EXPECT_EQ(is_sampled, c.m < 3072) << line;
  for (const int rung : {0, 1}) {  // the planes of rung 1 lie where those of rung 0 were
    const DeviceArray<device::Pair> repairs(1);
    both(
        [&](PlannedCall<T>& call) {
          ozaki2::DeviceBlock<T> block = call.block();
          block.is_speculated = true;
          return ozaki2::finish_device_block(block, {.rung = rung}, repairs.data(), 1);
        },
        "rung " + std::to_string(rung));
    EXPECT_EQ(with.state().num_strassen_products, 0) << line;
  }
}

/// A guess takes them; what is imposed on the block behind it does not, and finds no planes of the lowest rung.
TEST_F(StrassenTest, SpeculatesOfBlocks) {
  for (const char* line :
       {"d nn 512x520x777 A=exprand:phi=0.5 B=exprand:phi=0.5", "d tn 301x203x405 a=-1 A=randn,nan@middle",
        "d nt 300x310x520 A=exprand:phi=4 B=exprand:phi=4", "d nn 200x210x16600 A=exprand:phi=0.5 B=exprand:phi=0.5",
        "d nt 200x210x16600 A=exprand:phi=4 B=exprand:phi=4",
        // A scout says blocks: the split into sums leaves everything to the other one.
        "d nt 3072x3073x3100 A=exprand:phi=1 B=exprand:phi=1", "d tn 3073x3080x3090 A=exprand:phi=4 B=exprand:phi=4"})
    expect_guess_taken<double>(line);
  expect_guess_taken<std::complex<double>>("z nc 512x520x777 A=exprand:phi=0.5 B=exprand:phi=0.5");
  expect_guess_taken<std::complex<double>>("z nt 200x210x16600 A=exprand:phi=0.5 B=exprand:phi=0.5");
  expect_guess_taken<std::complex<float>>("c tn 512x520x777 A=exprand:phi=0.5 B=exprand:phi=0.5");
}

}  // namespace
}  // namespace kizami::gpu_test
