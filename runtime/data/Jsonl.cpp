// Per line: check UTF-8, parse, take the fields that the recipe names.

#include "runtime/data/Jsonl.h"

#include "runtime/data/Utf8.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace reciperun::data {

namespace {

using Json = nlohmann::json;

constexpr size_t listedErrors = 10;
constexpr std::string_view byteOrderMark = "\xEF\xBB\xBF";

/// The column, in code points from 1, of a byte of a line.
int64_t columnOf(std::string_view line, size_t byte) {
  const auto begin = line.begin();
  return 1 + std::count_if(begin, begin + std::min(byte, line.size()),
                           [](char c) { return (c & 0xC0) != 0x80; });
}

Status atColumn(int64_t column, const std::string& what) {
  return Status::error("column " + std::to_string(column) + ": " + what);
}

/// `a number`, `a list`: how a value of the wrong type is named.
std::string kindOf(const Json& value) {
  if (value.is_null())
    return "null";
  if (value.is_boolean())
    return "a boolean";
  if (value.is_number())
    return "a number";
  if (value.is_array())
    return "a list";
  return value.is_object() ? "an object" : "a text";
}

Expected<Json> parseObject(std::string_view line) {
  try {
    Json value = Json::parse(line);
    if (!value.is_object())
      return Status::error("the line is " + kindOf(value) +
                           " where an object is due");
    return value;
  } catch (const Json::parse_error& error) {
    // `byte` counts the bytes read, the offending one included.
    const size_t at = error.byte == 0 ? 0 : error.byte - 1;
    if (at >= line.size())
      return atColumn(columnOf(line, line.size()),
                      "the line ends inside a JSON value");
    return atColumn(columnOf(line, at),
                    "the line is not valid JSON up to here");
  } catch (const Json::exception&) {
    return Status::error("the line has a number that no computer type holds");
  }
}

Expected<std::string> textField(const Json& object, const std::string& field,
                                const std::string& shown) {
  const auto found = object.find(field);
  if (found == object.end())
    return Status::error("the field `" + shown + "` is missing");
  if (!found->is_string())
    return Status::error("the field `" + shown + "` is " + kindOf(*found) +
                         " where a text is due");
  return found->get<std::string>();
}

std::string withRole(std::string text, const std::string& role) {
  static constexpr std::string_view place = "{role}";
  for (size_t at = text.find(place); at != std::string::npos;
       at = text.find(place, at + role.size()))
    text.replace(at, place.size(), role);
  return text;
}

Status takeMessages(const Json& object, const std::string& field,
                    const plan::ChatTemplate& chat, Sample& sample) {
  const auto list = object.find(field);
  if (list == object.end())
    return Status::error("the field `" + field + "` is missing");
  if (!list->is_array())
    return Status::error("the field `" + field + "` is " + kindOf(*list) +
                         " where a list of messages is due");
  bool answered = false;
  for (size_t i = 0; i < list->size(); ++i) {
    const Json& message = (*list)[i];
    const std::string shown = field + "[" + std::to_string(i) + "]";
    if (!message.is_object())
      return Status::error("the field `" + shown + "` is " + kindOf(message) +
                           " where an object with `role` and `content` is due");
    Expected<std::string> role = textField(message, "role", shown + ".role");
    RECIPERUN_TRY(role);
    Expected<std::string> content =
        textField(message, "content", shown + ".content");
    RECIPERUN_TRY(content);
    answered |= *role == "assistant";
    for (Piece& piece : chatPieces(chat, *role, *content))
      sample.pieces.push_back(std::move(piece));
  }
  if (!answered)
    return Status::error("the field `" + field +
                         "` has no message of the role `assistant`, so that "
                         "there is nothing to learn from");
  return {};
}

Status takeFields(const Json& object, const plan::DataSource& source,
                  Sample& sample) {
  Expected<std::string> prompt =
      textField(object, source.prompt, source.prompt);
  RECIPERUN_TRY(prompt);
  Expected<std::string> completion =
      textField(object, source.completion, source.completion);
  RECIPERUN_TRY(completion);
  sample.pieces.push_back({std::move(*prompt), false});
  sample.pieces.push_back({std::move(*completion), true});
  return {};
}

bool isBlank(std::string_view line) {
  return line.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

} // namespace

std::vector<Piece> chatPieces(const plan::ChatTemplate& chat,
                              const std::string& role,
                              const std::string& content) {
  const bool counts = role == "assistant";
  return {{withRole(chat.before, role), false},
          {content, counts},
          {withRole(chat.after, role), counts}};
}

JsonlReader::JsonlReader(plan::DataSource source, plan::ChatTemplate chat,
                         std::ifstream file)
    : source(std::move(source)), chat(std::move(chat)), file(std::move(file)) {}

Expected<JsonlReader> JsonlReader::open(const plan::DataSource& source,
                                        const plan::ChatTemplate& chat) {
  std::ifstream file(source.path, std::ios::binary);
  // A folder opens, but nothing can be read from it.
  if (!file.is_open() || (file.peek(), file.bad()))
    return Status::error("cannot read the data set `" + source.path + "`");
  return JsonlReader(source, chat, std::move(file));
}

bool JsonlReader::next(Sample& sample) {
  std::string line;
  while (errors.size() < listedErrors && std::getline(file, line)) {
    ++lines;
    if (lines == 1 && line.starts_with(byteOrderMark))
      line.erase(0, byteOrderMark.size());
    if (isBlank(line))
      continue;
    sample = {lines, {}};
    const Status status = parseLine(line, sample);
    if (status) {
      ++samples;
      return true;
    }
    errors.push_back("line " + std::to_string(lines) + ": " + status.message());
  }
  return false;
}

Status JsonlReader::parseLine(std::string_view line, Sample& sample) {
  const size_t bad = firstIllFormed(line);
  if (bad != std::string_view::npos)
    return atColumn(columnOf(line, bad), "the line is not UTF-8 here");
  const Expected<Json> object = parseObject(line);
  RECIPERUN_TRY(object);
  if (!source.messages.empty())
    return takeMessages(*object, source.messages, chat, sample);
  return takeFields(*object, source, sample);
}

Status JsonlReader::finish() const {
  if (file.bad())
    return Status::error("the data set `" + source.path +
                         "` could be read to its line " +
                         std::to_string(lines) + " alone");
  if (errors.empty() && samples == 0)
    return Status::error("the data set `" + source.path + "` has no samples");
  if (errors.empty())
    return {};
  std::string text = "the data set `" + source.path + "` cannot be used";
  if (errors.size() == listedErrors)
    text += " (the first " + std::to_string(listedErrors) + " errors)";
  for (const std::string& error : errors)
    text += "\n  " + error;
  return Status::error(text);
}

} // namespace reciperun::data
