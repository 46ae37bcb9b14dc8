// The verifier: a sound Program has no findings, and each kind of damage has
// one that names it.

#include "compiler/ir/Verify.h"
#include "compiler/ir/Parse.h"

#include <gtest/gtest.h>

namespace recipec::ir {
namespace {

constexpr const char* sound = R"(program test f32
axis dp = 2
axis tp = 2
dim batch = 4
dim sequence = 8
dim hidden = 16
dim ffn = 32
input %tokens : i32[batch/dp, sequence]
gradient %grad.up.weight : f32[ffn/tp, hidden] +dp
param @embed.weight : f32[ffn/tp, hidden] init normal 0.02 frozen
    hf "embed" [32, 16]
param @up.weight : f32[ffn/tp, hidden] init normal 0.02 gradient %grad.up.weight
    hf "up" [32, 16]
param @down.weight : f32[hidden, ffn/tp] init normal 0.02 frozen
    hf "down" [16, 32]
function forward {
  %x = embedding %tokens, @embed.weight {axis = "tp"} : f32[batch/dp, sequence, hidden] +tp
  %s = reduce_scatter %x over tp {dim = 1} : f32[batch/dp, sequence/tp, hidden]
  %g = all_gather %s over tp {dim = 1} : saved f32[batch/dp, sequence, hidden]
  %up = linear %g, @up.weight : f32[batch/dp, sequence, ffn/tp]
  %act = silu %up : f32[batch/dp, sequence, ffn/tp]
  %down = linear %act, @down.weight : f32[batch/dp, sequence, hidden] +tp
  %y = all_reduce %down over tp {reduce = "sum"} : f32[batch/dp, sequence, hidden]
  %z = slice %y {axis = "tp", dim = 1} : f32[batch/dp, sequence/tp, hidden]
}
function backward {
  %d = zero : f32[batch/dp, sequence, ffn/tp]
  %grad.up.weight = linear_wgrad %g, %d
  %dg = linear_dgrad %d, @up.weight : f32[batch/dp, sequence, hidden] +tp
}
)";

/// Findings of the sound Program after one replacement in its text.
std::vector<std::string> findingsWith(const std::string& from,
                                      const std::string& to) {
  std::string text = sound;
  size_t place = text.find(from);
  EXPECT_NE(place, std::string::npos) << from;
  text.replace(place, from.size(), to);
  std::string error;
  std::optional<Module> module = parse(text, error);
  EXPECT_TRUE(module) << error;
  return module ? verify(*module) : std::vector<std::string>();
}

/// Expects a finding that contains `finding`.
void expectFound(const std::string& from, const std::string& to,
                 const std::string& finding) {
  std::vector<std::string> findings = findingsWith(from, to);
  bool found = false;
  for (const std::string& each : findings)
    found = found || each.find(finding) != std::string::npos;
  EXPECT_TRUE(found) << "`" << from << "` -> `" << to << "` gives "
                     << (findings.empty() ? "nothing" : findings[0]);
}

TEST(Verify, ASoundProgramHasNoFindings) {
  EXPECT_EQ(findingsWith("test", "test"), std::vector<std::string>());
}

TEST(Verify, Life) {
  expectFound("_wgrad %g,", "_wgrad %act,", "`act` is read before");
  expectFound("%d = zero", "%tokens = zero\n  %d = zero",
              "an input is written");
}

TEST(Verify, Dimensions) {
  expectFound("%act = silu %up : f32[batch/dp, sequence, ffn/tp]",
              "%act = silu %up : f32[batch/dp, sequence, hidden]",
              "dimensions differ");
  expectFound("linear %g, @up.weight : f32[batch/dp, sequence, ffn/tp]",
              "linear %g, @up.weight : f32[batch/dp, sequence, ffn]",
              "dimensions differ");
  expectFound("linear %g, @up.weight", "linear %s, @up.weight",
              "dimensions differ");
  expectFound("%act = silu %up : f32", "%act = silu %up : bf16",
              "element types differ");
}

TEST(Verify, Shardings) {
  expectFound("dim ffn = 32", "dim ffn = 33",
              "`grad.up.weight` is not split evenly");
  expectFound("saved f32[batch/dp, sequence, hidden]",
              "saved f32[batch/dp, sequence/dp, hidden]", "uses an axis twice");
}

TEST(Verify, PartialSums) {
  expectFound("%down = linear %act, @down.weight : f32[batch/dp, sequence, "
              "hidden] +tp",
              "%down = linear %act, @down.weight : f32[batch/dp, sequence, "
              "hidden]",
              "not that of the contraction");
  expectFound("%act = silu %up",
              "%v = silu %x : f32[batch/dp, sequence, "
              "hidden]\n  %act = silu %up",
              "goes into an op that is not linear");
  expectFound("gradient %grad.up.weight : f32[ffn/tp, hidden] +dp",
              "gradient %grad.up.weight : f32[ffn/tp, hidden]",
              "not that of the gradient");
}

TEST(Verify, PartsOfRows) {
  auto before = [](const std::string& op) { return op + "\n  %up = linear"; };
  const std::string lead = " : f32[batch/dp, sequence, ";
  const std::string padded = "%p = pad %g {begin = 16}" + lead + "ffn]";
  const std::string copied = "%b = broadcast %g" + lead + "ffn/tp, hidden]\n  ";
  const std::string summed = "%c = broadcast_backward %b" + lead + "hidden]";
  for (const std::string& op :
       {padded, "%j = concat %g, %g" + lead + "ffn]", copied + summed + " +tp"})
    EXPECT_EQ(findingsWith("%up = linear", before(op)),
              std::vector<std::string>());
  auto expectDamage = [&](const std::string& op, const std::string& finding) {
    expectFound("%up = linear", before(op), finding);
  };
  expectDamage("%p = pad %g {begin = 17}" + lead + "ffn]",
               "the part does not lie in its row");
  expectDamage("%p = pad %g {begin = 0}" + lead + "ffn/tp]", "a row is split");
  expectDamage("%j = concat %g, %g" + lead + "hidden]",
               "the widths do not add up");
  expectDamage(copied + summed, "partial sums differ");
  expectDamage("%b = broadcast %g" + lead + "ffn/tp, ffn]",
               "dimensions differ");
}

TEST(Verify, Collectives) {
  expectFound("all_reduce %down over tp", "all_reduce %down over dp",
              "no sum over the group");
  expectFound("all_gather %s over tp", "all_gather %s over dp",
              "the group does not split it");
  expectFound("reduce_scatter %x over tp {dim = 1}",
              "reduce_scatter %x over tp {dim = 2}", "not the collective's");
  expectFound("reduce_scatter %x over tp {dim = 1}",
              "reduce_scatter %x over tp {dim = 3}", "is not there");
  expectFound("all_reduce %down over tp {reduce", "all_reduce %down {reduce",
              "the group is empty");
  expectFound("slice %y {axis", "slice %down {axis", "is sliced");
}

TEST(Verify, RowsElsewhere) {
  EXPECT_EQ(findingsWith("[32, 16]", "[32, 16] from 8 of 40"),
            std::vector<std::string>());
  expectFound("[32, 16]", "[32, 16] from 9 of 40",
              "`embed.weight` begins at row 9 of the 40");
  expectFound("[32, 16]", "[32, 16] from -1 of 40", "begins at row -1");
}

TEST(Verify, References) {
  std::string error;
  Module module = *parse(sound, error);
  module.functions[0].ops[3].operands.pop_back();
  EXPECT_EQ(verify(module).at(0),
            "in `forward`: `linear` up has 1 operands instead of 2");
  module = *parse(sound, error);
  module.functions[0].ops[3].operands[0] = ValueId(1000);
  EXPECT_EQ(verify(module).at(0),
            "in `forward`: `linear` up refers to a value that is none");
  module = *parse(sound, error);
  module.values[5].name = module.values[4].name;
  EXPECT_EQ(verify(module).at(0).substr(0, 20), "two values are named");
}

} // namespace
} // namespace recipec::ir
