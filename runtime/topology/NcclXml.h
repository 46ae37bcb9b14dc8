// NCCL's topology files, which `NCCL_TOPO_FILE` names and
// `NCCL_TOPO_DUMP_FILE` writes (NCCL, src/graph/xml.cc and topo.cc).

#ifndef RECIPERUN_TOPOLOGY_NCCLXML_H
#define RECIPERUN_TOPOLOGY_NCCLXML_H

#include "runtime/topology/Machine.h"
#include "runtime/topology/XmlFile.h"

#include <string>
#include <string_view>
#include <vector>

namespace reciperun::topology {

/// What is wrong with a file, and where.
struct Finding {
  /// An error: NCCL refuses the file or ignores the element. A warning: NCCL
  /// reads something else than is meant.
  bool isError = false;
  Position position;
  std::string message;
  std::string help; // may be empty
};

/// The topology file of a machine, with the GPUs that the driver knows and the
/// NICs that are up. NCCL adds each process's `rank` and `gdr`.
XmlElement toNcclXml(const Machine& machine);

/// The devices of a file, as far as NCCL reads them. Devices have the lines of
/// their elements.
Machine machineOf(const XmlElement& system);

/// Checks a file against what NCCL reads, in the order of the lines.
std::vector<Finding> checkNcclXml(const XmlFile& file);

/// The names that NCCL's files give to classes of devices at the other end of
/// an NVLink.
inline constexpr std::string_view switchClass = "0x068000", gpuClass = "0x03",
                                  processorClass = "0x068001";
/// The target of NVLinks whose other end the machine does not see.
inline constexpr std::string_view hiddenTarget = "fffffff:ffff:ff";

} // namespace reciperun::topology

#endif // RECIPERUN_TOPOLOGY_NCCLXML_H
