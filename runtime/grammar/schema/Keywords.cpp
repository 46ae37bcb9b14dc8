// One table of all keywords.

#include "runtime/grammar/schema/Keywords.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace reciperun::grammar {
namespace {

enum class Role { restricts, describes, unsupported };

struct Keyword {
  std::string_view name;
  Role role;
  Types appliesTo = 0;           // 0: values of all types
  std::string_view instead = {}; // of one that is not supported
};

constexpr std::string_view asCases =
    "leave it out, or write the cases as `anyOf`";
constexpr std::string_view asMembers =
    "leave it out, or name the members in `properties`; "
    "`additionalProperties` restricts the values of others";
constexpr std::string_view asElements =
    "leave it out, or restrict all elements by `items`";
constexpr std::string_view asCharacters =
    "leave it out: a string is written as it is, and `pattern` restricts its "
    "characters";
constexpr std::string_view asReference =
    "name the schema in `$defs`, and refer to it by `$ref`";

constexpr std::array<Keyword, 65> keywords = {{
    {"type", Role::restricts},
    {"nullable", Role::restricts},
    {"enum", Role::restricts},
    {"const", Role::restricts},
    {"anyOf", Role::restricts},
    {"oneOf", Role::restricts},
    {"allOf", Role::restricts},
    {"$ref", Role::restricts},
    {"properties", Role::restricts, objectType},
    {"required", Role::restricts, objectType},
    {"additionalProperties", Role::restricts, objectType},
    {"minProperties", Role::restricts, objectType},
    {"maxProperties", Role::restricts, objectType},
    {"items", Role::restricts, arrayType},
    {"prefixItems", Role::restricts, arrayType},
    {"minItems", Role::restricts, arrayType},
    {"maxItems", Role::restricts, arrayType},
    {"uniqueItems", Role::restricts, arrayType},
    {"minLength", Role::restricts, stringType},
    {"maxLength", Role::restricts, stringType},
    {"pattern", Role::restricts, stringType},
    {"format", Role::restricts, stringType},
    {"minimum", Role::restricts, numberType},
    {"maximum", Role::restricts, numberType},
    {"exclusiveMinimum", Role::restricts, numberType},
    {"exclusiveMaximum", Role::restricts, numberType},
    {"multipleOf", Role::restricts, numberType},
    {"title", Role::describes},
    {"description", Role::describes},
    {"default", Role::describes},
    {"example", Role::describes},
    {"examples", Role::describes},
    {"deprecated", Role::describes},
    {"readOnly", Role::describes},
    {"writeOnly", Role::describes},
    {"discriminator", Role::describes},
    {"$schema", Role::describes},
    {"$id", Role::describes},
    {"$comment", Role::describes},
    {"$defs", Role::describes},
    {"definitions", Role::describes},
    {"not", Role::unsupported, 0,
     "leave it out, or list what is allowed, by `enum` or `anyOf`"},
    {"if", Role::unsupported, 0, asCases},
    {"then", Role::unsupported, 0, asCases},
    {"else", Role::unsupported, 0, asCases},
    {"patternProperties", Role::unsupported, 0, asMembers},
    {"propertyNames", Role::unsupported, 0, asMembers},
    {"dependencies", Role::unsupported, 0, asCases},
    {"dependentRequired", Role::unsupported, 0, asCases},
    {"dependentSchemas", Role::unsupported, 0, asCases},
    {"unevaluatedProperties", Role::unsupported, 0,
     "write `additionalProperties` in its place"},
    {"unevaluatedItems", Role::unsupported, 0,
     "write `items` beside `prefixItems` in its place"},
    {"additionalItems", Role::unsupported, 0,
     "write `prefixItems` for `items`, and `items` in its place"},
    {"contains", Role::unsupported, 0, asElements},
    {"minContains", Role::unsupported, 0, asElements},
    {"maxContains", Role::unsupported, 0, asElements},
    {"contentEncoding", Role::unsupported, 0, asCharacters},
    {"contentMediaType", Role::unsupported, 0, asCharacters},
    {"contentSchema", Role::unsupported, 0, asCharacters},
    {"$anchor", Role::unsupported, 0, asReference},
    {"$dynamicAnchor", Role::unsupported, 0, asReference},
    {"$dynamicRef", Role::unsupported, 0, asReference},
    {"$recursiveAnchor", Role::unsupported, 0, asReference},
    {"$recursiveRef", Role::unsupported, 0, asReference},
    {"$vocabulary", Role::unsupported, 0, "leave it out"},
}};

const Keyword* keywordOf(std::string_view name) {
  const auto* found =
      std::find_if(keywords.begin(), keywords.end(),
                   [&](const Keyword& each) { return each.name == name; });
  return found == keywords.end() ? nullptr : found;
}

constexpr std::array<std::pair<std::string_view, Types>, 7> typeNames = {{
    {"null", nullType},
    {"boolean", booleanType},
    {"object", objectType},
    {"array", arrayType},
    {"string", stringType},
    {"integer", integerType},
    {"number", numberType},
}};

/// The name of a type, also of Python's or TypeScript's; empty for other words.
std::string_view typeMeant(const std::string& word) {
  constexpr std::pair<std::string_view, std::string_view> others[] = {
      {"str", "string"},   {"text", "string"},  {"int", "integer"},
      {"float", "number"}, {"bool", "boolean"}, {"list", "array"},
      {"dict", "object"}};
  for (const auto& [name, type] : typeNames)
    if (word == name)
      return name;
  for (const auto& [name, type] : others)
    if (word == name)
      return type;
  return {};
}

Expected<Types> typeNamed(const Json& name, const std::string& path) {
  if (name.is_string())
    for (const auto& [known, type] : typeNames)
      if (name.get_ref<const std::string&>() == known)
        return type;
  const std::string_view meant = name.is_string()
                                     ? typeMeant(name.get<std::string>())
                                     : std::string_view();
  return schemaError(
      path,
      "takes `null`, `boolean`, `object`, `array`, "
      "`string`, `integer`, `number` or a list of these, "
      "not `" +
          shown(name) + "`" +
          (meant.empty() ? "" : "; write `\"" + std::string(meant) + "\"`"));
}

/// The schema of values such as an example, in which a text may be the name of
/// a type.
Json schemaOfExample(const Json& example) {
  Json schema = Json::object();
  if (example.is_object()) {
    schema["type"] = "object";
    Json names = Json::array();
    for (const auto& [name, value] : example.items()) {
      schema["properties"][name] = schemaOfExample(value);
      names.push_back(name);
    }
    schema["required"] = names;
    return schema;
  }
  if (example.is_array()) {
    schema["type"] = "array";
    if (!example.empty())
      schema["items"] = schemaOfExample(example[0]);
    return schema;
  }
  const std::string_view named = example.is_string()
                                     ? typeMeant(example.get<std::string>())
                                     : std::string_view();
  schema["type"] = !named.empty()                ? std::string(named)
                   : example.is_string()         ? "string"
                   : example.is_boolean()        ? "boolean"
                   : example.is_number_integer() ? "integer"
                   : example.is_number()         ? "number"
                                                 : "null";
  return schema;
}

bool namesType(const Json& value) {
  return value.is_string() && !typeMeant(value.get<std::string>()).empty();
}

/// Letters alone, in lower case: `min_length` and `minlength` are `minLength`.
std::string plainWord(std::string_view name) {
  std::string plain;
  for (const unsigned char c : name)
    if (std::isalpha(c))
      plain += char(std::tolower(c));
  return plain;
}

/// What to write for a name that is no keyword.
std::string helpWithKeyword(const std::string& name) {
  for (const Keyword& each : keywords)
    if (each.role != Role::unsupported &&
        plainWord(each.name) == plainWord(name))
      return "; write `" + std::string(each.name) + "`";
  return "; leave it out, or call it `x-" + name + "`, which is not read";
}

/// What to write for an object without a keyword, which is an example of the
/// values. One member alone may be a misspelt keyword.
std::string helpWithExample(const Json& object) {
  bool isExample = object.size() > 1;
  for (const auto& [name, value] : object.items()) {
    if (keywordOf(name))
      return {};
    isExample |= namesType(value);
  }
  if (!isExample)
    return {};
  constexpr size_t longest = 400;
  const std::string schema = schemaOfExample(object).dump();
  return schema.size() > longest
             ? "; the members of an object are `{\"type\": \"object\", "
               "\"properties\": {NAME: SCHEMA, ...}}`"
             : "; an object with these members is `" + schema + "`";
}

} // namespace

SchemaNode SchemaNode::child(const std::string& key) const {
  std::string escaped;
  for (const char c : key)
    escaped += c == '~'   ? std::string("~0")
               : c == '/' ? std::string("~1")
                          : std::string(1, c);
  return {&schema->at(key), path + "/" + escaped};
}

const Json* SchemaNode::find(const char* keyword) const {
  if (!schema->is_object())
    return nullptr;
  const auto found = schema->find(keyword);
  return found == schema->end() ? nullptr : &*found;
}

Status checkKeywords(const SchemaNode& node) {
  if (node.schema->is_boolean())
    return {};
  if (!node.schema->is_object())
    return schemaError(
        node.path,
        "is a schema, which is an object, `true` or "
        "`false`, not `" +
            shown(*node.schema) + "`" +
            (namesType(*node.schema)
                 ? "; write `" + schemaOfExample(*node.schema).dump() + "`"
                 : ""));
  for (const auto& [name, value] : node.schema->items()) {
    if (name.starts_with("x-"))
      continue; // extensions of OpenAPI
    const Keyword* keyword = keywordOf(name);
    const std::string example =
        keyword ? std::string() : helpWithExample(*node.schema);
    if (!keyword)
      return schemaError(
          node.path, "has `" + name +
                         "`, which is no keyword of JSON "
                         "Schema" +
                         (example.empty() ? helpWithKeyword(name) : example));
    if (keyword->role == Role::unsupported)
      return schemaError(node.path, "has the keyword `" + name +
                                        "`, which structured output does not "
                                        "support; " +
                                        std::string(keyword->instead));
  }
  return {};
}

Expected<Types> typesOf(const SchemaNode& node) {
  const Json* type = node.find("type");
  if (!type)
    return allTypes;
  const std::string path = node.path + "/type";
  Types types = 0;
  if (const Json* nullable = node.find("nullable")) {
    if (!nullable->is_boolean())
      return schemaError(node.path + "/nullable", "takes `true` or `false`");
    types = nullable->get<bool>() ? nullType : 0;
  }
  if (!type->is_array()) {
    Expected<Types> one = typeNamed(*type, path);
    RECIPERUN_TRY(one);
    return types | *one;
  }
  if (type->empty())
    return schemaError(path, "is an empty list, so that nothing matches");
  for (const Json& each : *type) {
    Expected<Types> one = typeNamed(each, path);
    RECIPERUN_TRY(one);
    types |= *one;
  }
  return types;
}

Types typesOfKeywords(const SchemaNode& node) {
  Types types = 0;
  if (node.schema->is_object())
    for (const auto& [name, value] : node.schema->items())
      if (const Keyword* keyword = keywordOf(name))
        types |= keyword->appliesTo;
  return types;
}

Types typeOfValue(const Json& value) {
  switch (value.type()) {
  case Json::value_t::null:
    return nullType;
  case Json::value_t::boolean:
    return booleanType;
  case Json::value_t::object:
    return objectType;
  case Json::value_t::array:
    return arrayType;
  case Json::value_t::string:
    return stringType;
  case Json::value_t::number_float:
    return std::trunc(value.get<double>()) == value.get<double>()
               ? integerType
               : fractionType;
  default:
    return integerType;
  }
}

bool hasRestriction(const SchemaNode& node) {
  if (node.schema->is_boolean())
    return !node.schema->get<bool>();
  for (const auto& [name, value] : node.schema->items()) {
    const Keyword* keyword = keywordOf(name);
    if (keyword && keyword->role == Role::restricts && name != "$ref" &&
        name != "allOf")
      return true;
  }
  return false;
}

std::string shown(const Json& value) {
  constexpr size_t enough = 40;
  const std::string text = value.dump(-1, ' ', /*ensure_ascii=*/true);
  return text.size() <= enough ? text : text.substr(0, enough) + "...";
}

Status schemaError(const std::string& path, const std::string& what) {
  return Status::error("`" + path + "` " + what);
}

} // namespace reciperun::grammar
