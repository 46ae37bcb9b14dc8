// Samples from a JSONL file: one JSON object per line, with a prompt and a
// completion, or with chat messages [{"role", "content"}, ...].
//
// White-space lines are skipped. An invalid line is recorded with file, line
// and field and reading continues, so that one run names the first ten of them.
// The caller does not train when there are any.

#ifndef RECIPERUN_DATA_JSONL_H
#define RECIPERUN_DATA_JSONL_H

#include "runtime/base/Status.h"
#include "runtime/data/LineReader.h"
#include "runtime/data/SampleRemedies.h"
#include "runtime/plan/Plan.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace reciperun::data {

/// A part of a sample that is tokenized separately.
struct Piece {
  std::string text;
  bool counts = false;    // in the loss
  bool isRecipes = false; // text of the recipe, which may have control tokens
};
struct Sample {
  int64_t line = 0; // from 1
  std::vector<Piece> pieces;
};

/// The pieces of one chat message: the template's text before it, the content
/// and the template's text after it. An assistant's content and the text after
/// it count in the loss. The role must be one that checkRole accepts.
std::vector<Piece> chatPieces(const plan::ChatTemplate& chat,
                              const std::string& role,
                              const std::string& content);

/// Fails for an unknown role, such as `Assistant`, and lists the known ones.
Status checkRole(const std::string& role);

class JsonlReader {
public:
  /// Fails when the file cannot be opened.
  static Expected<JsonlReader> open(const plan::DataSource& source,
                                    const plan::ChatTemplate& chat);

  /// Reads the next valid sample; false at the end or after the tenth error.
  bool next(Sample& sample);

  /// Fails when lines read so far were invalid, when the file could not be read
  /// to its end, or when it has no sample. The message includes a remedy if one
  /// is known.
  Status finish() const;

  /// The failure of finish(), split into cause and help.
  struct Failure {
    std::string what;
    std::string help;              // may be empty
    std::string missingField = {}; // of `source`, absent in a line
  };
  std::optional<Failure> failure() const;

private:
  struct Fault {
    int64_t firstLine = 0;
    int64_t lines = 0; // number of lines with this fault
    std::string what;
  };

  JsonlReader(plan::DataSource source, plan::ChatTemplate chat, InputFile file);
  bool nextLine(std::string& line);
  Status parseLine(std::string_view line, Sample& sample);
  void note(const std::string& fault);
  bool noteForm(std::string_view line);
  void noteList(std::string_view line);
  void noteNoJson(std::string_view line);
  void noteRemedy(SampleRemedy found);
  SampleRemedy remedyForText(std::string_view line) const;
  std::string helpWithGap() const;

  plan::DataSource source;
  plan::ChatTemplate chat;
  LineReader file;
  Status readFailure;
  int64_t lines = 0;
  int64_t samples = 0;
  std::vector<Fault> faults;
  size_t faultyLines = 0;
  SampleRemedy remedy;         // of the first faulty line that has one
  std::optional<Failure> form; // the whole file is not one object per line
};

} // namespace reciperun::data

#endif // RECIPERUN_DATA_JSONL_H
