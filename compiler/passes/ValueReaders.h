// How many ops read each value of a module.

#ifndef RECIPEC_PASSES_VALUEREADERS_H
#define RECIPEC_PASSES_VALUEREADERS_H

#include "compiler/ir/Ir.h"

#include <vector>

namespace recipec::passes {

/// The number of operands that are the value, in all functions, by value. A
/// binding counts as a reader.
std::vector<int> countReaders(const ir::Module& module);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_VALUEREADERS_H
