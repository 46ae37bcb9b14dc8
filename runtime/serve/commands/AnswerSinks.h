// Where `reciperun generate` writes its answers: stdout as text or rows, or a
// file of rows.

#ifndef RECIPERUN_SERVE_COMMANDS_ANSWERSINKS_H
#define RECIPERUN_SERVE_COMMANDS_ANSWERSINKS_H

#include "runtime/serve/commands/AnswerRows.h"
#include "runtime/serve/commands/BatchAnswers.h"

#include <chrono>
#include <map>
#include <span>
#include <string>
#include <string_view>

namespace reciperun::serve {

/// Prints to stdout in the order of the prompts: text, where the answer to the
/// first prompt that has none yet appears as it comes, or a row for each
/// answer. Later answers wait for it. Errors, and the reasons why answers of
/// text ended early, go to stderr.
class StdoutSink : public AnswerSink {
public:
  /// The references must outlive the object.
  StdoutSink(std::span<const Prompt> prompts, const plan::Serving& limits,
             bool rows)
      : prompts(prompts), limits(limits), rows(rows) {}

  void piece(size_t prompt, std::string_view text) override;
  Status finished(size_t prompt, const Answer& answer) override;
  /// The number of prompts without an answer because of an error.
  size_t failures() const { return failed; }
  /// Ends a line that an interrupted answer has begun.
  void endLine();

private:
  /// An answer that waits for an earlier one to be printed.
  struct Waiting {
    std::string text; // as far as it is known
    bool isFinished = false;
    Answer answer; // when finished
  };

  void begin();
  void print(std::string_view text);
  void printEnd(size_t prompt, const Answer& answer);

  std::span<const Prompt> prompts;
  const plan::Serving& limits;
  bool rows;
  size_t current = 0;    // the prompt whose answer is printed
  bool hasBegun = false; // the text of that answer
  std::map<size_t, Waiting> waiting;
  size_t failed = 0;
};

/// Writes rows to a file as answers are complete; shows the progress on stderr
/// if it is a terminal.
class FileSink : public AnswerSink {
public:
  /// The references must outlive the object.
  FileSink(std::span<const Prompt> prompts, AnswerFile& file);

  void piece(size_t, std::string_view) override {}
  Status finished(size_t prompt, const Answer& answer) override;
  void stepped(const EngineStatistics& statistics) override;
  size_t failures() const { return failed; }
  size_t answers() const { return answered; }
  /// Ends the line of the progress.
  void endLine();

private:
  using Clock = std::chrono::steady_clock;

  std::span<const Prompt> prompts;
  AnswerFile& file;
  size_t answered, failed = 0;
  bool shows; // on a terminal
  Clock::time_point start = Clock::now(), shown = start;
};

/// `error: ` and the prompt's place on stderr.
void printFailure(const Prompt& prompt, const std::string& message);

} // namespace reciperun::serve

#endif // RECIPERUN_SERVE_COMMANDS_ANSWERSINKS_H
