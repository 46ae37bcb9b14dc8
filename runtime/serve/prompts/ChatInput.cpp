// See ChatInput.h.

#include "runtime/serve/prompts/ChatInput.h"

#include "runtime/base/ParseJson.h"
#include "runtime/data/Jsonl.h"

#include <algorithm>

namespace reciperun::serve {
namespace {

using OrderedJson = nlohmann::ordered_json;

std::string kindOf(const OrderedJson& value) {
  if (value.is_null())
    return "null";
  if (value.is_boolean())
    return "a truth value";
  if (value.is_number())
    return "a number";
  if (value.is_array())
    return "a list";
  return value.is_object() ? "an object" : "a text";
}

Status wrongKind(const std::string& field, const OrderedJson& value,
                 const std::string& due) {
  return Status::error("the field `" + field + "` is " + kindOf(value) +
                       " where " + due + " is due");
}

std::string indexed(const std::string& field, size_t index) {
  return field + "[" + std::to_string(index) + "]";
}

const OrderedJson* find(const OrderedJson& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

/// Whether a template compares with a role: it has the role, a word, as a
/// string.
bool knowsRole(std::string_view source, const std::string& role) {
  const bool isWord = std::all_of(role.begin(), role.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || c == '_';
  });
  return isWord && (source.find("'" + role + "'") != source.npos ||
                    source.find("\"" + role + "\"") != source.npos);
}

Status checkRoleOf(const OrderedJson& message, const std::string& field,
                   std::string_view source) {
  const OrderedJson* role = find(message, "role");
  if (!role)
    return Status::error("the field `" + field +
                         ".role` is missing; write `\"role\": \"user\"`, or "
                         "another role");
  if (!role->is_string())
    return wrongKind(field + ".role", *role, "a text");
  const std::string name = role->get<std::string>();
  return knowsRole(source, name) ? Status::ok()
                                 : data::checkRole(name).withContext(
                                       "the field `" + field + ".role`");
}

/// The text of a content that is a list of parts.
Expected<OrderedJson> joinedParts(const OrderedJson& parts,
                                  const std::string& field) {
  std::string text;
  for (size_t i = 0; i < parts.size(); ++i) {
    const OrderedJson& part = parts[i];
    const std::string shown = indexed(field, i);
    if (!part.is_object())
      return wrongKind(shown, part, "an object with `type` and `text`");
    const OrderedJson* type = find(part, "type");
    if (type && type->is_string() && *type != "text")
      return Status::error("the field `" + shown + "` is of type `" +
                           type->get<std::string>() +
                           "`, but the model reads text only; leave it out");
    const OrderedJson* words = find(part, "text");
    if (!words || !words->is_string())
      return Status::error("the field `" + shown + ".text` is " +
                           (words ? kindOf(*words) : std::string("missing")) +
                           " where a text is due");
    text += (i == 0 ? "" : "\n") + words->get<std::string>();
  }
  return OrderedJson(std::move(text));
}

Status checkContent(OrderedJson& message, const std::string& field) {
  const auto content = message.find("content");
  const bool isCall = message.contains("tool_calls");
  if (content == message.end()) {
    if (!isCall)
      return Status::error("the field `" + field +
                           ".content` is missing; write the message's text "
                           "there");
    message["content"] = nullptr;
    return {};
  }
  if (content->is_string() || (content->is_null() && isCall))
    return {};
  if (!content->is_array())
    return wrongKind(field + ".content", *content, "a text");
  Expected<OrderedJson> text = joinedParts(*content, field + ".content");
  RECIPERUN_TRY(text);
  *content = *std::move(text);
  return {};
}

/// Parses the arguments of tool calls, which OpenAI's clients send as JSON
/// text; templates print objects.
Status readArguments(OrderedJson& message, const std::string& field) {
  const auto calls = message.find("tool_calls");
  if (calls == message.end() || calls->is_null())
    return {};
  if (!calls->is_array())
    return wrongKind(field + ".tool_calls", *calls, "a list");
  for (size_t i = 0; i < calls->size(); ++i) {
    OrderedJson& call = (*calls)[i];
    const std::string shown = indexed(field + ".tool_calls", i);
    if (!call.is_object())
      return wrongKind(shown, call, "an object");
    OrderedJson* function =
        call.contains("function") ? &call["function"] : &call;
    if (!function->is_object())
      return wrongKind(shown + ".function", *function, "an object");
    const auto arguments = function->find("arguments");
    if (arguments == function->end() || !arguments->is_string())
      continue;
    Expected<OrderedJson> parsed = parseOrderedJson(
        arguments->get_ref<const std::string&>(), {.noun = "text"});
    RECIPERUN_TRY(parsed.status().withContext("the field `" + shown +
                                              ".function.arguments`"));
    *arguments = *std::move(parsed);
  }
  return {};
}

Status checkVariables(const OrderedJson& variables) {
  if (!variables.is_object())
    return wrongKind("chat_template_kwargs", variables, "an object");
  for (const char* own : {"messages", "tools", "add_generation_prompt"})
    if (variables.contains(own))
      return Status::error("`chat_template_kwargs` has `" + std::string(own) +
                           "`, which is a field beside it");
  return {};
}

/// Reads an optional field; `target` keeps its value without it.
Status readFlag(const OrderedJson& object, const char* name, bool& target) {
  const OrderedJson* value = find(object, name);
  if (!value || value->is_null())
    return {};
  if (!value->is_boolean())
    return wrongKind(name, *value, "`true` or `false`");
  target = value->get<bool>();
  return {};
}

/// Whether the last message has a text that an answer can continue.
Status checkContinued(const OrderedJson& messages) {
  const OrderedJson& content = messages.back()["content"];
  const bool hasText = content.is_string() &&
                       content.get_ref<const std::string&>().find_first_not_of(
                           " \n\r\t") != std::string::npos;
  return hasText
             ? Status::ok()
             : Status::error("`continue_final_message` is set, and the last "
                             "message has no text to continue");
}

} // namespace

void addMessage(ChatInput& input, std::string_view role,
                std::string_view content) {
  input.messages.push_back({{"role", role}, {"content", content}});
}

Expected<ChatInput> checkedInput(const ChatInput& input,
                                 std::string_view source) {
  if (!input.messages.is_array())
    return wrongKind("messages", input.messages, "a list of messages");
  if (input.messages.empty())
    return Status::error(
        "the field `messages` is an empty list; write a message "
        "into it, `{\"role\": \"user\", \"content\": \"...\"}`");
  if (!input.tools.is_null() && !input.tools.is_array())
    return wrongKind("tools", input.tools, "a list of functions");
  if (!input.variables.is_null())
    RECIPERUN_TRY(checkVariables(input.variables));
  ChatInput checked = input;
  for (size_t i = 0; i < checked.messages.size(); ++i) {
    OrderedJson& message = checked.messages[i];
    const std::string field = indexed("messages", i);
    if (!message.is_object())
      return wrongKind(field, message, "an object with `role` and `content`");
    RECIPERUN_TRY(checkRoleOf(message, field, source));
    RECIPERUN_TRY(checkContent(message, field));
    RECIPERUN_TRY(readArguments(message, field));
  }
  if (checked.continuesFinal)
    RECIPERUN_TRY(checkContinued(checked.messages));
  return checked;
}

Expected<ChatInput> readChatInput(const OrderedJson& object) {
  ChatInput input;
  const OrderedJson* messages = find(object, "messages");
  if (!messages)
    return Status::error("the field `messages` is missing");
  input.messages = *messages;
  if (const OrderedJson* tools = find(object, "tools"))
    input.tools = *tools;
  if (const OrderedJson* variables = find(object, "chat_template_kwargs"))
    input.variables = *variables;
  RECIPERUN_TRY(
      readFlag(object, "continue_final_message", input.continuesFinal));
  bool adds = !input.continuesFinal;
  RECIPERUN_TRY(readFlag(object, "add_generation_prompt", adds));
  if (adds && input.continuesFinal)
    return Status::error("Cannot set both `continue_final_message` and "
                         "`add_generation_prompt` to True.");
  input.addGenerationPrompt = adds;
  return input;
}

} // namespace reciperun::serve
