// The sizes of attention over pages, and the checks of a step's pages.

#include "runtime/kernels/attention/PagedKeys.h"

#include "runtime/ops/AttentionOps.h"

#include <cmath>
#include <string>

namespace reciperun::kernels {
namespace {

std::string placeOf(int64_t position, int64_t sequence) {
  return "position " + std::to_string(position) + " of sequence " +
         std::to_string(sequence);
}

} // namespace

PagedSizes::PagedSizes(const device::KernelArgs& args)
    : tokens(args.inputs[0].shape[1]), heads(args.inputs[0].shape[2]),
      keyHeads(args.inputs[1].shape[2]), width(args.inputs[0].shape[3]),
      scale(ops::AttentionPagedAttributes(args.op.attributes).scale),
      softcap(ops::AttentionPagedAttributes(args.op.attributes).softcap),
      mask(ops::AttentionPagedAttributes(args.op.attributes)) {
  if (scale == 0)
    scale = 1 / std::sqrt(double(width));
}

Status checkPages(const device::KernelArgs& args,
                  const std::vector<StepRun>& runs) {
  const PagedSizes sizes(args);
  const device::Tensor &table = args.inputs[5], &cache = args.outputs[1];
  const int64_t perSequence = table.shape[1];
  const int64_t count = cache.shape[0], page = cache.shape[1];
  for (const StepRun& run : runs) {
    const int64_t last = run.position + run.count - 1;
    if (last >= perSequence * page)
      return Status::error(placeOf(last, run.sequence) +
                           " lies outside of its " +
                           std::to_string(perSequence) + " pages of " +
                           std::to_string(page) + " tokens");
    for (int64_t i = sizes.firstSeen(run.position) / page; i <= last / page;
         ++i) {
      const int64_t found = table.as<int32_t>()[run.sequence * perSequence + i];
      if (found >= 0 && found < count)
        continue;
      const std::string place = placeOf(
          std::min(last, std::max(i * page, sizes.firstSeen(run.position))),
          run.sequence);
      if (found < 0)
        return Status::error(place + " has no page");
      return Status::error(place + " is in page " + std::to_string(found) +
                           ", and the cache has " + std::to_string(count) +
                           " pages");
    }
  }
  return Status::ok();
}

} // namespace reciperun::kernels
