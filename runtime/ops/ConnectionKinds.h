// The kinds of connections between ranks.

#ifndef RECIPERUN_OPS_CONNECTIONKINDS_H
#define RECIPERUN_OPS_CONNECTIONKINDS_H

#include <optional>
#include <string_view>

namespace reciperun::ops {

/// How the ranks of a group exchange data: by NCCL, by the copy engines of GPUs
/// that map each other's memory, or by kernels that read and write that memory.
enum class Transport { nccl, peerCopies, peerKernels };

/// Which ranks of a group its ops connect: neighbours in a ring or tree, each
/// rank with the next one, or each rank with every other rank.
enum class Traffic { collective, shift, exchange };

const char* nameOf(Transport transport);
const char* nameOf(Traffic traffic);
std::optional<Transport> findTransport(std::string_view name);
std::optional<Traffic> findTraffic(std::string_view name);

} // namespace reciperun::ops

#endif // RECIPERUN_OPS_CONNECTIONKINDS_H
