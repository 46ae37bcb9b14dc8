// What is wrong with a data file that its parser rejects, and what to write
// instead. The parsers' own texts address programmers. Private to this folder.

#ifndef RECIPEC_PARSE_DATAERRORS_H
#define RECIPEC_PARSE_DATAERRORS_H

#include "compiler/diag/Diagnostic.h"

#include <string>
#include <string_view>

namespace recipec::parse {

/// A mistake in a data file. `begin` and `end` are offsets in its text.
struct DataError {
  size_t begin = 0, end = 0;
  std::string message;
  std::string help;
};

/// Explains an error in JSON text. `last` is the offset of the last byte that
/// the JSON parser has read; if a value is missing, it is the text's end or
/// beyond.
DataError explainJson(std::string_view text, size_t last);

/// The error that libyaml reports, with offsets in the text.
struct YamlProblem {
  std::string_view problem;
  size_t at = 0;
  std::string_view context; // may be empty
  size_t contextAt = 0;
};

/// Explains an error in YAML text.
DataError explainYaml(std::string_view text, const YamlProblem& problem);

} // namespace recipec::parse

#endif // RECIPEC_PARSE_DATAERRORS_H
