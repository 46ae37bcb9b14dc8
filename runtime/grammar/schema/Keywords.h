// The keywords of JSON Schema (2020-12, with `nullable` of OpenAPI 3.0): which
// of them restrict values and to which type they apply.

#ifndef RECIPERUN_GRAMMAR_SCHEMA_KEYWORDS_H
#define RECIPERUN_GRAMMAR_SCHEMA_KEYWORDS_H

#include "runtime/base/Status.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>

namespace reciperun::grammar {

using Json = nlohmann::ordered_json; // members in the order of the text

/// A set of types, one bit each. A number that is not whole has a bit of its
/// own: `number` is both.
using Types = uint32_t;
constexpr Types nullType = 1, booleanType = 2, objectType = 4, arrayType = 8,
                stringType = 16, integerType = 32, fractionType = 64;
constexpr Types numberType = integerType | fractionType;
constexpr Types allTypes = 127;

/// A schema of the text: an object, `true` or `false`, and its JSON pointer as
/// a fragment, `#/properties/name`.
struct SchemaNode {
  const Json* schema = nullptr;
  std::string path;

  /// The node of a keyword or of an element of a list.
  SchemaNode child(const std::string& key) const;
  SchemaNode child(size_t index) const {
    return {&(*schema)[index], path + "/" + std::to_string(index)};
  }
  const Json* find(const char* keyword) const;
};

/// Fails, with the path, when a schema is neither an object nor a boolean, and
/// when it has a keyword that is unknown or not supported.
Status checkKeywords(const SchemaNode& node);

/// The types that `type` and `nullable` allow; all where there is no `type`.
/// Fails when `type` is not valid.
Expected<Types> typesOf(const SchemaNode& node);
/// The types that the schema's keywords apply to; none where no keyword applies
/// to a certain type.
Types typesOfKeywords(const SchemaNode& node);
/// The type of a value; a number such as 1.0 is an integer.
Types typeOfValue(const Json& value);

/// Whether a keyword of the schema restricts values, beside those that combine
/// whole schemas (`$ref`, `allOf`).
bool hasRestriction(const SchemaNode& node);

/// The beginning of a value's text, for messages.
std::string shown(const Json& value);

/// "`PATH` what".
Status schemaError(const std::string& path, const std::string& what);

} // namespace reciperun::grammar

#endif // RECIPERUN_GRAMMAR_SCHEMA_KEYWORDS_H
