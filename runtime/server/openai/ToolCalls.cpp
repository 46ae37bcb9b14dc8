// See ToolCalls.h.

#include "runtime/server/openai/ToolCalls.h"

#include "runtime/base/ParseJson.h"
#include "runtime/server/openai/BodyFields.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace reciperun::server {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view openTag = "<tool_call>", closeTag = "</tool_call>";
constexpr std::string_view codeStart = "\n```json\n", codeEnd = "\n```";
constexpr std::string_view codePrefix = "function";
constexpr const char* spaces = " \t\r\n";

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(spaces);
  if (first == text.npos)
    return {};
  return text.substr(first, text.find_last_not_of(spaces) + 1 - first);
}

// ---- the request

Status wrongForm(const std::string& field, const char* due) {
  return Status::error("`" + field + "` must be " + due);
}

/// The function of an entry of `tools`.
Expected<const Json*> functionOf(const Json& tool, const std::string& field) {
  const Json* const function =
      tool.is_object() ? findField(tool, "function") : nullptr;
  const Json* const name = function && function->is_object()
                               ? findField(*function, "name")
                               : nullptr;
  if (!name || !name->is_string() || *name == "")
    return wrongForm(field, "an object with `type` = `function` and a "
                            "`function` that has a `name`");
  const Json* const parameters = findField(*function, "parameters");
  if (parameters && !parameters->is_object())
    return wrongForm(field + ".function.parameters", "a JSON Schema");
  return function;
}

Status readChoice(const Json& choice, Tools& tools) {
  if (choice == "none")
    tools.choice = ToolChoice::none;
  else if (choice == "auto")
    tools.choice = ToolChoice::automatic;
  else if (choice == "required")
    tools.choice = ToolChoice::required;
  else {
    const Json* const function =
        choice.is_object() ? findField(choice, "function") : nullptr;
    const Json* const name = function && function->is_object()
                                 ? findField(*function, "name")
                                 : nullptr;
    if (!name || !name->is_string())
      return wrongForm("tool_choice", "`none`, `auto`, `required` or an object "
                                      "that names a function");
    tools.named = name->get<std::string>();
    if (std::ranges::find(tools.names, tools.named) == tools.names.end())
      return Status::error("`tool_choice` names the function `" + tools.named +
                           "`, which `tools` does not have");
    tools.choice = ToolChoice::named;
  }
  return Status::ok();
}

// ---- schemas

/// The parameters of a function; an object of any form where it has none.
Json parametersOf(const Tools& tools, const std::string& name) {
  for (const Json& tool : tools.declared) {
    const Json& function = tool["function"];
    if (function["name"] != name)
      continue;
    if (const Json* parameters = findField(function, "parameters"))
      return *parameters;
  }
  return {{"type", "object"}};
}

/// The schema of a call of any function. References in parameters are relative
/// to the root of the schema, so their definitions are moved there.
Json schemaOfCall(const Tools& tools, Json& definitions) {
  Json calls = Json::array();
  for (const std::string& name : tools.names) {
    Json parameters = parametersOf(tools, name);
    for (const char* const key : {"$defs", "definitions"})
      if (const Json* own = findField(parameters, key);
          own && own->is_object()) {
        definitions[key].update(*own);
        parameters.erase(key);
      }
    calls.push_back(
        {{"type", "object"},
         {"properties",
          {{"name", {{"const", name}}}, {"parameters", std::move(parameters)}}},
         {"required", {"name", "parameters"}},
         {"additionalProperties", false}});
  }
  return calls.size() == 1 ? calls.front() : Json{{"anyOf", std::move(calls)}};
}

// ---- answers

/// Reads a call from its JSON; nullopt if it is no call of a known function.
std::optional<ToolCall> callOf(const Json& value, const Tools& tools) {
  if (!value.is_object())
    return std::nullopt;
  const Json* const name = findField(value, "name");
  const Json* arguments = findField(value, "arguments");
  if (!arguments)
    arguments = findField(value, "parameters");
  if (!name || !name->is_string() ||
      std::ranges::find(tools.names, name->get_ref<const std::string&>()) ==
          tools.names.end())
    return std::nullopt;
  if (!arguments)
    return ToolCall{name->get<std::string>(), "{}"};
  if (!arguments->is_string())
    return ToolCall{
        name->get<std::string>(),
        arguments->dump(-1, ' ', false, Json::error_handler_t::replace)};
  const std::string& text = arguments->get_ref<const std::string&>();
  if (!parseOrderedJson(text))
    return std::nullopt;
  return ToolCall{name->get<std::string>(), text};
}

using Calls = std::optional<std::vector<ToolCall>>; // nullopt: not in this form

/// A call, or a list of calls.
Calls callsOfJson(std::string_view text, const Tools& tools) {
  const Expected<Json> json = parseOrderedJson(trimmed(text));
  if (!json)
    return std::nullopt;
  std::vector<ToolCall> calls;
  for (const Json& each : json->is_array() ? *json : Json::array({*json})) {
    auto call = callOf(each, tools);
    if (!call)
      return std::nullopt;
    calls.push_back(*std::move(call));
  }
  return calls.empty() ? Calls() : Calls(std::move(calls));
}

/// Calls between tags, with white space around them.
Calls callsOfTags(std::string_view text, const Tools& tools) {
  std::vector<ToolCall> calls;
  for (text = trimmed(text); !text.empty(); text = trimmed(text)) {
    const size_t end = text.find(closeTag);
    if (!text.starts_with(openTag) || end == text.npos)
      return std::nullopt;
    auto inside =
        callsOfJson(text.substr(openTag.size(), end - openTag.size()), tools);
    if (!inside)
      return std::nullopt;
    std::ranges::move(*inside, std::back_inserter(calls));
    text.remove_prefix(end + closeTag.size());
  }
  return calls.empty() ? Calls() : Calls(std::move(calls));
}

/// Calls of the form functionNAME and a block of JSON.
Calls callsOfCode(std::string_view text, const Tools& tools) {
  std::vector<ToolCall> calls;
  for (text = trimmed(text); !text.empty(); text = trimmed(text)) {
    const size_t start = text.find(codeStart);
    if (!text.starts_with(codePrefix) || start == text.npos)
      return std::nullopt;
    const size_t from = start + codeStart.size(),
                 end = text.find(codeEnd, from);
    const std::string name(
        text.substr(codePrefix.size(), start - codePrefix.size()));
    if (end == text.npos ||
        std::ranges::find(tools.names, name) == tools.names.end())
      return std::nullopt;
    const std::string_view arguments = trimmed(text.substr(from, end - from));
    if (!parseOrderedJson(arguments))
      return std::nullopt;
    calls.push_back({name, std::string(arguments)});
    text.remove_prefix(end + codeEnd.size());
  }
  return calls.empty() ? Calls() : Calls(std::move(calls));
}

Calls callsOfAnswer(const std::string& text, const Tools& tools) {
  if (tools.choice == ToolChoice::named)
    return parseOrderedJson(text) ? Calls({{tools.named, text}}) : Calls();
  if (Calls calls = callsOfJson(text, tools))
    return calls;
  return callsOfCode(text, tools);
}

} // namespace

Expected<Tools> readTools(const Json& body) {
  Tools tools;
  const Json* const list = findField(body, "tools");
  const Json* const choice = findField(body, "tool_choice");
  if (!list || *list == Json::array()) {
    if (choice && *choice != "none" && *choice != "auto")
      return Status::error("`tool_choice` needs `tools`");
    return tools;
  }
  if (!list->is_array())
    return wrongForm("tools", "a list");
  for (size_t i = 0; i < list->size(); ++i) {
    const auto function =
        functionOf((*list)[i], "tools[" + std::to_string(i) + "]");
    RECIPERUN_TRY(function);
    tools.names.push_back((**function)["name"].get<std::string>());
  }
  tools.declared = *list;
  tools.choice = ToolChoice::automatic;
  if (choice)
    RECIPERUN_TRY(readChoice(*choice, tools));
  if (const Json* parallel = findField(body, "parallel_tool_calls")) {
    if (!parallel->is_boolean())
      return wrongForm("parallel_tool_calls", "`true` or `false`");
    tools.isParallel = parallel->get<bool>();
  }
  return tools;
}

std::string schemaOf(const Tools& tools) {
  if (tools.choice == ToolChoice::named)
    return parametersOf(tools, tools.named).dump();
  Json schema = Json::object();
  Json call = schemaOfCall(tools, schema);
  schema["type"] = "array";
  schema["minItems"] = 1;
  if (!tools.isParallel)
    schema["maxItems"] = 1;
  schema["items"] = std::move(call);
  return schema.dump();
}

ToolAnswer splitAnswer(const std::string& text, const Tools& tools,
                       bool hasBegun) {
  if (!hasBegun)
    if (Calls calls = callsOfAnswer(text, tools))
      return {"", *std::move(calls)};
  const size_t tag = text.find(openTag);
  if (tag == text.npos)
    return {text, {}};
  Calls calls = callsOfTags(std::string_view(text).substr(tag), tools);
  if (!calls)
    return {text, {}};
  const size_t last = text.find_last_not_of(spaces, tag == 0 ? 0 : tag - 1);
  return {tag == 0 || last == text.npos ? "" : text.substr(0, last + 1),
          *std::move(calls)};
}

size_t bytesOfContent(std::string_view text, const Tools& tools,
                      bool hasBegun) {
  if (tools.choice != ToolChoice::automatic)
    return 0;
  const std::string_view begin = trimmed(text);
  const size_t compared = std::min(begin.size(), codePrefix.size());
  if (!hasBegun &&
      (begin.empty() || begin[0] == '{' || begin[0] == '[' ||
       begin.substr(0, compared) == codePrefix.substr(0, compared)))
    return 0;
  if (const size_t tag = text.find(openTag); tag != text.npos)
    return tag;
  size_t held = std::min(text.size(), openTag.size() - 1);
  while (!openTag.starts_with(text.substr(text.size() - held)))
    --held;
  return text.size() - held;
}

} // namespace reciperun::server
