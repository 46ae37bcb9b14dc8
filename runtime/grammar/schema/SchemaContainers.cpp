// Objects and arrays. A member or an item satisfies all schemas of the list
// that describe it.

#include "runtime/grammar/Limits.h"
#include "runtime/grammar/MachineBuilder.h"
#include "runtime/grammar/schema/SchemaCompiler.h"

#include <algorithm>

namespace reciperun::grammar {
namespace {

/// The items of `prefixItems`; 0 where there is none.
Expected<size_t> prefixOf(const SchemaNode& node) {
  const Json* prefix = node.find("prefixItems");
  if (!prefix)
    return size_t(0);
  if (!prefix->is_array() || prefix->empty() ||
      prefix->size() > size_t(maxNesting))
    return schemaError(node.path + "/prefixItems",
                       "takes a list of 1 to " + std::to_string(maxNesting) +
                           " schemas");
  return prefix->size();
}

/// The limits for a list without its first element.
CountRange withoutFirst(const CountRange& count) {
  CountRange rest = {std::max<int64_t>(count.least - 1, 0), count.most};
  if (rest.most)
    rest.most = *rest.most - 1;
  return rest;
}

} // namespace

// ---- arrays

Expected<RuleId> SchemaCompiler::itemRule(const Schemas& schemas,
                                          size_t index) {
  Schemas together;
  for (const SchemaNode& node : schemas) {
    Expected<size_t> prefix = prefixOf(node);
    RECIPERUN_TRY(prefix);
    if (index < *prefix) {
      together.push_back(node.child("prefixItems").child(index));
      continue;
    }
    const Json* items = node.find("items");
    if (items && items->is_array())
      return schemaError(node.path + "/items",
                         "is a list; write `prefixItems` (2020-12)");
    if (items)
      together.push_back(node.child("items"));
  }
  return ruleFor(together);
}

Expected<SchemaCompiler::Values>
SchemaCompiler::arraysOf(const Schemas& schemas, const Assertions& demands) {
  const CountRange& count = demands.items;
  if (count.isEmpty())
    return Values{nullptr, "an array has " + count.toText() + " items"};
  size_t prefix = 0;
  for (const SchemaNode& node : schemas) {
    Expected<size_t> own = prefixOf(node);
    RECIPERUN_TRY(own);
    prefix = std::max(prefix, *own);
  }
  if (count.most == 0)
    return Values{bracketed(any, "[", literal(""), "]", true), ""};
  std::vector<ExpressionPtr> items;
  for (size_t i = 0; i <= prefix; ++i) {
    Expected<RuleId> rule = itemRule(schemas, i);
    RECIPERUN_TRY(rule);
    items.push_back(reference(*rule));
  }
  // From the last item to the first: the rest of the array behind item i.
  const int64_t fixed = int64_t(prefix);
  ExpressionPtr rest = literal("");
  if (prefix == 0) {
    const CountRange others = withoutFirst(count);
    rest =
        repeat(sequence({commaOf(any), items[0]}), others.least, others.most);
  } else if (!count.most || *count.most > fixed) {
    rest =
        repeat(sequence({commaOf(any), items[prefix]}),
               std::max<int64_t>(count.least - fixed, 0),
               count.most ? std::optional(*count.most - fixed) : std::nullopt);
  }
  for (int64_t i = fixed; i-- > 1;) {
    if (i >= count.most.value_or(fixed))
      continue;
    rest = sequence({commaOf(any), items[size_t(i)], rest});
    if (i >= count.least)
      rest = optional(rest);
  }
  return Values{
      bracketed(any, "[", sequence({items[0], rest}), "]", count.least == 0),
      ""};
}

// ---- objects

struct SchemaCompiler::Members {
  Separated named;
  std::vector<std::string> names;
  ExpressionPtr other; // a member of another name; null: there is none
  std::string whyEmpty;
};

Status SchemaCompiler::addNamed(const Schemas& schemas,
                                const Assertions& demands, Members& members) {
  auto addName = [&](const std::string& name) {
    if (std::find(members.names.begin(), members.names.end(), name) ==
        members.names.end())
      members.names.push_back(name);
  };
  for (const SchemaNode& node : schemas)
    if (const Json* properties = node.find("properties")) {
      if (!properties->is_object())
        return schemaError(node.path + "/properties",
                           "takes an object with a schema for each name");
      for (const auto& [name, schema] : properties->items())
        addName(name);
    }
  std::for_each(demands.required.begin(), demands.required.end(), addName);

  for (const std::string& name : members.names) {
    const bool isRequired =
        std::find(demands.required.begin(), demands.required.end(), name) !=
        demands.required.end();
    Schemas together;
    for (const SchemaNode& node : schemas) {
      const Json* properties = node.find("properties");
      const Json* additional = node.find("additionalProperties");
      if (properties && properties->contains(name))
        together.push_back(node.child("properties").child(name));
      else if (additional)
        together.push_back(node.child("additionalProperties"));
      else
        continue;
      if (isRequired && *together.back().schema == false)
        members.whyEmpty = "`" + name + "` is required, and `" +
                           together.back().path + "` is `false`";
    }
    Expected<RuleId> rule = ruleFor(together);
    RECIPERUN_TRY(rule);
    members.named.items.push_back(
        {memberOf(any, literal(Json(name).dump()), reference(*rule)),
         !isRequired, /*repeats=*/false});
  }
  return {};
}

Status SchemaCompiler::addOthers(const Schemas& schemas, Members& members) {
  Schemas together;
  bool isListed = false;
  for (const SchemaNode& node : schemas) {
    isListed |= node.find("properties") != nullptr;
    if (const Json* additional = node.find("additionalProperties")) {
      together.push_back(node.child("additionalProperties"));
      if (*additional == false)
        return {};
    }
  }
  if (isListed && together.empty())
    return {};
  Expected<RuleId> rule = ruleFor(together);
  RECIPERUN_TRY(rule);
  ExpressionPtr key = reference(any.string);
  if (!members.names.empty()) {
    // Write keys without unnecessary escapes, which could spell a name in
    // another way.
    std::vector<ExpressionPtr> taken;
    for (const std::string& name : members.names)
      taken.push_back(literal(Json(name).dump()));
    Expected<Machine> all = machineOf(sequence(
        {literal("\""), jsonEscapedText(0, std::nullopt), literal("\"")}));
    RECIPERUN_TRY(all);
    Expected<Machine> names = machineOf(choice(std::move(taken)));
    RECIPERUN_TRY(names);
    Expected<Machine> rest = intersect(*all, *names, /*isDifference=*/true);
    RECIPERUN_TRY(rest);
    key = regular(std::make_shared<const Machine>(std::move(*rest)));
  }
  members.other = memberOf(any, std::move(key), reference(*rule));
  return {};
}

Expected<SchemaCompiler::Values>
SchemaCompiler::objectsOf(const Schemas& schemas, const Assertions& demands) {
  const bool isAny =
      std::none_of(schemas.begin(), schemas.end(), [](const SchemaNode& node) {
        return (typesOfKeywords(node) & objectType) != 0;
      });
  if (isAny)
    return Values{reference(any.object), ""};
  const CountRange& count = demands.properties;
  if (count.isEmpty())
    return Values{nullptr, "an object has " + count.toText() + " members"};
  Members members;
  RECIPERUN_TRY(addNamed(schemas, demands, members));
  RECIPERUN_TRY(addOthers(schemas, members));
  if (!members.whyEmpty.empty())
    return Values{nullptr, members.whyEmpty};
  const int64_t required = int64_t(demands.required.size());
  const int64_t named = int64_t(members.names.size());
  if (count.most && *count.most < required)
    return Values{nullptr, "an object has at most " +
                               std::to_string(*count.most) + " members and " +
                               std::to_string(required) + " required ones"};
  if (named == 0)
    return countedMembers(members, count);
  const bool isMostFree =
      !count.most || (!members.other && *count.most >= named);
  if (!isMostFree || (count.least > 1 && count.least > required))
    return schemaError(schemas[0].path,
                       "has `minProperties` or `maxProperties` beside optional "
                       "members, which structured output does not support");
  Separated list = std::move(members.named);
  list.separator = commaOf(any);
  list.mayBeEmpty = false;
  if (members.other)
    list.items.push_back({members.other, /*isOptional=*/true,
                          /*repeats=*/true});
  return Values{bracketed(any, "{", separated(std::move(list)), "}",
                          required == 0 && count.least == 0),
                ""};
}

Expected<SchemaCompiler::Values>
SchemaCompiler::countedMembers(const Members& members,
                               const CountRange& count) const {
  if (!members.other && count.least > 0)
    return Values{nullptr, "an object has at least " +
                               std::to_string(count.least) +
                               " members and may have none"};
  if (!members.other || count.most == 0)
    return Values{bracketed(any, "{", literal(""), "}", true), ""};
  const CountRange others = withoutFirst(count);
  return Values{
      bracketed(any, "{",
                sequence({members.other,
                          repeat(sequence({commaOf(any), members.other}),
                                 others.least, others.most)}),
                "}", count.least == 0),
      ""};
}

} // namespace reciperun::grammar
