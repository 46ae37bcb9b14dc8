// See FitJob.h.

#include "compiler/import/FitJob.h"

#include <algorithm>

namespace recipec::importer {
namespace {

void fitExperts(Job& job, const ModelFacts& facts) {
  Layout& layout = job.layout;
  if (facts.experts > 0 && !layout.etp)
    layout.etp = layout.tp;
  if (facts.experts > 0 || (layout.ep == 1 && layout.etp.value_or(1) == 1))
    return;
  if (layout.ep > 1)
    job.omit("ep = " + std::to_string(layout.ep), "the model has no experts");
  layout.ep = 1;
  layout.etp = 1;
}

/// Sets a field of the model, also one that the configuration gives.
void setField(Model& model, Setting field) {
  std::erase_if(model.fields,
                [&](const Setting& each) { return each.path == field.path; });
  model.fields.push_back(std::move(field));
}

/// Megatron's `make_vocab_size_divisible_by`.
constexpr int64_t vocabUnit = 128;

void fitVocabulary(Job& job, int64_t vocab) {
  if (vocab % job.layout.tp == 0)
    return;
  const int64_t unit = vocabUnit * job.layout.tp;
  setField(job.model,
           {"vocab", std::to_string((vocab + unit - 1) / unit * unit),
            "padded to a multiple of 128 * `tp`"});
}

/// The sequence length of configurations that do not give one.
constexpr int64_t usualSequence = 4096;

void fitPositions(Job& job, int64_t maxPositions) {
  if (job.sequence == 0) {
    job.sequence = std::min(usualSequence, maxPositions);
    job.remarks.push_back("The configuration says no length of sequences: the "
                          "recipe takes " +
                          std::to_string(job.sequence) + ".");
  }
  if (job.sequence > maxPositions)
    setField(job.model, {"max_positions", std::to_string(job.sequence)});
}

bool fillsNodes(const Layout& layout) {
  const int64_t part = layout.tp * layout.cp * layout.pp;
  return part > 0 && layout.ranks % part == 0;
}

void fitChunks(Job& job, int64_t layers) {
  const int64_t chunks = job.layout.pp * job.layout.vp;
  if (chunks <= 1 || layers % chunks == 0 || !fillsNodes(job.layout))
    return;
  const bool hasBoth = (layers + 2) % chunks == 0;
  if (hasBoth)
    job.set("parallel.embedding_as_layer", "true");
  if (hasBoth || (layers + 1) % chunks == 0) {
    job.set("parallel.loss_as_layer", "true");
    return;
  }
  const int64_t share = (layers + chunks - 1) / chunks;
  const int64_t rest = layers - share * (chunks - 1);
  if (rest > 0)
    job.set("parallel.layers", "[" + std::to_string(share) + " for i in 0.." +
                                   std::to_string(chunks - 1) + "] + [" +
                                   std::to_string(rest) + "]");
}

} // namespace

void fitJob(Job& job, const ModelFacts& facts) {
  const bool isListed =
      std::ranges::any_of(job.settings, [](const Setting& each) {
        return each.path == "parallel.layers" ||
               each.path.ends_with("_as_layer");
      });
  fitExperts(job, facts);
  if (facts.vocab > 0 && job.layout.tp > 1)
    fitVocabulary(job, facts.vocab);
  if (facts.maxPositions > 0)
    fitPositions(job, facts.maxPositions);
  if (facts.layers > 0 && !isListed)
    fitChunks(job, facts.layers);
}

} // namespace recipec::importer
