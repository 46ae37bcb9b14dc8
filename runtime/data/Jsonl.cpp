// Per line: check UTF-8, parse, take the fields that the recipe names. A file
// whose first line begins a list or a multi-line object is refused as a whole.

#include "runtime/data/Jsonl.h"

#include "runtime/base/ParseJson.h"
#include "runtime/data/ChatNames.h"
#include "runtime/data/Encoding.h"
#include "runtime/data/Utf8.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <utility>

namespace reciperun::data {

namespace {

using Json = nlohmann::json;

constexpr size_t listedErrors = 10;
constexpr const char* commaFault = "a comma stands behind the object";

/// The column, in code points from 1, of a byte of a line.
int64_t columnOf(std::string_view line, size_t byte) {
  const auto begin = line.begin();
  return 1 + std::count_if(begin, begin + std::min(byte, line.size()),
                           [](char c) { return (c & 0xC0) != 0x80; });
}

Status atColumn(int64_t column, const std::string& what) {
  return Status::error("column " + std::to_string(column) + ": " + what);
}

/// The name of a value's type in messages: `a number`, `a list`.
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

std::string_view trimmed(std::string_view line) {
  constexpr std::string_view space = " \t\r\n";
  const size_t first = line.find_first_not_of(space);
  if (first == line.npos)
    return {};
  return line.substr(first, line.find_last_not_of(space) - first + 1);
}

/// Whether the line is a value followed by a comma, as in a list.
bool hasComma(std::string_view line) {
  line = trimmed(line);
  return line.ends_with(',') &&
         bool(parseJson(line.substr(0, line.size() - 1)));
}

Expected<Json> parseObject(std::string_view line) {
  Expected<Json> value = parseJson(line, {.noun = "line"});
  if (!value && hasComma(line))
    return Status::error(commaFault);
  if (value && !value->is_object())
    return Status::error("the line is " + kindOf(*value) +
                         " where an object is due");
  return value;
}

/// The error for a missing field; lists the fields that are present.
Status missingField(const Json& object, const std::string& shown) {
  constexpr size_t most = 8;
  std::vector<std::string> names;
  for (const auto& [name, value] : object.items())
    names.push_back("`" + name + "`");
  if (names.size() > most) {
    names.resize(most);
    names.back() = "others";
  }
  std::string there;
  for (size_t i = 0; i < names.size(); ++i)
    there += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
  return Status::error("the field `" + shown + "` is missing; the object " +
                       (there.empty() ? "is empty" : "has " + there));
}

Expected<std::string> textField(const Json& object, const std::string& field,
                                const std::string& shown) {
  const auto found = object.find(field);
  if (found == object.end())
    return missingField(object, shown);
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
    return missingField(object, field);
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
    RECIPERUN_TRY(
        checkRole(*role).withContext("the field `" + shown + ".role`"));
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
  return trimmed(line).empty();
}

/// The command that writes a JSONL file next to the original, under a name that
/// is free.
std::string conversion(const std::string& command, const std::string& path) {
  const bool isLines = path.ends_with(".jsonl");
  const size_t dot =
      isLines || path.ends_with(".json") ? path.rfind('.') : path.size();
  const std::string stem = path.substr(0, dot);
  std::string made = stem + (isLines ? ".lines.jsonl" : ".jsonl");
  std::error_code code;
  for (int i = 1; std::filesystem::exists(made, code); ++i)
    made = stem + ".lines" + (i > 1 ? std::to_string(i) : "") + ".jsonl";
  return "`" + command + " " + shellWord(path) + " > " + shellWord(made) +
         "`, and name the new file";
}

} // namespace

Status checkRole(const std::string& role) {
  static constexpr std::string_view roles[] = {
      "system", "developer", "user", "assistant", "tool", "function"};
  std::string list;
  const std::string meant = roleMeant(role);
  bool isMeant = false;
  for (const std::string_view known : roles) {
    if (role == known)
      return {};
    isMeant |= meant == known;
    list += (list.empty() ? "`" : ", `") + std::string(known) + "`";
  }
  return Status::error("a message has no role `" + role + "`; roles are " +
                       list +
                       (isMeant ? "; write `" + meant + "`" : std::string()));
}

std::vector<Piece> chatPieces(const plan::ChatTemplate& chat,
                              const std::string& role,
                              const std::string& content) {
  const bool counts = role == "assistant";
  return {{withRole(chat.before, role), false, true},
          {content, counts, false},
          {withRole(chat.after, role), counts, true}};
}

JsonlReader::JsonlReader(plan::DataSource source, plan::ChatTemplate chat,
                         InputFile file)
    : source(std::move(source)), chat(std::move(chat)), file(std::move(file)) {}

Expected<JsonlReader> JsonlReader::open(const plan::DataSource& source,
                                        const plan::ChatTemplate& chat) {
  Expected<InputFile> file = InputFile::open(source.path);
  RECIPERUN_TRY(file);
  return JsonlReader(source, chat, std::move(*file));
}

bool JsonlReader::next(Sample& sample) {
  std::string line;
  while (!form && faultyLines < listedErrors && nextLine(line)) {
    if (lines == 1 && line.starts_with(byteOrderMark))
      line.erase(0, byteOrderMark.size());
    if (isBlank(line))
      continue;
    if (samples == 0 && faultyLines == 0 && noteForm(line))
      return false;
    sample = {lines, {}};
    const Status status = parseLine(line, sample);
    if (status.isOk()) {
      ++samples;
      return true;
    }
    note(status.message());
  }
  return false;
}

/// Whether the first line shows that the file is a list of samples or has
/// multi-line objects. The fault is then reported once instead of for each
/// line.
bool JsonlReader::noteForm(std::string_view line) {
  line = trimmed(line);
  if (line == "{") {
    form = {"an object of the data set `" + source.path +
                "` goes over several lines, and each line has to be one object",
            "convert it by " + conversion("jq -c .", source.path)};
    return true;
  }
  if (!line.starts_with('['))
    return false;
  // A line that is a list of other values is a faulty line.
  const Expected<Json> value = parseJson(line, {.noun = "line"});
  if (value && (value->empty() || !value->front().is_object()))
    return false;
  form = {"the data set `" + source.path +
              "` is one JSON list, and each line has to be one object",
          "convert it by " + conversion("jq -c '.[]'", source.path)};
  return true;
}

/// Reports a fault once, with the number of lines that have it.
void JsonlReader::note(const std::string& fault) {
  ++faultyLines;
  for (Fault& each : faults)
    if (each.what == fault) {
      ++each.lines;
      return;
    }
  faults.push_back({lines, 1, fault});
}

bool JsonlReader::nextLine(std::string& line) {
  const Expected<bool> found = file.next(line);
  readFailure = found.status();
  if (!found || !*found)
    return false;
  ++lines;
  return true;
}

Status JsonlReader::parseLine(std::string_view line, Sample& sample) {
  const size_t bad = firstIllFormed(line);
  if (bad != std::string_view::npos) {
    encodingHelp = conversionToUtf8(source.path, line);
    return atColumn(columnOf(line, bad), "the line is not UTF-8 here, byte " +
                                             hexadecimal(line[bad]));
  }
  const Expected<Json> object = parseObject(line);
  RECIPERUN_TRY(object);
  const Status taken =
      source.messages.empty()
          ? takeFields(*object, source, sample)
          : takeMessages(*object, source.messages, chat, sample);
  if (!taken.isOk()) {
    noteAbsentField(*object);
    noteOtherNames(*object);
  }
  return taken;
}

void JsonlReader::noteAbsentField(const Json& object) {
  for (const std::string* field :
       {&source.messages, &source.prompt, &source.completion})
    if (absentField.empty() && !field->empty() && !object.contains(*field))
      absentField = *field;
}

/// Detects chat messages with the field names of another program.
void JsonlReader::noteOtherNames(const Json& object) {
  if (source.messages.empty() || !otherNames.empty())
    return;
  const std::string filter = messagesFilter(object, source.messages);
  const std::string field = messagesField(object, source.messages);
  if (!filter.empty())
    otherNames = "of a sample, `messages` names the list alone; its messages "
                 "have the fields `role` and `content`: convert the file by " +
                 conversion("jq -c '" + filter + "'", source.path);
  else if (!field.empty() && field != source.messages)
    otherNames = "write `messages = \"" + field + "\"`";
}

Status JsonlReader::finish() const {
  const std::optional<Failure> found = failure();
  if (!found)
    return {};
  return Status::error(found->what +
                       (found->help.empty() ? "" : "; " + found->help));
}

std::optional<JsonlReader::Failure> JsonlReader::failure() const {
  if (!readFailure.isOk())
    return Failure{readFailure.message(), {}};
  if (form)
    return form;
  if (faults.empty() && samples == 0)
    return Failure{"the data set `" + source.path + "` has no samples", {}};
  if (faults.empty())
    return std::nullopt;
  std::string text = "the data set `" + source.path + "` cannot be used";
  if (faultyLines == listedErrors)
    text += " (the first " + std::to_string(listedErrors) + " errors)";
  for (const Fault& fault : faults) {
    text += "\n  line " + std::to_string(fault.firstLine);
    if (fault.lines > 1)
      text += " and " + std::to_string(fault.lines - 1) + " more";
    text += ": " + fault.what;
  }
  const bool hasCommas =
      std::any_of(faults.begin(), faults.end(),
                  [](const Fault& fault) { return fault.what == commaFault; });
  return Failure{text,
                 hasCommas
                     ? "remove the commas by " +
                           conversion("sed 's/,[[:space:]]*$//'", source.path)
                 : !encodingHelp.empty() ? encodingHelp
                                         : otherNames,
                 absentField};
}

} // namespace reciperun::data
