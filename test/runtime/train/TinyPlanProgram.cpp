// Writes the plan of TinyPlan.h: tinyPlan RANKS DIRECTORY [STEPS [PEAK_LR
// [DEVICE [METRICS_PORT]]]]. With a port it looks for stragglers over 5 steps.

#include "runtime/plan/PlanJson.h"
#include "test/runtime/train/TinyPlan.h"

#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
  if (argc < 3)
    return 2;
  reciperun::plan::TinyPlan tiny(std::atoi(argv[1]), argv[2]);
  if (argc > 3)
    tiny.plan.train.steps = std::atoll(argv[3]);
  if (argc > 4)
    tiny.plan.train.learningRate.peak = std::atof(argv[4]);
  if (argc > 5)
    tiny.plan.device = argv[5];
  if (argc > 6) {
    tiny.plan.train.metricsPort = std::atoll(argv[6]);
    tiny.plan.train.straggler = 1000;
    tiny.plan.train.stragglerWindow = 5;
  }
  std::fputs(reciperun::plan::toJson(tiny.plan).c_str(), stdout);
  return 0;
}
