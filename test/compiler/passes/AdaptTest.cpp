// LoRA on a Graph: the trained parameters, the added ops, and their names.

#include "compiler/passes/build/Adapt.h"
#include "compiler/ir/Print.h"
#include "compiler/ir/Verify.h"
#include "compiler/passes/build/Build.h"
#include "runtime/ops/OpKind.h"
#include "test/compiler/passes/RecipeWriter.h"

#include <gtest/gtest.h>

#include <cmath>

namespace recipec::passes {
namespace {

using test::RecipeWriter;

ir::Module adapted(RecipeWriter writer, diag::Engine& engine) {
  recipe::Recipe recipe = test::llama(writer, 2);
  ir::Module module = build(recipe, trainingExtent(recipe), engine);
  adapt(module, recipe, engine);
  EXPECT_EQ(ir::verify(module), std::vector<std::string>());
  return module;
}

TEST(Adapt, OnlyTheAdapterIsTrained) {
  RecipeWriter writer;
  writer.lora(4, 0.1, {"q", "down"});
  diag::Engine engine;
  ir::Module module = adapted(writer, engine);
  int trained = 0;
  for (const ir::Param& param : module.params) {
    trained += param.trainable;
    EXPECT_EQ(param.trainable, param.adapter) << param.name;
  }
  EXPECT_EQ(trained, 2 * 2 * 2);
}

TEST(Adapt, MatricesAreLinkedNamedAndInitialised) {
  RecipeWriter writer;
  writer.lora(4, 0.1, {"o"});
  diag::Engine engine;
  ir::Module module = adapted(writer, engine);
  for (const ir::Param& param : module.params) {
    if (param.name != "layers.1.o.weight")
      continue;
    EXPECT_EQ(param.loraScale, 2.0); // alpha 8 / rank 4
    const ir::Param &a = module[param.loraA], &b = module[param.loraB];
    EXPECT_EQ(a.name, "layers.1.o.lora_a.weight");
    EXPECT_EQ(a.hfName, "base_model.model.hf.layers.1.o.lora_A.weight");
    EXPECT_EQ(a.hfShape, (std::vector<int64_t>{4, 32}));
    EXPECT_EQ(ir::printType(module, a.value),
              "f32[lora_rank, heads, head_dim]");
    EXPECT_DOUBLE_EQ(a.init.scale, 1 / std::sqrt(3.0 * 32));
    EXPECT_EQ(b.name, "layers.1.o.lora_b.weight");
    EXPECT_EQ(b.hfName, "base_model.model.hf.layers.1.o.lora_B.weight");
    EXPECT_EQ(b.hfShape, (std::vector<int64_t>{16, 4}));
    EXPECT_EQ(b.init.kind, "zeros");
    return;
  }
  FAIL() << "no parameter";
}

TEST(Adapt, EachDropoutHasAStreamOfItsOwn) {
  RecipeWriter writer;
  writer.lora(4, 0.1, {"q", "k"});
  diag::Engine engine;
  ir::Module module = adapted(writer, engine);
  std::vector<int64_t> streams;
  for (const ir::Op& op : module.functions[0].ops)
    if (op.kind == ir::OpKind::Dropout)
      streams.push_back(std::get<int64_t>(op.attributes.at("stream")));
  EXPECT_EQ(streams, (std::vector<int64_t>{0, 1, 2, 3}));
  EXPECT_TRUE(module.bindings.contains("samples"));
}

TEST(Adapt, WithoutDropoutThereIsNoOpForIt) {
  RecipeWriter writer;
  writer.lora(4, 0.0, {"q"});
  diag::Engine engine;
  ir::Module module = adapted(writer, engine);
  for (const ir::Op& op : module.functions[0].ops)
    EXPECT_NE(op.kind, ir::OpKind::Dropout);
  EXPECT_FALSE(module.bindings.contains("samples"));
}

TEST(Adapt, WithoutAnAdapterNothingChanges) {
  diag::Engine engine;
  ir::Module module = adapted({}, engine);
  for (const ir::Param& param : module.params)
    EXPECT_TRUE(param.trainable);
}

TEST(AdaptFails, ATargetThatIsNoLinear) {
  RecipeWriter writer;
  writer.lora(4, 0.0, {"q", "gat"});
  diag::Engine engine;
  adapted(writer, engine);
  ASSERT_EQ(engine.errors(), 1);
  const diag::Diagnostic& error = engine.all()[0];
  EXPECT_EQ(error.message, "no linear op of the model is called `gat`");
  EXPECT_EQ(error.notes.at(0).message,
            "the linear ops are `down`, `gate`, `k`, `lm_head`, `o`, `q`, "
            "`up`, `v`");
  EXPECT_EQ(error.helps.at(0), "did you mean `\"gate\"`?");
}

} // namespace
} // namespace recipec::passes
