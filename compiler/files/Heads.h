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
  /// Whether the fault is a token id outside the model's vocabulary. `what`
  /// then says where in the data the id occurs.
  bool isAboveVocab = false;
  /// A field of the source that lines of the file do not have; may be empty.
  std::string missingField = {};
};

/// Usable contents that are probably a mistake.
struct Doubt {
  enum class Kind { none, separator, length, contents } kind = Kind::none;
  std::string what;
  std::string help; // may be empty
  /// For lengths: the tokens of the longest sample, and whether no sample fits.
  int64_t longest = 0;
  bool isFatal = false;
};

/// Warns of a separator of `text` that does not occur in the files, of `jsonl`
/// samples that are all longer than a sequence, and of token ids of another
/// type. Reads as much as lookInto() does.
Doubt doubtAbout(const reciperun::plan::DataSource& source,
                 const reciperun::plan::Data& data,
                 const std::vector<std::string>& files,
                 const reciperun::data::Tokenizer* tokenizer);

/// The reason why a run could not use the beginnings of `files`; reads at most
/// 1 MiB in all. Finds lines that lack a field, files that are not text, and
/// ids outside the vocabulary. `tokenizer` may be null.
Fault lookInto(const reciperun::plan::DataSource& source,
               const reciperun::plan::Data& data,
               const std::vector<std::string>& files,
               const reciperun::data::Tokenizer* tokenizer);

} // namespace recipec::files

#endif // RECIPEC_FILES_HEADS_H
