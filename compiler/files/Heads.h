// What the beginnings of data files give away.

#ifndef RECIPEC_FILES_HEADS_H
#define RECIPEC_FILES_HEADS_H

#include "runtime/data/Tokenizer.h"
#include "runtime/plan/Plan.h"

#include <string>
#include <vector>

namespace recipec::files {

/// Why a run could not use a file.
struct Fault {
  std::string what; // in the runtime's words; empty where nothing is wrong
  std::string help; // may be empty
  /// It is that the tokenizer has ids that the model has not; `what` says where
  /// the data use one.
  bool isAboveVocab = false;
  /// The field of the source that lines lack; may be empty.
  std::string missingField = {};
};

/// Why a run could not use the beginning of `files`. It looks at no more than
/// 1 MiB in all: lines that lack a field, text that is none, ids at or above
/// the vocabulary. `tokenizer` may be null.
Fault lookInto(const reciperun::plan::DataSource& source,
               const reciperun::plan::Data& data,
               const std::vector<std::string>& files,
               const reciperun::data::Tokenizer* tokenizer);

} // namespace recipec::files

#endif // RECIPEC_FILES_HEADS_H
