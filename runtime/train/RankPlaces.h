// Tells rank 0 where the ranks of a job run.

#ifndef RECIPERUN_TRAIN_RANKPLACES_H
#define RECIPERUN_TRAIN_RANKPLACES_H

#include "runtime/base/Status.h"
#include "runtime/comm/Communicator.h"
#include "runtime/device/Device.h"
#include "runtime/train/metrics/RankTimes.h"

#include <vector>

namespace reciperun::train {

/// The places of all ranks, by rank. Collective.
Expected<std::vector<RankPlace>>
placesOfRanks(const device::Device& device, comm::Communicator& communicator);

} // namespace reciperun::train

#endif // RECIPERUN_TRAIN_RANKPLACES_H
