// See AnswerMeter.h. Intervals between tokens are measured between the ends of
// the engine's steps. Times that a client sees are measured from the arrival of
// its request to when the server's thread has the tokens.

#include "runtime/server/metrics/AnswerMeter.h"

#include <algorithm>
#include <utility>

namespace reciperun::server {
namespace {

double secondsFrom(AnswerMeter::Time from, AnswerMeter::Time to) {
  return std::max(0.0, std::chrono::duration<double>(to - from).count());
}

bool endsByToken(const serve::Progress& progress) {
  return progress.finished == serve::FinishReason::endToken ||
         progress.finished == serve::FinishReason::stopToken;
}

} // namespace

AnswerMeter::AnswerMeter(EngineMetrics& metrics, const serve::Request& request,
                         RequestOrigin origin, Time now)
    : metrics(metrics), origin(std::move(origin)),
      promptTokens(int64_t(request.prompt.size())),
      maxTokens(request.sampling.maxTokens), submitted(now) {}

void AnswerMeter::take(const serve::Progress& progress, Time stepEnd,
                       Time now) {
  if (hasEnded)
    return;
  if (progress.course.started != Time())
    course = progress.course;
  if (!progress.tokens.empty() || endsByToken(progress))
    takeTokens(int64_t(progress.tokens.size()), stepEnd, now);
  if (progress.finished)
    end(endOf(*progress.finished), now);
}

void AnswerMeter::takeTokens(int64_t count, Time stepEnd, Time now) {
  int64_t intervals = count;
  if (!std::exchange(hasBegun, true)) {
    metrics.countFirstToken(secondsFrom(origin.arrival, now), promptTokens,
                            now);
    firstToken = lastToken = stepEnd;
    intervals = count - 1;
  }
  metrics.countTokens(count);
  tokens += count;
  if (intervals > 0)
    metrics.countIntervals(secondsFrom(lastToken, stepEnd), intervals, now);
  if (count > 0)
    lastToken = stepEnd;
}

void AnswerMeter::end(AnswerEnd reason, Time now) {
  if (std::exchange(hasEnded, true))
    return;
  const bool hasStarted = course.started != Time();
  AnswerMeasures answer = {
      .end = reason,
      .promptTokens = promptTokens,
      .cachedTokens = course.cachedTokens,
      .answerTokens = tokens,
      .maxTokens = maxTokens,
      .preemptions = course.preemptions,
      .total = secondsFrom(origin.arrival, now),
      .queue = secondsFrom(submitted, hasStarted ? course.started : now)};
  if (hasStarted)
    answer.inference = secondsFrom(course.started, hasBegun ? lastToken : now);
  if (hasBegun) {
    answer.prefill = secondsFrom(course.started, firstToken);
    answer.decode = secondsFrom(firstToken, lastToken);
  }
  metrics.countAnswer(answer);
  AnswerGroup alone;
  AnswerGroup& group = origin.group ? *origin.group : alone;
  group.longest = std::max(group.longest, tokens);
  if (--group.open == 0)
    metrics.countRequest(group.n, group.longest);
}

} // namespace reciperun::server
