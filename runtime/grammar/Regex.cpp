// Recursive descent. Anchors are parsed as expressions of their own and removed
// afterwards: from each end, through the groups and alternatives that stand
// there. Where no anchor stands, a match anywhere is preceded or followed by
// any text.

#include "runtime/grammar/Regex.h"

#include "runtime/grammar/Limits.h"
#include "runtime/grammar/TextCursor.h"

#include <algorithm>
#include <optional>

namespace reciperun::grammar {
namespace {

CodePointSet digitCharacters() {
  return CodePointSet({{'0', '9'}});
}
CodePointSet wordCharacters() {
  return CodePointSet({{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}});
}
CodePointSet spaces() {
  return CodePointSet({{'\t', '\r'}, {' ', ' '}});
}
CodePointSet anyButLineEnds() {
  return CodePointSet({{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}})
      .complement();
}

bool isAsciiLetter(uint32_t c) {
  return (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
}

class RegexParser {
public:
  explicit RegexParser(std::string_view pattern) : cursor(pattern) {}

  Expected<ExpressionPtr> run() {
    Expected<ExpressionPtr> expression = alternatives();
    RECIPERUN_TRY(expression);
    if (!cursor.isAtEnd())
      return cursor.failure(
          "`)` closes no group; write `\\)` for the character");
    return expression;
  }

private:
  Expected<ExpressionPtr> alternatives() {
    if (++nesting > maxNesting)
      return cursor.failure("groups are nested more than " +
                            std::to_string(maxNesting) + " deep");
    std::vector<ExpressionPtr> parts;
    do {
      Expected<ExpressionPtr> part = items();
      RECIPERUN_TRY(part);
      parts.push_back(std::move(*part));
    } while (cursor.take("|"));
    --nesting;
    return choice(std::move(parts));
  }

  Expected<ExpressionPtr> items() {
    std::vector<ExpressionPtr> parts;
    while (!cursor.isAtEnd() && !cursor.startsWith("|") &&
           !cursor.startsWith(")")) {
      Expected<ExpressionPtr> part = quantified();
      RECIPERUN_TRY(part);
      parts.push_back(std::move(*part));
    }
    if (parts.empty())
      return literal("");
    return sequence(std::move(parts));
  }

  Expected<ExpressionPtr> quantified() {
    const size_t begin = cursor.position();
    Expected<ExpressionPtr> part = atom();
    RECIPERUN_TRY(part);
    const size_t place = cursor.position();
    Expected<std::optional<Repeat>> counts = quantifier();
    RECIPERUN_TRY(counts);
    if (!*counts)
      return part;
    if (std::holds_alternative<Anchor>((*part)->node))
      return cursor.failure(
          begin, "an anchor cannot be repeated; leave the quantifier "
                 "out");
    if (cursor.startsWith("+"))
      return cursor.failure(
          "possessive quantifiers are not supported; leave the "
          "`+` out");
    cursor.take("?"); // a lazy quantifier matches the same texts
    const size_t next = cursor.position();
    Expected<std::optional<Repeat>> more = quantifier();
    if (!more || *more)
      return cursor.failure(
          next, "a quantifier follows another; put the first into a "
                "group, `(?:...)`");
    const Repeat& count = **counts;
    if (count.most && *count.most < count.least)
      return cursor.failure(place, "the repetition takes at least " +
                                       std::to_string(count.least) +
                                       " and at most " +
                                       std::to_string(*count.most));
    return repeat(std::move(*part), count.least, count.most);
  }

  /// The counts of a quantifier that stands here. A brace that is none is a
  /// character.
  Expected<std::optional<Repeat>> quantifier() {
    const size_t begin = cursor.position();
    if (cursor.take("*"))
      return std::optional(Repeat{nullptr, 0, std::nullopt});
    if (cursor.take("+"))
      return std::optional(Repeat{nullptr, 1, std::nullopt});
    if (cursor.take("?"))
      return std::optional(Repeat{nullptr, 0, 1});
    if (!cursor.take("{"))
      return std::optional<Repeat>();
    const int64_t least = cursor.decimal();
    std::optional<int64_t> most = least;
    if (cursor.take(",")) {
      const int64_t bound = cursor.decimal();
      if (bound < 0)
        most.reset();
      else
        most = bound;
    }
    if (!cursor.take("}") || (least < 0 && !most)) {
      cursor.moveTo(begin);
      return std::optional<Repeat>();
    }
    if (least < 0)
      return cursor.failure(begin,
                            "`{,N}` means different things in ECMAScript and "
                            "Python; write `{0,N}`");
    if (std::max(least, most.value_or(0)) > maxRepetitions)
      return tooManyRepetitions(cursor, begin);
    return std::optional(Repeat{nullptr, least, most});
  }

  Expected<ExpressionPtr> atom() {
    const size_t begin = cursor.position();
    if (cursor.take("("))
      return group(begin);
    if (cursor.take("["))
      return bracket(begin);
    if (cursor.take("."))
      return character(anyButLineEnds());
    if (cursor.take("^") || cursor.take("\\A"))
      return anchor(false);
    if (cursor.take("$") || cursor.take("\\Z") || cursor.take("\\z"))
      return anchor(true);
    if (cursor.startsWith("*") || cursor.startsWith("+") ||
        cursor.startsWith("?"))
      return cursor.failure("a quantifier has nothing to repeat; write `\\" +
                            std::string(1, char(cursor.peek())) +
                            "` for the character");
    if (cursor.startsWith("\\")) {
      Expected<CodePointSet> set = escape(false);
      RECIPERUN_TRY(set);
      return character(std::move(*set));
    }
    return character(CodePointSet::of(cursor.next()));
  }

  static ExpressionPtr anchor(bool isEnd) {
    return std::make_shared<const Expression>(Expression{Anchor{isEnd}});
  }

  Expected<ExpressionPtr> group(size_t begin) {
    if (cursor.take("?") && !cursor.take(":")) {
      const bool isNamed = !cursor.startsWith("<=") &&
                           !cursor.startsWith("<!") &&
                           (cursor.take("P<") || cursor.take("<"));
      if (!isNamed)
        return unsupportedGroup(begin);
      while (!cursor.isAtEnd() && !cursor.startsWith(">"))
        cursor.next();
      cursor.take(">");
    }
    Expected<ExpressionPtr> inner = alternatives();
    RECIPERUN_TRY(inner);
    if (!cursor.take(")"))
      return cursor.failure(
          begin,
          "`(` has no `)`; close the group, or write `\\(` for the character");
    return inner;
  }

  /// The error for a group that stands behind `(?`, and what to write instead.
  Status unsupportedGroup(size_t begin) {
    struct Group {
      std::string_view start, name, instead;
    };
    constexpr std::string_view allowed =
        "write what is allowed there as alternatives, `(a|b)`";
    constexpr Group groups[] = {
        {"<=", "look-behinds", allowed},
        {"<!", "look-behinds", allowed},
        {"=", "look-aheads", allowed},
        {"!", "look-aheads", allowed},
        {">", "atomic groups", "write `(?:` for `(?>`"},
        {"(", "conditions", "write the alternatives, `(a|b)`"},
        {"#", "comments", "leave it out"},
        {"P=", "references to groups", "write the group again"},
        {"R", "recursion", "write a grammar, `--grammar`"}};
    for (const Group& each : groups)
      if (cursor.startsWith(each.start))
        return cursor.failure(begin,
                              "the group `(?" + std::string(each.start) +
                                  "...)` is not supported: there are no " +
                                  std::string(each.name) + "; " +
                                  std::string(each.instead));
    const bool isCase = cursor.startsWith("i");
    return cursor.failure(
        begin,
        std::string("the group `(?") + (cursor.isAtEnd() ? "" : "...") +
            "` is not supported: there are no flags; " +
            (isCase ? "write both cases of a letter, `[Aa]`"
                    : "`[\\s\\S]` is any character, and line ends are `\\n`"));
  }

  // ---- escapes and classes

  /// The characters of an escape that stands here.
  Expected<CodePointSet> escape(bool isInClass) {
    const size_t begin = cursor.position();
    cursor.take("\\");
    if (cursor.isAtEnd())
      return cursor.failure(begin,
                            "`\\` stands at the end; write `\\\\` for the "
                            "character");
    const uint32_t c = cursor.next();
    switch (c) {
    case 'd':
      return digitCharacters();
    case 'D':
      return digitCharacters().complement();
    case 'w':
      return wordCharacters();
    case 'W':
      return wordCharacters().complement();
    case 's':
      return spaces();
    case 'S':
      return spaces().complement();
    default:
      break;
    }
    Expected<uint32_t> codePoint = escapedCodePoint(c, isInClass, begin);
    RECIPERUN_TRY(codePoint);
    return CodePointSet::of(*codePoint);
  }

  Expected<uint32_t> escapedCodePoint(uint32_t c, bool isInClass,
                                      size_t begin) {
    constexpr std::string_view letters = "tnrfv0", meanings = "\t\n\r\f\v";
    if (c == '0' && cursor.peek() >= '0' && cursor.peek() <= '9')
      return cursor.failure(begin, "octal escapes are not supported; write "
                                   "`\\xHH`");
    if (const size_t i = c < 0x80 ? letters.find(char(c)) : letters.npos;
        i != letters.npos)
      return i < meanings.size() ? uint32_t(meanings[i]) : 0u;
    if (c == 'b' && isInClass)
      return uint32_t('\b');
    if (c == 'x')
      return cursor.hexadecimal(2);
    if (c == 'u')
      return unicode(begin);
    if (c == 'U') {
      Expected<uint32_t> value = cursor.hexadecimal(8);
      RECIPERUN_TRY(value);
      return scalar(*value, begin);
    }
    if (c >= '1' && c <= '9')
      return cursor.failure(begin,
                            "back-references are not supported; write the "
                            "expression again");
    if (c == 'b' || c == 'B')
      return cursor.failure(begin,
                            "word boundaries are not supported; leave it out");
    if (c == 'p' || c == 'P')
      return cursor.failure(begin, "Unicode properties are not supported; "
                                   "write ranges such as `[\\u0370-\\u03FF]`");
    if (isAsciiLetter(c))
      return cursor.failure(begin, "the escape `\\" + std::string(1, char(c)) +
                                       "` is not supported; write the "
                                       "character alone, or a class `[...]`");
    return c;
  }

  /// `\uHHHH`, a pair of surrogates or `\u{H...}`, behind `\u`.
  Expected<uint32_t> unicode(size_t begin) {
    if (cursor.take("{")) {
      uint32_t value = 0;
      int count = 0;
      for (; !cursor.isAtEnd() && !cursor.startsWith("}"); ++count) {
        Expected<uint32_t> digit = cursor.hexadecimal(1);
        RECIPERUN_TRY(digit);
        value = std::min<uint32_t>(value << 4 | *digit, 0x110000);
      }
      if (!cursor.take("}") || count == 0)
        return cursor.failure(begin, "`\\u{` needs hexadecimal digits and `}`");
      return scalar(value, begin);
    }
    Expected<uint32_t> value = cursor.hexadecimal(4);
    RECIPERUN_TRY(value);
    const bool isHigh = *value >= 0xD800 && *value < 0xDC00;
    if (isHigh && cursor.take("\\u")) {
      Expected<uint32_t> low = cursor.hexadecimal(4);
      RECIPERUN_TRY(low);
      if (*low >= 0xDC00 && *low < 0xE000)
        return 0x10000 + ((*value - 0xD800) << 10) + (*low - 0xDC00);
    }
    return scalar(*value, begin);
  }

  Expected<uint32_t> scalar(uint32_t value, size_t begin) {
    if (CodePointSet::of(value).isEmpty())
      return cursor.failure(begin, "the escape is not a Unicode character");
    return value;
  }

  Expected<ExpressionPtr> bracket(size_t begin) {
    const bool isNegated = cursor.take("^");
    if (cursor.startsWith("]"))
      return cursor.failure("an empty class means different things in "
                            "ECMAScript and Python; write `\\]` for the "
                            "character");
    CodePointSet set;
    while (!cursor.take("]")) {
      if (cursor.isAtEnd())
        return cursor.failure(begin, "`[` has no `]`; close the class, or "
                                     "write `\\[` for the character");
      if (cursor.startsWith("[:"))
        return cursor.failure("named classes such as `[:alpha:]` are not "
                              "supported; write the ranges, `a-zA-Z`");
      Expected<CodePointSet> part = classRange();
      RECIPERUN_TRY(part);
      set = set.unionWith(*part);
    }
    return character(isNegated ? set.complement() : std::move(set));
  }

  Expected<CodePointSet> classItem() {
    if (cursor.startsWith("\\"))
      return escape(true);
    return CodePointSet::of(cursor.next());
  }

  static std::optional<uint32_t> onlyMember(const CodePointSet& set) {
    const std::vector<CodePointRange>& ranges = set.ranges();
    if (ranges.size() == 1 && ranges[0].low == ranges[0].high)
      return ranges[0].low;
    return std::nullopt;
  }

  /// A character, an escape or a range of characters.
  Expected<CodePointSet> classRange() {
    const size_t begin = cursor.position();
    Expected<CodePointSet> low = classItem();
    RECIPERUN_TRY(low);
    const size_t dash = cursor.position();
    if (!onlyMember(*low) || !cursor.take("-"))
      return low;
    if (cursor.startsWith("]") || cursor.isAtEnd()) {
      cursor.moveTo(dash);
      return low;
    }
    Expected<CodePointSet> high = classItem();
    RECIPERUN_TRY(high);
    if (!onlyMember(*high))
      return low->unionWith(*high).unionWith(CodePointSet::of('-'));
    if (*onlyMember(*high) < *onlyMember(*low))
      return cursor.failure(
          begin, "the range ends before it begins; write its ends the "
                 "other way round");
    return CodePointSet({{*onlyMember(*low), *onlyMember(*high)}});
  }

  TextCursor cursor;
  int nesting = 0;
};

// ---- anchors

/// Removes the anchors at one end; puts `any` there where none stands.
ExpressionPtr removeAnchors(const ExpressionPtr& expression, bool isEnd,
                            const ExpressionPtr& any) {
  if (const auto* anchor = std::get_if<Anchor>(&expression->node);
      anchor && anchor->isEnd == isEnd)
    return literal("");
  if (const auto* node = std::get_if<Choice>(&expression->node)) {
    std::vector<ExpressionPtr> parts;
    for (const ExpressionPtr& each : node->alternatives)
      parts.push_back(removeAnchors(each, isEnd, any));
    return choice(std::move(parts));
  }
  if (const auto* node = std::get_if<Sequence>(&expression->node)) {
    std::vector<ExpressionPtr> parts = node->parts;
    ExpressionPtr& edge = isEnd ? parts.back() : parts.front();
    edge = removeAnchors(edge, isEnd, any);
    return sequence(std::move(parts));
  }
  if (!any)
    return expression;
  return isEnd ? sequence({expression, any}) : sequence({any, expression});
}

bool hasAnchor(const Expression& expression) {
  auto inAny = [](const std::vector<ExpressionPtr>& parts) {
    return std::any_of(
        parts.begin(), parts.end(),
        [](const ExpressionPtr& part) { return hasAnchor(*part); });
  };
  if (const auto* node = std::get_if<Choice>(&expression.node))
    return inAny(node->alternatives);
  if (const auto* node = std::get_if<Sequence>(&expression.node))
    return inAny(node->parts);
  if (const auto* node = std::get_if<Repeat>(&expression.node))
    return hasAnchor(*node->part);
  return std::holds_alternative<Anchor>(expression.node);
}

} // namespace

Expected<ExpressionPtr> parseRegex(std::string_view pattern, RegexMatch match) {
  RECIPERUN_TRY(checkText(pattern, "regular expression"));
  Expected<ExpressionPtr> expression = RegexParser(pattern).run();
  RECIPERUN_TRY(expression);
  ExpressionPtr any;
  if (match == RegexMatch::anywhere)
    any = repeat(character(CodePointSet::all()), 0, std::nullopt);
  ExpressionPtr made = removeAnchors(*expression, /*isEnd=*/false, any);
  made = removeAnchors(made, /*isEnd=*/true, any);
  if (hasAnchor(*made))
    return Status::error("`^` and `$` are supported only at the beginning and "
                         "the end of the expression or of its alternatives");
  return made;
}

Expected<Rules> rulesOfRegex(std::string_view pattern) {
  Expected<ExpressionPtr> expression = parseRegex(pattern, RegexMatch::whole);
  RECIPERUN_TRY(expression);
  Rules rules;
  rules.root = rules.add(std::string(pattern));
  rules.rules[0].body = std::move(*expression);
  return rules;
}

} // namespace reciperun::grammar
