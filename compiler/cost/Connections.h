// Device memory that a rank's connections to other ranks take outside the
// plan's arena: NCCL communicators and mappings of other GPUs' memory.

#ifndef RECIPEC_COST_CONNECTIONS_H
#define RECIPEC_COST_CONNECTIONS_H

#include "compiler/ir/Ir.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace recipec::cost {

/// Bytes on the GPU of a rank of stage number `stage`. The arenas must be
/// planned; `node` ranks share a host.
int64_t connectionBytes(const std::vector<ir::Module>& stages, size_t stage,
                        int64_t node);

} // namespace recipec::cost

#endif // RECIPEC_COST_CONNECTIONS_H
