// A stream of tokens from one or more files. Each document ends with the
// model's `eos_token`.

#ifndef RECIPERUN_DATA_TOKENSTREAM_H
#define RECIPERUN_DATA_TOKENSTREAM_H

#include "runtime/base/Status.h"
#include "runtime/data/Tokenizer.h"
#include "runtime/plan/Plan.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace reciperun::data {

class TokenStream {
public:
  virtual ~TokenStream() = default;

  virtual int64_t tokens() const = 0;
  /// Reads ids from index `first` on until `ids` is full.
  virtual Status read(int64_t first, std::span<int32_t> ids) const = 0;

  /// The stream as in messages: "the text `a.txt`".
  virtual std::string name() const = 0;
  /// The origin of some of the tokens: "tokens 5 to 9 of `a.bin`".
  virtual std::string origin(int64_t first, int64_t count) const = 0;
  virtual std::vector<std::string> notes() const { return {}; }
  /// The memory of the stream in bytes.
  virtual int64_t bytes() const { return 0; }
};

/// Reads and tokenizes all text files of a source; the ids stay in memory. A
/// document is [bos] + its ids + [eos]; bos and eos are omitted when the model
/// has none. Fails for a file that cannot be read or is not UTF-8, for an id
/// beyond the model's vocabulary, and when there is no text.
Expected<std::unique_ptr<TokenStream>> openText(const plan::DataSource& source,
                                                const plan::Data& data,
                                                const Tokenizer& tokenizer);

/// Opens all token files of a source; ids are read on demand. Fails when
/// TokenFile::open does.
Expected<std::unique_ptr<TokenStream>>
openTokenFiles(const plan::DataSource& source, const plan::Data& data);

} // namespace reciperun::data

#endif // RECIPERUN_DATA_TOKENSTREAM_H
