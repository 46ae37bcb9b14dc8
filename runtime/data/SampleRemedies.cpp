// 1. The help is about the first field that is missing or is not a string.
// 2. A missing field may be nested: a `jq` filter moves it. It may also have
//    another name: the recipe can name that field instead.
// 3. For messages, the help is about the first faulty one. One `jq` filter
//    fixes all lines of the file.

#include "runtime/data/SampleRemedies.h"

#include "runtime/base/ParseJson.h"
#include "runtime/data/ChatNames.h"
#include "runtime/data/Conversion.h"
#include "runtime/data/Jsonl.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <vector>

namespace reciperun::data {
namespace {

using Json = nlohmann::json;

/// The maximum number of fields that the help suggests for a missing one.
constexpr size_t mostOffered = 4;

std::string convertBy(const std::string& filter, const std::string& path) {
  return "convert the file by " + linesBy("jq -c '" + filter + "'", path);
}

/// A field as `jq` writes it: `.a`, `.["a b"]`. Empty for names with a single
/// quote, because the filter is in single quotes in the shell.
std::string filterOf(const std::string& field) {
  if (field.find('\'') != field.npos)
    return {};
  return isPlainName(field) ? "." + field : ".[" + Json(field).dump() + "]";
}

bool isListOfObjects(const Json& value) {
  return value.is_array() && !value.empty() && value.front().is_object();
}

/// The value at the path `a.b.c` in nested objects; null when there is none.
const Json* nested(const Json& object, const std::string& path) {
  const Json* at = &object;
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find('.', begin), path.size());
    const std::string name = path.substr(begin, end - begin);
    if (!at->is_object() || !at->contains(name) || !isPlainName(name))
      return nullptr;
    at = &at->at(name);
    begin = end + 1;
  }
  return at;
}

/// `c` for the path `a.b.c`, or `a_b_c` if the object already has a field `c`.
std::string nameOfNested(const Json& object, const std::string& path) {
  const std::string last = path.substr(path.rfind('.') + 1);
  if (!object.contains(last))
    return last;
  std::string whole = path;
  std::replace(whole.begin(), whole.end(), '.', '_');
  return whole;
}

/// A setting of the recipe that names a field of samples.
struct Wanted {
  const char* setting;      // `prompt`
  const std::string& field; // its value
};

std::string setTo(const Wanted& wanted, const std::string& name) {
  return "`" + std::string(wanted.setting) + " = " + Json(name).dump() + "`";
}

SampleRemedy helpWithNested(const Json& object, const Wanted& wanted,
                            const std::string& path) {
  if (wanted.field.find('.') == std::string::npos ||
      !nested(object, wanted.field))
    return {};
  const std::string name = nameOfNested(object, wanted.field);
  return {"a field is named as it stands in the object, without a path: " +
              convertBy("." + name + " = ." + wanted.field, path) + ", with " +
              setTo(wanted, name),
          wanted.field};
}

/// The names of an object's string fields, except `taken`, which the recipe
/// already reads.
std::vector<std::string> textsOf(const Json& object, const std::string& taken) {
  std::vector<std::string> names;
  for (const auto& [name, value] : object.items())
    if (value.is_string() && name != taken)
      names.push_back(name);
  return names;
}

SampleRemedy helpWithOtherField(const Json& object, const Wanted& wanted,
                                const std::string& taken) {
  const std::vector<std::string> names = textsOf(object, taken);
  std::string ways;
  for (size_t i = 0; i < std::min(names.size(), mostOffered); ++i)
    ways += (i == 0 ? "" : " or ") + setTo(wanted, names[i]);
  if (ways.empty())
    return {"add a text `" + wanted.field + "` to the objects of the file",
            wanted.field};
  return {"name a field of the objects, " + ways +
              ", or rename one in the file",
          wanted.field};
}

/// Help for a field whose value is not a string. The filter fixes all lines.
std::string helpWithValue(const Json& value, const std::string& field,
                          const std::string& path) {
  const std::string filter = filterOf(field);
  if (filter.empty())
    return "write a text there";
  if (value.is_null())
    return "write a text there, or leave such lines out: " +
           convertBy("select(" + filter + " != null)", path);
  if (!value.is_structured())
    return "write it as a text, `" + Json(value.dump()).dump() +
           "`: " + convertBy(filter + " |= tostring", path);
  const bool isOfTexts =
      value.is_array() &&
      std::all_of(value.begin(), value.end(),
                  [](const Json& each) { return each.is_string(); });
  if (isOfTexts)
    return "join its texts into one: " +
           convertBy(filter + " |= join(\"\\n\")", path);
  return "write it as a text of JSON: " +
         convertBy(filter + " |= tojson", path);
}

SampleRemedy remedyForFields(const Json& object,
                             const plan::DataSource& source) {
  const Wanted both[] = {{"prompt", source.prompt},
                         {"completion", source.completion}};
  for (const Wanted& wanted : both) {
    const auto found = object.find(wanted.field);
    if (found != object.end() && found->is_string())
      continue;
    if (found != object.end())
      return {helpWithValue(*found, wanted.field, source.path)};
    if (auto remedy = helpWithNested(object, wanted, source.path);
        !remedy.help.empty())
      return remedy;
    // A chat: `{"messages": [{"role": ...}, ...]}`.
    for (const auto& [name, value] : object.items())
      if (isListOfObjects(value))
        return {"write `messages = " + Json(name).dump() +
                    "` in place of `prompt` and `completion`",
                wanted.field};
    const bool isPrompt = &wanted == both;
    return helpWithOtherField(object, wanted, both[isPrompt ? 1 : 0].field);
  }
  return {};
}

// ---- messages

/// The `jq` filter that applies `change` to each message of a list.
std::string eachContent(const std::string& list, const std::string& change) {
  return list + " |= map(" + change + ")";
}

bool isTextPart(const Json& part) {
  return part.is_string() || (part.is_object() && part.contains("text") &&
                              part["text"].is_string());
}

std::string helpWithContent(const Json& message, const std::string& list,
                            const std::string& path) {
  const auto content = message.find("content");
  const bool isAbsent = content == message.end() || content->is_null();
  if (isAbsent && message.contains("tool_calls"))
    return "`tool_calls` are not read: write the calls into `content`, as JSON "
           "by " +
           linesBy("jq -c '" +
                       eachContent(list, "if .content == null then .content = "
                                         "(.tool_calls | tojson) else . end") +
                       "'",
                   path);
  if (isAbsent)
    return "write the message's text as its `content`, `\"\"` where it has "
           "none, or leave the message out";
  if (!content->is_array())
    return "write it as a text: " +
           convertBy(eachContent(list, ".content |= if type == \"string\" then "
                                       ". else tojson end"),
                     path);
  if (!std::all_of(content->begin(), content->end(), isTextPart))
    return "texts alone are read: leave lines with other parts out";
  return "join its texts into one: " +
         convertBy(eachContent(list, ".content |= if type == \"array\" then "
                                     "map(.text? // .) | join(\"\\n\") else . "
                                     "end"),
                   path);
}

std::string helpWithMessage(const Json& message, const std::string& list,
                            const std::string& path) {
  if (!message.is_object())
    return "write each message as `{\"role\": \"user\", \"content\": "
           "\"...\"}`";
  const auto role = message.find("role");
  if (role == message.end() || !role->is_string())
    return "write the speaker as the message's `role`, `\"user\"` or "
           "`\"assistant\"`";
  if (!checkRole(role->get<std::string>()).isOk())
    return "write one of these roles, or leave such messages out";
  const auto content = message.find("content");
  if (content == message.end() || !content->is_string())
    return helpWithContent(message, list, path);
  return {};
}

/// Help for a field that should be a list of messages but is not a list.
std::string helpWithNoList(const Json& value, const std::string& list,
                           const std::string& path) {
  const auto* text = value.get_ptr<const std::string*>();
  const Expected<Json> inside = text ? parseJson(*text) : Status::error("");
  if (inside && inside->is_array())
    return "write the list itself, not a text of it: " +
           convertBy(list + " |= fromjson", path);
  if (value.is_object() && value.contains("role"))
    return "write a list of this one message: " +
           convertBy(list + " |= [.]", path);
  return "write a list of messages, `[{\"role\": \"user\", \"content\": "
         "\"...\"}, {\"role\": \"assistant\", \"content\": \"...\"}]`";
}

SampleRemedy remedyForNoMessages(const Json& object,
                                 const plan::DataSource& source) {
  const Wanted wanted = {"messages", source.messages};
  if (auto remedy = helpWithNested(object, wanted, source.path);
      !remedy.help.empty())
    return remedy;
  const std::string other = messagesField(object, source.messages);
  if (!other.empty())
    return {"write " + setTo(wanted, other), source.messages};
  const std::vector<std::string> texts = textsOf(object, "");
  if (texts.size() < 2)
    return {"add a list of messages `" + source.messages +
                "` to the objects of the file",
            source.messages};
  const bool isPair = texts.size() == 2;
  return {
      "the objects have texts and no list of messages: name the one before "
      "the answer and the answer, `prompt = " +
          (isPair ? Json(texts[0]).dump() : "\"FIELD\"") +
          ", completion = " + (isPair ? Json(texts[1]).dump() : "\"FIELD\"") +
          "`" + (isPair ? " or the other way round" : ""),
      source.messages};
}

SampleRemedy remedyForMessages(const Json& object,
                               const plan::DataSource& source) {
  const std::string filter = messagesFilter(object, source.messages);
  const auto found = object.find(source.messages);
  const std::string absent =
      found == object.end() ? source.messages : std::string();
  if (!filter.empty()) {
    const bool isRoleAlone = absent.empty() &&
                             found->front().contains("role") &&
                             found->front().contains("content");
    return {(isRoleAlone ? ""
                         : "of a sample, `messages` names the list alone; its "
                           "messages have the fields `role` and `content`: ") +
                convertBy(filter, source.path),
            absent};
  }
  if (found == object.end())
    return remedyForNoMessages(object, source);
  const std::string list = filterOf(source.messages);
  if (!found->is_array())
    return {helpWithNoList(*found, list, source.path)};
  for (const Json& message : *found)
    if (std::string help = helpWithMessage(message, list, source.path);
        !help.empty())
      return {std::move(help)};
  return {"add the answer as a message of the role `assistant`, or leave such "
          "lines out"};
}

} // namespace

SampleRemedy remedyFor(const Json& object, const plan::DataSource& source) {
  return source.messages.empty() ? remedyForFields(object, source)
                                 : remedyForMessages(object, source);
}

std::string exampleSample(const plan::DataSource& source) {
  if (!source.messages.empty())
    return "{" + Json(source.messages).dump() +
           ": [{\"role\": \"user\", \"content\": \"...\"}, {\"role\": "
           "\"assistant\", \"content\": \"...\"}]}";
  return "{" + Json(source.prompt).dump() + ": \"...\", " +
         Json(source.completion).dump() + ": \"...\"}";
}

} // namespace reciperun::data
