// The combined restrictions of several schemas that a value must all satisfy,
// without the schemas of its members and items.

#ifndef RECIPERUN_GRAMMAR_SCHEMA_ASSERTIONS_H
#define RECIPERUN_GRAMMAR_SCHEMA_ASSERTIONS_H

#include "runtime/grammar/schema/Keywords.h"
#include "runtime/grammar/schema/NumberRange.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace reciperun::grammar {

/// The limits of a count; nullopt: no limit.
struct CountRange {
  int64_t least = 0;
  std::optional<int64_t> most;

  bool isEmpty() const { return most && *most < least; }
  /// "at least 3 and at most 2".
  std::string toText() const;
};

/// A regular expression that a string matches, and its place.
struct StringPattern {
  std::string pattern;
  std::string path;
  bool isWhole = false; // of a format: matches the whole string
};

struct Assertions {
  Types types = allTypes;
  /// The values of `enum` and `const` that are of these types.
  std::optional<std::vector<Json>> values;
  CountRange length; // of strings, in characters
  std::vector<StringPattern> patterns;
  NumberRange numbers;
  CountRange items, properties;
  std::vector<std::string> required;
};

/// Combines the schemas, each of which is an object. Fails, with the path, when
/// the value of a keyword is not valid.
Expected<Assertions> combineAssertions(std::span<const SchemaNode> schemas);

} // namespace reciperun::grammar

#endif // RECIPERUN_GRAMMAR_SCHEMA_ASSERTIONS_H
