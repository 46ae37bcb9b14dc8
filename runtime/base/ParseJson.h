// The runtime's one reader of JSON: text -> a value of nlohmann/json.
//
// Every file that the runtime reads as JSON comes through here: plans,
// manifests, safetensors headers, what stands in a Hugging Face directory, rows
// of data and of metrics. Files are untrusted, so that size and depth have
// limits, and what readers disagree about (RFC 8259 section 4: repeated keys;
// section 9: bytes behind the value) is refused. Nothing here throws.

#ifndef RECIPERUN_BASE_PARSEJSON_H
#define RECIPERUN_BASE_PARSEJSON_H

#include "runtime/base/Status.h"

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <string_view>

namespace reciperun {

/// What is read of a text, and how messages speak of it.
struct JsonRules {
  /// "the file ends inside a value"; places in a `line` have no line number.
  std::string_view noun = "file";
  size_t maxBytes = size_t(256) << 20;
  /// Objects and lists inside one another. The reader needs no stack for them,
  /// but whoever copies or prints a value does; serde_json, by which Hugging
  /// Face's tokenizers read, has the same limit.
  int maxDepth = 128;
  /// Read `Infinity` and `-Infinity` as null. Python's `json` writes them, so
  /// that config.json files hold them (`time_step_limit` of Mamba 2).
  bool takesInfinity = false;
};

/// Reads one value, UTF-8 with or without a byte order mark. The failure says
/// the line and column (in code points, from 1) and what stands there.
Expected<nlohmann::json> parseJson(std::string_view text,
                                   const JsonRules& rules = {});

/// The same, with members in the order of the text. An object may have 256
/// members, because looking one up takes as many comparisons.
Expected<nlohmann::ordered_json> parseOrderedJson(std::string_view text,
                                                  const JsonRules& rules = {});

} // namespace reciperun

#endif // RECIPERUN_BASE_PARSEJSON_H
