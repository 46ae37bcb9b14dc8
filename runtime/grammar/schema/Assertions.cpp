// Each keyword tightens what the schemas before it allow.

#include "runtime/grammar/schema/Assertions.h"

#include "runtime/grammar/Limits.h"
#include "runtime/grammar/schema/StringFormats.h"

#include <algorithm>

namespace reciperun::grammar {
namespace {

class Combiner {
public:
  Expected<Assertions> run(std::span<const SchemaNode> schemas) {
    bool isTyped = false;
    Types byKeywords = 0;
    for (const SchemaNode& node : schemas) {
      isTyped |= node.find("type") || node.find("enum") || node.find("const");
      byKeywords |= typesOfKeywords(node);
      RECIPERUN_TRY(add(node));
    }
    // Who writes `properties` without a `type` expects objects.
    if (!isTyped && byKeywords != 0)
      made.types &= byKeywords;
    if (made.values)
      std::erase_if(*made.values, [&](const Json& value) {
        return (typeOfValue(value) & made.types) == 0;
      });
    return std::move(made);
  }

private:
  Status add(const SchemaNode& node) {
    Expected<Types> types = typesOf(node);
    RECIPERUN_TRY(types);
    made.types &= *types;
    RECIPERUN_TRY(addValues(node));
    RECIPERUN_TRY(addCounts(node, "minLength", "maxLength", made.length));
    RECIPERUN_TRY(addCounts(node, "minItems", "maxItems", made.items));
    RECIPERUN_TRY(
        addCounts(node, "minProperties", "maxProperties", made.properties));
    RECIPERUN_TRY(addPatterns(node));
    if (made.patterns.size() > maxPatterns)
      return schemaError(node.path, "gives a string more than " +
                                        std::to_string(maxPatterns) +
                                        " patterns and formats");
    RECIPERUN_TRY(addBound(node, "minimum", /*isLeast=*/true, false));
    RECIPERUN_TRY(addBound(node, "exclusiveMinimum", /*isLeast=*/true, true));
    RECIPERUN_TRY(addBound(node, "maximum", /*isLeast=*/false, false));
    RECIPERUN_TRY(addBound(node, "exclusiveMaximum", /*isLeast=*/false, true));
    RECIPERUN_TRY(addMultiple(node));
    RECIPERUN_TRY(addRequired(node));
    const Json* unique = node.find("uniqueItems");
    if (unique && *unique != false)
      return schemaError(node.path,
                         "has `uniqueItems`, which structured output does not "
                         "support; leave it out, and elements may be equal: "
                         "`maxItems` bounds their number, and `enum` their "
                         "values");
    return {};
  }

  Status addValues(const SchemaNode& node) {
    if (const Json* value = node.find("const"))
      keepValues({*value});
    const Json* list = node.find("enum");
    if (!list)
      return {};
    if (!list->is_array() || list->empty() || list->size() > maxEnumValues)
      return schemaError(node.path + "/enum",
                         "takes a list of 1 to " +
                             std::to_string(maxEnumValues) + " values");
    keepValues({list->begin(), list->end()});
    return {};
  }

  void keepValues(std::vector<Json> values) {
    if (made.values)
      std::erase_if(values, [&](const Json& value) {
        return std::find(made.values->begin(), made.values->end(), value) ==
               made.values->end();
      });
    made.values = std::move(values);
  }

  static Expected<std::optional<int64_t>> countOf(const SchemaNode& node,
                                                  const char* name) {
    const Json* value = node.find(name);
    if (!value)
      return std::optional<int64_t>();
    const bool isWhole =
        value->is_number() && typeOfValue(*value) == integerType;
    if (!isWhole || value->get<double>() < 0)
      return schemaError(node.path + "/" + name,
                         "takes a whole number from 0, not `" + shown(*value) +
                             "`");
    if (value->get<double>() > double(maxRepetitions))
      return schemaError(node.path + "/" + name,
                         "is " + shown(*value) + ", more than the " +
                             std::to_string(maxRepetitions) +
                             " that are supported");
    return std::optional(value->get<int64_t>());
  }

  static Status addCounts(const SchemaNode& node, const char* leastName,
                          const char* mostName, CountRange& range) {
    Expected<std::optional<int64_t>> least = countOf(node, leastName);
    RECIPERUN_TRY(least);
    Expected<std::optional<int64_t>> most = countOf(node, mostName);
    RECIPERUN_TRY(most);
    range.least = std::max(range.least, least->value_or(0));
    if (*most)
      range.most = std::min(range.most.value_or(**most), **most);
    return {};
  }

  Status addPatterns(const SchemaNode& node) {
    if (const Json* pattern = node.find("pattern")) {
      const std::string path = node.path + "/pattern";
      if (!pattern->is_string())
        return schemaError(path, "takes a text");
      made.patterns.push_back({pattern->get<std::string>(), path, false});
    }
    const Json* format = node.find("format");
    if (!format)
      return {};
    const std::string path = node.path + "/format";
    const std::string name =
        format->is_string() ? format->get<std::string>() : shown(*format);
    const std::string pattern = patternOfFormat(name);
    if (pattern.empty())
      return schemaError(path, "is `" + name + "`, which is not supported; " +
                                   knownFormats() +
                                   " are, and `pattern` takes any other form");
    made.patterns.push_back({pattern, path, true});
    return {};
  }

  Status addBound(const SchemaNode& node, const char* name, bool isLeast,
                  bool isExclusive) {
    const Json* value = node.find(name);
    if (!value)
      return {};
    const std::string path = node.path + "/" + name;
    if (!value->is_number())
      return schemaError(path, "takes a number, not `" + shown(*value) + "`");
    Expected<Decimal> decimal = parseDecimal(value->dump());
    if (!decimal)
      return decimal.status().withContext("`" + path + "`");
    std::optional<NumberBound>& bound =
        isLeast ? made.numbers.least : made.numbers.most;
    const NumberBound other = {std::move(*decimal), isExclusive};
    const bool isTighter =
        !bound || (isLeast ? isLess(bound->value, other.value)
                           : isLess(other.value, bound->value));
    if (isTighter)
      bound = other;
    else if (!isLess(bound->value, other.value) &&
             !isLess(other.value, bound->value))
      bound->isExclusive |= isExclusive;
    return {};
  }

  Status addMultiple(const SchemaNode& node) {
    const Json* value = node.find("multipleOf");
    if (!value)
      return {};
    if (*value != 1)
      return schemaError(node.path + "/multipleOf",
                         "is " + shown(*value) +
                             "; structured output supports only 1");
    made.types &= ~fractionType;
    return {};
  }

  Status addRequired(const SchemaNode& node) {
    const Json* names = node.find("required");
    if (!names)
      return {};
    const bool isList =
        names->is_array() && names->size() <= maxTogether &&
        std::all_of(names->begin(), names->end(),
                    [](const Json& name) { return name.is_string(); });
    if (!isList)
      return schemaError(node.path + "/required",
                         "takes a list of at most " +
                             std::to_string(maxTogether) + " names, not `" +
                             shown(*names) + "`");
    for (const Json& name : *names)
      if (std::find(made.required.begin(), made.required.end(), name) ==
          made.required.end())
        made.required.push_back(name.get<std::string>());
    return {};
  }

  Assertions made;
};

} // namespace

std::string CountRange::toText() const {
  return "at least " + std::to_string(least) + " and at most " +
         std::to_string(most.value_or(0));
}

Expected<Assertions> combineAssertions(std::span<const SchemaNode> schemas) {
  return Combiner().run(schemas);
}

} // namespace reciperun::grammar
