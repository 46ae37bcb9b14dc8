// The values that hold a server's cache of keys and values.

#ifndef RECIPEC_IR_CACHEPAGES_H
#define RECIPEC_IR_CACHEPAGES_H

#include "compiler/ir/Ir.h"

#include <cstdint>
#include <set>

namespace recipec::ir {

/// The values that hold the pages of keys and of values of each layer, [pages,
/// page, heads, width], and the values with their scales, [pages, page, heads].
std::set<ValueId> cachePages(const Module& program);

/// The bytes of one page in one of these values, on one rank.
int64_t pageBytes(const Module& program, ValueId pages);

/// The bytes of one page in all layers, without alignment.
int64_t pageBytes(const Module& program);

} // namespace recipec::ir

#endif // RECIPEC_IR_CACHEPAGES_H
