// The GPU's state space kernels compared with their CPU twins: convolutions
// along the sequence and the state scan.

#include "runtime/ops/OpKind.h"
#include "test/runtime/kernels/CudaOperands.h"

namespace reciperun::kernels {
namespace {

using plan::DType;
using plan::OpKind;

class CudaStateSpace : public CudaParityTest {};

/// Consecutive documents of `length` tokens over all sequences, so that they
/// begin anywhere in each. When `isPadded`, the last fifth of a sequence is
/// padding.
Array documents(int64_t sequences, int64_t tokens, int64_t length,
                bool isPadded) {
  Array result(DType::i32, {sequences, tokens});
  for (int64_t i = 0; i < result.size(); ++i)
    result.set(i, isPadded && i % tokens >= tokens - tokens / 5
                      ? -1
                      : double(i / length));
  return result;
}

// ---- convolutions

struct ConvShape {
  int64_t sequences, tokens, groups, channels, taps, document;
};

/// Whole vectors and others, kernels longer than a block's tile and than a
/// document, fewer tokens than taps, and more than one tile in every dimension.
const ConvShape convolutions[] = {
    {2, 300, 2, 35, 4, 41},    {1, 5, 1, 2, 9, 3},     {1, 1, 1, 1, 1, 1},
    {2, 130, 1, 512, 4, 64},   {3, 77, 2, 96, 7, 100}, {1, 70, 1, 40, 60, 33},
    {1, 2000, 1, 264, 3, 500},
};

TEST_F(CudaStateSpace, ConvolutionAndItsGradients) {
  for (DType type : types)
    for (const ConvShape& s : convolutions)
      for (int64_t shift : {0, 1}) {
        const std::vector<int64_t> shape = {s.sequences, s.tokens, s.groups,
                                            s.channels};
        const std::vector<int64_t> weights = {s.groups, s.channels, s.taps};
        Array x = numbers(type, shape, 1), w = numbers(type, weights, 2);
        Array dy = numbers(type, shape, 3), y = x, dx = x;
        Array segments = documents(s.sequences, s.tokens, s.document, true);
        // Sums of one product per tap, rounded once.
        const Tolerance near = tolerance(type, {0, 0x1p-20});
        compare({.kind = OpKind::CausalConv,
                 .inputs = {&x, &w, &segments},
                 .outputs = {&y},
                 .shift = shift},
                {near});
        for (DType stored : {DType::f32, type}) {
          Array dw = numbers(stored, weights, 4);
          compare({.kind = OpKind::CausalConvBackward,
                   .inputs = {&dy, &x, &w, &segments},
                   .outputs = {&dx, &dw},
                   .shift = shift},
                  {near, tolerance(stored, sums)});
        }
        Array dw = numbers(DType::f32, weights, 4);
        compare({.kind = OpKind::CausalConvBackward,
                 .inputs = {&dy, &x, &w, &segments},
                 .outputs = {nullptr, &dw},
                 .shift = shift},
                {sums});
        compare({.kind = OpKind::CausalConvBackward,
                 .inputs = {&dy, &x, &w, &segments},
                 .outputs = {&dx, nullptr},
                 .shift = shift},
                {near});
      }
}

TEST_F(CudaStateSpace, RefusesMoreTapsThanItsMemoryHolds) {
  Array x = numbers(DType::f32, {1, 3, 1, 2}, 1), y = x;
  Array w = numbers(DType::f32, {1, 2, 1000}, 2);
  Array segments = documents(1, 3, 3, false);
  const Status status =
      tryOnGpu({OpKind::CausalConv, {&x, &w, &segments}, {&y}});
  EXPECT_NE(status.message().find("up to 384 taps"), std::string::npos)
      << status.message();
}

// ---- the scan

struct ScanShape {
  int64_t sequences, tokens, groups, heads, width, state, chunk, document;
  double steps = 1; // the spread of dt

  int64_t channels() const { return heads * width; }
};

std::string describe(const ScanShape& s) {
  return std::to_string(s.sequences) + " x " + std::to_string(s.tokens) +
         " tokens, " + std::to_string(s.groups) + " groups of " +
         std::to_string(s.heads) + " heads of " + std::to_string(s.width) +
         " channels, states of " + std::to_string(s.state) + ", chunks of " +
         std::to_string(s.chunk);
}

/// Fewer channels than a thread block, exactly as many, and more; states that
/// are no multiple of four; chunks that are no whole tiles, of one token, and
/// longer than the sequence; documents within and across them; and full decay.
const ScanShape scans[] = {
    {2, 11, 2, 3, 2, 5, 1, 4},       {2, 11, 2, 3, 2, 5, 4, 3},
    {1, 100, 1, 2, 40, 16, 48, 37},  {2, 130, 2, 2, 64, 128, 128, 200},
    {1, 90, 1, 1, 8, 130, 64, 1000}, {1, 70, 1, 4, 33, 256, 256, 50},
    {3, 65, 1, 2, 16, 20, 32, 1},    {1, 200, 2, 1, 32, 64, 1024, 130, 30},
    {1, 1, 1, 1, 1, 1, 7, 1},
};

/// x, dt, b, c, a_log, d, dt_bias, segments.
std::vector<Array> inputsOf(const ScanShape& s, DType type) {
  auto shape = [&](int64_t last) {
    return std::vector<int64_t>{s.sequences, s.tokens, s.groups, last};
  };
  const std::vector<int64_t> parameters = {s.groups, s.heads};
  return {numbers(type, shape(s.channels()), 1),
          numbers(type, shape(s.heads), 2, s.steps),
          numbers(type, shape(s.state), 3),
          numbers(type, shape(s.state), 4),
          numbers(type, parameters, 5),
          numbers(type, parameters, 6),
          numbers(type, parameters, 7),
          documents(s.sequences, s.tokens, s.document, s.document > 1)};
}

std::vector<Array*> pointersTo(std::vector<Array>& arrays) {
  std::vector<Array*> result;
  for (Array& array : arrays)
    result.push_back(&array);
  return result;
}

/// The CPU processes one token at a time, the GPU one tile as matmuls. In f32
/// both sum in f32, and some of the terms cancel. In bf16 the GPU rounds the
/// states and the score products that it multiplies by to 2^-9 each. Elements
/// far below the largest are remainders of larger terms.
Tolerance ofGradients(DType type) {
  return tolerance(type, {0, type == DType::bf16 ? 0x1p-7 : 0x1p-16});
}

class CudaScan : public CudaParityTest {
protected:
  void check(const ScanShape& s, DType type, int64_t shift) {
    SCOPED_TRACE(describe(s));
    const Attributes attributes = {{"chunk", s.chunk}};
    std::vector<Array> in = inputsOf(s, type);
    Array y = in[0];
    Array states(DType::f32,
                 {s.sequences, s.groups, (s.tokens - 1) / s.chunk + 1,
                  s.channels(), s.state});
    // Sums over states that carry the rounding errors of all earlier tokens;
    // both devices process one token at a time.
    compare({.kind = OpKind::StateScan,
             .inputs = pointersTo(in),
             .outputs = {&y, &states},
             .attributes = attributes,
             .shift = shift},
            {tolerance(type, {0x1p-19, 0x1p-19}), {0x1p-19, 0x1p-19}});
    compare({.kind = OpKind::StateScan,
             .inputs = pointersTo(in),
             .outputs = {&y, nullptr}, // in the forward pass
             .attributes = attributes,
             .shift = shift},
            {tolerance(type, {0x1p-19, 0x1p-19}), {}});
    compare({.kind = OpKind::StateScan,
             .inputs = pointersTo(in),
             .outputs = {nullptr, &states}, // in the backward pass
             .attributes = attributes,
             .shift = shift},
            {{}, {0x1p-19, 0x1p-19}});
    Array dy = numbers(type, y.shape(), 8);
    std::vector<Array> gradients(in.begin(), in.begin() + 4);
    for (size_t i = 4; i < 7; ++i)
      gradients.push_back(numbers(DType::f32, in[i].shape(), 9));
    std::vector<Array*> inputs = pointersTo(in);
    inputs.insert(inputs.begin(), &dy);
    inputs.push_back(&states);
    std::vector<Tolerance> tolerances(4, ofGradients(type));
    tolerances.resize(7, {0, ofGradients(type).ofLargest});
    ParityCase backward{.kind = OpKind::StateScanBackward,
                        .inputs = inputs,
                        .outputs = pointersTo(gradients),
                        .attributes = attributes,
                        .shift = shift};
    compare(backward, tolerances);
    for (size_t i = 4; i < 7; ++i)
      backward.outputs[i] = nullptr; // frozen
    compare(backward, tolerances);
  }
};

TEST_F(CudaScan, AgreesWithTheCpu) {
  for (DType type : types)
    for (const ScanShape& shape : scans)
      for (int64_t shift : {0, 1})
        check(shape, type, shift);
}

// Cases that exceed the scratch: launches split by tiles in the first and by
// groups of the sequences in the second.
TEST_F(CudaScan, InAsManyLaunchesAsTheScratchNeeds) {
  check({4, 100, 2, 4, 64, 128, 96, 60}, DType::bf16, 0);
  check({24, 40, 4, 4, 64, 128, 40, 30}, DType::bf16, 0);
}

TEST_F(CudaScan, AddsToGradientsInBf16) {
  const ScanShape s{2, 20, 2, 2, 4, 8, 8, 9};
  std::vector<Array> in = inputsOf(s, DType::bf16);
  Array dy = in[0];
  Array states = numbers(DType::f32, {2, 2, 3, 8, 8}, 9);
  std::vector<Array> gradients(in.begin(), in.begin() + 7);
  std::vector<Array*> inputs = pointersTo(in);
  inputs.insert(inputs.begin(), &dy);
  inputs.push_back(&states);
  compare({.kind = OpKind::StateScanBackward,
           .inputs = inputs,
           .outputs = pointersTo(gradients),
           .attributes = {{"chunk", s.chunk}}},
          {ofGradients(DType::bf16)});
}

TEST_F(CudaScan, RefusesStatesWiderThanItsMemoryHolds) {
  const ScanShape s{1, 2, 1, 1, 1, 300, 2, 2};
  std::vector<Array> in = inputsOf(s, DType::f32);
  Array y = in[0], states(DType::f32, {1, 1, 1, 1, 300});
  const Status status = tryOnGpu({.kind = OpKind::StateScan,
                                  .inputs = pointersTo(in),
                                  .outputs = {&y, &states},
                                  .attributes = {{"chunk", s.chunk}}});
  EXPECT_NE(status.message().find("up to 256 numbers, not of 300"),
            std::string::npos)
      << status.message();
}

} // namespace
} // namespace reciperun::kernels
