// Runs damaged plans: what validation lets through stays in the arena.
//
//   damagedPlans PLAN COUNT [FIRST_SEED]
//
// 1. Damage the plan, a seed at a time, as the fuzzer does.
// 2. Leave out what validation refuses, and what a process of one rank would
//    refuse to start.
// 3. Run each other one in a process of its own, all its schedules on mock data
//    and all its buckets, in an arena with a page behind it that nobody may
//    touch. A signal is a finding, and so is a run without an end.
//
// For a plan of one rank. Overwriting other buffers is no finding.

#include "runtime/comm/LocalCommunicator.h"
#include "runtime/data/Loader.h"
#include "runtime/device/cpu/CpuDevice.h"
#include "runtime/exec/Executor.h"
#include "runtime/exec/Weights.h"
#include "runtime/kernels/common/Kernels.h"
#include "runtime/plan/PlanJson.h"
#include "runtime/sizes/DrawNumbers.h"
#include "test/fuzz/PlanMutator.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

using namespace reciperun;

namespace {

constexpr int64_t largestArena = int64_t(16) << 20;
constexpr unsigned longestSeconds = 20;

bool isRunnable(const plan::Plan& plan) {
  auto isMock = [](const std::optional<plan::DataSource>& source) {
    return !source || source->kind == "mock";
  };
  return plan.mesh.ranks == 1 && plan.device == "cpu" &&
         plan.stages[0].memory.arena <= largestArena &&
         plan.stages[0].memory.offloaded <= largestArena &&
         isMock(plan.data.train) && isMock(plan.data.valid);
}

/// An arena of at least the plan's size, followed by a page without access
/// rights. The host arena has no such page.
memory::Arena guardedArena(int64_t bytes, int64_t hostBytes) {
  const int64_t page = sysconf(_SC_PAGESIZE);
  const int64_t whole = (bytes + page - 1) / page * page;
  Expected<memory::Arena> taken =
      memory::Arena::allocate(whole + page, hostBytes);
  if (!taken || mprotect((*taken).base() + whole, size_t(page), PROT_NONE)) {
    std::perror("a guarded arena");
    std::_Exit(2);
  }
  return std::move(*taken);
}

template <class T> void set(const exec::Tensor& tensor, T value) {
  if (tensor.present())
    *tensor.as<T>() = value;
}

int64_t loadsOf(const plan::Schedule& schedule) {
  return std::count_if(schedule.steps.begin(), schedule.steps.end(),
                       [](const plan::ScheduleStep& step) {
                         return step.kind == plan::ScheduleStep::Kind::load;
                       });
}

/// Runs the first step of a schedule, as Training does.
Status runSchedule(const plan::Plan& plan, exec::Executor& executor,
                   const plan::Schedule& schedule) {
  data::DataSet which =
      schedule.name == "evaluate" ? data::DataSet::valid : data::DataSet::train;
  Expected<data::Loader> loader =
      data::Loader::open(plan.data, plan.train, which,
                         {0, 1, loadsOf(schedule)}, /*tokenizer=*/nullptr);
  if (!loader)
    return loader.status();
  const plan::Inputs& in = plan.stages[0].inputs;
  set(executor.tensor(in.learningRate), 1e-3f);
  set(executor.tensor(in.step), int32_t(1));
  Expected<double> weight = (*loader).weight(0);
  RECIPERUN_TRY(weight);
  set(executor.tensor(in.lossScale), *weight > 0 ? float(1 / *weight) : 0.0f);
  auto tensor = [&](int number, int microBatch) {
    return executor.tensor(number, microBatch);
  };
  return executor.run(schedule, [&](int microBatch) {
    return (*loader).fill(0, microBatch,
                          {tensor(in.tokens, microBatch).as<int32_t>(),
                           tensor(in.labels, microBatch).as<int32_t>(),
                           tensor(in.weights, microBatch).as<float>(),
                           tensor(in.positions, microBatch).as<int32_t>(),
                           tensor(in.segments, microBatch).as<int32_t>(),
                           tensor(in.places, microBatch).as<int32_t>(),
                           tensor(in.samples, microBatch).as<int64_t>()});
  });
}

/// Gives the slots the pages of the cache in turn, the last one none.
void assignPages(const plan::Serving& serving, const exec::Tensor& table) {
  if (!table.present())
    return;
  auto* pages = table.as<int32_t>();
  const int64_t perSequence = plan::pagesOfSequence(serving);
  for (int64_t slot = 0; slot < serving.maxBatch; ++slot)
    for (int64_t i = 0; i < perSequence; ++i)
      pages[slot * perSequence + i] =
          slot > 0 && slot + 1 == serving.maxBatch
              ? -1
              : int32_t((slot * perSequence + i) % serving.pages);
}

/// Runs a bucket on the first tokens of the first sequence and on the last
/// tokens of the last one.
Status runBucket(const plan::Plan& plan, exec::Executor& executor,
                 size_t number) {
  const plan::Serving& serving = *plan.serving;
  const plan::Bucket& bucket = serving.buckets[number];
  const plan::Stage& stage = plan.stages[0];
  const plan::StageStep& step = stage.steps[number];
  const plan::StepInputs& in = step.inputs;
  assignPages(serving, executor.tensor(in.pages));
  auto* tokens = executor.tensor(in.tokens).as<int32_t>();
  auto* positions = executor.tensor(in.positions).as<int32_t>();
  auto* sequences = executor.tensor(in.sequences).as<int32_t>();
  auto* rows = executor.tensor(in.rows).as<int32_t>();
  auto* draws = executor.tensor(in.draws).as<double>();
  for (int64_t i = 0; i < bucket.rows; ++i) {
    rows[i] = i % 2 ? -1 : int32_t(bucket.tokens - 1 - i);
    double* draw = draws + i * sizes::drawNumbers;
    draw[sizes::drawTemperature] = double(i % 3);
    draw[sizes::drawTopK] = double(i);
    draw[sizes::drawTopP] = 0.9;
    draw[sizes::drawMinP] = 0.01;
    draw[sizes::drawUniform] = 0.5;
  }
  const int64_t last = std::max<int64_t>(0, serving.maxTokens - bucket.tokens);
  for (auto [slot, first] : {std::pair(int64_t(0), int64_t(0)),
                             std::pair(serving.maxBatch - 1, last)}) {
    for (int64_t i = 0; i < bucket.tokens; ++i) {
      const bool isUsed = first + i < serving.maxTokens;
      tokens[i] = int32_t(i);
      if (positions)
        positions[i] = isUsed ? int32_t(first + i) : -1;
      if (sequences)
        sequences[i] = isUsed ? int32_t(slot) : -1;
    }
    RECIPERUN_TRY(executor.run(stage.schedules[size_t(step.schedule)],
                               [](int) { return Status::ok(); }));
  }
  return Status::ok();
}

Status runPlan(const plan::Plan& plan) {
  memory::Arena arena = guardedArena(plan.stages[0].memory.arena,
                                     plan.stages[0].memory.offloaded);
  comm::LocalCommunicator communicator;
  device::CpuDevice device(1, &kernels::findKernel);
  Expected<exec::Executor> executor =
      exec::Executor::make(plan, arena, communicator, device);
  if (!executor)
    return executor.status();
  RECIPERUN_TRY(exec::initializeParameters(plan, *executor, 0, 1));
  RECIPERUN_TRY(exec::fillMasters(plan, *executor, 0));
  for (const plan::Schedule& schedule : plan.stages[0].schedules)
    if (schedule.name == "train" ||
        (schedule.name == "evaluate" && plan.data.valid))
      RECIPERUN_TRY(runSchedule(plan, *executor, schedule));
  if (plan.serving)
    for (size_t i = 0; i < plan.serving->buckets.size(); ++i)
      RECIPERUN_TRY(runBucket(plan, *executor, i));
  return Status::ok();
}

/// The exit status of a process that runs the plan; a refusal is no failure.
int runAside(const plan::Plan& plan) {
  pid_t child = fork();
  if (child == 0) {
    alarm(longestSeconds);
    (void)runPlan(plan);
    std::_Exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

} // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: damagedPlans PLAN COUNT [FIRST_SEED]\n");
    return 2;
  }
  std::ostringstream text;
  text << std::ifstream(argv[1], std::ios::binary).rdbuf();
  const auto count = uint32_t(std::atoi(argv[2]));
  const auto first = uint32_t(argc > 3 ? std::atoi(argv[3]) : 1);
  int runs = 0, findings = 0;
  for (uint32_t seed = first; seed < first + count; ++seed) {
    std::string damaged = fuzz::mutatePlan(text.str(), seed);
    Expected<plan::Plan> plan = plan::fromJson(damaged);
    if (!plan || !plan::validate(*plan).isOk() || !isRunnable(*plan))
      continue;
    ++runs;
    int status = runAside(*plan);
    if (status == 0)
      continue;
    ++findings;
    std::printf("seed %u: %s %d\n", seed,
                WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "exit code",
                WIFSIGNALED(status) ? 0 : WEXITSTATUS(status));
    std::ofstream(std::string(argv[1]) + "." + std::to_string(seed)) << damaged;
  }
  std::printf("%d of %u plans ran, %d findings\n", runs, count, findings);
  return findings || runs == 0;
}
