// Explains errors in YAML text, using libyaml's message and the lines around
// them.

#include "compiler/parse/DataErrors.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <optional>

namespace recipec::parse {
namespace {

constexpr std::string_view blanks = " \t\r\n";

class YamlError {
public:
  YamlError(std::string_view text, const YamlProblem& problem)
      : text(text), problem(problem), at(std::min(problem.at, text.size())) {}

  DataError explain() const {
    using Rule = std::optional<DataError> (YamlError::*)() const;
    static constexpr Rule rules[] = {
        &YamlError::tab,
        &YamlError::openString,
        &YamlError::openBracket,
        &YamlError::escape,
        &YamlError::keyWithoutSpace,
        &YamlError::plainText,
        &YamlError::signOfText,
        &YamlError::listBehindKey,
        &YamlError::indentation,
        &YamlError::lineWithoutKey,
    };
    for (Rule rule : rules)
      if (std::optional<DataError> found = (this->*rule)())
        return *std::move(found);
    return {at, at, "this is not YAML: " + std::string(problem.problem),
            "lines are `key: value`, those of a list `- value`; a text with "
            "other signs stands between `\"`"};
  }

private:
  bool says(std::string_view words) const {
    return problem.problem.find(words) != problem.problem.npos;
  }
  bool isIn(std::string_view words) const {
    return problem.context.find(words) != problem.context.npos;
  }

  // ---- lines

  size_t lineBegin(size_t offset) const {
    return offset == 0 ? 0 : text.rfind('\n', offset - 1) + 1;
  }
  std::string_view lineAt(size_t offset) const {
    const size_t begin = lineBegin(offset);
    return text.substr(begin, text.find('\n', begin) - begin);
  }
  /// The offset of the nearest line above that has text; npos if there is none.
  size_t lineAbove(size_t offset) const {
    for (size_t begin = lineBegin(offset); begin > 0;) {
      begin = lineBegin(begin - 1);
      if (lineAt(begin).find_first_not_of(blanks) != text.npos)
        return begin;
    }
    return text.npos;
  }
  static size_t indentOf(std::string_view line) {
    return std::min(line.find_first_not_of(' '), line.size());
  }
  static std::string trimmed(std::string_view part) {
    const size_t begin = part.find_first_not_of(blanks);
    if (begin == part.npos)
      return {};
    return std::string(
        part.substr(begin, part.find_last_not_of(blanks) + 1 - begin));
  }
  DataError ofRest(size_t from, std::string message, std::string help) const {
    const size_t end = std::min(text.find('\n', from), text.size());
    return {from, end, std::move(message), std::move(help)};
  }
  static std::string asText(std::string_view part) {
    std::string own = "\"";
    for (char c : part)
      own += c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c);
    return own + "\"";
  }

  // ---- rules

  std::optional<DataError> tab() const {
    const std::string_view line = lineAt(at);
    const size_t indent =
        line.substr(0, line.find_first_not_of(" \t")).find('\t');
    if (indent == line.npos)
      return std::nullopt;
    const size_t begin = lineBegin(at) + indent;
    return DataError{begin, begin + 1,
                     "a tab indents this line, and YAML takes spaces alone",
                     "indent the line with spaces"};
  }

  std::optional<DataError> openString() const {
    if (!says("end of stream") || !isIn("quoted scalar"))
      return std::nullopt;
    const size_t begin = std::min(problem.contextAt, text.size() - 1);
    return ofRest(begin, "the string that begins here is not closed",
                  std::string("end it with `") + text[begin] + "`");
  }

  std::optional<DataError> openBracket() const {
    const bool isList = isIn("flow sequence");
    if (!isList && !isIn("flow mapping"))
      return std::nullopt;
    const size_t begin = problem.contextAt;
    return DataError{begin, begin + 1,
                     std::string("`") + (isList ? "[" : "{") +
                         "` is not closed, or a `,` between its values is "
                         "missing",
                     std::string("write `") + (isList ? "]" : "}") +
                         "` behind the last value, and `,` between two"};
  }

  std::optional<DataError> escape() const {
    if (!says("escape character"))
      return std::nullopt;
    return DataError{
        at, std::min(at + 2, text.size()), "this is not an escape of YAML",
        "write a backslash of the text as `\\\\`, or the text between `'`"};
  }

  /// `a:1` above `b: 2`
  std::optional<DataError> keyWithoutSpace() const {
    const size_t above = says("mapping values") ? lineAbove(at) : text.npos;
    if (above == text.npos)
      return std::nullopt;
    const std::string_view line = lineAt(above);
    const size_t colon = line.find(':');
    const bool isGlued = colon != line.npos && colon + 1 < line.size() &&
                         blanks.find(line[colon + 1]) == blanks.npos &&
                         line.find(": ") == line.npos;
    if (!isGlued)
      return std::nullopt;
    return ofRest(above + indentOf(line),
                  "a space is missing behind the `:` of this key",
                  "write `" + trimmed(line.substr(0, colon)) + ": " +
                      trimmed(line.substr(colon + 1)) + "`");
  }

  /// `a: hello: world`
  std::optional<DataError> plainText() const {
    const std::string_view line = lineAt(at);
    const size_t colon = line.find(": ");
    const size_t begin = lineBegin(at) + colon + 2;
    if (!says("mapping values") || colon == line.npos || begin >= at)
      return std::nullopt;
    return ofRest(begin, "a text with `: ` in it stands in quotation marks",
                  "write `" + asText(trimmed(line.substr(colon + 2))) + "`");
  }

  /// `a: @home`, `a: *.txt`, `a: %d`
  std::optional<DataError> signOfText() const {
    const bool isSign = says("cannot start any token") ||
                        says("alphabetic or numeric character") ||
                        isIn("scanning a tag") || isIn("parsing a tag");
    const size_t begin =
        isSign && !problem.context.empty() && !isIn("next token")
            ? problem.contextAt
            : at;
    if (!isSign || begin >= text.size())
      return std::nullopt;
    const std::string_view line = lineAt(begin);
    const std::string value = trimmed(line.substr(begin - lineBegin(begin)));
    return ofRest(begin,
                  std::string("a text that begins with `") + text[begin] +
                      "` stands in quotation marks",
                  "write `" + asText(value) + "`");
  }

  /// `a: - 1`
  std::optional<DataError> listBehindKey() const {
    if (!says("block sequence entries"))
      return std::nullopt;
    return ofRest(at, "a list with dashes begins on a line of its own",
                  "write each `- value` on a line below the key, or the list "
                  "as `[a, b]`");
  }

  /// A line that is indented unlike the others of its mapping or list
  std::optional<DataError> indentation() const {
    if (!says("expected key") && !says("mapping values") &&
        !says("'-' indicator"))
      return std::nullopt;
    const size_t above = lineAbove(at);
    const std::string_view line = lineAt(at);
    const size_t own = indentOf(line);
    if (above == text.npos || own == indentOf(lineAt(above)))
      return std::nullopt;
    return ofRest(lineBegin(at) + own,
                  "this line is indented by " + std::to_string(own) +
                      ", and the one above it by " +
                      std::to_string(indentOf(lineAt(above))),
                  "indent it like the lines that it belongs to");
  }

  std::optional<DataError> lineWithoutKey() const {
    if (!says("expected ':'") && !says("expected key") &&
        !says("'-' indicator") && !says("<document start>"))
      return std::nullopt;
    const size_t begin = lineBegin(at) + indentOf(lineAt(at));
    return ofRest(std::min(begin, text.size()),
                  "this line does not go on with what is above it",
                  "a mapping has lines `key: value`, a list lines `- value`, "
                  "and a file is one of the two");
  }

  std::string_view text;
  const YamlProblem& problem;
  size_t at;
};

} // namespace

DataError explainYaml(std::string_view text, const YamlProblem& problem) {
  return YamlError(text, problem).explain();
}

} // namespace recipec::parse
