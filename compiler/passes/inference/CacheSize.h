// The number of pages of a server's cache of keys and values, on the device and
// on the host.

#ifndef RECIPEC_PASSES_INFERENCE_CACHESIZE_H
#define RECIPEC_PASSES_INFERENCE_CACHESIZE_H

#include "compiler/diag/Diagnostic.h"
#include "compiler/ir/Ir.h"
#include "compiler/recipe/Recipe.h"

#include <cstdint>
#include <vector>

namespace recipec::passes {

/// The number of pages of a cache, and what limits it.
struct CacheSize {
  int stage = 0; // the pipeline stage with memory for the fewest pages
  int64_t pages = 0;
  int64_t pageTokens = 0;
  int64_t pageBytes = 0;      // of a page in the stage; 0 without attention
  int64_t draftPageBytes = 0; // of a page, in a draft model
  int64_t bytes = 0;          // of all pages, with alignment
  int64_t least = 0;          // pages of one longest sequence
  int64_t room = 0;           // bytes that pages may take; may be negative
  int64_t roomPages = 0;      // pages that fit in `room`
  int64_t hostPages = 0;      // of each rank's host memory

  /// Whether the memory for pages holds the longest sequence.
  bool holdsSequence() const { return pageBytes == 0 || roomPages >= least; }
};

/// Measures the cache of the served Programs of all stages, whose memory is
/// planned. A sequence has its pages in each stage. The pages may take the
/// bytes of `serve.cache`, or the part of `serve.memory_fraction` of the
/// device's memory that the rest of a stage's Program leaves free. The Program
/// of a draft model, if there is one, runs on the first stage's device, and has
/// as many pages there.
CacheSize measureCache(const std::vector<ir::Module>& stages,
                       const recipe::Recipe& recipe,
                       const ir::Module* draft = nullptr);

/// Sets the number of pages in all stages and in the draft model. With
/// `serve.cache` these are all pages that fit, and otherwise at most the pages
/// of `serve.max_batch` longest sequences. The cache always has the pages of
/// one longest sequence. Moves the placements behind the pages.
void fitCache(std::vector<ir::Module>& stages, const recipe::Recipe& recipe,
              ir::Module* draft = nullptr);

/// The number of pages for which each rank has `serve.host_memory`: those of
/// the stage with the largest pages. 0 without pages.
int64_t hostPages(const std::vector<ir::Module>& stages,
                  const recipe::Recipe& recipe);

/// Plans the host memory of these pages in each stage. Reports a model that
/// keeps no pages, and bytes of less than a page.
void placeHostPages(std::vector<ir::Module>& stages,
                    const recipe::Recipe& recipe, diag::Engine& engine);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_INFERENCE_CACHESIZE_H
