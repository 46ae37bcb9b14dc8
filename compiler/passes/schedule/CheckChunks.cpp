// 1. When `parallel.layers` is not a list, check that an equal number of layers
//    per chunk adds up.
// 2. Check that the chunks cover exactly the layers that `forward` runs.

#include "compiler/passes/schedule/CheckChunks.h"

#include "compiler/passes/schedule/Stages.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <variant>
#include <vector>

namespace recipec::passes {
namespace {

/// The settings from which the schema derives the chunks.
struct Counts {
  explicit Counts(const recipe::Recipe& recipe)
      : stages(recipe.integer("parallel.pp")),
        chunks(stages * recipe.integer("parallel.vp")),
        first(recipe.boolean("parallel.embedding_as_layer")),
        last(recipe.boolean("parallel.loss_as_layer")) {
    const recipe::Value* layers = recipe.find("model.layers");
    if (layers && (std::holds_alternative<int64_t>(layers->data) ||
                   std::holds_alternative<recipe::DimValue>(layers->data)))
      counted = recipe.count("model.layers") + first + last;
  }

  int64_t stages = 1;
  int64_t chunks = 1;  // of the model
  int64_t first = 0;   // layers that the embedding counts as
  int64_t last = 0;    // layers that the loss counts as
  int64_t counted = 0; // layers, embedding and loss; 0: no `layers`
};

/// As even as possible; the first chunks are one layer longer.
std::vector<int64_t> evenChunks(const Counts& counts) {
  std::vector<int64_t> layers;
  for (int64_t i = 0; i < counts.chunks; ++i)
    layers.push_back(counts.counted / counts.chunks +
                     (i < counts.counted % counts.chunks));
  layers.front() -= counts.first;
  layers.back() -= counts.last;
  return layers;
}

std::string listText(const std::vector<int64_t>& numbers) {
  std::string text;
  for (int64_t number : numbers)
    text += (text.empty() ? "" : ", ") + std::to_string(number);
  return "[" + text + "]";
}

/// Proposes the next smaller and the next larger `vp` that divides the layers.
diag::Proposal otherInterleaving(const Counts& counts) {
  diag::Proposal proposal{"change `vp` to ", {}, ""};
  const int64_t now = counts.chunks / counts.stages;
  const int64_t most = now > 1 ? counts.counted / counts.stages : 0;
  auto tryChunks = [&](int64_t chunks) {
    if (counts.counted % (counts.stages * chunks) != 0)
      return false;
    const std::string text = std::to_string(chunks);
    proposal.ways.push_back(
        {text, {"parallel.vp=" + text, "parallel.layers=auto"}});
    return true;
  };
  for (int64_t chunks = now - 1; chunks > 1; --chunks)
    if (tryChunks(chunks))
      break;
  for (int64_t chunks = now + 1; chunks <= most; ++chunks)
    if (tryChunks(chunks))
      break;
  return proposal;
}

/// Proposes to count the embedding or the loss as a layer as well, where only
/// the other one counts.
diag::Proposal bothEnds(const Counts& counts) {
  const std::string other =
      counts.first ? "parallel.loss_as_layer" : "parallel.embedding_as_layer";
  return {
      "", {{"set `" + other + "` to `true` as well", {other + "=true"}}}, ""};
}

/// Proposes to leave out the setting by which the embedding or the loss counts
/// as a layer.
diag::Proposal withoutCounting(const recipe::Recipe& recipe,
                               const std::string& counting) {
  const std::string name = counting.substr(counting.find('.') + 1);
  return {"",
          {{"leave `" + name + "` out: the " +
                std::to_string(recipe.count("model.layers")) +
                " layers divide without it",
            {counting + "=false"}}},
          ""};
}

/// Checks that equal chunks add up to the number of layers, counting the
/// embedding and the loss where the recipe says so.
bool checkDivision(const recipe::Recipe& recipe, diag::Engine& engine) {
  const Counts counts(recipe);
  const auto* each = std::get_if<int64_t>(&recipe.at("parallel.layers").data);
  if (!each || *each * counts.chunks == counts.counted || counts.counted == 0)
    return true;
  const char* among =
      counts.first + counts.last > 0 ? ", embedding or loss among them," : "";
  const bool areSeveral = recipe.integer("parallel.vp") > 1;
  // The layers alone would divide: the embedding or the loss, which the user's
  // setting counts, is the cause.
  const char* counting =
      counts.first ? "parallel.embedding_as_layer" : "parallel.loss_as_layer";
  const bool isCounting =
      counts.first + counts.last == 1 &&
      (counts.counted - 1) % counts.chunks == 0 &&
      recipe.at(counting).origin.kind != recipe::Origin::Kind::defaultValue;
  const char* degree = areSeveral ? "parallel.vp" : "parallel.pp";
  const char* primary = isCounting ? counting : degree;
  const char* other = areSeveral || isCounting ? "parallel.pp" : "parallel.vp";
  auto builder = engine.report(
      diag::Kind::Indivisible, recipe.at(primary).origin.range,
      std::to_string(counts.counted) + " layers" + among +
          " do not divide into `pp` * `vp` = " + std::to_string(counts.chunks) +
          " chunks");
  if (recipe.at(other).origin.kind == recipe::Origin::Kind::written)
    builder.label(recipe.at(other).origin.range,
                  "`" + std::string(other).substr(sizeof("parallel.") - 1) +
                      "` is " + std::to_string(recipe.integer(other)));
  builder.label(recipe.at("model.layers").origin.range,
                "`layers` = " + std::to_string(recipe.count("model.layers")) +
                    " is given here");
  if (isCounting && counts.chunks == 2)
    builder.propose(bothEnds(counts));
  else if (isCounting)
    builder.propose(withoutCounting(recipe, counting));
  builder.propose(otherInterleaving(counts))
      .propose(otherChunks(recipe))
      .otherwise("choose `pp` and `vp` whose product divides " +
                 std::to_string(counts.counted) +
                 ", or list the layers of each chunk in `layers`");
  return false;
}

/// Checks that the chunks have as many layers as `forward` runs: one per
/// iteration of its outermost `for`.
void checkRun(const recipe::Recipe& recipe, diag::Engine& engine) {
  const std::vector<int64_t> chunks = layersOfChunks(recipe);
  const int64_t listed =
      std::accumulate(chunks.begin(), chunks.end(), int64_t(0));
  int64_t run = 0;
  for (const recipe::Call& call : recipe.model.calls)
    run = std::max<int64_t>(run, call.layer + 1);
  if (listed == run)
    return;
  engine
      .report(diag::Kind::InvalidValue, recipe.at("model").origin.range,
              "`pp` * `vp` = " + std::to_string(chunks.size()) +
                  " chunks share out " + std::to_string(listed) +
                  " layers, and `forward` of the model runs " +
                  std::to_string(run))
      .help("let a field `layers` of the model say how many iterations the "
            "outermost `for` of `forward` makes");
}

} // namespace

void checkChunks(const recipe::Recipe& recipe, diag::Engine& engine) {
  if (checkDivision(recipe, engine))
    checkRun(recipe, engine);
}

diag::Proposal otherChunks(const recipe::Recipe& recipe) {
  const Counts counts(recipe);
  diag::Proposal proposal;
  const int64_t ofStage = counts.chunks / counts.stages;
  if (counts.counted >= counts.stages) {
    const std::string list = listText(evenChunks(counts));
    proposal.ways.push_back(
        {"set `parallel.layers` to " + list, {"parallel.layers=" + list}});
  }
  auto propose = [&](int64_t stages) {
    const std::string text = std::to_string(stages);
    proposal.ways.push_back({"change `pp` to " + text,
                             {"parallel.pp=" + text, "parallel.layers=auto"}});
  };
  for (int64_t stages = counts.stages - 1; stages > 0; --stages)
    if (counts.counted % (stages * ofStage) == 0) {
      propose(stages);
      break;
    }
  for (int64_t stages = counts.stages + 1; stages <= counts.counted; ++stages)
    if (counts.counted % (stages * ofStage) == 0) {
      propose(stages);
      break;
    }
  return proposal;
}

} // namespace recipec::passes
