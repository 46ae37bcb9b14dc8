// See BatchAnswers.h.

#include "runtime/server/schedule/BatchAnswers.h"

#include "runtime/server/models/RequestCheck.h"

#include <algorithm>
#include <string>
#include <utility>

namespace reciperun::server {
namespace {

uint64_t nanoseconds(Time from, Time to) {
  return uint64_t(std::max<int64_t>(
      0,
      std::chrono::duration_cast<std::chrono::nanoseconds>(to - from).count()));
}

void countBatch(const Batch& batch, const Execution& execution,
                uint64_t outputTime, ModelStatistics& statistics) {
  const uint64_t inferTime = nanoseconds(execution.begin, execution.end);
  uint64_t elements = 0;
  for (const WaitingRequest& each : batch) {
    elements += uint64_t(each.elements);
    statistics.note(InferencePhase::queue,
                    nanoseconds(each.arrival, execution.begin));
    // Inputs are read where they arrived.
    statistics.note(InferencePhase::computeInput, 0);
    statistics.note(InferencePhase::computeInfer, inferTime);
    statistics.note(InferencePhase::computeOutput, outputTime);
  }
  statistics.noteExecution(elements);
  ModelStatistics::Batch& size = statistics.batches[elements];
  size.computeInput.add(0);
  size.computeInfer.add(inferTime);
  size.computeOutput.add(outputTime);
}

} // namespace

void answerBatch(const Batch& batch, Execution execution,
                 ModelStatistics& statistics) {
  // Counted first: the answer's reader may ask for the counts.
  const Time now = std::chrono::steady_clock::now();
  countBatch(batch, execution, nanoseconds(execution.end, now), statistics);
  for (size_t i = 0; i < batch.size(); ++i) {
    Inference& inference = *batch[i].inference;
    BatchBackend::Answer& answer = execution.answers[i];
    if (inference.isCancelled())
      failWaiting(inference);
    else if (answer)
      inference.respond({.outputs = *std::move(answer)});
    else
      inference.fail(answer.status());
  }
}

void failWaiting(Inference& inference) {
  if (inference.isCancelled())
    inference.fail(
        Status::error("Request has been cancelled", StatusCode::cancelled));
  else
    inference.fail(withRequestId(
        Status::error("Request timeout expired", StatusCode::unavailable),
        inference.request));
}

} // namespace reciperun::server
