// 1. Map memory that is shared with the workers: the number of the next trial
//    and an outcome for each.
// 2. Fork a worker for each core. A worker takes the next trial until there is
//    none, and ends without returning.
// 3. Compile here the trials of workers that ended abnormally.

#include "compiler/driver/TrialPool.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <memory>
#include <new>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <type_traits>
#include <unistd.h>

namespace recipec::driver {
namespace {

static_assert(std::is_trivially_copyable_v<search::Outcome>);
static_assert(std::atomic<size_t>::is_always_lock_free);

/// An outcome that a worker hands over.
struct Slot {
  search::Outcome outcome;
  std::atomic<bool> isDone;
};

/// Memory that is shared with forked processes; zero at first.
class SharedSlots {
public:
  explicit SharedSlots(size_t count)
      : bytes(sizeof(std::atomic<size_t>) + alignof(Slot) +
              count * sizeof(Slot)),
        memory(mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {}
  ~SharedSlots() {
    if (isMapped())
      munmap(memory, bytes);
  }
  SharedSlots(const SharedSlots&) = delete;
  SharedSlots& operator=(const SharedSlots&) = delete;

  bool isMapped() const { return memory != MAP_FAILED; }
  size_t takeNext() {
    return static_cast<std::atomic<size_t>*>(memory)->fetch_add(1);
  }
  Slot& operator[](size_t index) {
    void* begin = static_cast<std::atomic<size_t>*>(memory) + 1;
    size_t space = bytes - sizeof(std::atomic<size_t>);
    return static_cast<Slot*>(
        std::align(alignof(Slot), sizeof(Slot), begin, space))[index];
  }

private:
  size_t bytes;
  void* memory;
};

void copyReason(const diag::Engine& engine, search::Outcome& outcome) {
  for (const diag::Diagnostic& each : engine.all())
    if (diag::kindSeverity(each.kind) == diag::Severity::error) {
      std::strncpy(outcome.reason, each.message.c_str(),
                   sizeof outcome.reason - 1);
      return;
    }
}

/// The number of ops in a stage's Program, plus the steps of its schedules.
size_t opsOfProgram(const ir::Module& stage) {
  size_t ops = 0;
  for (const ir::Function& function : stage.functions)
    ops += function.ops.size();
  for (const ir::Schedule& schedule : stage.schedules)
    ops += schedule.steps.size();
  return ops;
}

} // namespace

search::Outcome outcomeOf(const Compilation& compilation) {
  const cost::Estimate& estimate = compilation.estimate;
  search::Outcome outcome;
  outcome.isValid = true;
  outcome.memory = estimate.memory;
  outcome.stepSeconds = estimate.stepSeconds;
  outcome.bubble = estimate.bubble;
  outcome.communication = estimate.communication;
  outcome.tokensPerSecondPerRank = estimate.tokensPerSecondPerRank;
  outcome.mfu = estimate.mfu;
  for (const ir::Module& stage : compilation.stages)
    outcome.ops += opsOfProgram(stage);
  return outcome;
}

TrialPool::TrialPool(Session& session)
    : session(session),
      cores(std::max(1u, std::thread::hardware_concurrency())) {}

search::Outcome TrialPool::compileOne(const search::Settings& settings) {
  diag::Engine engine; // errors of a trial are not shown as such
  sema::Changes changes;
  for (const std::string& text : settings)
    session.addOverride(changes.overrides, text, "a change that was tried");
  if (const auto compilation =
          driver::compile(session, engine, changes, Verification::none))
    return outcomeOf(*compilation);
  search::Outcome outcome;
  copyReason(engine, outcome);
  return outcome;
}

std::vector<search::Outcome>
TrialPool::compile(const std::vector<search::Settings>& trials) {
  SharedSlots slots(trials.size());
  const size_t workers = slots.isMapped() ? std::min(cores, trials.size()) : 0;
  std::vector<pid_t> processes;
  for (size_t worker = 0; workers > 1 && worker < workers; ++worker) {
    const pid_t process = fork();
    if (process < 0)
      break;
    if (process > 0) {
      processes.push_back(process);
      continue;
    }
    for (size_t next = slots.takeNext(); next < trials.size();
         next = slots.takeNext()) {
      slots[next].outcome = compileOne(trials[next]);
      slots[next].isDone = true;
    }
    _exit(0); // without the destructors and buffers of this process
  }
  for (pid_t process : processes)
    while (waitpid(process, nullptr, 0) < 0 && errno == EINTR)
      ;
  std::vector<search::Outcome> outcomes;
  for (size_t i = 0; i < trials.size(); ++i)
    outcomes.push_back(slots.isMapped() && slots[i].isDone
                           ? slots[i].outcome
                           : compileOne(trials[i]));
  return outcomes;
}

} // namespace recipec::driver
