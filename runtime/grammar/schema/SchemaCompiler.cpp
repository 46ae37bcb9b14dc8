// 1. Flatten: replace `$ref` and `allOf` by the schemas that they lead to.
// 2. While a schema has `anyOf` or `oneOf`: make a rule for each alternative,
//    combined with the remaining schemas.
// 3. Compile the rest, which has no nested schemas for the same value: see
//    SchemaTypes.cpp.

#include "runtime/grammar/schema/SchemaCompiler.h"

#include "runtime/base/ParseJson.h"
#include "runtime/grammar/Limits.h"
#include "runtime/grammar/schema/Disjoint.h"
#include "runtime/grammar/schema/JsonSchema.h"
#include "runtime/grammar/schema/References.h"

#include <algorithm>
#include <set>

namespace reciperun::grammar {
namespace {

constexpr size_t maxReferences = 64; // that follow one another

bool holdsSchema(const std::vector<SchemaNode>& schemas, const Json* schema) {
  return std::any_of(
      schemas.begin(), schemas.end(),
      [&](const SchemaNode& each) { return each.schema == schema; });
}

} // namespace

struct SchemaCompiler::Flattening {
  Schemas schemas;
  std::vector<const Json*> path; // the references that led here
  std::set<const Json*> seen;
  std::string falsePath; // the path of a schema `false`
};

Expected<Rules> SchemaCompiler::run() {
  Expected<RuleId> start = ruleFor({root});
  RECIPERUN_TRY(start);
  rules.root = *start;
  while (!open.empty()) {
    const auto [rule, schemas] = std::move(open.front());
    open.pop_front();
    Expected<Values> values = compile(schemas);
    RECIPERUN_TRY(values);
    Rule& made = rules.rules[size_t(rule)];
    made.body = values->expression ? values->expression : nothing();
    made.whyEmpty = values->whyEmpty;
  }
  return std::move(rules);
}

Expected<RuleId> SchemaCompiler::ruleFor(const Schemas& schemas) {
  Schemas restricting;
  std::vector<const Json*> key;
  for (const SchemaNode& each : schemas) {
    RECIPERUN_TRY(checkKeywords(each));
    const bool isCombined = each.find("$ref") || each.find("allOf");
    if ((!isCombined && !hasRestriction(each)) ||
        holdsSchema(restricting, each.schema))
      continue;
    restricting.push_back(each);
    key.push_back(each.schema);
  }
  if (restricting.empty())
    return any.value;
  const auto found = known.find(key);
  if (found != known.end())
    return found->second;
  if (rules.rules.size() >= maxRules)
    return schemaError(restricting[0].path, "leads to more than " +
                                                std::to_string(maxRules) +
                                                " combinations of schemas");
  const RuleId rule = rules.add(restricting[0].path);
  known.emplace(std::move(key), rule);
  open.push_back({rule, std::move(restricting)});
  return rule;
}

Expected<SchemaCompiler::Values>
SchemaCompiler::compile(const Schemas& schemas) {
  Flattening flat;
  for (const SchemaNode& each : schemas)
    RECIPERUN_TRY(flatten(each, flat));
  if (!flat.falsePath.empty())
    return Values{nullptr, "`" + flat.falsePath + "` is `false`"};
  const bool isSame =
      flat.schemas.size() == schemas.size() &&
      std::equal(schemas.begin(), schemas.end(), flat.schemas.begin(),
                 [](const SchemaNode& a, const SchemaNode& b) {
                   return a.schema == b.schema;
                 });
  if (!isSame) {
    Expected<RuleId> rule = ruleFor(flat.schemas);
    RECIPERUN_TRY(rule);
    return Values{reference(*rule), ""};
  }
  for (size_t i = 0; i < schemas.size(); ++i)
    for (const char* keyword : {"anyOf", "oneOf"})
      if (schemas[i].find(keyword))
        return alternatives(schemas, i, keyword);
  return valuesOf(schemas);
}

Status SchemaCompiler::flatten(const SchemaNode& node, Flattening& into) {
  RECIPERUN_TRY(checkKeywords(node));
  if (*node.schema == false)
    into.falsePath = node.path;
  if (node.schema->is_boolean())
    return {};
  if (std::find(into.path.begin(), into.path.end(), node.schema) !=
      into.path.end())
    return schemaError(node.path, "refers to itself");
  if (into.path.size() == maxReferences)
    return schemaError(node.path, "is behind more than " +
                                      std::to_string(maxReferences) +
                                      " references");
  if (!into.seen.insert(node.schema).second)
    return {};
  const bool isCombined = node.find("$ref") || node.find("allOf");
  if (hasRestriction(node))
    into.schemas.push_back(isCombined ? without(node, "") : node);
  if (into.schemas.size() > maxTogether)
    return schemaError(node.path, "is one of more than " +
                                      std::to_string(maxTogether) +
                                      " schemas for one value");
  into.path.push_back(node.schema);
  if (node.find("$ref")) {
    Expected<SchemaNode> target = resolveReference(root, node);
    RECIPERUN_TRY(target);
    RECIPERUN_TRY(flatten(*target, into));
  }
  if (const Json* all = node.find("allOf")) {
    if (!all->is_array() || all->empty())
      return schemaError(node.path + "/allOf",
                         "takes a list of at least one schema");
    for (size_t i = 0; i < all->size(); ++i)
      RECIPERUN_TRY(flatten(node.child("allOf").child(i), into));
  }
  into.path.pop_back();
  return {};
}

Expected<SchemaCompiler::Values>
SchemaCompiler::alternatives(const Schemas& schemas, size_t which,
                             const char* keyword) {
  const SchemaNode list = schemas[which].child(keyword);
  if (!list.schema->is_array() || list.schema->empty())
    return schemaError(list.path, "takes a list of at least one schema");
  const size_t count = list.schema->size();
  const bool isExclusive = std::string_view(keyword) == "oneOf";
  if (isExclusive && count > maxTogether)
    return schemaError(list.path, "has " + std::to_string(count) +
                                      " alternatives, more than the " +
                                      std::to_string(maxTogether) +
                                      " that are supported");
  for (size_t i = 0; isExclusive && i < count; ++i)
    for (size_t j = i + 1; j < count; ++j)
      if (!areDisjoint(root, list.child(i), list.child(j)))
        return schemaError(list.path,
                           "has alternatives " + std::to_string(i) + " and " +
                               std::to_string(j) +
                               ", which may both accept one value; give them "
                               "different types or a required member with "
                               "different `const`, or write `anyOf`");
  std::vector<ExpressionPtr> made;
  for (size_t i = 0; i < count; ++i) {
    Schemas together = schemas;
    together[which] = without(schemas[which], keyword);
    together.push_back(list.child(i));
    Expected<RuleId> rule = ruleFor(together);
    RECIPERUN_TRY(rule);
    made.push_back(reference(*rule));
  }
  return Values{choice(std::move(made)), ""};
}

SchemaNode SchemaCompiler::without(const SchemaNode& node,
                                   const char* keyword) {
  const auto [place, isNew] =
      reduced.try_emplace({node.schema, keyword}, Json());
  if (isNew) {
    place->second = Json::object();
    for (const auto& [name, value] : node.schema->items())
      if (name != keyword && name != "$ref" && name != "allOf")
        place->second[name] = value;
  }
  return {&place->second, node.path};
}

Expected<Rules> rulesOfJsonSchema(std::string_view text) {
  JsonRules limits;
  limits.noun = "schema";
  limits.maxBytes = maxTextBytes;
  limits.maxDepth = maxNesting;
  Expected<Json> document = parseOrderedJson(text, limits);
  if (!document)
    return document.status().withContext("the JSON schema");
  return SchemaCompiler(*document).run();
}

Rules rulesOfAnyJsonObject() {
  Rules rules;
  rules.root = addAnyJson(rules).object;
  return rules;
}

} // namespace reciperun::grammar
