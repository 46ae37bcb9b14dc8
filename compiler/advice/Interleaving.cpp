// Interleaved pipelines (Narayanan et al. 2021): with m micro-batches and p
// stages of v chunks, stages wait during (p - 1) / (v * m + p - 1) of a step. A
// stage then keeps 1 + (p - 1) / (p * v) times the activations.

#include "compiler/advice/Rules.h"

namespace recipec::advice {
namespace {

/// A smaller bubble, as a fraction of the step, is not worth the messages of
/// more chunks.
constexpr double smallBubble = 0.05;

double bubbleOf(int64_t stages, int64_t chunks, int64_t microBatches) {
  return double(stages - 1) / double(chunks * microBatches + stages - 1);
}

/// The numbers of chunks, from 2 on, that divide the layers of a stage.
std::vector<int64_t> chunksOf(int64_t layersOfStage) {
  std::vector<int64_t> chunks;
  for (int64_t count = 2; count <= layersOfStage; ++count)
    if (layersOfStage % count == 0)
      chunks.push_back(count);
  return chunks;
}

/// "2, 4 and 8".
std::string listOf(const std::vector<int64_t>& numbers) {
  std::string text;
  for (size_t i = 0; i < numbers.size(); ++i)
    text += (i == 0                    ? ""
             : i + 1 == numbers.size() ? " and "
                                       : ", ") +
            std::to_string(numbers[i]);
  return text;
}

/// The layers of a stage, including the embedding and the loss if they count as
/// layers; 0 if the stages differ.
int64_t layersOfStage(const Facts& facts) {
  const recipe::Recipe& recipe = facts.recipe();
  const std::optional<int64_t> layers = facts.sizeOfModel("layers");
  const auto* each = std::get_if<int64_t>(&recipe.at("parallel.layers").data);
  const int64_t counted = layers.value_or(0) +
                          recipe.boolean("parallel.embedding_as_layer") +
                          recipe.boolean("parallel.loss_as_layer");
  const bool isEven = layers && each && *each * facts.degree("pp") == counted;
  return isEven ? *each : 0;
}

} // namespace

void adviseInterleaving(const Facts& facts, diag::Engine& engine) {
  const int64_t pp = facts.degree("pp");
  const int64_t microBatches = facts.recipe().integer("batch.accumulation");
  if (pp == 1 || facts.degree("vp") > 1 ||
      facts.recipe().string("parallel.schedule") != "1f1b" ||
      microBatches % pp != 0 || bubbleOf(pp, 1, microBatches) < smallBubble)
    return;
  const std::vector<int64_t> counts = chunksOf(layersOfStage(facts));
  for (int64_t chunks : counts) {
    Growth growth;
    growth.activations = 1 + double(pp - 1) / double(pp * chunks);
    const auto total = facts.fittingTotal(growth);
    if (!total)
      continue;
    auto builder =
        engine.report(diag::Kind::PipelineNotInterleaved,
                      facts.placeOf({"parallel.vp", "parallel.pp"}),
                      "stages wait for one another in " +
                          percent(bubbleOf(pp, 1, microBatches)) +
                          " of a step: `pp` = " + std::to_string(pp) +
                          " stages of one chunk take " +
                          std::to_string(microBatches) + " micro-batches");
    builder.note(
        "NVIDIA's guides interleave the chunks of stages where `pp` is "
        "above 1 (Megatron Bridge, performance guide; Megatron Core, "
        "MoE guide)");
    if (counts.size() > 1)
      builder.note("the layers of a stage divide into " + listOf(counts) +
                   " chunks: more chunks wait less and send more messages");
    facts.propose(builder, "parallel", {{"vp", std::to_string(chunks)}},
                  "interleave chunks: ",
                  " waits in " + percent(bubbleOf(pp, chunks, microBatches)) +
                      " of a step and takes " + facts.memoryText(*total));
    return;
  }
}

} // namespace recipec::advice
