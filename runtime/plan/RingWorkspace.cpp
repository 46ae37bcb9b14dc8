// Lays out the buffers one after another; see RingWorkspace.h.

#include "runtime/plan/RingWorkspace.h"

#include "runtime/plan/Plan.h"

#include <algorithm>

namespace reciperun::plan {
namespace {

class Regions {
public:
  int64_t take(int64_t elements, DType type) {
    return takeBytes(elements * byteSize(type), 64);
  }
  int64_t takeBytes(int64_t bytes, int64_t alignment) {
    const int64_t begin = (end + alignment - 1) / alignment * alignment;
    end = begin + (bytes + 63) / 64 * 64;
    return begin;
  }
  int64_t size() const { return end; }

private:
  int64_t end = 0;
};

} // namespace

RingWorkspace ringWorkspace(const RingSizes& sizes, bool isBackward) {
  Regions regions;
  RingWorkspace made;
  const sizes::AttentionSizes& part = sizes.part;
  const int64_t tokens = part.batch * part.keys;
  const int64_t keys = tokens * part.keyHeads * part.width;
  const int64_t queries = part.batch * part.queries * part.heads * part.width;
  const DType math = part.type == DType::f64 ? DType::f64 : DType::f32;
  made.sums = regions.take(part.type == math ? 0 : queries, math);
  // A rank's own block stays in its operands. A ring of two ranks needs a
  // buffer for one more block. A longer ring needs two: for the block in use
  // and for the next.
  for (int64_t i = 0; i < 2; ++i) {
    bool isUsed = i + 1 < sizes.ranks;
    RingWorkspace::Block& block = made.blocks[i];
    block.k = regions.take(isUsed ? keys : 0, part.type);
    block.v = regions.take(isUsed ? keys : 0, part.type);
    block.segments = regions.take(isUsed ? tokens : 0, DType::i32);
    block.places = regions.take(isUsed ? tokens : 0, DType::i32);
  }
  if (isBackward)
    for (RingWorkspace::Gradients* gradients :
         {&made.passing[0], &made.passing[1], &made.own}) {
      gradients->dk = regions.take(keys, math);
      gradients->dv = regions.take(keys, math);
    }
  if (isBackward) {
    made.kernelBytes = std::max(part.window ? 0 : sizes::libraryWorkspace(part),
                                sizes::deltaElements(part) * byteSize(math));
    made.kernels = regions.takeBytes(made.kernelBytes, 256);
  }
  made.bytes = regions.size();
  return made;
}

} // namespace reciperun::plan
