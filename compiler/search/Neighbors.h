// Steps from one layout to similar ones.

#ifndef RECIPEC_SEARCH_NEIGHBORS_H
#define RECIPEC_SEARCH_NEIGHBORS_H

#include "compiler/search/Facts.h"
#include "compiler/search/Layout.h"

#include <vector>

namespace recipec::search {

/// The divisors of a number, the smallest first.
std::vector<int64_t> divisorsOf(int64_t number);

/// The limits of a search, beyond what is legal: `tp` within an NVLink domain,
/// and at least 1024 tokens of a sequence on a rank of `cp`, unless the written
/// layout itself goes beyond.
bool isWithinLimits(const Facts& facts, const Layout& written,
                    const Layout& layout);

/// The ways of keeping fewer activations that the search tries.
std::vector<Activations> activationChoices(const Facts& facts);

/// Layouts that differ in one of `tp`, `cp`, `ep`, `etp`, `batch.micro` and
/// `parallel.shard` by one step, or have the `activations`. `etp` is 1 or
/// follows `tp`. Pipelines are as in `layout`.
std::vector<Layout> neighborsOf(const Facts& facts, const Layout& layout,
                                const std::vector<Activations>& activations);

} // namespace recipec::search

#endif // RECIPEC_SEARCH_NEIGHBORS_H
