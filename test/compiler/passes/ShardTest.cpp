// Graph → Program: the collectives of a layer and their operands.

#include "compiler/passes/shard/Shard.h"
#include "compiler/ir/Parse.h"
#include "compiler/ir/Print.h"
#include "compiler/ir/Verify.h"
#include "compiler/passes/build/Adapt.h"
#include "compiler/passes/build/Build.h"
#include "compiler/passes/fuse/Fuse.h"
#include "runtime/ops/OpTable.h"
#include "test/compiler/passes/RecipeWriter.h"

#include <gtest/gtest.h>

namespace recipec::passes {
namespace {

using test::RecipeWriter;

ir::Module sharded(RecipeWriter writer, int layers = 1) {
  recipe::Recipe recipe = test::llama(writer, layers);
  diag::Engine engine;
  ir::Module module = build(recipe, trainingExtent(recipe), engine);
  adapt(module, recipe, engine);
  fuse(module);
  shard(module, layoutOf(recipe));
  EXPECT_EQ(ir::verify(module), std::vector<std::string>());
  return module;
}

RecipeWriter degrees(int64_t dp, int64_t tp, bool sequence) {
  RecipeWriter writer;
  writer.degrees(dp, tp, sequence);
  return writer;
}

/// `op operand` of the collectives of `forward`, in order.
std::vector<std::string> collectives(const ir::Module& module) {
  std::vector<std::string> list;
  for (const ir::Op& op : module.functions[0].ops)
    if (ops::traitsOf(op.kind).isCollective || op.kind == ir::OpKind::Slice)
      list.push_back(std::string(ops::opName(op.kind)) + " " +
                     module[op.operands[0]].name);
  return list;
}

using List = std::vector<std::string>;

std::string typeOf(const ir::Module& module, const std::string& name) {
  for (size_t i = 0; i < module.values.size(); ++i)
    if (module.values[i].name == name)
      return ir::printType(module, ir::ValueId(i));
  return "none";
}

TEST(Shard, OneRankPaysNothing) {
  ir::Module module = sharded(degrees(1, 1, false));
  EXPECT_EQ(collectives(module), List());
  EXPECT_EQ(typeOf(module, "layers.0.q"),
            "f32[batch, sequence, heads, head_dim]");
}

TEST(Shard, DataParallelismSplitsTheBatch) {
  ir::Module module = sharded(degrees(2, 1, true));
  EXPECT_EQ(collectives(module), List());
  EXPECT_EQ(typeOf(module, "layers.0.add"), "f32[batch/dp, sequence, hidden]");
  EXPECT_EQ(typeOf(module, "loss"), "f64[] +dp");
  EXPECT_EQ(typeOf(module, "embed.weight"), "f32[vocab, hidden]");
}

TEST(Shard, TensorParallelismPaysTwoAllReducesALayer) {
  ir::Module module = sharded(degrees(1, 2, false));
  EXPECT_EQ(collectives(module),
            (List{"all_reduce embedding", "all_reduce layers.0.o",
                  "all_reduce layers.0.down", "all_reduce loss.max",
                  "all_reduce loss.stats"}));
  EXPECT_EQ(typeOf(module, "layers.0.o"), "f32[batch, sequence, hidden] +tp");
  EXPECT_EQ(typeOf(module, "lm_head"), "f32[batch, sequence, vocab/tp]");
  EXPECT_EQ(typeOf(module, "layers.0.o.weight"),
            "f32[hidden, heads/tp, head_dim]");
}

TEST(Shard, SequenceParallelismGathersOnceForAllReaders) {
  ir::Module module = sharded(degrees(2, 2, true));
  EXPECT_EQ(collectives(module),
            (List{"reduce_scatter embedding", "all_gather layers.0.input_norm",
                  "reduce_scatter layers.0.o", "all_gather layers.0.post_norm",
                  "reduce_scatter layers.0.down", "all_gather norm",
                  "all_reduce loss.max", "all_reduce loss.stats"}));
  EXPECT_EQ(typeOf(module, "layers.0.add"),
            "f32[batch/dp, sequence/tp, hidden]");
  EXPECT_EQ(typeOf(module, "layers.0.input_norm.rstd"),
            "f32[batch/dp, sequence/tp]");
}

TEST(Shard, NoRankHoldsWholeLogits) {
  for (bool sequence : {false, true}) {
    ir::Module module = sharded(degrees(1, 4, sequence));
    for (size_t i = 0; i < module.values.size(); ++i) {
      const ir::Value& value = module.values[i];
      if (!value.dims.empty() &&
          value.dims.back() == ir::findDim(module, "vocab")) {
        EXPECT_FALSE(value.sharding.dims.back().empty()) << value.name;
      }
    }
  }
}

// The partial sums of a row-parallel linear and of its adapter are added before
// the single collective.
TEST(Shard, AnAdapterOfARowParallelLinearPaysNothing) {
  RecipeWriter writer = degrees(1, 2, true);
  writer.lora(2, 0.1, {"o", "down"});
  EXPECT_EQ(collectives(sharded(writer)),
            collectives(sharded(degrees(1, 2, true))));
}

// The adapter of a column-parallel linear gathers only its narrow output. The
// wide operand of its dropout stays sharded.
TEST(Shard, AnAdapterOfAColumnParallelLinearGathersItsRank) {
  RecipeWriter writer = degrees(1, 2, true);
  writer.lora(2, 0.1, {"q"});
  ir::Module module = sharded(writer);
  List list = collectives(module);
  EXPECT_EQ(list[2], "slice places"); // of the dropout's operand
  EXPECT_EQ(list[3], "all_gather layers.0.q.lora_a");
  EXPECT_EQ(typeOf(module, "layers.0.q.lora_dropout"),
            "f32[batch, sequence/tp, hidden]");
}

TEST(Shard, DropoutKnowsTheAxesOfItsOperand) {
  RecipeWriter writer = degrees(2, 2, true);
  writer.lora(2, 0.1, {"q", "o"});
  ir::Module module = sharded(writer);
  std::vector<List> axes;
  for (const ir::Op& op : module.functions[0].ops)
    if (op.kind == ir::OpKind::Dropout)
      axes.push_back(std::get<List>(op.attributes.at("axes")));
  EXPECT_EQ(axes, (std::vector<List>{{"dp", "tp", ""}, {"dp", "", "tp", ""}}));
}

// Like a layer of attention: the sequence is gathered once for all linears of
// the projection, and scattered after the last one.
TEST(Shard, AMixerPaysOneGatherAndOneScatter) {
  RecipeWriter w = degrees(2, 2, true);
  auto vocab = w.dim("vocab", 32), hidden = w.dim("hidden", 16);
  auto x = w.embedding(w.tokens(), w.parameter("embed", {vocab, hidden}));
  RecipeWriter::Mamba mixer{w.dim("mamba_heads", 6), w.dim("mamba_width", 2),
                            w.dim("groups", 2), w.dim("state", 5)};
  x = w.op("add", {x, w.mamba2("mixer", w.norm("norm", x), hidden, mixer)});
  recipe::Recipe recipe = w.finish(w.linear("lm_head", x, {hidden}, {vocab}));
  diag::Engine engine;
  ir::Module module = build(recipe, trainingExtent(recipe), engine);
  shard(module, layoutOf(recipe));
  EXPECT_EQ(ir::verify(module), std::vector<std::string>());
  EXPECT_EQ(collectives(module),
            (List{"reduce_scatter embedding", "all_gather norm",
                  "reduce_scatter mixer.out_proj", "all_gather mixer.add",
                  "all_reduce loss.max", "all_reduce loss.stats"}));
  EXPECT_EQ(typeOf(module, "mixer.scan.states"),
            "f32[batch/dp, mamba_groups/tp, mamba_chunks, mamba_channels, "
            "mamba_state]");
  EXPECT_EQ(typeOf(module, "mixer.norm.weight"),
            "f32[mamba_groups/tp, mamba_channels]");
}

TEST(Shard, ProgramsPrintAndParse) {
  RecipeWriter writer = degrees(2, 2, true);
  writer.lora(2, 0.1, {"q", "o"});
  std::string text = ir::print(sharded(writer, 2));
  std::string error;
  std::optional<ir::Module> again = ir::parse(text, error);
  ASSERT_TRUE(again) << error;
  EXPECT_EQ(ir::print(*again), text);
  EXPECT_EQ(ir::verify(*again), std::vector<std::string>());
}

// The compile time must not grow with the square of the layers.
TEST(Shard, OpsGrowLinearlyWithLayers) {
  auto ops = [](int layers) {
    return sharded(degrees(2, 2, true), layers).functions[0].ops.size();
  };
  size_t one = ops(1), two = ops(2), nine = ops(9);
  EXPECT_EQ(nine - one, 8 * (two - one));
}

} // namespace
} // namespace recipec::passes
