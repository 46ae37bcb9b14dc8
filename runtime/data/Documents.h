// Samples as token ids, which the loader arranges into rows.
//
// A document is [bos] + the ids of its pieces + [eos]. Each piece is tokenized
// separately, so that a prompt has the same ids in training and in generation.
// The eos counts in the loss when the last piece does.
//
// Lengths: a document of n ids takes n - 1 tokens of a row (each token predicts
// the next id). A document that exceeds `sequence` is truncated: the oldest ids
// after the bos that do not count are dropped. A document is dropped when its
// counting part still does not fit, or when nothing in it counts. Both cases
// are counted and reported.

#ifndef RECIPERUN_DATA_DOCUMENTS_H
#define RECIPERUN_DATA_DOCUMENTS_H

#include "runtime/base/Status.h"
#include "runtime/data/Jsonl.h"
#include "runtime/data/Tokenizer.h"
#include "runtime/plan/Plan.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace reciperun::data {

/// One document: ids and, for each, whether its prediction counts in the loss.
struct Document {
  std::span<const int32_t> ids;
  std::span<const uint8_t> counts;

  /// The number of tokens that it takes in a row.
  int64_t places() const { return static_cast<int64_t>(ids.size()) - 1; }
};

/// All documents of a data set, in the order of the file.
class Documents {
public:
  /// Reads and tokenizes a JSONL file. Fails when a line is invalid, when there
  /// are no samples, when an id exceeds the model's vocabulary, or when no
  /// sample fits.
  static Expected<Documents> read(const plan::DataSource& source,
                                  const plan::Data& data,
                                  const Tokenizer& tokenizer);

  int64_t size() const { return static_cast<int64_t>(starts.size()) - 1; }
  Document operator[](int64_t index) const;
  /// The number of the document's tokens that count in the loss.
  int64_t weight(int64_t index) const { return weights[index]; }
  /// The document's line in the file, from 1.
  int64_t line(int64_t index) const { return lines[index]; }
  const std::string& path() const { return file; }

  /// The memory of the documents in bytes.
  int64_t bytes() const;

  /// Notes for the user: samples truncated, samples dropped.
  const std::vector<std::string>& notes() const { return messages; }

private:
  friend class DocumentBuilder;
  void shrink();

  std::vector<int32_t> ids;
  std::vector<uint8_t> counts;
  std::vector<int64_t> starts{0};
  std::vector<int64_t> weights;
  std::vector<int64_t> lines;
  std::string file;
  std::vector<std::string> messages;
};

/// The ids of a text for a model to continue: [bos] + the text's ids.
Expected<std::vector<int32_t>> encodeText(const plan::Data& data,
                                          const Tokenizer& tokenizer,
                                          const std::string& text);

/// The ids that precede the answer to `prompt`. For chat data (`data.train`
/// reads messages) these are a user's message and the template's text before an
/// assistant's message; otherwise they are those of encodeText. A plan for
/// generation keeps the training's `data.train` for this purpose, although it
/// reads no data.
Expected<std::vector<int32_t>> encodePrompt(const plan::Data& data,
                                            const Tokenizer& tokenizer,
                                            const std::string& prompt);

} // namespace reciperun::data

#endif // RECIPERUN_DATA_DOCUMENTS_H
