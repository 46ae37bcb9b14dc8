// Checks that passes can rely on a module.
//
// A finding is a bug of the compiler, never a mistake of the user. It is
// therefore a text for an assertion in the driver and not a diagnostic.

#ifndef RECIPEC_IR_VERIFY_H
#define RECIPEC_IR_VERIFY_H

#include "compiler/ir/Ir.h"

namespace recipec::ir {

/// Returns all findings, each with its function and op; empty for a sound
/// module. Checks names, references, definition before use, element types,
/// dimensions of each op, shardings and the groups of collectives.
std::vector<std::string> verify(const Module& module);

} // namespace recipec::ir

#endif // RECIPEC_IR_VERIFY_H
