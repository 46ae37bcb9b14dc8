// 1. Find the pages of all layers: the results of `attention_paged`.
// 2. Memory is planned, so the bytes that a stage takes without pages are
//    known. Its pages may take the rest of the device's memory. The stage with
//    memory for the fewest pages determines their number.
// 3. Set the size of the page dimension in each stage, and move each placement
//    by the growth of the pages before it.

#include "compiler/passes/inference/CacheSize.h"

#include "compiler/cost/Estimate.h"
#include "compiler/ir/CachePages.h"
#include "compiler/passes/inference/ServingLimits.h"
#include "compiler/recipe/Format.h"
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

/// The bytes of `pages` pages in all layers, where each value is aligned.
int64_t bytesOf(const ir::Module& program, const std::set<ValueId>& layers,
                int64_t pages) {
  int64_t bytes = 0;
  for (ValueId each : layers)
    bytes += alignedBytes(pages * ir::pageBytes(program, each));
  return bytes;
}

/// The most pages that fit in `room` bytes. `bytes` returns the aligned bytes
/// of a number of pages, and `pageBytes` is the size of a page without
/// alignment.
template <class Bytes>
int64_t pagesIn(const Bytes& bytes, int64_t pageBytes, int64_t room) {
  int64_t pages = std::max<int64_t>(0, room) / pageBytes;
  while (pages > 0 && bytes(pages) > room)
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

/// Adds the size of the draft model's pages, and subtracts the bytes of its
/// other values from the memory for pages.
void addDraft(const ir::Module& draft, const recipe::Recipe& recipe,
              CacheSize& size) {
  const std::set<ValueId> layers = ir::cachePages(draft);
  if (layers.empty())
    return;
  size.draftPageBytes = ir::pageBytes(draft);
  const int64_t pages = ir::localShape(draft, *layers.begin()).front();
  size.room -= cost::draftBytes(draft, recipe) - bytesOf(draft, layers, pages);
}

/// `draft` runs on the stage's device; null if there is none.
CacheSize measureStage(const ir::Module& program, const recipe::Recipe& recipe,
                       const ir::Module* draft) {
  CacheSize size;
  size.stage = program.stage;
  const std::set<ValueId> layers = ir::cachePages(program);
  if (layers.empty())
    return size;
  const ServingLimits limits = servingLimits(recipe);
  size.pages = ir::localShape(program, *layers.begin()).front();
  size.pageTokens = limits.page;
  size.pageBytes = ir::pageBytes(program);
  size.bytes = bytesOf(program, layers, size.pages);
  size.least = limits.pagesOfSequence();
  if (recipe.at("serve.cache").isAuto()) {
    const cost::MemoryTable memory =
        cost::memoryTable(program, nullptr, recipe);
    size.room = int64_t(recipe.real("serve.memory_fraction") *
                        double(memory.capacity)) -
                (memory.total - size.bytes);
    if (draft)
      addDraft(*draft, recipe, size);
  } else {
    size.room = recipe.count("serve.cache");
  }
  const std::set<ValueId> draftLayers =
      size.draftPageBytes > 0 ? ir::cachePages(*draft) : std::set<ValueId>();
  size.roomPages = pagesIn(
      [&](int64_t pages) {
        return bytesOf(program, layers, pages) +
               (draft ? bytesOf(*draft, draftLayers, pages) : 0);
      },
      size.pageBytes + size.draftPageBytes, size.room);
  return size;
}

void setPages(ir::Module& program, int64_t pages) {
  assert(!program.placements.empty() && "memory is planned");
  const std::set<ValueId> layers = ir::cachePages(program);
  if (layers.empty())
    return;
  const ir::DimId dim = program[*layers.begin()].dims.front();
  program.dims[size_t(dim)].size = pages;
  movePlacements(program, layers);
}

/// The bytes of a page in the stage with the largest pages; 0 without pages.
int64_t largestPage(const std::vector<ir::Module>& stages) {
  int64_t bytes = 0;
  for (const ir::Module& stage : stages)
    bytes = std::max(bytes, ir::pageBytes(stage));
  return bytes;
}

/// The first op that keeps a state for each sequence, whose pages are therefore
/// not reused; null if there is none.
const ir::Op* findStates(const std::vector<ir::Module>& stages) {
  for (const ir::Module& stage : stages)
    for (const ir::Function& function : stage.functions)
      for (const ir::Op& op : function.ops)
        if (op.kind == ir::OpKind::StateScanStep)
          return &op;
  return nullptr;
}

/// Reports why no page is kept on the host. Returns whether some are.
bool checkHostPages(const std::vector<ir::Module>& stages,
                    const recipe::Recipe& recipe, diag::Engine& engine) {
  const ServingLimits limits = servingLimits(recipe);
  auto report = [&](diag::Kind kind, const std::string& text) {
    return engine.report(kind, limits.hostRange, text);
  };
  if (const ir::Op* states = findStates(stages)) {
    report(diag::Kind::InvalidValue,
           "`host_memory` keeps pages for prompts that begin alike, and the "
           "states of this model's state-space layers are not in pages")
        .note("a state-space layer", states->range)
        .propose({"set ",
                  {{"`host_memory` to `none`", {"serve.host_memory=none"}}},
                  "",
                  1})
        .otherwise("leave `host_memory` out");
    return false;
  }
  const int64_t bytes = largestPage(stages);
  if (bytes == 0 || hostPages(stages, recipe) > 0)
    return bytes > 0;
  report(diag::Kind::InvalidValue,
         "`host_memory` = " + recipe::formatBytes(limits.hostBytes) +
             " is less than a page of the cache, which takes " +
             recipe::formatBytes(bytes))
      .help("a sequence of `max_input` and `max_output` tokens takes " +
            recipe::formatBytes(limits.pagesOfSequence() * bytes) +
            " of pages; set `host_memory` to several times that");
  return false;
}

} // namespace

int64_t hostPages(const std::vector<ir::Module>& stages,
                  const recipe::Recipe& recipe) {
  const int64_t bytes = largestPage(stages);
  return bytes > 0 ? servingLimits(recipe).hostBytes / bytes : 0;
}

void placeHostPages(std::vector<ir::Module>& stages,
                    const recipe::Recipe& recipe, diag::Engine& engine) {
  if (servingLimits(recipe).hostBytes == 0 ||
      !checkHostPages(stages, recipe, engine))
    return;
  const int64_t pages = hostPages(stages, recipe);
  for (ir::Module& stage : stages)
    stage.hostBytes += pages * ir::pageBytes(stage);
}

CacheSize measureCache(const std::vector<ir::Module>& stages,
                       const recipe::Recipe& recipe, const ir::Module* draft) {
  CacheSize tightest;
  for (const ir::Module& stage : stages) {
    const CacheSize size =
        measureStage(stage, recipe, stage.stage == 0 ? draft : nullptr);
    if (size.pageBytes > 0 &&
        (tightest.pageBytes == 0 || size.roomPages < tightest.roomPages))
      tightest = size;
  }
  tightest.hostPages = hostPages(stages, recipe);
  return tightest;
}

void fitCache(std::vector<ir::Module>& stages, const recipe::Recipe& recipe,
              ir::Module* draft) {
  const CacheSize size = measureCache(stages, recipe, draft);
  if (size.pageBytes == 0)
    return;
  int64_t pages = size.roomPages;
  if (recipe.at("serve.cache").isAuto())
    pages = std::min(pages, size.least * servingLimits(recipe).maxBatch);
  pages = std::max(pages, size.least);
  for (ir::Module& stage : stages)
    setPages(stage, pages);
  if (draft)
    setPages(*draft, pages);
}

} // namespace recipec::passes
