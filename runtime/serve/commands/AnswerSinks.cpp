// See AnswerSinks.h.

#include "runtime/serve/commands/AnswerSinks.h"

#include <algorithm>
#include <cstdio>
#include <unistd.h>

namespace reciperun::serve {
namespace {

std::string placeText(const Prompt& prompt) {
  return prompt.place.empty() ? "" : prompt.place + ": ";
}

void printNote(const Prompt& prompt, const std::string& text) {
  std::fprintf(stderr, "note: %s%s\n", placeText(prompt).c_str(), text.c_str());
}

/// Says why an answer ended early.
void explainReason(const Prompt& prompt, const Answer& answer,
                   const plan::Serving& limits) {
  if (answer.reason == FinishReason::timeout)
    printNote(prompt, "ended at its `--timeout`");
  if (answer.reason == FinishReason::cacheFull)
    printNote(prompt, "ended where prompt and answer have the plan's " +
                          std::to_string(limits.maxTokens) + " tokens");
  if (answer.reason == FinishReason::tokenLimit)
    printNote(prompt, answer.mostTokens <= limits.maxOutput
                          ? "ended at `--max-tokens` = " +
                                std::to_string(answer.mostTokens)
                          : "ended at the plan's `serve.max_output` = " +
                                std::to_string(limits.maxOutput));
}

} // namespace

void printFailure(const Prompt& prompt, const std::string& message) {
  std::fprintf(stderr, "error: %s%s\n", placeText(prompt).c_str(),
               message.c_str());
}

void StdoutSink::print(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

/// An empty line precedes each answer of text but the first.
void StdoutSink::begin() {
  if (!rows && !hasBegun && current > 0)
    print("\n");
  hasBegun = true;
}

void StdoutSink::piece(size_t prompt, std::string_view text) {
  if (rows)
    return;
  if (prompt != current) {
    waiting[prompt].text += text;
    return;
  }
  begin();
  print(text);
}

Status StdoutSink::finished(size_t prompt, const Answer& answer) {
  failed += answer.reason == FinishReason::failed ? 1 : 0;
  if (prompt != current) {
    Waiting& later = waiting[prompt];
    later.isFinished = true;
    later.answer = answer;
    return Status::ok();
  }
  begin();
  printEnd(prompt, answer);
  for (auto next = waiting.find(current); next != waiting.end();
       next = waiting.find(current)) {
    const Waiting later = std::move(next->second);
    waiting.erase(next);
    begin();
    if (!rows)
      print(later.text);
    if (!later.isFinished)
      break;
    printEnd(current, later.answer);
  }
  return std::ferror(stdout) ? Status::error("cannot write the answers to "
                                             "stdout")
                             : Status::ok();
}

void StdoutSink::printEnd(size_t prompt, const Answer& answer) {
  const Prompt& asked = prompts[prompt];
  const bool hasFailed = answer.reason == FinishReason::failed;
  if (rows)
    print(answerRow(asked, /*index=*/nullptr, answer));
  else if (!hasFailed)
    print("\n");
  if (hasFailed)
    printFailure(asked, answer.error);
  else if (!rows)
    explainReason(asked, answer, limits);
  ++current;
  hasBegun = false;
}

void StdoutSink::endLine() {
  if (!rows && hasBegun)
    print("\n");
}

FileSink::FileSink(std::span<const Prompt> prompts, AnswerFile& file)
    : prompts(prompts), file(file), answered(file.answers()),
      shows(isatty(STDERR_FILENO)) {}

Status FileSink::finished(size_t prompt, const Answer& answer) {
  if (answer.reason == FinishReason::failed) {
    endLine();
    printFailure(prompts[prompt], answer.error);
    ++failed;
  } else {
    ++answered;
  }
  return file.write(prompts[prompt], prompt, answer);
}

void FileSink::stepped(const EngineStatistics& statistics) {
  const Clock::time_point now = Clock::now();
  if (!shows || now - shown < std::chrono::milliseconds(200))
    return;
  shown = now;
  const double seconds = std::chrono::duration<double>(now - start).count();
  const SchedulerStatistics& counts = statistics.scheduler;
  std::fprintf(
      stderr,
      "\r%zu of %zu prompts, %lld tokens/s in, %lld out, %lld at once "
      "\033[K",
      answered, prompts.size(),
      static_cast<long long>(double(counts.promptTokens) / seconds),
      static_cast<long long>(
          double(counts.decodedTokens + counts.acceptedTokens) / seconds),
      static_cast<long long>(statistics.running));
}

void FileSink::endLine() {
  if (shows)
    std::fputs("\r\033[K", stderr);
}

} // namespace reciperun::serve
