// Analysis through its API, for cases that a shell test cannot reach:
// programmatic overrides, several recipes of one file, limits, and damaged
// input.

#include "compiler/recipe/Format.h"
#include "test/compiler/sema/LibraryLoader.h"

#include <gtest/gtest.h>

#include <optional>
#include <random>

namespace recipec::sema {
namespace {

constexpr const char* tinyText = R"(
import std.models.llama

recipe first {
  task = "sft"
  model = llama.llama {
    vocab = 64, hidden = 32, ffn = 64, layers = 2, heads = 4, kv_heads = 2
  }
  adapter = lora { rank = 2 }
  tokenizer = "tokenizer.json"
  cluster { hardware = cpu, ranks = 4 }
  parallel { tp = 2 }
  batch { global = 8, micro = 2 }
  data { train = jsonl("x", prompt = "p", completion = "c"), sequence = 16 }
  train { steps = 3 }
}

recipe second amends first {
  batch { global = 16 }
}
)";

/// One analysis and the objects that it refers to.
class Fixture {
public:
  SourceMap sources;
  diag::Engine engine;
  LibraryLoader loader{sources, engine};
  Request request;

  void open(const std::string& text) {
    request.file = loader.parse("test.recipe", text, SourceKind::file);
    for (const std::string& name : recipeNames(*request.file))
      request.recipe = name; // the last
  }
  void set(const std::string& text) {
    SourceId id = sources.add("--set", text, SourceKind::commandLine);
    auto parsed = parse::parseOverride(sources, id, engine);
    ASSERT_TRUE(parsed) << text;
    settings.push_back(std::move(*parsed));
    const parse::Override& last = settings.back();
    request.overrides.push_back({&last.file, last.path, last.value});
  }
  std::optional<recipe::Recipe> run() {
    if (request.recipe.empty())
      return std::nullopt;
    return analyze(sources, request, loader, engine);
  }
  std::string messages() const { return diag::render(engine, sources); }

private:
  std::deque<parse::Override> settings;
};

TEST(Analyze, TakesTheNamedRecipe) {
  Fixture test;
  test.open(tinyText);
  EXPECT_EQ(recipeNames(*test.request.file),
            (std::vector<std::string>{"first", "second"}));
  auto last = test.run();
  ASSERT_TRUE(last) << test.messages();
  EXPECT_EQ(last->name, "second");
  EXPECT_EQ(last->integer("batch.accumulation"), 4);
  test.request.recipe = "first";
  auto first = test.run();
  ASSERT_TRUE(first) << test.messages();
  EXPECT_EQ(first->integer("batch.accumulation"), 2);
  EXPECT_EQ(first->string("train.dir"), "runs/first");
}

TEST(Analyze, MakesTheGenerationPlanOfATrainingRecipe) {
  Fixture test;
  test.open(tinyText);
  for (const char* text :
       {"task=\"generate\"", "cluster.ranks=1", "parallel.dp=auto",
        "parallel.tp=1", "parallel.sequence=auto", "adapter=none",
        "batch.global=1", "batch.micro=1"})
    test.set(text);
  auto result = test.run();
  ASSERT_TRUE(result) << test.messages();
  EXPECT_EQ(result->string("task"), "generate");
  EXPECT_EQ(result->integer("parallel.dp"), 1);
  EXPECT_FALSE(result->boolean("parallel.sequence"));
  EXPECT_TRUE(result->at("adapter").isNone());
  EXPECT_EQ(result->string("cluster.hardware.name"), "cpu");
  EXPECT_EQ(result->at("task").origin.kind, recipe::Origin::Kind::commandLine);
}

TEST(Analyze, GivesEveryTensorOneDefinition) {
  Fixture test;
  test.open(tinyText);
  auto result = test.run();
  ASSERT_TRUE(result) << test.messages();
  const recipe::Dataflow& model = result->model;
  std::vector<bool> isDefined(size_t(model.tensorCount));
  isDefined[size_t(model.tokens)] = true;
  for (const recipe::Call& call : model.calls) {
    for (recipe::TensorId operand : call.operands)
      EXPECT_TRUE(operand == recipe::TensorId::none ||
                  isDefined[size_t(operand)])
          << call.op;
    EXPECT_FALSE(isDefined[size_t(call.result)]) << call.op;
    isDefined[size_t(call.result)] = true;
    EXPECT_LT(call.layer, 2);
  }
  EXPECT_TRUE(isDefined[size_t(model.output)]);
}

TEST(Analyze, IsTheSameTwice) {
  auto textOf = [] {
    Fixture test;
    test.open(tinyText);
    auto result = test.run();
    EXPECT_TRUE(result) << test.messages();
    return result ? recipe::formatValue(result->settings, result->model.dims)
                  : std::string();
  };
  EXPECT_EQ(textOf(), textOf());
}

TEST(Analyze, BoundsChainsOfValues) {
  Fixture test;
  std::string text = "let a0 = 1\n";
  for (int i = 1; i < 5000; ++i)
    text +=
        "let a" + std::to_string(i) + " = a" + std::to_string(i - 1) + " + 1\n";
  // The last one comes first, so that the whole chain is evaluated at once.
  test.open("let last = a4999\n" + text + tinyText);
  EXPECT_FALSE(test.run());
  EXPECT_EQ(test.engine.errors(), 1) << test.messages();
  EXPECT_NE(test.messages().find("in a chain"), std::string::npos);
}

/// A recipe whose model has `field`, with `declarations` before it.
std::string recipeWith(const std::string& declarations,
                       const std::string& field) {
  return declarations + R"(
model net {
  vocab : dim = 8
  hidden : dim = 4
  )" + field +
         R"(
  block forward(tokens) {
    table = parameter([vocab, hidden], name = "embed")
    return linear(embedding(tokens, table), hidden -> vocab, weight = table)
  }
}
recipe job {
  model = net {}
  cluster { hardware = cpu }
  batch { global = 1 }
  data { train = mock(), sequence = 4 }
  train { steps = 1 }
}
)";
}

TEST(Analyze, BoundsSharedLists) {
  // Each list holds the previous one twice: 2^40 elements when expanded.
  Fixture test;
  std::string text = "let l0 = [1]\n";
  for (int i = 1; i <= 40; ++i)
    text += "let l" + std::to_string(i) + " = [l" + std::to_string(i - 1) +
            ", l" + std::to_string(i - 1) + "]\n";
  test.open(recipeWith(text, "deep : any = l40"));
  EXPECT_FALSE(test.run());
  EXPECT_EQ(test.engine.errors(), 1) << test.messages();
}

TEST(Analyze, BoundsRecordsInThemselves) {
  Fixture test;
  test.open(recipeWith("schema node {\n  next : node = node {}\n}\n",
                       "deep : node = node {}"));
  EXPECT_FALSE(test.run());
  EXPECT_EQ(test.engine.errors(), 1) << test.messages();
}

/// Replaces, removes or repeats a random token. The result must either compile
/// or give a message.
TEST(Analyze, NeverFallsSilent) {
  const std::string text = tinyText;
  const std::vector<std::string> tokens = {
      "none", "auto",  "0",    "-1",     "\"x\"",   "[]",    "llama", "lora",
      "{}",   "tp",    "0.5",  "1GiB",   "3 steps", "cpu",   "outer", "model",
      "name", "first", "true", "mock()", "1/0",     "ranks", "2*3",   "[1, 2]"};
  std::mt19937 random(7);
  Fixture test; // parses the library once
  for (int round = 0; round < 400; ++round) {
    std::string damaged = text;
    for (int i = 0; i < 2; ++i) {
      size_t begin = random() % damaged.size();
      while (begin > 0 && std::isalnum((unsigned char)damaged[begin - 1]))
        --begin;
      size_t end = begin;
      while (end < damaged.size() && std::isalnum((unsigned char)damaged[end]))
        ++end;
      damaged.replace(begin, end - begin, tokens[random() % tokens.size()]);
    }
    int before = test.engine.errors();
    test.open(damaged);
    if (test.engine.errors() > before)
      continue;
    bool isAnalyzed = test.run().has_value();
    EXPECT_NE(isAnalyzed, test.engine.errors() > before) << damaged;
  }
}

} // namespace
} // namespace recipec::sema
