// The verifier on fp8 matrices and matmuls: a sound Program has no findings,
// and each kind of damage has a finding that names it.

#include "SoundProgram.h"

#include <gtest/gtest.h>

namespace recipec::ir {
namespace {

const SoundProgram quantized(R"(program test bf16
axis dp = 2
axis tp = 2
dim batch = 4
dim sequence = 8
dim hidden = 16
dim heads = 4
dim width = 8
dim 16 = 16
dim 1 = 1
dim flat = 1024
dim 32 = 32
dim 4 = 4
input %x : bf16[batch/dp, sequence, heads/tp, width]
state %history : f32[16]
gradient %dw : f32[hidden, heads/tp, width] +dp
value @part : bf16[flat/dp]
value @narrow : f8e4m3[flat/dp]
value @scale : f32[]
param @w : bf16[hidden, heads/tp, width] init normal 0.02 gradient %dw
    hf "w" [16, 32]
function forward {
  %xq, %xs, %xt, _, %history = quantize %x, %history {lead = 2} : f8e4m3[batch/dp, sequence, heads/tp, width], saved f32[], saved f8e4m3[heads/tp, width, batch/dp, sequence]
  %wq, %ws, %wt, _, _ = quantize @w, _ {lead = 1} : f8e4m3[hidden, heads/tp, width], saved f32[], saved f8e4m3[heads/tp, width, hidden]
  %y = scaled_matmul %xq, %wq, %xs, %ws {fast = true} : bf16[batch/dp, sequence, hidden] +tp
  %z = all_reduce %y over tp {reduce = "sum"} : bf16[batch/dp, sequence, hidden]
  %t = scaled_matmul_add %xq, %wq, %xs, %ws, %y {fast = true} : bf16[batch/dp, sequence, hidden] +tp
  %wr = transpose %wq {lead = 1} : f8e4m3[heads/tp, width, hidden]
  %maxima = zero : f32[4]
  %maxima = shard_amax @part over dp {count = 96, place = 3, start = 928} : f32[4]
  @narrow, @scale = quantize_shard @part, %maxima over dp {count = 96, place = 3, start = 928}
  %sq, %ss, _, _, _ = swiglu_quantize %x, %x, _ {lead = 2} : f8e4m3[batch/dp, sequence, heads/tp, width], f32[]
  %nq, %ns = rmsnorm_quantize %x, _ {eps = 1e-05, lead = 3} : f8e4m3[batch/dp, sequence, heads/tp, width], f32[]
  %gq, %gs, _, _, _, _, %us, %ut, _, _ = swiglu_backward_quantize %x, %x, %x, _, _ {lead = 2} : f8e4m3[batch/dp, sequence, heads/tp, width], f32[], f32[], f8e4m3[heads/tp, width, batch/dp, sequence]
}
function backward {
  %d = zero : bf16[batch/dp, sequence, hidden]
  %dq, %ds, %dt, _, _ = quantize %d, _ {lead = 2} : f8e5m2[batch/dp, sequence, hidden], f32[], f8e5m2[hidden, batch/dp, sequence]
  %dw = scaled_matmul %dt, %xt, %ds, %xs {accumulate = true}
  %dx = scaled_matmul %dq, %wt, %ds, %ws : bf16[batch/dp, sequence, heads/tp, width]
  %mq, %ms, %mt, %mts, _ = quantize %d, _ {blocks = "mx", lead = 2} : f8e4m3[batch/dp, sequence, hidden], f8e8m0[1, 1, 32, 4, 4], f8e4m3[hidden, batch/dp, sequence], f8e8m0[1, 1, 32, 4, 4]
}
)");

TEST(VerifyQuantized, TakesWhatIsSound) {
  quantized.expectSound();
}

TEST(VerifyQuantized, LayoutsAreThoseOfTheMatrix) {
  quantized.expectFound("{lead = 2}", "{lead = 1}", "dimensions differ");
  quantized.expectFound("{lead = 2}", "{lead = 4}", "rows nor columns");
  quantized.expectFound("_ {lead = 1} : f8e4m3[", "_ {lead = 1} : bf16[",
                        "8 bits");
  quantized.expectFound("f8e4m3[heads/tp, width, hidden]",
                        "f8e4m3[width, heads/tp, hidden]", "dimensions differ");
}

TEST(VerifyQuantized, AMatrixHasItsScaleAndItsHistory) {
  const std::string made = " = quantize @w, _ {lead = 1} : ",
                    plain = "f8e4m3[hidden, heads/tp, width], ",
                    turned = "saved f8e4m3[heads/tp, width, hidden]";
  quantized.expectFound(
      "%ws, %wt, _, _" + made + plain + "saved f32[], " + turned,
      "_, %wt, %ws, _" + made + plain + turned + ", saved f32[]", "no scale");
  const std::string scale = "f8e8m0[1, 1, 32, 4, 4]",
                    of = " = quantize %d, _ {blocks = \"mx\", lead = 2} : "
                         "f8e4m3[batch/dp, sequence, hidden], " +
                         scale + ", f8e4m3[hidden, batch/dp, sequence]";
  quantized.expectFound("%mts, _" + of + ", " + scale, "_, _" + of, "no scale");
  quantized.expectFound("quantize %x, %history", "quantize %x, _",
                        "history is another");
}

TEST(VerifyQuantized, MatmulsAreOfRowsByRows) {
  quantized.expectFound("scaled_matmul %xq, %wq,", "scaled_matmul %xq, %wt,",
                        "dimensions differ");
  quantized.expectFound("scaled_matmul %xq,", "scaled_matmul %x,", "8 bits");
}

TEST(VerifyQuantized, WhatIsAddedToLiesLikeTheSum) {
  quantized.expectFound("%ws, %y {fast", "%ws, %x {fast", "dimensions differ");
  quantized.expectFound("%ws, %y {fast", "%ws, %z {fast",
                        "partial sums differ");
}

TEST(VerifyQuantized, WhatASwigluMakesLiesLikeItsOperands) {
  quantized.expectFound("swiglu_quantize %x, %x,", "swiglu_quantize %x, %z,",
                        "dimensions differ");
  quantized.expectFound("swiglu_quantize %x, %x,", "swiglu_quantize %y, %y,",
                        "not linear");
  quantized.expectFound("quantize %x, %x, %x, _",
                        "quantize %x, %x, %x, %history", "history is another");
  quantized.expectFound("f32[], f8e4m3[heads/tp, width, batch/dp, sequence]\n}",
                        "f32[], f8e4m3[heads/tp, batch/dp, sequence, width]\n}",
                        "dimensions differ");
}

TEST(VerifyQuantized, TheRowsOfAnRmsNormAreThoseThatAreQuantized) {
  quantized.expectFound("eps = 1e-05, lead = 3", "eps = 1e-05, lead = 2",
                        "the rows are not those that are normalised");
  quantized.expectFound("rmsnorm_quantize %x", "rmsnorm_quantize %y",
                        "not linear");
}

TEST(VerifyQuantized, ATransposeIsOfTheMatrix) {
  const std::string of = "%wr = transpose %wq {lead = 1} : ";
  quantized.expectFound(
      of, "%wr = transpose %wq {lead = 2} : ", "dimensions differ");
  quantized.expectFound(
      of, "%wr = transpose %wq {lead = 3} : ", "rows nor columns");
  quantized.expectFound(of + "f8e4m3", of + "f8e5m2", "not of one type");
}

TEST(VerifyQuantized, RunsOfPartsLieInThem) {
  const std::string run = "shard_amax @part over dp {count = 96, "
                          "place = 3, start = 928}";
  auto with = [&](const std::string& from, const std::string& to) {
    std::string other = run;
    return other.replace(other.find(from), from.size(), to);
  };
  quantized.expectFound(run, with("928", "929"), "does not lie in the parts");
  quantized.expectFound(run, with("place = 3", "place = 4"), "no such maximum");
  quantized.expectFound(run, with("dp", "tp"), "does not split it");
  quantized.expectFound(run, with("place = 3, ", ""), "not said");
  quantized.expectFound(run, with("@part", "%x"), "does not split it");
}

TEST(VerifyQuantized, APartIsCastInItsPlace) {
  quantized.expectFound("@narrow, @scale = quantize_shard",
                        "@part, @scale = quantize_shard", "8 bits");
  quantized.expectFound("@narrow, @scale = quantize_shard",
                        "@narrow, %history = quantize_shard", "not a number");
  quantized.expectFound("@narrow, @scale = quantize_shard",
                        "@scale, @scale = quantize_shard", "dimensions differ");
}

TEST(VerifyQuantized, SumsOverRanksArePartial) {
  quantized.expectFound("bf16[batch/dp, sequence, hidden] +tp",
                        "bf16[batch/dp, sequence, hidden]", "partial sum");
  quantized.expectFound("f32[hidden, heads/tp, width] +dp",
                        "f32[hidden, heads/tp, width]", "partial sum");
}

} // namespace
} // namespace recipec::ir
