// Groups a serving step's tokens by sequence and checks them.

#include "runtime/kernels/common/StepRuns.h"

#include <string>

namespace reciperun::kernels {
namespace {

Status badSequence(int64_t token, int64_t sequence, int64_t count) {
  return Status::error("token " + std::to_string(token) +
                       " of the step belongs to sequence " +
                       std::to_string(sequence) + ", and the plan has " +
                       std::to_string(count) + " sequences");
}

Status badOrder(int64_t token, int64_t position, const StepRun& run) {
  return Status::error(
      "token " + std::to_string(token) + " of the step has position " +
      std::to_string(position) + " of sequence " +
      std::to_string(run.sequence) + ", whose next position is " +
      std::to_string(run.position + run.count) +
      "; the tokens of a sequence are consecutive and in order");
}

} // namespace

Expected<std::vector<StepRun>> stepRuns(const device::Tensor& positions,
                                        const device::Tensor& sequences,
                                        int64_t sequenceCount) {
  std::vector<StepRun> runs;
  std::vector<int64_t> runOf(size_t(sequenceCount), -1);
  for (int64_t token = 0; token < positions.elements(); ++token) {
    const int64_t position = positions.as<int32_t>()[token];
    const int64_t sequence = sequences.as<int32_t>()[token];
    if (position < 0)
      continue;
    if (sequence < 0 || sequence >= sequenceCount)
      return badSequence(token, sequence, sequenceCount);
    int64_t& own = runOf[size_t(sequence)];
    if (own < 0) {
      own = int64_t(runs.size());
      runs.push_back({token, 1, sequence, position});
      continue;
    }
    StepRun& run = runs[size_t(own)];
    if (token != run.end() || position != run.position + run.count)
      return badOrder(token, position, run);
    ++run.count;
  }
  return runs;
}

} // namespace reciperun::kernels
