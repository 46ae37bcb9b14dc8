// Gathers the shards of sharded regions, so that every rank has whole
// parameters or gradients, for exports and dumps.

#ifndef RECIPERUN_TRAIN_SHARDGATHER_H
#define RECIPERUN_TRAIN_SHARDGATHER_H

#include "runtime/comm/Communicator.h"
#include "runtime/exec/Executor.h"
#include "runtime/plan/Plan.h"

namespace reciperun::train {

/// All-gathers the parameters of sharded regions. After a step a rank has
/// updated only its own shard; the others may be stale, because only the next
/// forward gathers them. Collective.
Status gatherParameters(const plan::Plan& plan, const exec::Executor& executor,
                        comm::Communicator& communicator);

/// All-gathers the gradients of sharded regions. After a step a rank has only
/// the shard of each gradient that it updated. Fails where a rank has no buffer
/// for whole gradients. Collective.
Status gatherGradients(const plan::Plan& plan, const exec::Executor& executor,
                       comm::Communicator& communicator);

} // namespace reciperun::train

#endif // RECIPERUN_TRAIN_SHARDGATHER_H
