// Chooses among cuDNN's engines:
//   1. each is compiled and run; what it writes is compared in samples with
//      what the first one writes, and with what it writes itself again;
//   2. those that count take turns for several rounds, since clocks sink while
//      a GPU computes; a round gives each engine's time as a part of the first
//      one's;
//   3. the least median is chosen, where it is clearly less than the first's.

#include "runtime/device/cuda/CudnnChoice.h"

#include "runtime/device/BFloat16.h"
#include "runtime/device/cuda/Stopwatch.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace reciperun::device {
namespace {

constexpr int rounds = 5;
constexpr double clearly = 0.985; // of the first one's time
/// Of the largest element; engines add in other orders, and round what they
/// multiply to bf16.
constexpr double tolerance = 0x1p-5;
constexpr int64_t spanElements = 1 << 14;

/// What a plan has written: the begin, the middle and the end.
Expected<std::vector<float>> sample(const CudnnOutput& output) {
  const int64_t span = std::min(spanElements, output.elements);
  const size_t width = output.isFloat ? sizeof(float) : sizeof(bf16);
  std::vector<float> all;
  for (int64_t part = 0; part < 3; ++part) {
    const int64_t first = part * (output.elements - span) / 2;
    std::vector<char> bytes(size_t(span) * width);
    RECIPERUN_CUDA_TRY(cudaMemcpy, bytes.data(),
                       static_cast<const char*>(output.data) +
                           size_t(first) * width,
                       bytes.size(), cudaMemcpyDeviceToHost);
    for (int64_t i = 0; i < span; ++i)
      all.push_back(
          output.isFloat
              ? reinterpret_cast<const float*>(bytes.data())[i]
              : float(reinterpret_cast<const bf16*>(bytes.data())[i]));
  }
  return all;
}

/// Why `got` is not what `wanted` is; empty where it is.
std::string objectionTo(const std::vector<float>& got,
                        const std::vector<float>& wanted) {
  float most = 0, largest = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    if (!std::isfinite(got[i]))
      return "writes what is not finite";
    most = std::max(most, std::abs(got[i] - wanted[i]));
    largest = std::max(largest, std::abs(wanted[i]));
  }
  if (most <= tolerance * largest)
    return {};
  return "differs from the first one by " + std::to_string(most) + " of " +
         std::to_string(largest);
}

class Trials {
public:
  Trials(CudnnGraph& graph, const CudnnTrial& trial)
      : graph(graph), trial(trial) {}

  Expected<CudnnChoice> choose() {
    auto engines = graph.engines();
    RECIPERUN_TRY(engines);
    RECIPERUN_TRY(watch.open());
    for (const CudnnEngine& engine : *engines)
      tried.push_back({{engine, 0, {}}, nullptr, {}});
    for (Tried& each : tried)
      each.time.objection = attempt(each).message();
    const size_t best = fastest();
    if (best == tried.size())
      return Status::error("no engine of cuDNN's serves: " +
                           tried[0].time.objection);
    CudnnChoice choice{
        tried[best].time.engine, std::move(tried[best].plan), {}};
    for (Tried& each : tried)
      choice.times.push_back(std::move(each.time));
    return choice;
  }

private:
  struct Tried {
    CudnnTime time;
    std::unique_ptr<CudnnPlan> plan; // where it counts
    std::vector<double> ratios;
  };

  Status attempt(Tried& each) {
    auto plan = graph.compile(each.time.engine);
    RECIPERUN_TRY(plan);
    if ((*plan)->workspaceBytes() > trial.workspaceBytes)
      return Status::error("takes " +
                           std::to_string((*plan)->workspaceBytes()) +
                           " bytes, more than there are");
    auto written = runOnce(**plan);
    RECIPERUN_TRY(written);
    if (trial.isRepeatable) {
      const auto again = runOnce(**plan);
      RECIPERUN_TRY(again);
      if (*again != *written)
        return Status::error("writes other bits the next time");
    }
    for (size_t i = 0; i < written->size(); ++i)
      if (std::string text = objectionTo(
              (*written)[i], firsts.empty() ? (*written)[i] : firsts[i]);
          !text.empty())
        return Status::error(std::move(text));
    if (firsts.empty())
      firsts = *std::move(written);
    each.plan = *std::move(plan);
    return Status::ok();
  }

  /// Samples of all that a plan writes.
  Expected<std::vector<std::vector<float>>> runOnce(CudnnPlan& plan) {
    RECIPERUN_TRY(trial.run(plan));
    RECIPERUN_CUDA_TRY(cudaStreamSynchronize, trial.stream);
    std::vector<std::vector<float>> samples;
    for (const CudnnOutput& output : trial.outputs) {
      auto sampled = sample(output);
      RECIPERUN_TRY(sampled);
      samples.push_back(*std::move(sampled));
    }
    return samples;
  }

  std::optional<float> timeOf(Tried& each) const {
    if (!watch.start(trial.stream) || !trial.run(*each.plan))
      return std::nullopt;
    return watch.stop(trial.stream);
  }

  /// The number of the engine to take; none counts: their count.
  size_t fastest() {
    const auto first = std::ranges::find_if(
        tried, [](const Tried& each) { return bool(each.plan); });
    if (first == tried.end())
      return tried.size();
    std::vector<double> firstTimes;
    for (int round = 0; round < rounds; ++round) {
      const double unit = timeOf(*first).value_or(0);
      firstTimes.push_back(unit);
      for (Tried& each : tried)
        if (each.plan && unit > 0)
          each.ratios.push_back(double(timeOf(each).value_or(INFINITY)) / unit);
    }
    auto best = first;
    double least = clearly;
    for (auto each = tried.begin(); each != tried.end(); ++each) {
      if (each->ratios.empty())
        continue;
      const double ratio = median(each->ratios);
      each->time.milliseconds = ratio * median(firstTimes);
      if (ratio < least) {
        least = ratio;
        best = each;
      }
    }
    return size_t(best - tried.begin());
  }

  static double median(std::vector<double> values) {
    std::ranges::sort(values);
    return values[values.size() / 2];
  }

  CudnnGraph& graph;
  const CudnnTrial& trial;
  Stopwatch watch;
  std::vector<Tried> tried;
  std::vector<std::vector<float>> firsts; // of each output
};

} // namespace

Expected<CudnnChoice> chooseByTime(CudnnGraph& graph, const CudnnTrial& trial) {
  return Trials(graph, trial).choose();
}

} // namespace reciperun::device
