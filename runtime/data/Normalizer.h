// The `normalizer` of a tokenizer.json: Unicode normalization forms (Unicode
// Standard Annex 15), by ICU, and the steps of SentencePiece.
//
// A build without ICU refuses such a tokenizer when its file is read.

#ifndef RECIPERUN_DATA_NORMALIZER_H
#define RECIPERUN_DATA_NORMALIZER_H

#include "runtime/base/Status.h"

#include <string>
#include <string_view>
#include <vector>

namespace reciperun::data {

enum class NormalizationForm { none, nfc, nfd, nfkc, nfkd };

/// Fails when this build cannot normalize to the form.
Status checkNormalization(NormalizationForm form);

/// Normalizes well-formed UTF-8.
Expected<std::string> normalize(NormalizationForm form, std::string_view text);

/// One step of a normalizer.
struct NormalizerStep {
  enum class Kind {
    form,    // Unicode normalization
    prepend, // adds `with` before a text that is not empty
    replace  // replaces each `what` by `with`
  };
  Kind kind = Kind::form;
  NormalizationForm form = NormalizationForm::none;
  std::string what = {}; // not empty
  std::string with = {};
};

/// Applies steps to well-formed UTF-8, in order.
Expected<std::string> normalize(const std::vector<NormalizerStep>& steps,
                                std::string_view text);

} // namespace reciperun::data

#endif // RECIPERUN_DATA_NORMALIZER_H
