// Grammars of JSON texts that a JSON Schema (2020-12) accepts.
//
// The grammar writes a subset of the values that the schema accepts, never
// others:
// - members stand in the order of `properties`; an object with `properties` has
//   no others unless the schema has `additionalProperties`;
// - a schema without `type` writes the types that its keywords apply to;
// - numbers have at most 18 digits before and 17 behind the point.
// `oneOf` needs alternatives that cannot both hold. Keywords that only describe
// (`title`, `default`, ...) are skipped; any other keyword that is not
// supported is an error, as are a `format` that is unknown and a schema that
// nothing matches.

#ifndef RECIPERUN_GRAMMAR_SCHEMA_JSONSCHEMA_H
#define RECIPERUN_GRAMMAR_SCHEMA_JSONSCHEMA_H

#include "runtime/base/Status.h"
#include "runtime/grammar/Expression.h"

#include <string_view>

namespace reciperun::grammar {

/// Reads a schema. A failure states the place as a JSON pointer,
/// "`#/properties/age/minimum` ...", or the line of a text that is not JSON.
Expected<Rules> rulesOfJsonSchema(std::string_view text);

/// Any JSON object: the `json_object` of OpenAI's `response_format`.
Rules rulesOfAnyJsonObject();

} // namespace reciperun::grammar

#endif // RECIPERUN_GRAMMAR_SCHEMA_JSONSCHEMA_H
