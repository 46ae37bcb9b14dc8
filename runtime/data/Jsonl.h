// Samples from a JSONL file: one JSON object a line, with a prompt and a
// completion, or with chat messages [{"role", "content"}, ...].
//
// Lines of white space alone are skipped. A line that cannot be used is noted
// with file, line and field and the reading goes on, so that one run names the
// first ten of them; the caller trains on nothing when there are any.

#ifndef RECIPERUN_DATA_JSONL_H
#define RECIPERUN_DATA_JSONL_H

#include "runtime/plan/Plan.h"
#include "runtime/plan/Status.h"

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

namespace reciperun::data {

/// A stretch of a sample that is tokenized on its own.
struct Piece {
  std::string text;
  bool counts = false; // in the loss
};
struct Sample {
  int64_t line = 0; // from 1
  std::vector<Piece> pieces;
};

/// The pieces of one chat message: the template's text before it, the content
/// and the template's text behind it. An assistant's content and what follows
/// it count in the loss.
std::vector<Piece> chatPieces(const plan::ChatTemplate& chat,
                              const std::string& role,
                              const std::string& content);

class JsonlReader {
public:
  /// Fails where the file cannot be opened.
  static Expected<JsonlReader> open(const plan::DataSource& source,
                                    const plan::ChatTemplate& chat);

  /// The next usable sample; false at the end or after the tenth error.
  bool next(Sample& sample);

  /// What was wrong with the lines read so far, or that there was no sample.
  Status finish() const;

private:
  JsonlReader(plan::DataSource source, plan::ChatTemplate chat,
              std::ifstream file);
  Status parseLine(std::string_view line, Sample& sample);

  plan::DataSource source;
  plan::ChatTemplate chat;
  std::ifstream file;
  int64_t lines = 0;
  int64_t samples = 0;
  std::vector<std::string> errors;
};

} // namespace reciperun::data

#endif // RECIPERUN_DATA_JSONL_H
