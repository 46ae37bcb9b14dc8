// Tokens one behind the other, of one or more files, each document ended by the
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
  /// Reads as many ids as `ids` has places, from number `first` on.
  virtual Status read(int64_t first, std::span<int32_t> ids) const = 0;

  /// How messages call it: "the text `a.txt`".
  virtual std::string name() const = 0;
  /// Where some of the tokens are from: "tokens 5 to 9 of `a.bin`".
  virtual std::string origin(int64_t first, int64_t count) const = 0;
  virtual std::vector<std::string> notes() const { return {}; }
  /// Memory that the stream takes.
  virtual int64_t bytes() const { return 0; }
};

/// Reads and tokenizes all text files of a source, which are kept in memory as
/// ids. A document is [bos] + its ids + [eos], as far as the model has them.
/// Fails for a file that cannot be read or is not UTF-8, for an id beyond the
/// model's vocabulary, and where there is no text.
Expected<std::unique_ptr<TokenStream>> openText(const plan::DataSource& source,
                                                const plan::Data& data,
                                                const Tokenizer& tokenizer);

/// Opens all token files of a source; what is read of them is read when it is
/// asked for. Fails as TokenFile::open does.
Expected<std::unique_ptr<TokenStream>>
openTokenFiles(const plan::DataSource& source, const plan::Data& data);

} // namespace reciperun::data

#endif // RECIPERUN_DATA_TOKENSTREAM_H
