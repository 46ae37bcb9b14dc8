// Answers as JSON, an object for each prompt:
//
//   {"index": 0, "id": "a", "prompt": "...", "answer": "...", "tokens": 12,
//    "stop": "end_token"}
//
// `id` is the id of the prompt's row, if it has one. If a prompt has several
// answers, each has an object with its number `sample`, from 0; `index` counts
// the answers to all prompts. If a prompt could not be answered, `error`
// replaces `answer`, `tokens` and `stop`.

#ifndef RECIPERUN_SERVE_COMMANDS_ANSWERROWS_H
#define RECIPERUN_SERVE_COMMANDS_ANSWERROWS_H

#include "runtime/base/Status.h"
#include "runtime/checkpoint/Files.h"
#include "runtime/serve/commands/BatchAnswers.h"
#include "runtime/serve/prompts/PromptFile.h"

#include <cstddef>
#include <cstdio>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace reciperun::serve {

/// The row of an answer, with its line break. Without `index` if that is null,
/// with `logprobs` of the tokens if the prompt asks for them.
std::string answerRow(const Prompt& prompt, const size_t* index,
                      const Answer& answer);

/// A JSONL file of answers, to which each row is written as soon as it is
/// known, in any order. A file at an address appears when it is closed.
class AnswerFile {
public:
  /// What to do with a file that exists.
  enum class Existing { refuse, replace, resume };

  /// Opens the file for writing. With Existing::resume it keeps the rows of
  /// prompts that have an answer; rows with an error and an incomplete last row
  /// are removed. Fails, naming the line, when the file has other rows than
  /// answers to `prompts`, and when it cannot be written.
  static Expected<AnswerFile> open(const std::string& path, Existing existing,
                                   std::span<const Prompt> prompts);

  /// Whether the file has the answer to a prompt.
  bool has(size_t prompt) const { return answered[prompt]; }
  size_t answers() const;

  /// Writes a row and passes it to the operating system.
  Status write(const Prompt& prompt, size_t index, const Answer& answer);
  /// Ends the file. The rows so far are kept, also those of a run that failed.
  Status close();

private:
  explicit AnswerFile(std::string path) : path(std::move(path)) {}
  Status openRemote(Existing existing, std::span<const Prompt> prompts);
  Status openLocal(Existing existing, std::span<const Prompt> prompts);
  /// The text of the rows in the file that are kept.
  Expected<std::string> keepAnswers(std::span<const Prompt> prompts);
  Status openStream(const char* mode);

  std::string path;
  std::vector<bool> answered; // by prompt
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> stream{nullptr, std::fclose};
  std::optional<checkpoint::OutputFile> remote; // in place of the stream
};

} // namespace reciperun::serve

#endif // RECIPERUN_SERVE_COMMANDS_ANSWERROWS_H
