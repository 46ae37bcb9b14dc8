// 1. Find the pages of all layers: the results of `attention_paged`.
// 2. The bytes that the planned program of a stage takes without them are
//    exact, so the rest of the device's memory is theirs. The stage that has
//    room for the fewest decides.
// 3. Set the size of their dimension in each stage, and move each placement by
//    what the pages before it grow.

#include "compiler/passes/inference/CacheSize.h"

#include "compiler/cost/Estimate.h"
#include "compiler/passes/inference/ServingLimits.h"
#include "runtime/ops/OpKind.h"
#include "runtime/plan/Plan.h"

#include <algorithm>
#include <cassert>
#include <set>

namespace recipec::passes {
namespace {

using ir::ValueId;
using reciperun::plan::bufferAlignment;

int64_t alignedBytes(int64_t bytes) {
  return (bytes + bufferAlignment - 1) / bufferAlignment * bufferAlignment;
}

/// The pages of keys and of values, [pages, page, heads, width], of each layer,
/// and their scales [pages, page, heads].
std::set<ValueId> pagesOf(const ir::Module& program) {
  std::set<ValueId> pages;
  for (const ir::Function& function : program.functions)
    for (const ir::Op& op : function.ops)
      if (op.kind == ir::OpKind::AttentionPaged)
        pages.insert(op.results.begin() + 1, op.results.end());
  pages.erase(ValueId::none);
  return pages;
}

/// The bytes of a single page of one layer's keys or values.
int64_t singleBytes(const ir::Module& program, ValueId pages) {
  return ir::localBytes(program, pages) /
         ir::localShape(program, pages).front();
}

/// The bytes of this many pages in all layers, each layer's aligned.
int64_t bytesOf(const ir::Module& program, const std::set<ValueId>& layers,
                int64_t pages) {
  int64_t bytes = 0;
  for (ValueId each : layers)
    bytes += alignedBytes(pages * singleBytes(program, each));
  return bytes;
}

/// The most pages that fit in `room` bytes.
int64_t pagesIn(const ir::Module& program, const std::set<ValueId>& layers,
                int64_t pageBytes, int64_t room) {
  int64_t pages = std::max<int64_t>(0, room) / pageBytes;
  while (pages > 0 && bytesOf(program, layers, pages) > room)
    --pages;
  return pages;
}

void movePlacements(ir::Module& program, const std::set<ValueId>& layers) {
  int64_t shift = 0;
  for (ir::Placement& placement : program.placements) {
    placement.offset += shift;
    if (!layers.contains(placement.value))
      continue;
    const int64_t before = placement.bytes;
    placement.bytes = ir::localBytes(program, placement.value);
    shift += alignedBytes(placement.bytes) - alignedBytes(before);
  }
  program.arenaBytes += shift;
}

CacheSize measureStage(const ir::Module& program,
                       const recipe::Recipe& recipe) {
  CacheSize size;
  size.stage = program.stage;
  const std::set<ValueId> layers = pagesOf(program);
  if (layers.empty())
    return size;
  const ServingLimits limits = servingLimits(recipe);
  size.pages = ir::localShape(program, *layers.begin()).front();
  size.pageTokens = limits.page;
  for (ValueId each : layers)
    size.pageBytes += singleBytes(program, each);
  size.bytes = bytesOf(program, layers, size.pages);
  size.least = limits.pagesOfSequence();
  if (recipe.at("serve.cache").isAuto()) {
    const cost::MemoryTable memory =
        cost::memoryTable(program, nullptr, recipe);
    size.room = int64_t(recipe.real("serve.memory_fraction") *
                        double(memory.capacity)) -
                (memory.total - size.bytes);
  } else {
    size.room = recipe.count("serve.cache");
  }
  size.roomPages = pagesIn(program, layers, size.pageBytes, size.room);
  return size;
}

void setPages(ir::Module& program, int64_t pages) {
  assert(!program.placements.empty() && "memory is planned");
  const std::set<ValueId> layers = pagesOf(program);
  if (layers.empty())
    return;
  const ir::DimId dim = program[*layers.begin()].dims.front();
  program.dims[size_t(dim)].size = pages;
  movePlacements(program, layers);
}

} // namespace

CacheSize measureCache(const std::vector<ir::Module>& stages,
                       const recipe::Recipe& recipe) {
  CacheSize tightest;
  for (const ir::Module& stage : stages) {
    const CacheSize size = measureStage(stage, recipe);
    if (size.pageBytes > 0 &&
        (tightest.pageBytes == 0 || size.roomPages < tightest.roomPages))
      tightest = size;
  }
  return tightest;
}

void fitCache(std::vector<ir::Module>& stages, const recipe::Recipe& recipe) {
  const CacheSize size = measureCache(stages, recipe);
  if (size.pageBytes == 0)
    return;
  int64_t pages = size.roomPages;
  if (recipe.at("serve.cache").isAuto())
    pages = std::min(pages, size.least * servingLimits(recipe).maxBatch);
  pages = std::max(pages, size.least);
  for (ir::Module& stage : stages)
    setPages(stage, pages);
}

} // namespace recipec::passes
