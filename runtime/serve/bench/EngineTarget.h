// The engine as the target of a benchmark.

#ifndef RECIPERUN_SERVE_BENCH_ENGINETARGET_H
#define RECIPERUN_SERVE_BENCH_ENGINETARGET_H

#include "runtime/serve/bench/BenchRun.h"
#include "runtime/serve/engine/Engine.h"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace reciperun::serve {

/// Ignores end tokens, so that an answer has exactly the tokens asked for.
class EngineTarget : public BenchTarget {
public:
  /// Each request has a seed of its own. Requests use the adapters of these
  /// names in turn, if there are any. `engine` must outlive this object.
  EngineTarget(Engine& engine, SamplingOptions sampling,
               std::vector<std::string> adapters = {})
      : engine(engine), sampling(std::move(sampling)),
        adapters(std::move(adapters)) {
    this->sampling.ignoreEndTokens = true;
  }

  /// Also fails when prompt and answer are longer than the plan takes.
  Expected<int64_t> submit(const BenchRequest& request) override;
  Expected<std::vector<Event>> step() override;

private:
  Engine& engine;
  SamplingOptions sampling;
  std::vector<std::string> adapters;
  size_t requests = 0;
};

} // namespace reciperun::serve

#endif // RECIPERUN_SERVE_BENCH_ENGINETARGET_H
