// Parses the text that Print.h writes; for tests of single passes.

#ifndef RECIPEC_IR_PARSE_H
#define RECIPEC_IR_PARSE_H

#include "compiler/ir/Ir.h"

namespace recipec::ir {

/// Returns the module, without source ranges. On failure returns nullopt and
/// sets `error` to the line, what was expected and what was found.
std::optional<Module> parse(std::string_view text, std::string& error);

} // namespace recipec::ir

#endif // RECIPEC_IR_PARSE_H
