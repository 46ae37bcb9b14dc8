// See CachePages.h.

#include "compiler/ir/CachePages.h"

#include "runtime/ops/OpKind.h"

namespace recipec::ir {

std::set<ValueId> cachePages(const Module& program) {
  std::set<ValueId> pages;
  for (const Function& function : program.functions)
    for (const Op& op : function.ops)
      if (op.kind == OpKind::AttentionPaged)
        pages.insert(op.results.begin() + 1, op.results.end());
  pages.erase(ValueId::none);
  return pages;
}

int64_t pageBytes(const Module& program, ValueId pages) {
  return localBytes(program, pages) / localShape(program, pages).front();
}

int64_t pageBytes(const Module& program) {
  int64_t bytes = 0;
  for (ValueId each : cachePages(program))
    bytes += pageBytes(program, each);
  return bytes;
}

} // namespace recipec::ir
