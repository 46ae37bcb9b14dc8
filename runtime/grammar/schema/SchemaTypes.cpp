// The values of one list of schemas, type by type, and those of `enum`.

#include "runtime/grammar/MachineBuilder.h"
#include "runtime/grammar/Regex.h"
#include "runtime/grammar/schema/SchemaCompiler.h"

#include <algorithm>

namespace reciperun::grammar {
namespace {

/// A pattern's expression over the characters of a string.
Expected<ExpressionPtr> charactersOf(const StringPattern& pattern) {
  Expected<ExpressionPtr> parsed =
      parseRegex(pattern.pattern,
                 pattern.isWhole ? RegexMatch::whole : RegexMatch::anywhere);
  if (!parsed)
    return parsed.status().withContext("`" + pattern.path + "`");
  return parsed;
}

Expected<Machine> machineAt(const ExpressionPtr& expression,
                            const std::string& path) {
  Expected<Machine> machine = machineOf(expression);
  if (!machine)
    return machine.status().withContext("`" + path + "`");
  return machine;
}

int64_t charactersIn(const std::string& text) {
  return std::count_if(text.begin(), text.end(),
                       [](char c) { return (c & 0xC0) != 0x80; });
}

} // namespace

Expected<SchemaCompiler::Values>
SchemaCompiler::valuesOf(const Schemas& schemas) {
  Expected<Assertions> combined = combineAssertions(schemas);
  RECIPERUN_TRY(combined);
  const Assertions& demands = *combined;
  if (demands.types == 0)
    return Values{nullptr, "the types exclude one another"};
  if (demands.values)
    return listed(schemas, demands);
  std::vector<ExpressionPtr> cases;
  std::string whyEmpty;
  auto add = [&](const Expected<Values>& values) {
    if (!values)
      return values.status();
    if (values->expression)
      cases.push_back(values->expression);
    else
      whyEmpty = values->whyEmpty;
    return Status::ok();
  };
  if (demands.types & objectType)
    RECIPERUN_TRY(add(objectsOf(schemas, demands)));
  if (demands.types & arrayType)
    RECIPERUN_TRY(add(arraysOf(schemas, demands)));
  if (demands.types & stringType)
    RECIPERUN_TRY(add(stringsOf(demands)));
  if (demands.types & numberType)
    RECIPERUN_TRY(add(numbersOf(demands)));
  if (demands.types & booleanType)
    cases.push_back(choice({literal("true"), literal("false")}));
  if (demands.types & nullType)
    cases.push_back(literal("null"));
  if (cases.empty())
    return Values{nullptr, whyEmpty};
  return Values{choice(std::move(cases)), whyEmpty};
}

Expected<SchemaCompiler::Values>
SchemaCompiler::listed(const Schemas& schemas, const Assertions& demands) {
  std::vector<ExpressionPtr> cases;
  for (const Json& value : *demands.values) {
    Expected<bool> isListed = isListedValue(value, schemas, demands);
    RECIPERUN_TRY(isListed);
    if (*isListed)
      cases.push_back(literal(value.dump()));
  }
  if (cases.empty())
    return Values{nullptr, "no value of `enum` or `const` is one that the "
                           "other keywords accept"};
  return Values{choice(std::move(cases)), ""};
}

Expected<bool> SchemaCompiler::isListedValue(const Json& value,
                                             const Schemas& schemas,
                                             const Assertions& demands) const {
  if (value.is_structured())
    for (const SchemaNode& node : schemas)
      if (typesOfKeywords(node) & typeOfValue(value))
        return schemaError(node.path,
                           "has keywords for objects or arrays beside an "
                           "`enum` or `const` with such values, which "
                           "structured output does not support");
  if (value.is_number()) {
    Expected<Decimal> decimal = parseDecimal(value.dump());
    RECIPERUN_TRY(decimal);
    return isWithin(*decimal, demands.numbers);
  }
  if (!value.is_string())
    return true;
  const std::string& text = value.get_ref<const std::string&>();
  const int64_t length = charactersIn(text);
  if (length < demands.length.least ||
      length > demands.length.most.value_or(length))
    return false;
  for (const StringPattern& pattern : demands.patterns) {
    Expected<ExpressionPtr> characters = charactersOf(pattern);
    RECIPERUN_TRY(characters);
    Expected<Machine> machine = machineAt(*characters, pattern.path);
    RECIPERUN_TRY(machine);
    if (!accepts(*machine, text))
      return false;
  }
  return true;
}

Expected<SchemaCompiler::Values>
SchemaCompiler::stringsOf(const Assertions& demands) const {
  const CountRange& length = demands.length;
  const bool isCounted = length.least > 0 || length.most;
  if (length.isEmpty())
    return Values{nullptr, "a string has " + length.toText() + " characters"};
  if (demands.patterns.empty())
    return Values{isCounted ? jsonString(length.least, length.most)
                            : reference(any.string),
                  ""};
  auto quoted = [](ExpressionPtr contents) {
    return sequence({literal("\""), std::move(contents), literal("\"")});
  };
  const std::string& path = demands.patterns[0].path;
  std::vector<ExpressionPtr> contents;
  for (const StringPattern& pattern : demands.patterns) {
    Expected<ExpressionPtr> characters = charactersOf(pattern);
    RECIPERUN_TRY(characters);
    contents.push_back(jsonEscaped(*characters));
  }
  if (isCounted)
    contents.push_back(jsonEscapedText(length.least, length.most));
  if (contents.size() == 1)
    return Values{quoted(contents[0]), ""};
  Expected<Machine> all = machineAt(contents[0], path);
  RECIPERUN_TRY(all);
  for (size_t i = 1; i < contents.size(); ++i) {
    Expected<Machine> one = machineAt(contents[i], path);
    RECIPERUN_TRY(one);
    all = intersect(*all, *one);
    if (!all)
      return all.status().withContext("`" + path +
                                      "` together with the other patterns and "
                                      "lengths");
  }
  if (!acceptsAny(*all))
    return Values{nullptr, "no string has both `" + path +
                               "` and the other patterns and lengths"};
  return Values{
      quoted(regular(std::make_shared<const Machine>(std::move(*all)))), ""};
}

Expected<SchemaCompiler::Values>
SchemaCompiler::numbersOf(const Assertions& demands) const {
  NumberRange range = demands.numbers;
  range.isInteger = (demands.types & fractionType) == 0;
  if (!range.isInteger && !range.least && !range.most)
    return Values{reference(any.number), ""};
  Expected<ExpressionPtr> numbers = numbersIn(range);
  RECIPERUN_TRY(numbers);
  if (!*numbers)
    return Values{nullptr, std::string("no ") +
                               (range.isInteger ? "integer" : "number") +
                               " is between the bounds"};
  return Values{*numbers, ""};
}

} // namespace reciperun::grammar
