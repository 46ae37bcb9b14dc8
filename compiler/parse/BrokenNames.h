// Names with characters that names lack: `my-size`, `llama3.2_1b`, `8b`.
// Private to this folder.

#ifndef RECIPEC_PARSE_BROKENNAMES_H
#define RECIPEC_PARSE_BROKENNAMES_H

#include "compiler/parse/Tokens.h"

#include <optional>
#include <string>

namespace recipec::parse {

/// The range of a broken name, and the nearest name that the language allows.
struct BrokenName {
  SourceRange range;
  std::string own;
};

/// The broken name that a token belongs to. Returns nullopt if the adjacent
/// tokens form a valid name. With `keepsDots`, a dot before a letter separates
/// the names of a path.
std::optional<BrokenName> brokenNameAt(const SourceMap& sources,
                                       const TokenList& list, size_t token,
                                       bool keepsDots);

} // namespace recipec::parse

#endif // RECIPEC_PARSE_BROKENNAMES_H
