// Explains errors of JSON text by the characters around them.
//
//   1. The word at the error: a string, a run of letters, digits and number
//      signs, or a single character.
//   2. The brackets that are open before it, and the last character of the
//      preceding value.
//   3. The first rule that recognises the form says what to write. There is a
//      rule for each habit from Python, JavaScript and YAML.

#include "compiler/parse/DataErrors.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <utility>

namespace recipec::parse {
namespace {

bool isWordCharacter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' ||
         c == '+' || c == '-';
}

bool isBlank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

std::string inBackticks(std::string_view text) {
  return "`" + std::string(text) + "`";
}

class JsonError {
public:
  JsonError(std::string_view text, size_t last) : text(text), last(last) {
    const size_t end = text.find_last_not_of(" \t\r\n");
    if (end == text.npos || last > end)
      return;
    findWord();
    findOpen();
  }

  DataError explain() const {
    if (begin == end)
      return unfinished();
    using Rule = std::optional<DataError> (JsonError::*)() const;
    static constexpr Rule rules[] = {
        &JsonError::trailingComma, &JsonError::comment,
        &JsonError::brokenString,  &JsonError::singleQuotes,
        &JsonError::anotherSign,   &JsonError::secondValue,
        &JsonError::wrongBracket,  &JsonError::missingSign,
        &JsonError::keyOfList,     &JsonError::bareKey,
        &JsonError::number,        &JsonError::word,
    };
    for (Rule rule : rules)
      if (std::optional<DataError> found = (this->*rule)())
        return *std::move(found);
    return {begin, end, "this is not JSON",
            "a value is a number, a string between `\"`, `true`, `false`, "
            "`null`, a list `[1, 2]` or a map `{\"a\": 1}`"};
  }

private:
  void findWord() {
    begin = last;
    end = last + 1;
    if (text[last] == '"') {
      const size_t opening = openingQuote();
      begin = opening == text.npos ? last : opening;
      return;
    }
    if (!isWordCharacter(text[last]))
      return;
    while (begin > 0 && isWordCharacter(text[begin - 1]))
      --begin;
    while (end < text.size() && isWordCharacter(text[end]))
      ++end;
  }

  /// The mark that opens the string that ends at the error.
  size_t openingQuote() const {
    for (size_t at = last; at > 0; --at)
      if (text[at - 1] == '"' && (at < 2 || text[at - 2] != '\\'))
        return at - 1;
    return text.npos;
  }

  /// Collects the brackets that are open before the word, and finds the last
  /// character before it that is not blank.
  void findOpen() {
    bool inString = false;
    for (size_t at = 0; at < begin; ++at) {
      const char c = text[at];
      if (!isBlank(c))
        before = at;
      if (inString && c == '\\')
        ++at;
      else if (c == '"')
        inString = !inString;
      else if (!inString && (c == '{' || c == '['))
        open.push_back(at);
      else if (!inString && (c == '}' || c == ']') && !open.empty())
        open.pop_back();
    }
    isInString = inString;
  }

  std::string_view written() const { return text.substr(begin, end - begin); }
  char first() const { return text[begin]; }
  bool isWord() const { return isWordCharacter(first()); }
  char previous() const { return before == text.npos ? '\0' : text[before]; }
  char next() const {
    const size_t at = text.find_first_not_of(" \t\r\n", end);
    return at == text.npos ? '\0' : text[at];
  }
  bool isInMap() const { return !open.empty() && text[open.back()] == '{'; }
  static char closing(char bracket) { return bracket == '{' ? '}' : ']'; }

  DataError at(std::string message, std::string help) const {
    return {begin, end, std::move(message), std::move(help)};
  }

  // ---- the end of the file

  /// The closing brackets that the file lacks at its end.
  DataError unfinished() const {
    const size_t size = text.find_last_not_of(" \t\r\n") + 1;
    JsonError whole(text, text.npos);
    whole.begin = whole.end = size;
    whole.findOpen();
    if (size == 0)
      return {0, 0, "this file is empty",
              "write a map, `{\"name\": value}`, with the keys that the recipe "
              "reads"};
    std::string missing = whole.isInString ? "\"" : "";
    for (size_t i = whole.open.size(); i > 0; --i)
      missing += closing(text[whole.open[i - 1]]);
    if (missing.empty())
      return {size, size, "the file ends here, and no value does",
              "write the value that is missing"};
    return {size, size,
            "the file ends here, and " +
                std::string(whole.isInString                 ? "a string"
                            : text[whole.open.back()] == '{' ? "a map, `{`,"
                                                             : "a list, `[`,") +
                " is still open",
            "write " + inBackticks(missing) + " at the end"};
  }

  // ---- rules

  std::optional<DataError> trailingComma() const {
    if ((first() != '}' && first() != ']') || previous() != ',')
      return std::nullopt;
    return DataError{before, before + 1, "no value follows this comma",
                     "remove the comma: JSON has none before " +
                         inBackticks(written())};
  }

  std::optional<DataError> comment() const {
    if (first() != '/' && first() != '#')
      return std::nullopt;
    const size_t line = std::min(text.find('\n', begin), text.size());
    return DataError{begin, line, "JSON has no comments",
                     "remove it, or import the file as YAML, where `#` begins "
                     "a comment"};
  }

  /// A line break, a tab or a backslash in a string
  std::optional<DataError> brokenString() const {
    const bool isEscape = begin > 0 && text[begin - 1] == '\\';
    if (isEscape)
      return DataError{begin - 1, last + 1,
                       inBackticks(text.substr(begin - 1, 2)) +
                           " is not an escape of JSON",
                       "write a backslash of the text as `\\\\`"};
    if (static_cast<unsigned char>(first()) >= 0x20)
      return std::nullopt;
    if (first() == '\t')
      return at("a string of JSON holds no tab", "write it as `\\t`");
    const size_t opening = openingQuote();
    return DataError{opening == text.npos ? begin : opening, begin,
                     "the string is not closed on its line",
                     "end it with `\"`; write a line break as `\\n`"};
  }

  std::optional<DataError> singleQuotes() const {
    if (first() != '\'')
      return std::nullopt;
    const size_t close = text.find_first_of("'\n", begin + 1);
    if (close == text.npos || text[close] == '\n')
      return at("strings of JSON stand between `\"`", "write `\"`");
    return DataError{
        begin, close + 1, "strings of JSON stand between `\"`",
        "write `\"" + std::string(text.substr(begin + 1, close - begin - 1)) +
            "\"`"};
  }

  std::optional<DataError> anotherSign() const {
    if (first() == '=')
      return at("a key and its value are divided by `:`, not by `=`",
                "write `:`");
    if (first() == ';')
      return at("values are divided by `,`, not by `;`", "write `,`");
    if (first() == ',')
      return at("there is no value before this comma", "remove the comma");
    return std::nullopt;
  }

  std::optional<DataError> secondValue() const {
    if (!open.empty() || before == text.npos)
      return std::nullopt;
    return at("a second value begins here, and a JSON file is one",
              "put the values into a list, `[...]`, or each into a file of its "
              "own");
  }

  std::optional<DataError> wrongBracket() const {
    if ((first() != '}' && first() != ']') || open.empty() ||
        first() == closing(text[open.back()]))
      return std::nullopt;
    const std::string own(1, closing(text[open.back()]));
    return at(
        inBackticks(written()) + " does not close `" + text[open.back()] + "`",
        "write " + inBackticks(own) + ", or close the brackets inside of it");
  }

  bool isBehindValue() const {
    return previous() == '"' || previous() == '}' || previous() == ']' ||
           isWordCharacter(previous());
  }

  /// A comma between two values, or the `:` behind a key, that is missing
  std::optional<DataError> missingSign() const {
    if (before == text.npos || !isBehindValue() || first() == ':')
      return std::nullopt;
    const bool isKey = isInMap() && previous() == '"' && isKeyBefore();
    const std::string sign = isKey ? ":" : ",";
    return DataError{before + 1, before + 1, "`" + sign + "` is missing here",
                     isKey ? "write `:` between a key and its value"
                           : "write `,` between two values"};
  }
  /// Whether the string before the word is in the position of a key.
  bool isKeyBefore() const {
    size_t opening = before;
    while (opening > 0 && text[opening - 1] != '"')
      --opening;
    if (opening < 2)
      return false;
    const size_t sign = text.find_last_not_of(" \t\r\n", opening - 2);
    return sign != text.npos && (text[sign] == '{' || text[sign] == ',');
  }

  /// `["a": 1]`
  std::optional<DataError> keyOfList() const {
    if (first() != ':' || isInMap() || open.empty())
      return std::nullopt;
    return at("a list has no keys", "write a map, `{\"a\": 1}`");
  }

  /// `{a: 1}`
  std::optional<DataError> bareKey() const {
    if (!isWord() || next() != ':')
      return std::nullopt;
    return at("keys of JSON stand between `\"`",
              "write `\"" + std::string(written()) + "\"`");
  }

  /// `1_000`, `.5`, `+1`, `007`
  std::optional<DataError> number() const {
    std::string digits;
    for (char c : written())
      if (c != '_')
        digits += c;
    if (digits.starts_with('+'))
      digits.erase(0, 1);
    const size_t sign = digits.starts_with('-') ? 1 : 0;
    while (digits.size() > sign + 1 && digits[sign] == '0' &&
           std::isdigit(static_cast<unsigned char>(digits[sign + 1])))
      digits.erase(sign, 1);
    if (digits.substr(sign).starts_with('.'))
      digits.insert(sign, "0");
    if (digits.ends_with('.'))
      digits += '0';
    const bool isNumber =
        digits.find_first_not_of("0123456789.eE+-") == digits.npos &&
        digits.find_first_of("0123456789") != digits.npos;
    if (!isNumber || digits == written())
      return std::nullopt;
    return at(inBackticks(written()) + " is no number of JSON",
              "write " + inBackticks(digits));
  }

  std::optional<DataError> word() const {
    if (!isWord())
      return std::nullopt;
    static constexpr std::pair<std::string_view, std::string_view> words[] = {
        {"True", "true"}, {"TRUE", "true"},      {"yes", "true"},
        {"on", "true"},   {"False", "false"},    {"FALSE", "false"},
        {"no", "false"},  {"off", "false"},      {"None", "null"},
        {"none", "null"}, {"nil", "null"},       {"Null", "null"},
        {"NULL", "null"}, {"undefined", "null"},
    };
    for (const auto& [foreign, own] : words)
      if (written() == foreign)
        return at(inBackticks(written()) + " is no value of JSON",
                  "write " + inBackticks(own));
    const bool isEndless = written().find("nfinity") != text.npos ||
                           written() == "NaN" || written() == "nan" ||
                           written() == "inf";
    if (isEndless)
      return at("numbers of JSON are finite",
                "write a number, or `null` for none");
    return at(inBackticks(written()) + " is no value of JSON",
              "write `\"" + std::string(written()) +
                  "\"`, in quotation marks, where a text is meant");
  }

  std::string_view text;
  size_t last;               // offset of the last byte that was read
  size_t begin = 0, end = 0; // of the word at the error
  size_t before = std::string_view::npos; // the last byte in front of it
  std::vector<size_t> open;               // the brackets around it
  bool isInString = false;
};

} // namespace

DataError explainJson(std::string_view text, size_t last) {
  return JsonError(text, last).explain();
}

} // namespace recipec::parse
