// What a rank's connections to other ranks take of its device's memory: NCCL's
// communicators, which no plan places, and the ways to memory of other GPUs.

#ifndef RECIPEC_COST_CONNECTIONS_H
#define RECIPEC_COST_CONNECTIONS_H

#include "compiler/ir/Ir.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace recipec::cost {

/// Bytes on a GPU of a rank of the stage of that number, whose arena is
/// planned; `node` ranks share a host.
int64_t connectionBytes(const std::vector<ir::Module>& stages, size_t stage,
                        int64_t node);

} // namespace recipec::cost

#endif // RECIPEC_COST_CONNECTIONS_H
