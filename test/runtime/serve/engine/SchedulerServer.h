// A scheduler that runs on a fake model, for its tests.

#ifndef RECIPERUN_TEST_SERVE_SCHEDULERSERVER_H
#define RECIPERUN_TEST_SERVE_SCHEDULERSERVER_H

#include "FakeModel.h"
#include "runtime/serve/engine/Scheduler.h"

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

namespace reciperun::serve {

inline std::vector<int32_t> prompt(int64_t tokens, int32_t first = 0) {
  std::vector<int32_t> ids(static_cast<size_t>(tokens));
  std::iota(ids.begin(), ids.end(), first);
  for (int32_t& id : ids)
    id %= int32_t(FakeModel::vocabulary);
  return ids;
}

inline RequestId idOf(const Expected<RequestId>& submitted) {
  EXPECT_TRUE(submitted) << submitted.message();
  return submitted ? *submitted : -1;
}

/// A scheduler that runs on a fake model, and what it answers.
struct Server {
  explicit Server(const plan::Serving& limits, int64_t patience = 32,
                  int depth = 1)
      : scheduler(limits, depth, patience), model(limits, depth) {}

  bool start() {
    while (int(underway.size()) < model.depth()) {
      std::optional<StepPlan> next = scheduler.next();
      if (!next)
        return true;
      const Status started = model.start(*next);
      EXPECT_TRUE(started.isOk()) << started.message();
      if (!started.isOk())
        return false;
      underway.push_back(*std::move(next));
    }
    return true;
  }

  /// Starts steps, and finishes the first; false when there is none.
  bool step() {
    if (!start() || underway.empty())
      return false;
    const std::optional<StepPlan> step = std::move(underway.front());
    underway.pop_front();
    StepResults results;
    EXPECT_TRUE(model.finish(results).isOk());
    last.clear();
    std::vector<StepOutcome> outcomes;
    size_t rows = 0;
    for (const StepPart& part : step->parts) {
      last[part.request] = int64_t(part.ids.size());
      if (part.rows == 0)
        continue;
      std::vector<int32_t>& prompt = promptRows[part.request];
      if (part.promptRows > 0)
        prompt.resize(size_t(part.position)); // again after a preemption
      prompt.insert(prompt.end(), model.rows().begin() + long(rows),
                    model.rows().begin() +
                        long(rows + size_t(part.promptRows)));
      rows += size_t(part.rows);
      if (part.rows == part.promptRows) {
        outcomes.push_back({part.request});
        continue;
      }
      const int32_t token = model.rows()[rows - 1];
      const Sequence& sequence = *scheduler.find(part.request);
      answers[part.request].push_back(token);
      const bool ends = sequence.length() + 1 == sequence.mostTokens;
      if (ends)
        finished.push_back(part.request);
      outcomes.push_back({part.request, {token}, ends});
    }
    bucket = step->bucket;
    scheduler.finish(outcomes);
    return true;
  }
  int runAll() {
    int steps = 0;
    while (step())
      ++steps;
    EXPECT_TRUE(scheduler.isIdle());
    return steps;
  }

  Scheduler scheduler;
  FakeModel model;
  std::deque<StepPlan> underway;
  std::map<RequestId, int64_t> last; // tokens in the last step
  int bucket = -1;
  std::map<RequestId, std::vector<int32_t>> answers;
  /// The likeliest tokens by the rows of prompts.
  std::map<RequestId, std::vector<int32_t>> promptRows;
  std::vector<RequestId> finished; // in order
};

} // namespace reciperun::serve

#endif // RECIPERUN_TEST_SERVE_SCHEDULERSERVER_H
