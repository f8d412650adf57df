// SPDX-License-Identifier: MIT
// T5: NaN and Inf appear in C exactly where IEEE arithmetic on the exact terms puts them, and every other element still
// meets the bound. Finite operands never give NaN, not even where terms overflow.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "api_case.hpp"

namespace kizami::api_test {
namespace {

using check::Case;

class NonFinite : public ::testing::TestWithParam<const char*> {
 protected:
  [[nodiscard]] static bool is_fp64() { return GetParam()[0] == 'd' || GetParam()[0] == 'z'; }
};
INSTANTIATE_TEST_SUITE_P(All, NonFinite, ::testing::Values("d", "s", "z", "c"),
                         [](const auto& test) { return std::string(test.param); });

TEST_P(NonFinite, OnePlacement) {
  Tally tally;
  int turn = 0;
  std::vector<std::string> kinds = {"nan", "inf", "-inf"};
  if (is_complex(case_of(std::string(GetParam()) + " nn 1x1x1").scalar))
    kinds.insert(kinds.end(), {"nani", "infi", "-infi"});
  for (const std::string& kind : kinds) {
    for (const char* place : {"corner", "edge", "middle", "last", "all"}) {
      for (const char* operand : {"A", "B", "C"}) {
        for (const char* scalars : {"a=1 b=0", "a=-2 b=0.5", "a=1 b=1", "a=0 b=1.5"}) {
          if (is_left_out(++turn, 7)) continue;
          std::string line =
              std::string(GetParam()) + " " + (turn % 2 == 0 ? "nn" : "tt") + " 9x7x65 " + scalars + " threads=2";
          for (const char* x : {"A", "B", "C"}) {
            line += std::string(" ") + x + "=randn" + (std::string(x) == operand ? "," + kind + "@" + place : "");
          }
          const Outcome outcome = expect_guaranteed(case_of(line), &tally);
          if (outcome.engine == "none") continue;
          const bool is_all = std::string(place) == "all";
          EXPECT_EQ(outcome.nonfinite_rows, operand[0] == 'A' ? (is_all ? 9 : 1) : 0) << line;
          EXPECT_EQ(outcome.nonfinite_cols, operand[0] == 'B' ? (is_all ? 7 : 1) : 0) << line;
        }
      }
    }
  }
  report(std::string("one NaN or Inf, ") + GetParam(), tally);
}

// Inf 0, Inf - Inf, NaN over Inf, and infinities that meet zeros, signs and each other.
TEST_P(NonFinite, SeveralPlacements) {
  Tally tally;
  int turn = 0;
  const char* const operands[] = {
      "A=randn,inf@0:3,-inf@0:5 B=randn",
      "A=randn,inf@2:3 B=randn,-inf@3:4",
      "A=randn,inf@2:3 B=zeros",
      "A=zeros B=randn,inf@corner",
      "A=identity,inf@1:1 B=randn,-inf@1:1,nan@0:0",
      "A=randn,nan@corner,inf@middle B=randn,inf@middle,nan@last",
      "A=zerocols:every=2,inf@4:4 B=zerorows:every=3,-inf@4:3",
      "A=negzero,inf@3:6 B=negzero,inf@6:2,-inf@7:2",
      "A=subnormal,inf@1:2,-inf@3:2 B=tiny",
      "A=big,inf@1:2 B=big,-inf@3:3",
      "A=evil:span=200,inf@1:2 B=evil:span=200,nan@3:3",
      "A=grade:inner,inf@1:2 B=grade:inner,nan@3:3",
      "A=randn,inf@all B=rands,inf@all",
      "A=randn,inf@all B=ones,-inf@2:2",
  };
  for (const char* pair : operands) {
    for (const char* scalars :
         {"a=1 b=0", "a=-1 b=0", "a=3 b=-0.5 C=randn,inf@middle,-inf@edge,nan@corner", "a=inf b=0", "a=nan b=0",
          "a=1 b=inf", "a=1 b=nan", "a=-inf b=inf C=ones", "a=1 b=1 C=big,inf@2:2"}) {
      for (const char* gauge : {"", " gauge=norm"}) {
        if (is_left_out(turn++, 5)) continue;
        // An infinite alpha shows the sign of the product, which a bound against the norms does not fix.
        const std::string alpha(scalars, std::string(scalars).find(' '));
        if (gauge[0] != '\0' && (alpha == "a=inf" || alpha == "a=-inf")) continue;
        expect_guaranteed(case_of(std::string(GetParam()) + " nt 8x7x9 " + pair + " " + scalars + gauge + " threads=2"),
                          &tally);
      }
    }
  }
  report(std::string("several, ") + GetParam(), tally);
}

// A term that overflows on its own is still one finite term: infinity comes from the sum or not at all.
TEST_P(NonFinite, FiniteOperandsNeverGiveNaN) {
  Tally tally;
  int turn = 0;
  for (const char* pair : {"A=big B=big", "A=overflow B=overflow", "A=big B=ones", "A=cancel,x2^1000 B=cancel,x2^1000",
                           "A=big B=tiny", "A=huge:exp=1000 B=huge:exp=1000", "A=evil:span=2000 B=evil:span=2000"}) {
    for (const char* scalars : {"a=1 b=0", "a=-1 b=1 C=big", "a=0.5 b=2 C=big", "a=1e30 b=-1e30 C=big",
                                "a=1e-30 b=3 C=big", "a=1e-30 b=-1 C=zeros"}) {
      for (const char* shape : {"6x5x1", "6x5x2", "6x5x65", "5x6x300"}) {
        if (is_left_out(turn++, 5)) continue;
        const Case c = case_of(std::string(GetParam()) + " nn " + shape + " " + pair + " " + scalars + " threads=2");
        expect_guaranteed(c, &tally);
        with_scalar(c.scalar, [&]<class T>() {
          for (const T& x : product_of<T>(c)) EXPECT_FALSE(is_nan(x)) << check::print(c);
        });
      }
    }
  }
  report(std::string("near overflow, ") + GetParam(), tally);
}

// The product is infinite and beta c overflows the other way: exactly, beta c is finite, so the sum is the infinity.
TEST_P(NonFinite, InfiniteProductAndLargeBetaC) {
  const std::string big = is_fp64() ? "1e300" : "1e30";
  for (const std::string& line :
       {"a=1 b=-" + big + " A=ones,inf@corner B=ones C=ones,x2^",
        "a=1 b=" + big + " A=ones,-inf@corner B=ones C=ones,x2^", "a=inf b=-" + big + " A=ones B=ones C=ones,x2^",
        "a=-inf b=" + big + " A=ones B=ones C=ones,x2^"}) {
    expect_guaranteed(case_of(std::string(GetParam()) + " nn 3x3x3 " + line + (is_fp64() ? "1000" : "120")));
  }
}

// alpha makes a finite product overflow while c is infinite: the exact term is finite, so c decides.
TEST_P(NonFinite, LargeProductAndInfiniteC) {
  const std::string big = is_fp64() ? "1e300" : "1e38";
  for (const std::string& line :
       {"a=-" + big + " b=1 A=big B=big C=ones,inf@all", "a=" + big + " b=1 A=ones B=big C=ones,-inf@all",
        std::string("a=1 b=1 A=big B=big C=ones,inf@all"), std::string("a=1 b=-1 A=big B=big C=ones,inf@all")}) {
    expect_guaranteed(case_of(std::string(GetParam()) + " nn 3x3x3 " + line));
  }
}

}  // namespace
}  // namespace kizami::api_test
