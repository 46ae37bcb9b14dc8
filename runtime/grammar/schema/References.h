// `$ref`: pointers to other places of the same schema.

#ifndef RECIPERUN_GRAMMAR_SCHEMA_REFERENCES_H
#define RECIPERUN_GRAMMAR_SCHEMA_REFERENCES_H

#include "runtime/grammar/schema/Keywords.h"

namespace reciperun::grammar {

/// The schema that the `$ref` of a node points to, inside `root`. Fails when it
/// is not a JSON pointer into the document, or when nothing is there.
Expected<SchemaNode> resolveReference(const SchemaNode& root,
                                      const SchemaNode& node);

} // namespace reciperun::grammar

#endif // RECIPERUN_GRAMMAR_SCHEMA_REFERENCES_H
