// Adds up the table of connections, whose bytes the pass Connect has counted.

#include "compiler/cost/Connections.h"

namespace recipec::cost {

int64_t connectionBytes(const ir::Connections& connections, int stage) {
  int64_t sum = connections.commonBytes;
  for (const ir::GroupConnection& group : connections.groups)
    sum += group.bytes[size_t(stage)];
  for (const ir::LinkConnection& link : connections.links)
    sum += link.from == stage ? link.senderBytes
           : link.to == stage ? link.receiverBytes
                              : 0;
  return sum;
}

} // namespace recipec::cost
