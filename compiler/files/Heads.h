// Checks of data files by their beginnings.

#ifndef RECIPEC_FILES_HEADS_H
#define RECIPEC_FILES_HEADS_H

#include "runtime/data/Tokenizer.h"
#include "runtime/plan/Plan.h"

#include <cstddef>
#include <string>
#include <vector>

namespace recipec::files {

/// Limits of the beginnings: bytes read from all files together, files opened,
/// and bytes of text tokenized.
inline constexpr size_t mostBytes = 1 << 20;
inline constexpr size_t mostFiles = 64;
inline constexpr size_t mostTokenized = 1 << 16;

/// Why a run could not use a file.
struct Fault {
  std::string what; // the runtime's message; empty if nothing is wrong
  std::string help; // may be empty
  /// Whether the fault is a token id at or above the model's vocabulary. `what`
  /// then says where the data have one.
  bool isAboveVocab = false;
  /// The field of the source that lines of the file lack; may be empty.
  std::string missingField = {};
};

/// What a run could do with the files, though hardly on purpose.
struct Doubt {
  enum class Kind { none, separator, length, contents } kind = Kind::none;
  std::string what;
  std::string help; // may be empty
  /// Of lengths: the tokens of the longest sample, and whether no sample fits.
  int64_t longest = 0;
  bool isFatal = false;
};

/// A separator of `text` that its files do not hold, samples of `jsonl` that
/// are all longer than a sequence, or ids of another type: as lookInto() looks
/// into them.
Doubt doubtAbout(const reciperun::plan::DataSource& source,
                 const reciperun::plan::Data& data,
                 const std::vector<std::string>& files,
                 const reciperun::data::Tokenizer* tokenizer);

/// Why a run could not use the beginning of `files`, of which it reads at most
/// 1 MiB in all. Finds lines that lack a field, files that are not text, and
/// ids at or above the vocabulary. `tokenizer` may be null.
Fault lookInto(const reciperun::plan::DataSource& source,
               const reciperun::plan::Data& data,
               const std::vector<std::string>& files,
               const reciperun::data::Tokenizer* tokenizer);

} // namespace recipec::files

#endif // RECIPEC_FILES_HEADS_H
