// Whether two schemas can accept one value.

#ifndef RECIPERUN_GRAMMAR_SCHEMA_DISJOINT_H
#define RECIPERUN_GRAMMAR_SCHEMA_DISJOINT_H

#include "runtime/grammar/schema/Keywords.h"

namespace reciperun::grammar {

/// True when no value satisfies both, by their types, their `const` and `enum`,
/// and those of members that both require. False where this is not evident.
bool areDisjoint(const SchemaNode& root, const SchemaNode& first,
                 const SchemaNode& second);

} // namespace reciperun::grammar

#endif // RECIPERUN_GRAMMAR_SCHEMA_DISJOINT_H
