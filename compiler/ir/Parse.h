// Reads the text that Print.h writes; for tests of single passes.

#ifndef RECIPEC_IR_PARSE_H
#define RECIPEC_IR_PARSE_H

#include "compiler/ir/Ir.h"

namespace recipec::ir {

/// The module, without source ranges; on failure none, and `error` says line,
/// what was expected and what was found.
std::optional<Module> parse(std::string_view text, std::string& error);

} // namespace recipec::ir

#endif // RECIPEC_IR_PARSE_H
