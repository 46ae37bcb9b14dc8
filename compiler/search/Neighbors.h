// Steps from one layout to similar ones.

#ifndef RECIPEC_SEARCH_NEIGHBORS_H
#define RECIPEC_SEARCH_NEIGHBORS_H

#include "compiler/search/Facts.h"
#include "compiler/search/Layout.h"

#include <vector>

namespace recipec::search {

/// The divisors of a number, the smallest first.
std::vector<int64_t> divisorsOf(int64_t number);

/// Whether a layout is within the limits of the search, which are narrower than
/// what is legal: `tp` within a node or an NVLink domain, whichever is wider,
/// and at least 1024 tokens of a sequence on a rank of `cp`. A degree may also
/// be as large as in the written layout.
bool isWithinLimits(const Facts& facts, const Layout& written,
                    const Layout& layout);

/// The variants that keep fewer activations, which the search tries.
std::vector<Activations> activationChoices(const Facts& facts);

/// Layouts that differ by one step in one of `tp`, `cp`, `ep`, `etp`,
/// `batch.micro` and `parallel.shard`, or that have one of the `activations`.
/// `etp` stays, becomes 1 or becomes `tp`. The pipeline is that of `layout`.
std::vector<Layout> neighborsOf(const Facts& facts, const Layout& layout,
                                const std::vector<Activations>& activations);

} // namespace recipec::search

#endif // RECIPEC_SEARCH_NEIGHBORS_H
