// The verifier: a sound Program has no findings, and each kind of damage has a
// finding that names it.

#include "compiler/ir/Verify.h"

#include "SoundProgram.h"

#include <gtest/gtest.h>

namespace recipec::ir {
namespace {

const SoundProgram program(R"(program test f32
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
  %x = embedding %tokens, @embed.weight over tp : f32[batch/dp, sequence, hidden] +tp
  %s = reduce_scatter %x over tp {dim = 1} : f32[batch/dp, sequence/tp, hidden]
  %g = all_gather %s over tp {dim = 1} : saved f32[batch/dp, sequence, hidden]
  %up = linear %g, @up.weight : f32[batch/dp, sequence, ffn/tp]
  %act = silu %up : f32[batch/dp, sequence, ffn/tp]
  %down = linear %act, @down.weight : f32[batch/dp, sequence, hidden] +tp
  %y = all_reduce %down over tp {reduce = "sum"} : f32[batch/dp, sequence, hidden]
  %z = slice %y over tp {dim = 1} : f32[batch/dp, sequence/tp, hidden]
}
function backward {
  %d = zero : f32[batch/dp, sequence, ffn/tp]
  %grad.up.weight = linear_wgrad %g, %d
  %dg = linear_dgrad %d, @up.weight : f32[batch/dp, sequence, hidden] +tp
}
)");

TEST(Verify, ASoundProgramHasNoFindings) {
  program.expectSound();
}

TEST(Verify, Life) {
  program.expectFound("_wgrad %g,", "_wgrad %act,", "`act` is read before");
  program.expectFound("%d = zero", "%tokens = zero\n  %d = zero",
                      "an input is written");
}

TEST(Verify, Dimensions) {
  program.expectFound("%act = silu %up : f32[batch/dp, sequence, ffn/tp]",
                      "%act = silu %up : f32[batch/dp, sequence, hidden]",
                      "dimensions differ");
  program.expectFound("linear %g, @up.weight : f32[batch/dp, sequence, ffn/tp]",
                      "linear %g, @up.weight : f32[batch/dp, sequence, ffn]",
                      "dimensions differ");
  program.expectFound("linear %g, @up.weight", "linear %s, @up.weight",
                      "dimensions differ");
  program.expectFound("%act = silu %up : f32", "%act = silu %up : bf16",
                      "element types differ");
}

TEST(Verify, Shardings) {
  program.expectFound("dim ffn = 32", "dim ffn = 33",
                      "`grad.up.weight` is not split evenly");
  program.expectFound("saved f32[batch/dp, sequence, hidden]",
                      "saved f32[batch/dp, sequence/dp, hidden]",
                      "uses an axis twice");
}

TEST(Verify, PartialSums) {
  program.expectFound(
      "%down = linear %act, @down.weight : f32[batch/dp, sequence, "
      "hidden] +tp",
      "%down = linear %act, @down.weight : f32[batch/dp, sequence, "
      "hidden]",
      "not that of the contraction");
  program.expectFound("%act = silu %up",
                      "%v = silu %x : f32[batch/dp, sequence, "
                      "hidden]\n  %act = silu %up",
                      "goes into an op that is not linear");
  program.expectFound("gradient %grad.up.weight : f32[ffn/tp, hidden] +dp",
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
    EXPECT_EQ(program.findingsWith("%up = linear", before(op)),
              std::vector<std::string>());
  auto expectDamage = [&](const std::string& op, const std::string& finding) {
    program.expectFound("%up = linear", before(op), finding);
  };
  expectDamage("%p = pad %g {begin = 17}" + lead + "ffn]",
               "the slice does not lie in its dimension");
  expectDamage("%p = pad %g {begin = 0}" + lead + "ffn/tp]",
               "a sliced dimension is split");
  expectDamage("%p = pad %g {begin = 0, behind = 3}" + lead + "ffn]",
               "there is no dimension to slice");
  expectDamage("%j = concat %g, %g" + lead + "hidden]",
               "the widths do not add up");
  expectDamage(copied + summed, "partial sums differ");
  expectDamage("%b = broadcast %g" + lead + "ffn/tp, ffn]",
               "dimensions differ");
}

TEST(Verify, SlicesOfADimensionThatAnotherFollows) {
  const std::string lead = " : f32[batch/dp, sequence, ";
  auto with = [&](const std::string& split, const std::string& attributes,
                  const std::string& dims) {
    return "%b = broadcast %g" + lead + "ffn" + split +
           ", hidden]\n  %e = narrow %b {" + attributes + "}" + lead + dims +
           "]\n  %up = linear";
  };
  for (const std::string& op :
       {with("", "begin = 16, behind = 1", "hidden, hidden"),
        // A slice of one element lacks its dimension.
        with("", "begin = 31, behind = 1", "hidden")})
    EXPECT_EQ(program.findingsWith("%up = linear", op),
              std::vector<std::string>());
  program.expectFound("%up = linear",
                      with("", "begin = 17, behind = 1", "hidden, hidden"),
                      "the slice does not lie in its dimension");
  program.expectFound("%up = linear",
                      with("", "begin = 32, behind = 1", "hidden"),
                      "the slice does not lie in its dimension");
  program.expectFound("%up = linear",
                      with("/tp", "begin = 0, behind = 1", "hidden"),
                      "a sliced dimension is split");
  program.expectFound("%up = linear",
                      with("", "begin = 0, behind = 1", "hidden/tp"),
                      "the other dimensions differ");
}

TEST(Verify, Collectives) {
  program.expectFound("all_reduce %down over tp", "all_reduce %down over dp",
                      "no sum over the group");
  program.expectFound("all_gather %s over tp", "all_gather %s over dp",
                      "the group does not split it");
  program.expectFound("reduce_scatter %x over tp {dim = 1}",
                      "reduce_scatter %x over tp {dim = 2}",
                      "not the collective's");
  program.expectFound("reduce_scatter %x over tp {dim = 1}",
                      "reduce_scatter %x over tp {dim = 3}", "is not there");
  program.expectFound("all_reduce %down over tp {reduce",
                      "all_reduce %down {reduce", "the group is empty");
  program.expectFound("slice %y over", "slice %down over", "is sliced");
}

TEST(Verify, GroupsOfRanks) {
  program.expectFound("silu %up :", "silu %up over tp :", "has no group");
  program.expectFound(
      "over tp {dim = 1} : f32[batch/dp, sequence/tp, hidden]\n}",
      "over tp {axis = \"tp\", dim = 1} : f32[batch/dp, "
      "sequence/tp, hidden]\n}",
      "the attribute `axis` is unknown");
}

TEST(Verify, RowsElsewhere) {
  EXPECT_EQ(program.findingsWith("[32, 16]", "[32, 16] from 8 of 40"),
            std::vector<std::string>());
  program.expectFound("[32, 16]", "[32, 16] from 9 of 40",
                      "`embed.weight` begins at row 9 of the 40");
  program.expectFound("[32, 16]", "[32, 16] from -1 of 40", "begins at row -1");
}

TEST(Verify, References) {
  Module module = program.parsed();
  module.functions[0].ops[3].operands.pop_back();
  EXPECT_EQ(verify(module).at(0),
            "in `forward`: `linear` up has 1 operands instead of 2");
  module = program.parsed();
  module.functions[0].ops[3].operands[0] = ValueId(1000);
  EXPECT_EQ(verify(module).at(0),
            "in `forward`: `linear` up refers to a value that is none");
  module = program.parsed();
  module.values[5].name = module.values[4].name;
  EXPECT_EQ(verify(module).at(0).substr(0, 20), "two values are named");
}

} // namespace
} // namespace recipec::ir
