// Names of the kinds of connections.

#include "runtime/ops/ConnectionKinds.h"

#include "runtime/ops/FindName.h"

namespace reciperun::ops {
namespace {

// In the order of the enumerators.
constexpr const char* transportNames[] = {"nccl", "peer_copies",
                                          "peer_kernels"};
constexpr const char* trafficNames[] = {"collective", "shift", "exchange"};

} // namespace

const char* nameOf(Transport transport) {
  return transportNames[size_t(transport)];
}

const char* nameOf(Traffic traffic) {
  return trafficNames[size_t(traffic)];
}

std::optional<Transport> findTransport(std::string_view name) {
  return findName<Transport>(transportNames, name);
}

std::optional<Traffic> findTraffic(std::string_view name) {
  return findName<Traffic>(trafficNames, name);
}

} // namespace reciperun::ops
