// The runtime's JSON reader: parses a text into an nlohmann/json value.
//
// Every JSON file that the runtime reads is parsed here: plans, manifests,
// safetensors headers, files of a Hugging Face directory, rows of data and of
// metrics. Files are untrusted. Size and depth are therefore limited, and input
// on which JSON readers disagree is rejected (RFC 8259 section 4: repeated
// keys; section 9: bytes after the value). Nothing here throws.

#ifndef RECIPERUN_BASE_PARSEJSON_H
#define RECIPERUN_BASE_PARSEJSON_H

#include "runtime/base/Status.h"

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <string_view>

namespace reciperun {

/// Limits and extensions of the parser, and the noun for its messages.
struct JsonRules {
  /// What messages call the text: "the file ends inside a value". Positions in
  /// a `line` have no line number.
  std::string_view noun = "file";
  size_t maxBytes = size_t(256) << 20;
  /// The maximum nesting of objects and lists. The parser needs no stack for
  /// them, but code that copies or prints a value does. serde_json, which
  /// Hugging Face's tokenizers use, has the same limit.
  int maxDepth = 128;
  /// Reads `Infinity` and `-Infinity` as null. Python's `json` writes them, so
  /// that config.json files contain them (`time_step_limit` of Mamba 2).
  bool takesInfinity = false;
};

/// Reads one value from UTF-8 text with or without a byte order mark. A failure
/// states the line, the column (in code points, from 1) and what is wrong
/// there.
Expected<nlohmann::json> parseJson(std::string_view text,
                                   const JsonRules& rules = {});

/// Like parseJson, but keeps members in the order of the text. An object may
/// have at most 256 members, because lookup is linear.
Expected<nlohmann::ordered_json> parseOrderedJson(std::string_view text,
                                                  const JsonRules& rules = {});

} // namespace reciperun

#endif // RECIPERUN_BASE_PARSEJSON_H
