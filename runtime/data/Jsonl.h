// Samples from a JSONL file: one JSON object a line, with a prompt and a
// completion, or with chat messages [{"role", "content"}, ...].
//
// Lines of white space alone are skipped. A line that cannot be used is noted
// with file, line and field and the reading goes on, so that one run names the
// first ten of them; the caller trains on nothing when there are any.

#ifndef RECIPERUN_DATA_JSONL_H
#define RECIPERUN_DATA_JSONL_H

#include "runtime/base/Status.h"
#include "runtime/data/LineReader.h"
#include "runtime/plan/Plan.h"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace reciperun::data {

/// A stretch of a sample that is tokenized on its own.
struct Piece {
  std::string text;
  bool counts = false;    // in the loss
  bool isRecipes = false; // words of the recipe, which may hold control tokens
};
struct Sample {
  int64_t line = 0; // from 1
  std::vector<Piece> pieces;
};

/// The pieces of one chat message: the template's text before it, the content
/// and the template's text behind it. An assistant's content and what follows
/// it count in the loss. The role is one of those that checkRole knows.
std::vector<Piece> chatPieces(const plan::ChatTemplate& chat,
                              const std::string& role,
                              const std::string& content);

/// Fails for a role that no chat has, such as `Assistant`, with those there
/// are.
Status checkRole(const std::string& role);

class JsonlReader {
public:
  /// Fails where the file cannot be opened.
  static Expected<JsonlReader> open(const plan::DataSource& source,
                                    const plan::ChatTemplate& chat);

  /// The next usable sample; false at the end or after the tenth error.
  bool next(Sample& sample);

  /// What was wrong with the lines read so far, that the file could not be read
  /// to its end, or that there was no sample; with the way out, where known.
  Status finish() const;

  /// The same in two parts.
  struct Failure {
    std::string what;
    std::string help;              // may be empty
    std::string missingField = {}; // of `source`, that a line lacks
  };
  std::optional<Failure> failure() const;

private:
  struct Fault {
    int64_t firstLine = 0;
    int64_t lines = 0; // that have it
    std::string what;
  };

  JsonlReader(plan::DataSource source, plan::ChatTemplate chat, InputFile file);
  bool nextLine(std::string& line);
  Status parseLine(std::string_view line, Sample& sample);
  void note(const std::string& fault);
  bool noteForm(std::string_view line);
  void noteAbsentField(const nlohmann::json& object);
  void noteOtherNames(const nlohmann::json& object);

  plan::DataSource source;
  plan::ChatTemplate chat;
  LineReader file;
  Status readFailure;
  int64_t lines = 0;
  int64_t samples = 0;
  std::vector<Fault> faults;
  size_t faultyLines = 0;
  std::string absentField;     // of `source`, in the first such line
  std::string otherNames;      // the way out where chats have them
  std::optional<Failure> form; // the file is JSON, but not one object a line
};

} // namespace reciperun::data

#endif // RECIPERUN_DATA_JSONL_H
