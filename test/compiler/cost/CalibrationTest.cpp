// The rates of the model against those of single ops that tools/calibrate has
// measured on one H200.

#include "compiler/cost/Kernels.h"
#include "test/SourceRoot.h"

#include <gtest/gtest.h>

#include <cctype>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace recipec::cost {
namespace {

// What a step sustains of `h200`, in TFLOP/s (Machine.cpp).
constexpr double bf16 = 0.98 * 689, fp8 = 0.905 * 1325;
constexpr double multiprocessorsOfH200 = 132;
constexpr double tilePause = 200; // in elements of k (Kernels.cpp)

struct Rate {
  std::string op, type;
  std::vector<double> sizes; // the numbers of the column
  double measured = 0;       // sustained, in TFLOP/s

  double predicted() const {
    if (op.starts_with("attention"))
      return bf16 * attentionEfficiency(sizes[4], sizes[1] / 2,
                                        op == "attention_backward", 1);
    MatmulShape shape{sizes[0], sizes[1], sizes[2]};
    if (op == "linear_dgrad")
      std::swap(shape.n, shape.k);
    if (op == "linear_wgrad")
      shape = {shape.n, shape.k, shape.m};
    return (type == "bf16" ? bf16 : fp8) *
           matmulEfficiency(shape, multiprocessorsOfH200, tilePause);
  }
  double ratio() const { return predicted() / measured; }
};

/// The matmuls and the attention without a window.
std::vector<Rate> readRates() {
  std::ifstream in(std::string(RECIPEC_SOURCE_ROOT) +
                   "/tools/benchmark/prediction/h200.txt");
  const std::regex line(
      R"((\w+) +(\w+) +(.*\S) +[\d.]+ +[\d.]+ TFLOP/s +([\d.]+) TFLOP/s)");
  std::vector<Rate> rates;
  for (std::string text; std::getline(in, text);) {
    std::smatch found;
    if (text.find("window") != text.npos ||
        !std::regex_match(text, found, line))
      continue;
    Rate rate{found[1], found[2], {}, std::stod(found[4])};
    std::string sizes = found[3];
    for (char& each : sizes)
      if (!std::isdigit(static_cast<unsigned char>(each)))
        each = ' ';
    std::istringstream numbers(sizes);
    for (double number; numbers >> number;)
      rate.sizes.push_back(number);
    if (!rate.op.starts_with("expert"))
      rates.push_back(std::move(rate));
  }
  return rates;
}

TEST(Calibration, MatmulsOfAStepAreNotFarBelowSingleOnes) {
  size_t count = 0;
  for (const Rate& each : readRates()) {
    if (!each.op.starts_with("linear"))
      continue;
    ++count;
    EXPECT_GT(each.ratio(), 0.82) << each.op << " " << each.sizes[0];
    EXPECT_LT(each.ratio(), 1.08) << each.op << " " << each.sizes[0];
  }
  EXPECT_EQ(count, 42u);
}

// Gradients of weights with few tokens are bound by their f32 results.
TEST(Calibration, NarrowMatmulsOfAStepAreNotFarBelowSingleOnes) {
  size_t count = 0;
  for (const Rate& each : readRates()) {
    if (each.op != "scaled_matmul" || each.sizes[2] < 4096)
      continue;
    ++count;
    EXPECT_GT(each.ratio(), 0.82) << each.sizes[0] << " " << each.sizes[1];
    EXPECT_LT(each.ratio(), 1.10) << each.sizes[0] << " " << each.sizes[1];
  }
  EXPECT_GT(count, 30u);
}

TEST(Calibration, AttentionOfAStepIsNotFarBelowSingleOps) {
  size_t count = 0;
  for (const Rate& each : readRates()) {
    if (!each.op.starts_with("attention"))
      continue;
    ++count;
    EXPECT_GT(each.ratio(), 0.72) << each.op << " " << each.sizes[1];
    EXPECT_LT(each.ratio(), 1.05) << each.op << " " << each.sizes[1];
  }
  EXPECT_EQ(count, 10u);
}

} // namespace
} // namespace recipec::cost
