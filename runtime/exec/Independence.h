// Which calls of a function may run at the same time.

#ifndef RECIPERUN_EXEC_INDEPENDENCE_H
#define RECIPERUN_EXEC_INDEPENDENCE_H

#include "runtime/device/Device.h"

#include <cstddef>
#include <span>

namespace reciperun::exec {

/// Whether two calls may run in any order: neither writes memory that the other
/// one reads or writes.
bool areIndependent(const device::OpCall& a, const device::OpCall& b);

/// The number of calls, from the first one on and up to `most`, that can run
/// concurrently: consecutive matmuls that are all independent of one another.
/// At least 1.
size_t countConcurrent(std::span<const device::OpCall> calls, size_t most);

} // namespace reciperun::exec

#endif // RECIPERUN_EXEC_INDEPENDENCE_H
