// 1. Replay the functions of each stage at the reference clock (Kernels.h), and
//    simulate the schedules.
// 2. Determine each stage's clock from the arithmetic and the pauses of the
//    step.
// 3. Repeat until the clocks have settled.
//
// A GPU at its power limit lowers its clock. The power of arithmetic grows with
// the third power of the clock, since the voltage follows the clock. Pauses
// without arithmetic leave power for a higher clock: on four H200s at 690 W, dp
// 4 ran at 1,458 MHz with 95 % of its step in matmuls and attention, and tp 4
// at 1,671 MHz with some 70 % (docs/performance.md).

#include "compiler/cost/Prediction.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>

namespace recipec::cost {
namespace {

constexpr double powerExponent = 3;

// The sources of error, as fractions of a step, which are independent of one
// another. The resulting range holds for nine of ten rows of
// tools/benchmark/prediction/table.
constexpr double ofKernels = 0.09;
constexpr double ofUnmeasured = 0.12; // without `sustained_bf16`
constexpr double ofNetwork = 0.06;
constexpr double ofExperts = 0.1;
constexpr double ofCpus = 0.5; // CPUs have only rough figures

double uncertaintyOf(const ir::Module& program, const recipe::Recipe& recipe,
                     const Machine& machine) {
  if (!machine.isGpu)
    return ofCpus;
  double squares = ofKernels * ofKernels;
  if (recipe.at("cluster.hardware.sustained_bf16").isNone())
    squares += ofUnmeasured * ofUnmeasured;
  if (rankCount(program) > machine.linkRanks)
    squares += ofNetwork * ofNetwork;
  if (recipe.integer("parallel.ep") > 1)
    squares += ofExperts * ofExperts;
  return std::sqrt(squares);
}

/// A stage's Program with the cost models of its ops.
struct StageModel {
  StageModel(const ir::Module& program, const Machine& machine)
      : program(program), kernels(program, machine),
        collectives(program, machine, kernels) {}
  StageModel(const StageModel&) = delete;

  const ir::Module& program;
  Kernels kernels;
  Collectives collectives;
};

class Predictor {
public:
  Predictor(const std::vector<ir::Module>& stages, const recipe::Recipe& recipe,
            bool keepsIntervals)
      : stages(stages), machine(machineOf(stages[0], recipe)),
        uncertainty(uncertaintyOf(stages[0], recipe, machine)),
        keepsIntervals(keepsIntervals), clocks(stages.size(), 1) {
    for (const ir::Module& stage : stages)
      models.push_back(std::make_unique<StageModel>(stage, machine));
  }

  Prediction run() {
    result.uncertainty = uncertainty;
    replayAll();
    for (int round = 0; machine.isGpu && round < 4; ++round) {
      for (size_t i = 0; i < stages.size(); ++i)
        clocks[i] = settled(i);
      replayAll();
    }
    for (size_t i = 0; i < stages.size(); ++i)
      result.stages.push_back(timeOf(i));
    return std::move(result);
  }

private:
  void replayAll() {
    result.runs.assign(stages.size(), {});
    for (size_t i = 0; i < stages.size(); ++i)
      for (const ir::Function& function : stages[i].functions)
        result.runs[i][function.name] =
            replay(stages[i], function, machine, models[i]->kernels,
                   models[i]->collectives, clocks[i], keepsIntervals);
    result.timeline = simulate(
        stages, "train",
        [&](int stage, const ir::Function& function) {
          return result.runs[size_t(stage)].at(function.name).seconds;
        },
        [&](int stage, const ir::Transfer& transfer) {
          const ir::Module& program = stages[size_t(stage)];
          return messageSeconds(
              machine, models[size_t(stage)]->collectives.isFar(transfer.peer),
              double(ir::localBytes(program, transfer.value)));
        });
  }

  /// The clock at which the arithmetic of the last step would have used exactly
  /// the power limit: energy * clock ^ 2 = seconds. Goes only half of the way
  /// there, on a logarithmic scale, since a higher clock also shortens the
  /// step.
  double settled(size_t stage) const {
    double energy = 0;
    for (const Interval& interval : result.timeline.stages[stage])
      energy += result.runs[stage].at(interval.function).energy;
    if (energy <= 0)
      return 1;
    const double wanted =
        std::pow(result.timeline.end / energy, 1 / (powerExponent - 1));
    return std::min(machine.mostBoost, std::sqrt(clocks[stage] * wanted));
  }

  StageTime timeOf(size_t stage) const {
    StageTime time;
    time.clock = clocks[stage];
    time.waiting = result.timeline.end;
    for (const Interval& interval : result.timeline.stages[stage]) {
      const FunctionRun& run = result.runs[stage].at(interval.function);
      for (const auto& [family, seconds] : run.busy)
        time.busy[family] += seconds;
      for (const auto& [work, seconds] : run.work)
        time.work[work] += seconds;
      for (const auto& [kind, seconds] : run.exposed)
        time.exposed[kind] += seconds;
      time.copies += run.copies;
      time.waiting -= run.seconds;
    }
    time.waiting = std::max(0.0, time.waiting);
    return time;
  }

  const std::vector<ir::Module>& stages;
  Machine machine;
  double uncertainty;
  bool keepsIntervals;
  std::vector<std::unique_ptr<StageModel>> models;
  std::vector<double> clocks; // of the stages, relative to the reference clock
  Prediction result;
};

} // namespace

double StageTime::communication() const {
  return std::accumulate(
      exposed.begin(), exposed.end(), 0.0,
      [](double sum, const auto& each) { return sum + each.second; });
}

Prediction predict(const std::vector<ir::Module>& stages,
                   const recipe::Recipe& recipe, bool keepsIntervals) {
  return Predictor(stages, recipe, keepsIntervals).run();
}

} // namespace recipec::cost
