// Converts to UTF-16, on which ICU works, normalizes with unorm2, and converts
// back. The pieces begin after a line end; normalization never composes or
// reorders across one.

#include "runtime/data/Normalizer.h"

#include "runtime/base/StopSignal.h"

#ifdef RECIPERUN_WITH_ICU
#include <unicode/unorm2.h>
#include <unicode/ustring.h>
#endif

#include <algorithm>
#include <vector>

namespace reciperun::data {

#ifdef RECIPERUN_WITH_ICU

namespace {

const UNormalizer2* instanceOf(NormalizationForm form, UErrorCode& error) {
  switch (form) {
  case NormalizationForm::nfc:
    return unorm2_getNFCInstance(&error);
  case NormalizationForm::nfd:
    return unorm2_getNFDInstance(&error);
  case NormalizationForm::nfkc:
    return unorm2_getNFKCInstance(&error);
  case NormalizationForm::nfkd:
    return unorm2_getNFKDInstance(&error);
  case NormalizationForm::none:
    break;
  }
  return nullptr;
}

/// The size of the text normalized per call, extended to the end of its line.
constexpr size_t bytesAtOnce = 1 << 16;

Status failure(const char* what) {
  return Status::error(std::string("ICU cannot ") + what + " a text");
}

} // namespace

Status checkNormalization(NormalizationForm form) {
  if (form == NormalizationForm::none)
    return {};
  UErrorCode error = U_ZERO_ERROR;
  instanceOf(form, error);
  return U_SUCCESS(error) ? Status::ok() : failure("normalize");
}

/// A piece of pure ASCII is already in every form.
static Status appendNormalized(const UNormalizer2* normalizer,
                               std::string_view text, std::string& result) {
  const bool ascii = std::all_of(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x80;
  });
  if (ascii) {
    result += text;
    return {};
  }
  UErrorCode error = U_ZERO_ERROR;
  // UTF-16 never has more units than UTF-8 has bytes.
  std::vector<UChar> source(text.size());
  int32_t length = 0;
  u_strFromUTF8(source.data(), static_cast<int32_t>(source.size()), &length,
                text.data(), static_cast<int32_t>(text.size()), &error);
  if (U_FAILURE(error))
    return failure("read");

  const int32_t wanted =
      unorm2_normalize(normalizer, source.data(), length, nullptr, 0, &error);
  if (error != U_BUFFER_OVERFLOW_ERROR && U_FAILURE(error))
    return failure("normalize");
  error = U_ZERO_ERROR;
  std::vector<UChar> target(wanted + 1);
  unorm2_normalize(normalizer, source.data(), length, target.data(),
                   static_cast<int32_t>(target.size()), &error);
  std::string piece(3 * static_cast<size_t>(wanted), '\0');
  int32_t bytes = 0;
  u_strToUTF8(piece.data(), static_cast<int32_t>(piece.size()), &bytes,
              target.data(), wanted, &error);
  if (U_FAILURE(error))
    return failure("normalize");
  result.append(piece, 0, static_cast<size_t>(bytes));
  return {};
}

Expected<std::string> normalize(NormalizationForm form, std::string_view text) {
  if (form == NormalizationForm::none)
    return std::string(text);
  std::string result;
  UErrorCode error = U_ZERO_ERROR;
  const UNormalizer2* normalizer = instanceOf(form, error);
  result.reserve(text.size());
  while (!text.empty()) {
    RECIPERUN_TRY(checkStopSignal());
    const size_t end = text.find('\n', std::min(bytesAtOnce, text.size()));
    const std::string_view piece = text.substr(0, end);
    RECIPERUN_TRY(appendNormalized(normalizer, piece, result));
    text.remove_prefix(piece.size());
  }
  return result;
}

#else

Status checkNormalization(NormalizationForm form) {
  if (form == NormalizationForm::none)
    return {};
  return Status::error("this reciperun was built without ICU, which Unicode "
                       "normalization needs; install libicu-dev and build it "
                       "again");
}

Expected<std::string> normalize(NormalizationForm form, std::string_view text) {
  RECIPERUN_TRY(checkNormalization(form));
  return std::string(text);
}

#endif

static std::string replaceAll(std::string_view text, const std::string& what,
                              const std::string& with) {
  std::string replaced;
  replaced.reserve(text.size());
  for (size_t at = text.find(what); at != text.npos; at = text.find(what)) {
    replaced += text.substr(0, at);
    replaced += with;
    text.remove_prefix(at + what.size());
  }
  replaced += text;
  return replaced;
}

Expected<std::string> normalize(const std::vector<NormalizerStep>& steps,
                                std::string_view text) {
  std::string normal(text);
  for (const NormalizerStep& step : steps) {
    switch (step.kind) {
    case NormalizerStep::Kind::form: {
      Expected<std::string> made = normalize(step.form, normal);
      RECIPERUN_TRY(made);
      normal = *std::move(made);
      break;
    }
    case NormalizerStep::Kind::prepend:
      if (!normal.empty())
        normal.insert(0, step.with);
      break;
    case NormalizerStep::Kind::replace:
      normal = replaceAll(normal, step.what, step.with);
      break;
    }
  }
  return normal;
}

} // namespace reciperun::data
