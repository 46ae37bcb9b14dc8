// Unique names for the values that a pass makes.

#ifndef RECIPEC_PASSES_VALUENAMES_H
#define RECIPEC_PASSES_VALUENAMES_H

#include "compiler/ir/Ir.h"

#include <llvm/ADT/StringMap.h>
#include <llvm/Support/Allocator.h>

#include <string>
#include <string_view>

namespace recipec::passes {

/// Returns names that no value of a module has. As long as the object lives,
/// all new values must get their names from it.
class ValueNames {
public:
  explicit ValueNames(const ir::Module& module);
  /// `wanted`, or `wanted.2`, `wanted.3`, ... when it is taken.
  std::string make(const std::string& wanted);

private:
  /// How often a name was wanted.
  llvm::StringMap<int, llvm::BumpPtrAllocator> counts;
};

/// `layers.0` of `layers.0.q`; empty without a dot.
std::string_view scopeOf(std::string_view name);
/// `q` of `layers.0.q`.
std::string_view lastPart(std::string_view name);
/// Joins with a dot; either may be empty.
std::string join(std::string_view scope, std::string_view name);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_VALUENAMES_H
