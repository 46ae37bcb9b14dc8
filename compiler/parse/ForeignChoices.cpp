// Help for `match`, `switch` and `when`, which select a value by cases, and for
// `if` with braces around its values.
//
//   1. The word appears in place of a value, followed by a subject and braces.
//   2. Each case is a pattern, an arrow or a colon, and a value; the last case
//      may be the default.
//   3. The help writes the cases as a conditional: `if s == "a" then 1 else 2`.

#include "compiler/parse/ForeignSyntax.h"
#include "compiler/parse/SyntaxView.h"

#include <optional>
#include <string>

namespace recipec::parse {
namespace {

class ForeignChoices : public SyntaxView {
public:
  using SyntaxView::SyntaxView;

  bool run() const { return cases() || bracedChoice(); }

private:
  bool cases() const {
    const auto brace = braceOfChoice();
    const size_t word = wordBefore(brace.value_or(error.token));
    if (word == 0)
      return false;
    reword("there is no `" + textOf(word) +
               "`: a value is chosen by conditions",
           list.range(word));
    if (!brace)
      return help(generalHelp(""));
    const std::string subject = subjectOf(word, *brace);
    const size_t close = lastOfBraces(*brace);
    const std::string own = conditional(subject, *brace, close);
    if (own.empty() || own.find('\n') != own.npos)
      return help(generalHelp(subject));
    return fix("write `" + own + "`", rangeOf(word, close), own,
               Applicability::maybe);
  }

  /// The opening brace of the cases: the one around the error, or the one after
  /// the subject if the parser stopped there.
  std::optional<size_t> braceOfChoice() const {
    if (error.token >= list.tokens.size())
      return std::nullopt;
    const int depth = list.tokens[error.token].depth;
    for (size_t at = error.token; at > 0; --at)
      if (type(at - 1) == TokenType::OPEN && list.tokens[at - 1].depth < depth)
        return wordBefore(at - 1) > 0 ? std::optional(at - 1) : braceBehind();
    return braceBehind();
  }
  std::optional<size_t> braceBehind() const {
    for (size_t at = error.token; !isEndOfItem(at); ++at)
      if (type(at) == TokenType::OPEN)
        return at;
    return std::nullopt;
  }

  /// The `match` or similar word before a token, if a value begins with it; 0
  /// if there is none.
  size_t wordBefore(size_t token) const {
    size_t at = token;
    auto beginsValue = [&](size_t before) {
      return type(before) == TokenType::ASSIGN ||
             type(before) == TokenType::RETURN ||
             type(before) == TokenType::THEN || type(before) == TokenType::ELSE;
    };
    while (at > 0 && !isEndOfItem(at - 1) && !beginsValue(at - 1))
      --at;
    const bool isValue = at > 0 && at < token && beginsValue(at - 1);
    return isValue && isChoiceWord(textOf(at)) && !isEndOfItem(at + 1) ? at : 0;
  }

  /// `size` of `match size {` and `switch (size) {`
  std::string subjectOf(size_t word, size_t brace) const {
    size_t first = word + 1, last = brace - 1;
    if (first < last && type(first) == TokenType::LPAREN &&
        type(last) == TokenType::RPAREN) {
      ++first;
      --last;
    }
    return textOf(first, last);
  }

  size_t lastOfBraces(size_t brace) const {
    const int depth = list.tokens[brace].depth;
    size_t close = brace + 1;
    while (close + 1 < list.tokens.size() && list.tokens[close].depth > depth)
      ++close;
    return close;
  }

  static std::string generalHelp(const std::string& subject) {
    const std::string own = subject.empty() ? "value" : subject;
    return "write `if " + own + " == a then x else if " + own +
           " == b then y else z`";
  }

  /// The cases between two braces as a conditional; empty if a case has another
  /// form.
  std::string conditional(const std::string& subject, size_t brace,
                          size_t close) const {
    std::string own;
    for (size_t at = brace + 1; at < close;) {
      if (isEndOfItem(at) || isComma(at)) {
        ++at;
        continue;
      }
      const size_t arrow = arrowBehind(at, close);
      const size_t value = arrow + (type(arrow) == TokenType::ASSIGN ? 2 : 1);
      if (arrow >= close || value >= close || subject.empty())
        return {};
      const size_t last = lastOfCase(value);
      const std::string test = testFor(subject, at, arrow - 1);
      if (test.empty())
        return own.empty() ? "" : own + textOf(value, last);
      own += "if " + test + " then " + textOf(value, last) + " else ";
      at = last + 1;
    }
    return own.empty() ? "" : own + "...";
  }

  /// The last token of a case's value. An `else` may follow on its line.
  size_t lastOfCase(size_t value) const {
    const size_t end = lastOfItem(value);
    size_t last = value;
    while (last < end && type(last + 1) != TokenType::ELSE &&
           !(isComma(last + 1) && type(last + 2) == TokenType::ELSE))
      ++last;
    return last;
  }

  /// The `=>`, `->` or `:` of a case.
  size_t arrowBehind(size_t first, size_t close) const {
    size_t at = first;
    while (at < close && !isEndOfItem(at)) {
      const bool isFat =
          type(at) == TokenType::ASSIGN && type(at + 1) == TokenType::GREATER;
      if (isFat || type(at) == TokenType::ARROW || type(at) == TokenType::COLON)
        return at;
      ++at;
    }
    return close;
  }

  /// The condition of a case; empty for the default case.
  std::string testFor(const std::string& subject, size_t first,
                      size_t last) const {
    if (textOf(first) == "case" && first < last)
      ++first;
    const std::string pattern = textOf(first, last);
    if (pattern == "_" || pattern == "default" || pattern == "else" ||
        pattern == "otherwise")
      return {};
    std::string values;
    bool hasSeveral = false;
    for (size_t at = first; at <= last; ++at) {
      hasSeveral |= type(at) == TokenType::PIPE || isComma(at);
      values += type(at) == TokenType::PIPE || isComma(at) ? std::string(", ")
                                                           : textOf(at);
    }
    return hasSeveral ? subject + " in [" + values + "]"
                      : subject + " == " + pattern;
  }

  /// `tp = if a { 2 } else { 1 }`
  bool bracedChoice() const {
    const size_t brace = error.token - 1;
    if (!isAtItem() || error.token < 3 || type(brace) != TokenType::OPEN)
      return false;
    const int depth = list.tokens[brace].depth;
    size_t first = brace;
    while (first > 0 && list.tokens[first - 1].depth >= depth &&
           type(first) != TokenType::IF && !isEndOfItem(first))
      --first;
    if (type(first) != TokenType::IF || first == 0 ||
        (type(first - 1) != TokenType::ASSIGN &&
         type(first - 1) != TokenType::COLON &&
         type(first - 1) != TokenType::RETURN &&
         type(first - 1) != TokenType::LPAREN))
      return false;
    auto closing = [&](size_t open) {
      size_t at = open + 1;
      while (at < list.tokens.size() && list.tokens[at].depth > depth)
        ++at;
      return at;
    };
    reword("a conditional value has `then` and `else`, and no braces",
           list.range(brace));
    const std::string head = textOf(first, brace - 1) + " then ";
    const size_t end = closing(brace);
    if (type(end + 1) != TokenType::ELSE || type(end + 2) != TokenType::OPEN ||
        end < brace + 2)
      return help("write `" + head + "a else b`");
    const size_t last = closing(end + 2);
    if (type(last) != TokenType::CLOSE || last < end + 4)
      return help("write `" + head + "a else b`");
    const std::string own = head + textOf(brace + 1, end - 1) + " else " +
                            textOf(end + 3, last - 1);
    return fix("write `" + own + "`", rangeOf(first, last), own);
  }
};

} // namespace

bool helpWithForeignChoices(const SourceMap& sources, const TokenList& list,
                            const SyntaxError& error, diag::Builder& report) {
  return ForeignChoices(sources, list, error, report).run();
}

} // namespace recipec::parse
