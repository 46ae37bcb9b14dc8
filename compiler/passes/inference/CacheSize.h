// The number of pages of a server's cache of keys and values.

#ifndef RECIPEC_PASSES_INFERENCE_CACHESIZE_H
#define RECIPEC_PASSES_INFERENCE_CACHESIZE_H

#include "compiler/ir/Ir.h"
#include "compiler/recipe/Recipe.h"

#include <cstdint>
#include <vector>

namespace recipec::passes {

/// The pages of a cache and their bounds.
struct CacheSize {
  int stage = 0; // the pipeline stage whose memory holds the fewest pages
  int64_t pages = 0;
  int64_t pageTokens = 0;
  int64_t pageBytes = 0;      // in the stage's layers; 0 without attention
  int64_t draftPageBytes = 0; // of a draft model, beside those
  int64_t bytes = 0;          // of all pages, with alignment
  int64_t least = 0;          // pages of one longest sequence
  int64_t room = 0;           // bytes that pages may take; may be negative
  int64_t roomPages = 0;      // pages that fit in `room`

  /// Whether the longest sequence fits in the memory that pages may take.
  bool holdsSequence() const { return pageBytes == 0 || roomPages >= least; }
};

/// The cache of the served Programs of all stages, whose memory is planned. A
/// sequence has its pages in each stage. They may take the bytes of
/// `serve.cache`, or what the rest of a stage's Program leaves of
/// `serve.memory_fraction` of the device's memory. The Program of a draft
/// model, if there is one, is on the first stage's device, and has as many
/// pages there.
CacheSize measureCache(const std::vector<ir::Module>& stages,
                       const recipe::Recipe& recipe,
                       const ir::Module* draft = nullptr);

/// Gives the cache as many pages as fit in each stage: for `serve.cache` all,
/// otherwise those of `serve.max_batch` longest sequences at most. In any case
/// at least those of one longest sequence. A draft model has as many. Moves the
/// values behind the pages.
void fitCache(std::vector<ir::Module>& stages, const recipe::Recipe& recipe,
              ir::Module* draft = nullptr);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_INFERENCE_CACHESIZE_H
