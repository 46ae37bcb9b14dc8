// Memory tables as text, for `--emit=memory`, `estimate` and diagnostics.

#ifndef RECIPEC_DRIVER_MEMORYREPORT_H
#define RECIPEC_DRIVER_MEMORYREPORT_H

#include "compiler/cost/Estimate.h"
#include "compiler/ir/Ir.h"
#include "compiler/recipe/Format.h"

#include <string>
#include <string_view>
#include <vector>

namespace recipec::driver {

using recipe::formatBytes;

struct MemoryRow {
  std::string_view name; // `parameters`
  int64_t bytes = 0;
  char letter = ' '; // represents the category in a bar
};
/// The categories in the order of the table. `library` and, with asynchronous
/// checkpoints, `host` are outside the arena.
std::vector<MemoryRow> memoryRows(const cost::MemoryTable& memory);

/// The categories of at least a twentieth of the total, the largest first,
/// without those named in `skipped`: `parameters 14.9 GiB, activations 3 GiB`.
std::string largestCategories(const cost::MemoryTable& memory,
                              const std::vector<std::string_view>& skipped);

struct LargestBuffer {
  ir::ValueId value = ir::ValueId::none;
  std::string name;
  std::string category;
  int64_t bytes = 0;
};
/// At most `count` buffers, the largest first. A region and its members share
/// their bytes; only the members are listed.
std::vector<LargestBuffer> largestBuffers(const ir::Module& program,
                                          size_t count);

/// The name of a buffer for a user. A region of parameters is named by its use,
/// `master weights`; any other buffer by its own name, `` `layers.0.q.weight`
/// ``.
std::string describeBuffer(const ir::Module& program,
                           const LargestBuffer& buffer);

/// The table by category; every line ends in a newline.
std::string memoryTableText(const cost::MemoryTable& memory);

} // namespace recipec::driver

#endif // RECIPEC_DRIVER_MEMORYREPORT_H
