// Device memory that a rank's connections to other ranks take outside the
// plan's arena: NCCL communicators and mappings of other GPUs' memory.

#ifndef RECIPEC_COST_CONNECTIONS_H
#define RECIPEC_COST_CONNECTIONS_H

#include "compiler/ir/Connections.h"

#include <cstdint>

namespace recipec::cost {

/// Bytes on the GPU of a rank of a stage.
int64_t connectionBytes(const ir::Connections& connections, int stage);

} // namespace recipec::cost

#endif // RECIPEC_COST_CONNECTIONS_H
