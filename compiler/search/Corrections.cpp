// Ratios of compiled to predicted values; see Corrections.h.

#include "compiler/search/Corrections.h"

namespace recipec::search {
namespace {

std::pair<int64_t, int64_t> pipelineOf(const Layout& layout) {
  return {layout.pp, layout.vp};
}

std::pair<bool, bool> kindOf(const Layout& layout) {
  return {layout.pp > 1, layout.vp > 1};
}

} // namespace

void Corrections::learn(const Layout& layout, const Prediction& prediction,
                        const Outcome& outcome) {
  if (!outcome.isValid || prediction.seconds <= 0 || prediction.bytes <= 0)
    return;
  for (Mean* mean :
       {&byPipeline[pipelineOf(layout)], &byKind[kindOf(layout)], &all}) {
    mean->seconds += outcome.stepSeconds / prediction.seconds;
    mean->bytes += double(outcome.memory.total) / prediction.bytes;
    mean->count += 1;
  }
}

const Corrections::Mean* Corrections::meanFor(const Layout& layout) const {
  if (auto found = byPipeline.find(pipelineOf(layout));
      found != byPipeline.end())
    return &found->second;
  if (auto found = byKind.find(kindOf(layout)); found != byKind.end())
    return &found->second;
  return all.count > 0 ? &all : nullptr;
}

Prediction Corrections::apply(const Layout& layout,
                              const Prediction& prediction) const {
  const Mean* mean = meanFor(layout);
  if (!mean)
    return prediction;
  return {prediction.seconds * mean->seconds / mean->count,
          prediction.bytes * mean->bytes / mean->count};
}

} // namespace recipec::search
