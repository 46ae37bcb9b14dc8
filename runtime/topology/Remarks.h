// What is unusual about a machine.

#ifndef RECIPERUN_TOPOLOGY_REMARKS_H
#define RECIPERUN_TOPOLOGY_REMARKS_H

#include "runtime/topology/Machine.h"

#include <string>
#include <vector>

namespace reciperun::topology {

/// Sentences, each about one device: fewer NVLinks or PCIe lanes than it could
/// have, RDMA devices that are down or slower than the others, GPUs that the
/// driver does not know.
std::vector<std::string> remarksOn(const Machine& machine);

/// The highest rate of an RDMA device that is up; -1 when none is known.
int64_t fastestRdma(const Machine& machine);

/// `400 Gb/s`; empty when unknown.
std::string rateText(int64_t megabits);

} // namespace reciperun::topology

#endif // RECIPERUN_TOPOLOGY_REMARKS_H
