// Checks that a module is one that passes may rely on.
//
// A finding is a mistake of the compiler, never of the user, so that it is a
// text for the driver's assertion and not a diagnostic.

#ifndef RECIPEC_IR_VERIFY_H
#define RECIPEC_IR_VERIFY_H

#include "compiler/ir/Ir.h"

namespace recipec::ir {

/// What is wrong, each with function and op; empty for a sound module. Looks
/// at names, references, definition before use, element types, dimensions of
/// each op, shardings and the groups of collectives.
std::vector<std::string> verify(const Module& module);

} // namespace recipec::ir

#endif // RECIPEC_IR_VERIFY_H
