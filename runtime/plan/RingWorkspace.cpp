// One region behind the other; see RingWorkspace.h.

#include "runtime/plan/RingWorkspace.h"

namespace reciperun::plan {
namespace {

class Regions {
public:
  int64_t take(int64_t elements, DType type) {
    int64_t begin = end;
    end += (elements * byteSize(type) + 63) / 64 * 64;
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
  DType math = sizes.type == DType::f64 ? DType::f64 : DType::f32;
  made.sums = regions.take(sizes.type == math ? 0 : sizes.queries, math);
  // A rank's own block is where its operands are; a ring of two needs room for
  // one more, a longer one for that which is used and that which comes.
  for (int64_t i = 0; i < 2; ++i) {
    bool isUsed = i + 1 < sizes.ranks;
    RingWorkspace::Block& block = made.blocks[i];
    block.k = regions.take(isUsed ? sizes.keys : 0, sizes.type);
    block.v = regions.take(isUsed ? sizes.keys : 0, sizes.type);
    block.segments = regions.take(isUsed ? sizes.tokens : 0, DType::i32);
    block.places = regions.take(isUsed ? sizes.tokens : 0, DType::i32);
  }
  if (isBackward)
    for (RingWorkspace::Gradients* gradients :
         {&made.passing[0], &made.passing[1], &made.own}) {
      gradients->dk = regions.take(sizes.keys, math);
      gradients->dv = regions.take(sizes.keys, math);
    }
  made.bytes = regions.size();
  return made;
}

} // namespace reciperun::plan
