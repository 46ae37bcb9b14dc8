// The powers of Python, `2**9`, among tokens. Private to this folder.

#ifndef RECIPEC_PARSE_POWERS_H
#define RECIPEC_PARSE_POWERS_H

#include "compiler/parse/Tokens.h"

#include <string>
#include <vector>

namespace recipec::parse {

/// A power with both of its operands, and what to write for it: `pow(2, 9)`.
struct Power {
  SourceRange range;
  std::string text;
};

/// The powers among the tokens from `first` up to `end`, in order. Leaves out
/// powers whose operand is another power.
std::vector<Power> powersIn(const SourceMap& sources, SourceId source,
                            const std::vector<Token>& tokens, size_t first,
                            size_t end);

} // namespace recipec::parse

#endif // RECIPEC_PARSE_POWERS_H
