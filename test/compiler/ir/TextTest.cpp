// Printing and parsing of modules: the text is a fixed point, and invalid text
// is rejected with its line.

#include "compiler/ir/Parse.h"
#include "compiler/ir/Print.h"
#include "runtime/ops/OpKind.h"

#include <gtest/gtest.h>

namespace recipec::ir {
namespace {

// Every construct of the text, in the order of printing.
constexpr const char* everything = R"(program "two words" bf16
axis dp = 2
axis tp = 4
dim batch = 8
dim sequence = 16
dim hidden = 64
dim region.decay = 128
input %tokens : i32[batch/dp, sequence]
state %loss : f64[]
gradient %grad.w : f32[hidden/tp, hidden] +dp
value @region : bf16[region.decay/dp/tp]
received %r : bf16[batch/dp, sequence]
param @w "weights of w" : bf16[hidden/tp, hidden] init normal 0.02 gradient %grad.w lora @a, @b 2.5
    hf "model.w \"quoted\" \\ \x09" [64, 64]
param @a : bf16[hidden, hidden] init zeros 0.0 frozen no_decay adapter
    hf "a" [64]
param @b : bf16[hidden, hidden] init ones 0.0 frozen
    hf "" []
param @c : bf16[hidden, hidden] init time_steps 0.0
    hf "fused" [64, 64] from 16 of 96
bind logits = %y
bind tokens = %tokens
region decay elements 32 shard dp param @region gradient %grad.w master @region m %loss v %loss param_part @region gradient_part %grad.w {
  @w at 0
  @a at 16
}
function forward {
  %x = embedding %tokens, @a over tp : bf16[batch/dp, sequence, hidden] +tp
 layer 0
  %"odd name", %rstd = rmsnorm %x, @a {eps = 1e-05} : saved bf16[batch/dp, sequence/tp, hidden], f32[batch/dp, sequence/tp]
  %y = linear "other" %"odd name", @w {accumulate = true, alpha = 1.0, axes = ["dp", "", "tp"], none = [], steps = -3} : bf16[batch/dp, sequence, hidden/tp]
  %y = all_reduce %y over dp tp {reduce = "max"} : bf16[batch/dp, sequence, hidden/tp]
 layer none
  %loss = zero
  %dx, _ = rmsnorm_backward %x, %x, @a, _ : bf16[batch/dp, sequence, hidden]
}
function empty {
}
function forward.1 chunk 1 {
}
transfer send %x to 1 channel 0 link 0 of forward
transfer receive %r from 1 channel 3 link 2 of forward.1
schedule train {
  load batch 0
  receive 1 batch 1
  run forward batch 1
  send 0 batch 1
  wait 1 batch 1
}
memory 4096 {
  %tokens at 0 bytes 64 in activations
  %y at 64 bytes 128 slots 2 stride 256 in activations
  %dx at 576 bytes 64 frame 1 in activations
}
frame of 0 { 0 256 }
frame of 1 host { 512 }
)";

TEST(Text, PrintParsePrintIsTheIdentity) {
  std::string error;
  std::optional<Module> module = parse(everything, error);
  ASSERT_TRUE(module) << error;
  EXPECT_EQ(print(*module), everything);
}

TEST(Text, AGraphHasNoShardings) {
  const char* text = R"(graph g f64
dim batch = 2
input %x : i32[batch]
function forward {
  %y = silu %x : f64[batch]
}
)";
  std::string error;
  std::optional<Module> module = parse(text, error);
  ASSERT_TRUE(module) << error;
  EXPECT_FALSE(module->isProgram);
  EXPECT_TRUE(module->values[0].sharding.dims.empty());
  EXPECT_EQ(print(*module), text);
}

TEST(Text, DoublesKeepEveryBit) {
  Module module;
  module.name = "g";
  module.functions.push_back({"f", {}});
  Op op{};
  op.kind = OpKind::Scale;
  op.operands = op.results = {
      addValue(module, {"x", ValueKind::input, DType::f32, {}, {}, {}})};
  op.name = "x";
  op.attributes["alpha"] = 0.1 + 0.2;
  op.attributes["whole"] = 3.0;
  op.attributes["large"] = 1e300;
  module.functions[0].ops.push_back(op);
  std::string error;
  std::optional<Module> again = parse(print(module), error);
  ASSERT_TRUE(again) << error;
  EXPECT_EQ(again->functions[0].ops[0].attributes, op.attributes);
}

std::string errorOf(const std::string& text) {
  std::string error;
  EXPECT_FALSE(parse(text, error));
  return error;
}

TEST(Text, ErrorsNameLineAndExpectation) {
  EXPECT_EQ(errorOf("plan p f32\n"),
            "line 1: expected `graph`, found `plan p f32`");
  EXPECT_EQ(errorOf("graph g f16\n"),
            "line 1: expected an element type, found ``");
  EXPECT_EQ(errorOf("graph g f32\ninput %x : f32[batch]\n"),
            "line 2: expected a dimension instead of `batch`, found `]`");
  EXPECT_EQ(errorOf("graph g f32\nfunction f {\n  %y = silu %x\n}\n"),
            "line 3: expected a value defined before instead of `x`, found ``");
  EXPECT_EQ(errorOf("graph g f32\nfunction f {\n  %y = sulu %x\n}\n"),
            "line 3: expected an op instead of `sulu`, found ` %x`");
  EXPECT_EQ(errorOf("graph g f32\nbind loss = %x\n"),
            "line 3: expected a value of the name `x` that is bound, found ``");
  EXPECT_EQ(errorOf("graph g f32\naxis dp = two\n"),
            "line 2: expected a number, found `two`");
}

} // namespace
} // namespace recipec::ir
