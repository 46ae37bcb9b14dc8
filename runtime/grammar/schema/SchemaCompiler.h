// Compiles schemas to rules.
//
// The compiler works on lists of schemas that a value must all satisfy:
// `allOf`, `$ref` with keywords beside it, and a member that several schemas
// describe all lead to one. Each distinct list becomes one rule, so that
// recursive schemas terminate.

#ifndef RECIPERUN_GRAMMAR_SCHEMA_SCHEMACOMPILER_H
#define RECIPERUN_GRAMMAR_SCHEMA_SCHEMACOMPILER_H

#include "runtime/grammar/schema/Assertions.h"
#include "runtime/grammar/schema/JsonText.h"

#include <deque>
#include <map>

namespace reciperun::grammar {

class SchemaCompiler {
public:
  /// `document` must outlive the compiler.
  explicit SchemaCompiler(const Json& document)
      : root{&document, "#"}, any(addAnyJson(rules)) {}

  Expected<Rules> run();

private:
  using Schemas = std::vector<SchemaNode>;
  /// An expression, or why nothing matches.
  struct Values {
    ExpressionPtr expression; // null: nothing
    std::string whyEmpty;
  };

  Expected<RuleId> ruleFor(const Schemas& schemas);
  Expected<Values> compile(const Schemas& schemas);
  struct Flattening;
  Status flatten(const SchemaNode& node, Flattening& into);
  Expected<Values> alternatives(const Schemas& schemas, size_t which,
                                const char* keyword);
  /// A copy without `$ref`, `allOf` and `keyword`, which may be empty.
  SchemaNode without(const SchemaNode& node, const char* keyword);

  // SchemaTypes.cpp: the values of each type
  Expected<Values> valuesOf(const Schemas& schemas);
  Expected<Values> listed(const Schemas& schemas, const Assertions& demands);
  Expected<bool> isListedValue(const Json& value, const Schemas& schemas,
                               const Assertions& demands) const;
  Expected<Values> stringsOf(const Assertions& demands) const;
  Expected<Values> numbersOf(const Assertions& demands) const;

  // SchemaContainers.cpp: objects and arrays
  Expected<Values> arraysOf(const Schemas& schemas, const Assertions& demands);
  Expected<Values> objectsOf(const Schemas& schemas, const Assertions& demands);
  Expected<RuleId> itemRule(const Schemas& schemas, size_t index);
  struct Members;
  Status addNamed(const Schemas& schemas, const Assertions& demands,
                  Members& members);
  Status addOthers(const Schemas& schemas, Members& members);
  Expected<Values> countedMembers(const Members& members,
                                  const CountRange& count) const;

  SchemaNode root;
  Rules rules;
  AnyJson any;
  std::map<std::vector<const Json*>, RuleId> known;
  std::deque<std::pair<RuleId, Schemas>> open;
  std::map<std::pair<const Json*, std::string>, Json> reduced;
};

} // namespace reciperun::grammar

#endif // RECIPERUN_GRAMMAR_SCHEMA_SCHEMACOMPILER_H
