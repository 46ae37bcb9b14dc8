// 1. Check the size and reject NUL bytes, which the library's lexer takes for
//    the end of the text.
// 2. The library's parser, which does not recurse, sends events to a Builder.
//    The Builder stops the parser at the limits and at a repeated key.
// 3. Describe a failure from the bytes at its position; the library's message
//    is dropped.

#include "runtime/base/ParseJson.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace reciperun {
namespace {

constexpr size_t maxOrderedMembers = 256;

/// An iterator over bytes that records how far the parser has read.
class Bytes {
public:
  using iterator_category = std::forward_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  Bytes(const char* at, const char** read) : at(at), read(read) {}
  const char& operator*() const { return *at; }
  Bytes& operator++() {
    *read = ++at;
    return *this;
  }
  Bytes operator++(int) {
    Bytes before = *this;
    ++*this;
    return before;
  }
  bool operator==(const Bytes& other) const { return at == other.at; }

private:
  const char* at;
  const char** read; // one past the last consumed byte
};

/// Why and where parsing stopped.
struct Fault {
  std::string what;           // our message; empty for the library's errors
  size_t taken = 0;           // bytes consumed, for the library's errors
  bool isOutOfRange = false;  // a number is out of range
  bool isBehindValue = false; // the error follows a complete value
};

/// Builds a value from the parser's events. `open` holds the lists and objects
/// that are not complete yet. A pointer to one stays valid until it is
/// complete, because its parent does not grow before.
template <class Json> class Builder {
public:
  using Object = typename Json::object_t;
  static constexpr bool isOrdered =
      std::is_same_v<Json, nlohmann::ordered_json>;

  explicit Builder(int maxDepth) : maxDepth(size_t(maxDepth)) {}

  Json root;
  Fault fault;

  bool null() { return add(nullptr); }
  bool boolean(bool value) { return add(value); }
  bool number_integer(int64_t value) { return add(value); }
  bool number_unsigned(uint64_t value) { return add(value); }
  bool number_float(double value, const std::string&) { return add(value); }
  bool string(std::string& value) { return add(std::move(value)); }
  bool binary(typename Json::binary_t&) { return false; } // not in JSON
  bool start_object(size_t) { return begin(Json::object()); }
  bool start_array(size_t) { return begin(Json::array()); }
  bool end_object() { return end(); }
  bool end_array() { return end(); }

  bool key(std::string& name) {
    Object& members = *open.back()->template get_ptr<Object*>();
    if (isOrdered && members.size() == maxOrderedMembers)
      return fail("an object has more than " +
                  std::to_string(maxOrderedMembers) + " members");
    auto [place, isNew] = members.emplace(name, nullptr);
    if (!isNew)
      return fail("an object holds `" + name + "` twice; remove one");
    value = &place->second;
    return true;
  }

  bool parse_error(size_t taken, const std::string&,
                   const nlohmann::detail::exception& error) {
    fault.taken = taken;
    fault.isOutOfRange =
        dynamic_cast<const nlohmann::detail::out_of_range*>(&error) != nullptr;
    fault.isBehindValue = hasRoot && open.empty();
    return false;
  }

private:
  bool fail(std::string what) {
    fault.what = std::move(what);
    return false;
  }

  /// The slot of the next value: the root, a new element or `value`.
  Json& next() {
    if (open.empty()) {
      hasRoot = true;
      return root;
    }
    return open.back()->is_array() ? open.back()->emplace_back() : *value;
  }
  bool add(Json made) {
    next() = std::move(made);
    return true;
  }
  bool begin(Json made) {
    if (open.size() == maxDepth)
      return fail("lists and objects are nested more than " +
                  std::to_string(maxDepth) + " deep");
    Json& place = next();
    place = std::move(made);
    open.push_back(&place);
    return true;
  }
  bool end() {
    open.pop_back();
    return true;
  }

  size_t maxDepth;
  bool hasRoot = false;
  std::vector<Json*> open;
  Json* value = nullptr; // slot of the last key that was read
};

// ---- descriptions of errors

/// Whether the byte at `at` is not ASCII, or follows a byte that is not.
bool isInUtf8Sequence(std::string_view text, size_t at) {
  if (static_cast<unsigned char>(text[at]) >= 0x80)
    return true;
  return at > 0 && static_cast<unsigned char>(text[at - 1]) >= 0x80;
}

/// Common non-JSON input, recognized by its first bytes.
struct Foreign {
  const char* spelling;
  const char* what;
};
constexpr Foreign foreign[] = {
    {"NaN", "JSON has no `NaN`; write `null`, or leave the field out"},
    {"Infinity", "JSON has no `Infinity`; write a number"},
    {"True", "JSON writes `true`, not `True`"},
    {"False", "JSON writes `false`, not `False`"},
    {"None", "JSON writes `null`, not `None`"},
    {"'", "a text stands between `\"`, not `'`"},
    {"//", "JSON has no comments; remove it"},
    {"/*", "JSON has no comments; remove it"},
    {"#", "JSON has no comments; remove it"},
    {";", "a comma stands between values, not `;`"},
    {"=", "a colon stands behind a name, not `=`"},
};

bool isSpace(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/// The last byte before `at` that is not white space; NUL when there is none.
char byteBefore(std::string_view text, size_t at) {
  while (at > 0 && isSpace(text[at - 1]))
    --at;
  return at > 0 ? text[at - 1] : '\0';
}

/// Whether the byte at `at` is inside a string.
bool isInString(std::string_view text, size_t at) {
  bool isString = false;
  for (size_t i = 0; i < at; ++i)
    if (text[i] == '\\' && isString)
      ++i;
    else if (text[i] == '"')
      isString = !isString;
  return isString;
}

bool isWordByte(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$' ||
         c == '-' || c == '.';
}

/// The maximum length of a word or text that a message quotes.
constexpr size_t longestWord = 40;

/// The unquoted word that contains the byte at `at`, such as a name or a string
/// in YAML or JavaScript; a view into `text`. Empty when there is none, and
/// when the word is the first one of the text, which is then not JSON at all.
std::string_view bareWord(std::string_view text, size_t at) {
  size_t begin = at, end = at;
  while (begin > 0 && isWordByte(text[begin - 1]))
    --begin;
  while (end < text.size() && isWordByte(text[end]))
    ++end;
  const char before = byteBefore(text, begin);
  const bool isValue =
      before == '{' || before == '[' || before == ':' || before == ',';
  const bool isWord = isValue && begin < end && end - begin <= longestWord &&
                      std::isalpha(static_cast<unsigned char>(text[begin])) &&
                      !isInString(text, begin);
  return isWord ? text.substr(begin, end - begin) : std::string_view();
}

/// Describes an unquoted word. It is a name if it follows `{` or precedes a
/// colon.
std::string describeWord(std::string_view text, std::string_view word) {
  const size_t begin = size_t(word.data() - text.data());
  const std::string_view rest = text.substr(begin + word.size());
  const size_t next = rest.find_first_not_of(" \t\r\n");
  const bool isName = byteBefore(text, begin) == '{' ||
                      (next != rest.npos && rest[next] == ':');
  const std::string name(word);
  return std::string(isName ? "a name" : "a text") +
         " stands in quotation marks: `\"" + name + "\"`, not `" + name + "`";
}

/// Describes the invalid bytes at `at`; empty when no known mistake matches.
std::string describeBytes(std::string_view text, size_t at) {
  std::string_view rest = text.substr(at);
  for (const Foreign& each : foreign)
    if (rest.starts_with(each.spelling))
      return each.what;
  if ((rest[0] == '}' || rest[0] == ']') && byteBefore(text, at) == ',')
    return "a comma stands before `" + std::string(1, rest[0]) + "`; remove it";
  const bool isPrinted = rest[0] > 0x20 && rest[0] < 0x7f;
  if (isPrinted && at > 0 && text[at - 1] == '\\' && isInString(text, at))
    return "JSON has no escape `\\" + std::string(1, rest[0]) +
           "`; a backslash is written `\\\\`";
  if (isInUtf8Sequence(text, at))
    return "the bytes here are not UTF-8";
  if (static_cast<unsigned char>(rest[0]) < 0x20)
    return "a text holds a control character, such as a line break; JSON "
           "writes `\\n`";
  return "";
}

/// A quoted string: the offsets of its quotation marks.
struct Quoted {
  size_t begin, end;
};

/// The last two strings that end at or before the byte at `at`, the later one
/// first. A missing one has `begin` = npos.
std::pair<Quoted, Quoted> textsBefore(std::string_view text, size_t at) {
  Quoted last{text.npos, 0}, before{text.npos, 0};
  size_t begin = text.npos;
  for (size_t i = 0; i <= at && i < text.size(); ++i)
    if (text[i] == '\\' && begin != text.npos)
      ++i;
    else if (text[i] == '"' && begin == text.npos)
      begin = i;
    else if (text[i] == '"')
      before = std::exchange(last, {std::exchange(begin, text.npos), i});
  return {last, before};
}

constexpr const char* escapesQuote = "`\"` inside a text is written `\\\"`";

/// A fault and the offset of its byte.
struct PlacedFault {
  size_t at;
  std::string what; // empty where there is none
};

/// A string as a message shows it: quoted, or `a text` when it is long.
std::string shownText(std::string_view text, const Quoted& quoted) {
  const size_t size = quoted.end + 1 - quoted.begin;
  return size > longestWord ? "a text"
                            : std::string(text.substr(quoted.begin, size));
}

bool isOnlySpace(std::string_view text, size_t from, size_t to) {
  return std::all_of(text.begin() + long(from), text.begin() + long(to),
                     isSpace);
}

/// The fault when one string directly follows another: a missing colon or
/// comma, or an unescaped quotation mark.
PlacedFault faultBetween(std::string_view text, const Quoted& first,
                         const Quoted& second) {
  if (byteBefore(text, first.begin) == '{')
    return {second.begin,
            "a colon is missing behind " + shownText(text, first)};
  if (second.begin == first.end + 1)
    return {first.end, escapesQuote};
  const size_t next = text.find_first_not_of(" \t\r\n", second.end + 1);
  const bool isName = next != text.npos && text[next] == ':';
  return {second.begin, std::string(isName ? "a comma" : "a comma or a colon") +
                            " is missing before " + shownText(text, second)};
}

/// The fault when parsing stopped at `at`, after the end of a string: an
/// unescaped quotation mark ended the string too early, or a colon or comma is
/// missing. `what` is empty when neither applies.
PlacedFault faultBehindText(std::string_view text, size_t at) {
  const auto [last, before] = textsBefore(text, at);
  // Parsing stops at the end of a second text.
  if (before.begin != text.npos && last.end == at &&
      isOnlySpace(text, before.end + 1, last.begin))
    return faultBetween(text, before, last);
  size_t word = at;
  while (word > 0 && isWordByte(text[word - 1]))
    --word;
  constexpr std::string_view marks = ",:]};=/#";
  const bool isBehind = last.begin != text.npos && last.end < word &&
                        isOnlySpace(text, last.end + 1, word) &&
                        marks.find(text[word]) == marks.npos;
  if (!isBehind)
    return {at, ""};
  constexpr std::string_view starts = "{[-0123456789";
  const bool isValue =
      word > last.end + 1 && starts.find(text[word]) != starts.npos;
  if (byteBefore(text, last.begin) == '{')
    return {word, "a colon is missing behind " + shownText(text, last)};
  if (isValue)
    return {word,
            "a comma or a colon is missing behind " + shownText(text, last)};
  return {last.end, escapesQuote};
}

/// The position of a byte as text. Lines and columns count from 1, columns in
/// code points.
std::string placeOf(std::string_view text, size_t at, const JsonRules& rules) {
  std::string_view before = text.substr(0, at);
  size_t lineStart = before.rfind('\n') + 1; // 0 when there is none
  auto isStart = [](char c) { return (c & 0xC0) != 0x80; };
  int64_t column = 1 + std::count_if(before.begin() + int64_t(lineStart),
                                     before.end(), isStart);
  std::string place = "column " + std::to_string(column);
  if (rules.noun == "line")
    return place;
  int64_t line = 1 + std::count(before.begin(), before.end(), '\n');
  return "line " + std::to_string(line) + ", " + place;
}

/// The number that ends with the byte at `at`.
std::string_view numberBefore(std::string_view text, size_t at) {
  size_t end = std::min(at + 1, text.size()), begin = end;
  while (begin > 0 &&
         std::string_view("0123456789+-.eE").find(text[begin - 1]) !=
             std::string_view::npos)
    --begin;
  return text.substr(begin, end - begin);
}

/// The opening bracket of a list or object that spans several lines, if it is
/// all that the line has; otherwise empty.
std::string_view loneBracket(std::string_view line) {
  const size_t first = line.find_first_not_of(" \t\r\n");
  const bool isLone = first != line.npos &&
                      first == line.find_last_not_of(" \t\r\n") &&
                      (line[first] == '[' || line[first] == '{');
  return isLone ? line.substr(first, 1) : std::string_view();
}

/// Why parsing stopped at `at`.
std::string describe(std::string_view text, size_t at, const Fault& fault,
                     std::string_view noun) {
  std::string subject = "the " + std::string(noun);
  if (!fault.what.empty())
    return fault.what;
  if (fault.isOutOfRange)
    return "the number `" + std::string(numberBefore(text, at)) +
           "` is out of range";
  if (at >= text.size() && noun == "line")
    if (const std::string_view lone = loneBracket(text); !lone.empty())
      return "the line has nothing but `" + std::string(lone) +
             "`, and a line holds a whole value: `jq -c " +
             (lone == "[" ? "'.[]'" : ".") + " FILE` writes the file so";
  if (at >= text.size())
    return subject + " ends inside a value" +
           (noun == "line"
                ? "; a line holds a whole value, and a line break in "
                  "a text is `\\n`"
                : "");
  std::string what = describeBytes(text, at);
  return what.empty() && fault.isBehindValue
             ? subject + " goes on behind its value" +
                   (noun == "line" ? "; write each value in a line of its own"
                                   : "")
         : what.empty() ? "no JSON from here on"
                        : what;
}

/// Replaces `Infinity` outside of strings by null of the same length, so that
/// positions stay the same.
std::string withoutInfinity(std::string_view text) {
  constexpr std::string_view word = "Infinity", none = "null    ";
  std::string out(text);
  bool isString = false;
  for (size_t i = 0; i < out.size(); ++i) {
    if (out[i] == '\\' && isString)
      ++i;
    else if (out[i] == '"')
      isString = !isString;
    else if (!isString && out.compare(i, word.size(), word) == 0) {
      out.replace(i, word.size(), none);
      if (i > 0 && out[i - 1] == '-')
        out[i - 1] = ' ';
    }
  }
  return out;
}

template <class Json>
Expected<Json> parse(std::string_view text, const JsonRules& rules) {
  auto failure = [&](size_t at, const std::string& what) {
    return Status::error(placeOf(text, at, rules) + ": " + what);
  };
  const std::string subject = "the " + std::string(rules.noun);
  if (text.size() > rules.maxBytes)
    return Status::error(subject + " has " + std::to_string(text.size()) +
                         " bytes, more than the " +
                         std::to_string(rules.maxBytes) + " that are read");
  if (std::all_of(text.begin(), text.end(), isSpace))
    return Status::error(subject + " is empty");
  if (size_t at = text.find('\0'); at != std::string_view::npos)
    return failure(at, "a NUL byte, which no text has");
  const char* read = text.data();
  Builder<Json> builder(rules.maxDepth);
  if (Json::sax_parse(Bytes(text.data(), &read),
                      Bytes(text.data() + text.size(), &read), &builder))
    return std::move(builder.root);
  // The library counts the end of the text as a byte.
  const size_t taken = builder.fault.what.empty() ? builder.fault.taken
                                                  : size_t(read - text.data());
  const size_t at = taken == 0 ? 0 : taken - 1;
  const bool isOwn = !builder.fault.what.empty() || builder.fault.isOutOfRange;
  const std::string_view word =
      isOwn || at >= text.size() ? std::string_view() : bareWord(text, at);
  if (!word.empty() && describeBytes(text, at).empty())
    return failure(size_t(word.data() - text.data()), describeWord(text, word));
  if (!isOwn && at < text.size() && !builder.fault.isBehindValue)
    if (const PlacedFault behind = faultBehindText(text, at);
        !behind.what.empty())
      return failure(behind.at, behind.what);
  return failure(std::min(at, text.size()),
                 describe(text, at, builder.fault, rules.noun));
}

/// The library throws only when memory runs out.
template <class Json>
Expected<Json> parseWithin(std::string_view text, const JsonRules& rules) try {
  if (!rules.takesInfinity || text.find("Infinity") == std::string_view::npos)
    return parse<Json>(text, rules);
  return parse<Json>(withoutInfinity(text), rules);
} catch (const std::bad_alloc&) {
  return Status::error("there is not enough memory to read the " +
                       std::string(rules.noun) + " of " +
                       std::to_string(text.size()) + " bytes");
}

} // namespace

Expected<nlohmann::json> parseJson(std::string_view text,
                                   const JsonRules& rules) {
  return parseWithin<nlohmann::json>(text, rules);
}

Expected<nlohmann::ordered_json> parseOrderedJson(std::string_view text,
                                                  const JsonRules& rules) {
  return parseWithin<nlohmann::ordered_json>(text, rules);
}

} // namespace reciperun
