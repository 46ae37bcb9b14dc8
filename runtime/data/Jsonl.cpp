// Per line: check UTF-8, parse, take the fields that the recipe names. A file
// whose first line begins a list or a multi-line object is refused as a whole.

#include "runtime/data/Jsonl.h"

#include "runtime/base/ParseJson.h"
#include "runtime/data/ChatNames.h"
#include "runtime/data/Conversion.h"
#include "runtime/data/Encoding.h"
#include "runtime/data/SampleRemedies.h"
#include "runtime/data/Utf8.h"

#include <nlohmann/json.hpp>

#include <algorithm>
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

/// The format of a table, such as `CSV`; empty when the file is not a table. It
/// is one if its name says so, or if its first line has a separator and
/// contains `column`.
std::string tableOf(const std::string& path, std::string_view header,
                    const std::string& column) {
  const bool isNamed = path.ends_with(".csv") || path.ends_with(".tsv");
  const bool hasColumn = !column.empty() && header.find(column) != header.npos;
  const size_t mark = header.find_first_of(",;\t");
  if (!isNamed && (!hasColumn || mark == header.npos))
    return {};
  const char separator = mark == header.npos ? ',' : header[mark];
  return separator == '\t'  ? "TSV"
         : separator == ';' ? "CSV with semicolons"
                            : "CSV";
}

/// The first characters of a line.
std::string beginningOf(std::string_view line) {
  constexpr size_t most = 24; // bytes
  line = line.substr(0, most);
  line.remove_suffix(cutOffBytes(line));
  return std::string(line);
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
  Expected<InputFile> file = InputFile::openNearby(source.path);
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

/// Whether the first line shows that the file does not have one object per
/// line. The fault is then reported once for the file instead of for each line.
bool JsonlReader::noteForm(std::string_view line) {
  line = trimmed(line);
  if (line == "{")
    form = {"an object of the data set `" + source.path +
                "` goes over several lines, and each line has to be one object",
            "convert it by " + linesBy("jq -c .", source.path)};
  else if (line.starts_with("{'"))
    form = {"the data set `" + source.path +
                "` has dicts of Python, and each line has to be one object of "
                "JSON",
            linesOfFormat(source.path, "Python")};
  else if (line.starts_with('['))
    noteList(line);
  else if (!line.starts_with('{') && firstIllFormed(line) == line.npos &&
           !parseJson(line, {.noun = "line"}))
    noteNoJson(line);
  return form.has_value();
}

/// Notes that the file is a JSON list. A complete list of other values than
/// objects is only a faulty line.
void JsonlReader::noteList(std::string_view line) {
  const Expected<Json> value = parseJson(line, {.noun = "line"});
  if (value && (value->empty() || !value->front().is_object()))
    return;
  form = {"the data set `" + source.path +
              "` is one JSON list, and each line has to be one object",
          "convert it by " + linesBy("jq -c '.[]'", source.path)};
}

/// Notes that the file is a table or another text.
void JsonlReader::noteNoJson(std::string_view line) {
  const std::string format = tableOf(source.path, line, source.prompt);
  const std::string due = ", and each line has to be one object of JSON";
  if (!format.empty())
    form = {"the data set `" + source.path + "` is a table of " + format + due,
            linesOfFormat(source.path, format)};
  else
    form = {"the data set `" + source.path + "` begins with `" +
                beginningOf(line) + "`" + due,
            "write `" + exampleSample(source) + "` in each line"};
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
    noteRemedy({conversionToUtf8(source.path, line)});
    return atColumn(columnOf(line, bad), "the line is not UTF-8 here, byte " +
                                             hexadecimal(line[bad]));
  }
  const Expected<Json> object = parseObject(line);
  if (!object)
    noteRemedy(remedyForText(line));
  RECIPERUN_TRY(object);
  const Status taken =
      source.messages.empty()
          ? takeFields(*object, source, sample)
          : takeMessages(*object, source.messages, chat, sample);
  if (!taken.isOk())
    noteRemedy(remedyFor(*object, source));
  return taken;
}

/// The remedy for a line that is not an object.
SampleRemedy JsonlReader::remedyForText(std::string_view line) const {
  if (hasComma(line))
    return {"remove the commas by " +
            linesBy("sed 's/,[[:space:]]*$//'", source.path)};
  if (parseJson(line))
    return {"write `" + exampleSample(source) + "` in its place"};
  if (trimmed(line).starts_with("{'"))
    return {linesOfFormat(source.path, "Python")};
  return {};
}

/// Keeps the remedy of the first faulty line that has one.
void JsonlReader::noteRemedy(SampleRemedy found) {
  if (remedy.help.empty())
    remedy = std::move(found);
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
    return Failure{"the data set `" + source.path + "` has no samples",
                   "write one into each line, `" + exampleSample(source) + "`"};
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
  if (!remedy.missingField.empty() && samples > 0)
    return Failure{text, helpWithGap()};
  return Failure{text, remedy.help, remedy.missingField};
}

/// The remedy for a missing field that other lines of the file have.
std::string JsonlReader::helpWithGap() const {
  const bool isOne = faultyLines == 1;
  return "other lines have `" + remedy.missingField + "`: add it to " +
         (isOne ? "this one" : "these") + ", or remove " +
         (isOne ? "the line" : "the lines");
}

} // namespace reciperun::data
