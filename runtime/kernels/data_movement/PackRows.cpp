// Packs the rows that a rank received, in blocks, into one block, and unpacks
// them.
//
// For each group, expert by expert, the rows of each block are packed in order,
// starting at row `begin`, until the packed block is full. Rows that do not fit
// are counted. Unpacking sets rows that were not packed to 0. Each op is the
// transpose of the other.

#include "runtime/device/cpu/CpuContext.h"
#include "runtime/kernels/common/Kernels.h"
#include "runtime/kernels/moe/ExpertPieces.h"
#include "runtime/ops/ExpertOps.h"

#include <cstring>

namespace reciperun::kernels {
namespace {

using device::KernelArgs;
using device::Tensor;

/// The number of rows of all groups, and of those that did not fit.
struct RowCounts {
  int64_t all = 0, beyond = 0;
};

/// The mapping between rows of `x`, in several blocks, and `y`, in one.
class Packing {
public:
  Packing(const KernelArgs& args, const Tensor& x, const Tensor& y)
      : x(x), y(y), rows(x, args.inputs[1]),
        begin(ops::PackRowsAttributes(args.op.attributes).begin),
        places(y.shape[1]), members(args.inputs[1].shape[2]) {}

  int64_t rowBytes() const { return x.shape[2] * plan::byteSize(x.type); }
  int64_t experts() const { return rows.experts(); }

  /// Calls body(expert, row of x, row of y, count) for each run of rows that
  /// fits, and stores in `used` the number of rows of y in each group.
  template <class Body> RowCounts run(int64_t* used, Body body) const {
    RowCounts result;
    int64_t before = 0; // rows of the group
    for (int64_t expert = 0; expert < rows.experts(); ++expert) {
      const int64_t group = expert / members;
      if (expert % members == 0)
        before = used[group] = 0;
      for (int64_t block = 0; block < rows.blocksOfGroup(); ++block) {
        const ExpertPieces::Run run = rows.runOf(expert, block);
        const int64_t skipped =
            std::clamp<int64_t>(begin - before, 0, run.count);
        const int64_t count =
            std::min(run.count - skipped, places - used[group]);
        if (count > 0)
          body(expert, run.first + skipped, group * places + used[group],
               count);
        used[group] += count;
        before += run.count;
        result.all += run.count;
        result.beyond += run.count - skipped - count;
      }
    }
    return result;
  }

private:
  const Tensor &x, &y;
  ExpertPieces rows;
  int64_t begin, places, members;
};

char* rowAt(const Tensor& tensor, int64_t row, int64_t rowBytes) {
  return tensor.as<char>() + row * rowBytes;
}

} // namespace

Status packRowsKernel(const KernelArgs& args) {
  const Tensor &x = args.inputs[0], &y = args.outputs[0];
  const Tensor &counts = args.outputs[1], &overflow = args.outputs[2];
  const Packing packing(args, x, y);
  const int64_t bytes = packing.rowBytes(), groups = y.shape[0];
  auto* used = args.context.scratch<int64_t>(0, size_t(groups));
  if (counts.present())
    std::fill_n(counts.as<int32_t>(), packing.experts(), 0);
  const RowCounts rows = packing.run(
      used, [&](int64_t expert, int64_t from, int64_t to, int64_t count) {
        std::memcpy(rowAt(y, to, bytes), rowAt(x, from, bytes),
                    size_t(count * bytes));
        if (counts.present())
          counts.as<int32_t>()[expert] += int32_t(count);
      });
  for (int64_t group = 0; group < groups; ++group)
    std::memset(rowAt(y, group * y.shape[1] + used[group], bytes), 0,
                size_t((y.shape[1] - used[group]) * bytes));
  if (overflow.present()) {
    overflow.as<double>()[0] += double(rows.all);
    overflow.as<double>()[1] += double(rows.beyond);
  }
  return Status::ok();
}

Status unpackRowsKernel(const KernelArgs& args) {
  const Tensor &y = args.inputs[0], &x = args.outputs[0];
  const Packing packing(args, x, y);
  const int64_t bytes = packing.rowBytes();
  auto* used = args.context.scratch<int64_t>(0, size_t(y.shape[0]));
  std::memset(x.data, 0, size_t(x.bytes()));
  packing.run(used, [&](int64_t, int64_t to, int64_t from, int64_t count) {
    std::memcpy(rowAt(x, to, bytes), rowAt(y, from, bytes),
                size_t(count * bytes));
  });
  return Status::ok();
}

} // namespace reciperun::kernels
