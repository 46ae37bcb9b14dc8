// The Unicode normalization forms that a tokenizer.json may ask for (Unicode
// Standard Annex 15), by ICU.
//
// A build without ICU refuses such a tokenizer when its file is read.

#ifndef RECIPERUN_DATA_NORMALIZER_H
#define RECIPERUN_DATA_NORMALIZER_H

#include "runtime/base/Status.h"

#include <string>
#include <string_view>

namespace reciperun::data {

enum class NormalizationForm { none, nfc, nfd, nfkc, nfkd };

/// Fails when this build cannot normalize to the form.
Status checkNormalization(NormalizationForm form);

/// Normalizes well-formed UTF-8.
Expected<std::string> normalize(NormalizationForm form, std::string_view text);

} // namespace reciperun::data

#endif // RECIPERUN_DATA_NORMALIZER_H
