// The communicator of a single-rank job. It needs no message layer.

#ifndef RECIPERUN_COMM_LOCALCOMMUNICATOR_H
#define RECIPERUN_COMM_LOCALCOMMUNICATOR_H

#include "runtime/comm/Communicator.h"

namespace reciperun::comm {

/// Collectives over one rank: copies.
class LocalCommunicator : public Communicator {
public:
  LocalCommunicator() : Communicator(0, 1, nullptr) {}

  Status run(const Collective& collective) override;
  Expected<int> begin(const Collective& collective) override;
  Status move(const Message& message) override;
  Expected<int> begin(const Message& message) override;
  Status finish(int message) override;
  Status agree(const Status& mine) override { return mine; }
};

} // namespace reciperun::comm

#endif // RECIPERUN_COMM_LOCALCOMMUNICATOR_H
