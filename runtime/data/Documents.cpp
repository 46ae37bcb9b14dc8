// Per sample: tokenize the pieces, check the ids, truncate or drop, append.

#include "runtime/data/Documents.h"

#include "runtime/data/TextEncoder.h"

#include <algorithm>
#include <numeric>

namespace reciperun::data {

Document Documents::operator[](int64_t index) const {
  const size_t begin = starts[index];
  const size_t count = starts[index + 1] - begin;
  return {std::span(ids).subspan(begin, count),
          std::span(counts).subspan(begin, count)};
}

int64_t Documents::bytes() const {
  const auto of = [](const auto& list) {
    return int64_t(list.capacity() * sizeof(list.front()));
  };
  return of(ids) + of(counts) + of(starts) + of(weights) + of(lines);
}

/// Frees the unused capacity of the vectors.
void Documents::shrink() {
  ids.shrink_to_fit();
  counts.shrink_to_fit();
  for (auto* list : {&starts, &weights, &lines})
    list->shrink_to_fit();
}

static Expected<std::vector<int32_t>> encodePiece(const TextEncoder& encoder,
                                                  const Piece& piece) {
  return piece.isRecipes ? encoder.recipeText(piece.text)
                         : encoder.userText(piece.text);
}

class DocumentBuilder {
public:
  DocumentBuilder(const plan::DataSource& source, const plan::Data& data,
                  const Tokenizer& tokenizer)
      : source(source), data(data), tokenizer(tokenizer),
        encoder(data, tokenizer) {
    documents.file = source.path;
  }

  Status add(const Sample& sample) {
    ++samples;
    ids.clear();
    counts.clear();
    RECIPERUN_TRY(encode(sample).withContext(
        "line " + std::to_string(sample.line) + " of `" + source.path + "`"));
    RECIPERUN_TRY(checkIds(sample));
    if (!fit())
      return {};
    append(sample.line);
    return {};
  }

  Expected<Documents> finish() {
    if (documents.size() == 0)
      return Status::error("no sample of the data set `" + source.path +
                           "` fits: " + std::to_string(tooLong) + " of " +
                           std::to_string(samples) +
                           " have a completion longer than `data.sequence` = " +
                           std::to_string(data.sequence) + ", in " +
                           std::to_string(empty) +
                           " nothing counts; raise `data.sequence`, or shorten "
                           "the completions");
    note(shortened, "were cut on the left of the prompt to fit `data.sequence` "
                    "= " +
                        std::to_string(data.sequence));
    note(tooLong, "were dropped: their completion is longer than "
                  "`data.sequence` = " +
                      std::to_string(data.sequence));
    note(empty, "were dropped: nothing in them counts in the loss");
    if (tokenizer.missingBytes() > 0)
      documents.messages.push_back("the tokenizer has no token for " +
                                   std::to_string(tokenizer.missingBytes()) +
                                   " of the bytes of UTF-8; texts lose them");
    documents.shrink();
    return std::move(documents);
  }

private:
  Status encode(const Sample& sample) {
    if (data.bosToken >= 0)
      put({static_cast<int32_t>(data.bosToken)}, false);
    for (const Piece& piece : sample.pieces) {
      const Expected<std::vector<int32_t>> some = encodePiece(encoder, piece);
      RECIPERUN_TRY(some);
      put(*some, piece.counts);
    }
    if (data.eosToken >= 0)
      put({static_cast<int32_t>(data.eosToken)}, sample.pieces.back().counts);
    return {};
  }

  void put(const std::vector<int32_t>& some, bool count) {
    ids.insert(ids.end(), some.begin(), some.end());
    counts.insert(counts.end(), some.size(), count ? 1 : 0);
  }

  Status checkIds(const Sample& sample) const {
    for (int32_t id : ids)
      if (data.vocab > 0 && id >= data.vocab)
        return Status::error("line " + std::to_string(sample.line) + " of `" +
                             source.path + "` has " +
                             tooLargeId(data, tokenizer, id));
    return {};
  }

  /// Truncates the document to the sequence length; returns false when it is
  /// dropped.
  bool fit() {
    const auto end = static_cast<int64_t>(ids.size());
    const int64_t begin = data.bosToken >= 0 ? 1 : 0;
    const auto first = std::find(counts.begin(), counts.end(), 1);
    // At least one id must precede the first id that counts, as the input that
    // predicts it.
    const int64_t cuttable = std::max<int64_t>(
        0, first - counts.begin() - std::max<int64_t>(begin, 1));
    const int64_t excess = end - 1 - data.sequence;
    if (std::accumulate(counts.begin() + (end > 0), counts.end(), 0) == 0) {
      ++empty;
      return false;
    }
    if (excess > cuttable) {
      ++tooLong;
      return false;
    }
    if (excess <= 0)
      return true;
    ++shortened;
    ids.erase(ids.begin() + begin, ids.begin() + begin + excess);
    counts.erase(counts.begin() + begin, counts.begin() + begin + excess);
    return true;
  }

  void append(int64_t line) {
    documents.lines.push_back(line);
    documents.ids.insert(documents.ids.end(), ids.begin(), ids.end());
    documents.counts.insert(documents.counts.end(), counts.begin(),
                            counts.end());
    documents.starts.push_back(static_cast<int64_t>(documents.ids.size()));
    documents.weights.push_back(
        std::accumulate(counts.begin() + 1, counts.end(), int64_t{0}));
  }

  void note(int64_t count, const std::string& what) {
    if (count > 0)
      documents.messages.push_back(std::to_string(count) + " of the " +
                                   std::to_string(samples) + " samples of `" +
                                   source.path + "` " + what);
  }

  const plan::DataSource& source;
  const plan::Data& data;
  const Tokenizer& tokenizer;
  TextEncoder encoder;
  Documents documents;
  std::vector<int32_t> ids;
  std::vector<uint8_t> counts;
  int64_t samples = 0;
  int64_t shortened = 0;
  int64_t tooLong = 0;
  int64_t empty = 0;
};

Expected<Documents> Documents::read(const plan::DataSource& source,
                                    const plan::Data& data,
                                    const Tokenizer& tokenizer) {
  Expected<JsonlReader> reader = JsonlReader::open(source, data.chat);
  RECIPERUN_TRY(reader);
  DocumentBuilder builder(source, data, tokenizer);
  Sample sample;
  while (reader->next(sample))
    RECIPERUN_TRY(builder.add(sample));
  RECIPERUN_TRY(reader->finish());
  return builder.finish();
}

namespace {

/// Returns [bos] + the ids of the pieces.
Expected<std::vector<int32_t>> encodePieces(const plan::Data& data,
                                            const Tokenizer& tokenizer,
                                            std::span<const Piece> pieces) {
  std::vector<int32_t> ids;
  if (data.bosToken >= 0)
    ids.push_back(static_cast<int32_t>(data.bosToken));
  const TextEncoder encoder(data, tokenizer);
  for (const Piece& piece : pieces) {
    const Expected<std::vector<int32_t>> some = encodePiece(encoder, piece);
    RECIPERUN_TRY(some);
    ids.insert(ids.end(), some->begin(), some->end());
  }
  return ids;
}

} // namespace

Expected<std::vector<int32_t>> encodeText(const plan::Data& data,
                                          const Tokenizer& tokenizer,
                                          const std::string& text) {
  return encodePieces(data, tokenizer, std::vector<Piece>{{text}});
}

Expected<std::vector<int32_t>> encodePrompt(const plan::Data& data,
                                            const Tokenizer& tokenizer,
                                            const std::string& prompt) {
  if (!plan::readsMessages(data))
    return encodeText(data, tokenizer, prompt);
  std::vector<Piece> pieces = chatPieces(data.chat, "user", prompt);
  pieces.push_back(chatPieces(data.chat, "assistant", "").front());
  return encodePieces(data, tokenizer, pieces);
}

} // namespace reciperun::data
