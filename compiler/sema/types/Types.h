// Types: resolves written types to Type, and formats them as text.

#ifndef RECIPEC_SEMA_TYPES_TYPES_H
#define RECIPEC_SEMA_TYPES_TYPES_H

#include "compiler/sema/values/Value.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace recipec::sema {

class Evaluator;

/// The types that files write. Each is resolved once.
class Types {
public:
  explicit Types(Evaluator& evaluator) : evaluator(evaluator) {}

  /// Returns a type of kind `unknown` (reported) when the name is not a type.
  const Type* resolve(const Env& env, ast::TypeId id);

private:
  struct Resolution;
  const Type* resolveNamed(const Env& env, const ast::NamedType& node,
                           SourceRange range);

  Evaluator& evaluator;
  std::map<std::pair<const ast::File*, ast::TypeId>, const Type*> resolved;
};

std::string nameOf(const Type& type);
/// Longer lists of alternatives appear only in the type.
inline constexpr size_t listedAlternatives = 12;
/// The alternatives of a type: the members of a union, or the type itself.
std::vector<const Type*> alternativesOf(const Type& type);
/// The first alternative that passes a test; null when none does.
template <class Test> const Type* findAlternative(const Type& type, Test test) {
  for (const Type* candidate : alternativesOf(type))
    if (test(*candidate))
      return candidate;
  return nullptr;
}
/// The member of a type that is a count, `steps` or `epochs`; null when it has
/// none or several.
const Type* onlyCountOf(const Type& type);
/// The one schema whose records a type takes; null when it takes none, or those
/// of several.
const Schema* onlySchemaOf(const Type& type);
/// The schemas whose records a type takes.
std::vector<const Schema*> schemasOf(const Type& type);
std::string typeNameOf(const Value& value);
/// The type including a function's parameters and result: `fun(int): float`.
std::string fullTypeNameOf(const SourceMap& sources, const Value& value);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_TYPES_TYPES_H
