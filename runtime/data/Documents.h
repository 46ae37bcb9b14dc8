// Samples as token ids: what the loader lays into rows.
//
// A document is [bos] + the ids of its pieces + [eos], each piece tokenized on
// its own, so that a prompt has the same ids in training and when it is
// answered. The eos counts in the loss where the last piece does.
//
// Lengths: a document of n ids takes n - 1 places of a row (each place predicts
// the id behind it). One that exceeds `sequence` is cut: the oldest ids behind
// the bos that do not count are left out. One whose counting part does not fit
// even so, or in which nothing counts, is dropped. Both are counted and told.

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

/// One document: ids and, for each, whether predicting it counts.
struct Document {
  std::span<const int32_t> ids;
  std::span<const uint8_t> counts;

  /// Places that it takes in a row.
  int64_t places() const { return static_cast<int64_t>(ids.size()) - 1; }
};

/// All documents of a data set, in the order of the file.
class Documents {
public:
  /// Reads and tokenizes a JSONL file. Fails where a line cannot be used, where
  /// there are no samples, where an id exceeds the model's vocabulary, or where
  /// no sample fits.
  static Expected<Documents> read(const plan::DataSource& source,
                                  const plan::Data& data,
                                  const Tokenizer& tokenizer);

  int64_t size() const { return static_cast<int64_t>(starts.size()) - 1; }
  Document operator[](int64_t index) const;
  /// Places of the document that count in the loss.
  int64_t weight(int64_t index) const { return weights[index]; }
  /// Its line, from 1, in the file.
  int64_t line(int64_t index) const { return lines[index]; }
  const std::string& path() const { return file; }

  /// Memory that the documents take.
  int64_t bytes() const;

  /// What a user should know: samples cut, samples dropped.
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

/// The ids with which an answer to `prompt` begins: [bos] + its own, or for
/// chat data (`data.train` reads messages) those of a user's message and of
/// what stands before an assistant's. A generating plan therefore keeps the
/// `data.train` of the training, though it reads no data.
Expected<std::vector<int32_t>> encodePrompt(const plan::Data& data,
                                            const Tokenizer& tokenizer,
                                            const std::string& prompt);

} // namespace reciperun::data

#endif // RECIPERUN_DATA_DOCUMENTS_H
