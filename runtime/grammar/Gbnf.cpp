// Recursive descent. A name becomes a rule where it is first used; names that
// are used but not defined are reported at the end.

#include "runtime/grammar/Gbnf.h"

#include "runtime/grammar/Limits.h"
#include "runtime/grammar/TextCursor.h"

#include <algorithm>
#include <map>

namespace reciperun::grammar {
namespace {

bool isNameCharacter(uint32_t c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         (c >= '0' && c <= '9') || c == '-' || c == '_';
}

class GbnfParser {
public:
  explicit GbnfParser(std::string_view text) : cursor(text) {}

  Expected<Rules> run() {
    skipSpace(/*isAcrossLines=*/true);
    while (!cursor.isAtEnd())
      RECIPERUN_TRY(rule());
    for (const auto& [name, use] : uses)
      if (!rules.rules[size_t(use.rule)].body)
        return cursor.failure(
            use.position, "there is no rule `" + name + "`; write `" + name +
                              " ::= ...`, or `\"" + name + "\"` for the text");
    const auto root = uses.find("root");
    if (root == uses.end())
      return Status::error("the grammar has no rule `root`, where it begins; " +
                           helpWithRoot());
    rules.root = root->second.rule;
    return std::move(rules);
  }

private:
  struct Use {
    RuleId rule;
    size_t position; // of the first use
    bool isCalled = false;
  };

  /// Suggests a root: the only rule that no other rule calls.
  std::string helpWithRoot() const {
    std::vector<std::string> first;
    for (const auto& [name, use] : uses)
      if (!use.isCalled)
        first.push_back(name);
    return first.size() == 1 ? "call the rule `" + first[0] + "` so"
                             : "write `root ::= ...`";
  }

  void skipSpace(bool isAcrossLines) {
    while (true) {
      if (cursor.take(" ") || cursor.take("\t"))
        continue;
      if (isAcrossLines && (cursor.take("\n") || cursor.take("\r")))
        continue;
      if (!cursor.startsWith("#"))
        return;
      while (!cursor.isAtEnd() && !cursor.startsWith("\n") &&
             !cursor.startsWith("\r"))
        cursor.next();
    }
  }

  Expected<std::string> name() {
    const size_t begin = cursor.position();
    while (isNameCharacter(cursor.peek()))
      cursor.next();
    if (cursor.position() == begin)
      return cursor.failure("a rule begins here with its name, `NAME ::= ...`");
    return std::string(cursor.textFrom(begin));
  }

  Expected<RuleId> ruleOf(const std::string& name, size_t position) {
    const auto known = uses.find(name);
    if (known != uses.end())
      return known->second.rule;
    if (rules.rules.size() >= maxRules)
      return cursor.failure(position, "the grammar has more than " +
                                          std::to_string(maxRules) + " rules");
    const RuleId id = rules.add(name);
    uses.emplace(name, Use{id, position});
    return id;
  }

  Status rule() {
    const size_t begin = cursor.position();
    Expected<std::string> ruleName = name();
    RECIPERUN_TRY(ruleName);
    skipSpace(false);
    if (!cursor.take("::="))
      return noDefinition(*ruleName);
    skipSpace(true);
    Expected<RuleId> id = ruleOf(*ruleName, begin);
    RECIPERUN_TRY(id);
    if (rules.rules[size_t(*id)].body)
      return cursor.failure(begin,
                            "the rule `" + *ruleName +
                                "` is defined twice; join the two by `|`");
    Expected<ExpressionPtr> body = alternatives(/*isGroup=*/false);
    RECIPERUN_TRY(body);
    rules.rules[size_t(*id)].body = std::move(*body);
    if (!cursor.isAtEnd() && !cursor.startsWith("\n") &&
        !cursor.startsWith("\r"))
      return cursor.failure("the rule `" + *ruleName +
                            "` does not go on like this; a rule has names of "
                            "rules, texts in `\"`, classes `[a-z]` and groups "
                            "`( )`");
    skipSpace(true);
    return {};
  }

  /// The error for a rule of another notation: Lark and ANTLR write `:`, EBNF
  /// and Python's PEG `=`, others `->` or `<-`.
  Status noDefinition(const std::string& ruleName) const {
    for (const char* sign : {":=", ":", "=", "->", "<-"})
      if (cursor.startsWith(sign))
        return cursor.failure(
            "`" + std::string(sign) +
            "` stands where GBNF has `::=`: a rule is `" + ruleName +
            " ::= ...`, a character class `[0-9]`, and the grammar begins at "
            "the rule `root`");
    return cursor.failure("`::=` is missing behind the name `" + ruleName +
                          "`; write `" + ruleName + " ::= ...`");
  }

  Expected<ExpressionPtr> alternatives(bool isGroup) {
    if (++nesting > maxNesting)
      return cursor.failure("groups are nested more than " +
                            std::to_string(maxNesting) + " deep");
    std::vector<ExpressionPtr> parts;
    do {
      const size_t begin = cursor.position();
      skipSpace(true);
      if (isNextRule())
        cursor.moveTo(begin); // the alternative is empty
      Expected<ExpressionPtr> part = items(isGroup);
      RECIPERUN_TRY(part);
      parts.push_back(std::move(*part));
    } while (takeBar(isGroup));
    --nesting;
    return choice(std::move(parts));
  }

  /// `|`, also at the beginning of the next line.
  bool takeBar(bool isGroup) {
    const size_t begin = cursor.position();
    skipSpace(/*isAcrossLines=*/true);
    if (cursor.take("|"))
      return true;
    if (!isGroup)
      cursor.moveTo(begin);
    return false;
  }

  /// Whether the name that stands here begins the next rule, as after an empty
  /// alternative at the end of a line.
  bool isNextRule() {
    const size_t begin = cursor.position();
    while (isNameCharacter(cursor.peek()))
      cursor.next();
    skipSpace(false);
    const bool isRule = cursor.position() > begin && cursor.startsWith("::=");
    cursor.moveTo(begin);
    return isRule;
  }

  Expected<ExpressionPtr> items(bool isGroup) {
    std::vector<ExpressionPtr> parts;
    while (true) {
      const uint32_t c = cursor.peek();
      const bool isItem = c == '"' || c == '[' || c == '(' || c == '.' ||
                          (isNameCharacter(c) && !isNextRule());
      if (!isItem)
        break;
      Expected<ExpressionPtr> part = quantified();
      RECIPERUN_TRY(part);
      parts.push_back(std::move(*part));
      skipSpace(isGroup);
    }
    if (parts.empty())
      return literal("");
    return sequence(std::move(parts));
  }

  Expected<ExpressionPtr> quantified() {
    Expected<ExpressionPtr> part = item();
    RECIPERUN_TRY(part);
    ExpressionPtr made = std::move(*part);
    while (true) {
      const size_t begin = cursor.position();
      if (cursor.take("*")) {
        made = repeat(std::move(made), 0, std::nullopt);
      } else if (cursor.take("+")) {
        made = repeat(std::move(made), 1, std::nullopt);
      } else if (cursor.take("?")) {
        made = optional(std::move(made));
      } else if (cursor.take("{")) {
        Expected<ExpressionPtr> counted = counts(std::move(made), begin);
        RECIPERUN_TRY(counted);
        made = std::move(*counted);
      } else {
        return made;
      }
      if (++quantifiers > maxNesting)
        return cursor.failure(begin, "more than " + std::to_string(maxNesting) +
                                         " quantifiers follow one another");
    }
  }

  Expected<ExpressionPtr> counts(ExpressionPtr part, size_t begin) {
    skipSpace(true);
    const int64_t least = cursor.decimal();
    std::optional<int64_t> most = least;
    skipSpace(true);
    if (cursor.take(",")) {
      skipSpace(true);
      const int64_t bound = cursor.decimal();
      most = bound < 0 ? std::nullopt : std::optional(bound);
      skipSpace(true);
    }
    if (least < 0 || !cursor.take("}"))
      return cursor.failure(begin, "a repetition is `{m}`, `{m,}` or `{m,n}`");
    if (std::max(least, most.value_or(0)) > maxRepetitions)
      return tooManyRepetitions(cursor, begin);
    if (most && *most < least)
      return cursor.failure(begin, "the repetition takes at least " +
                                       std::to_string(least) + " and at most " +
                                       std::to_string(*most));
    return repeat(std::move(part), least, most);
  }

  Expected<ExpressionPtr> item() {
    quantifiers = 0;
    const size_t begin = cursor.position();
    if (cursor.take("\""))
      return quoted(begin);
    if (cursor.take("["))
      return bracket(begin);
    if (cursor.take("."))
      return character(CodePointSet::all());
    if (cursor.take("(")) {
      Expected<ExpressionPtr> inner = alternatives(/*isGroup=*/true);
      RECIPERUN_TRY(inner);
      if (!cursor.take(")"))
        return cursor.failure(
            begin, "`(` has no `)`; close the group, or write the text "
                   "`\"(\"`");
      quantifiers = 0;
      return inner;
    }
    Expected<std::string> used = name();
    RECIPERUN_TRY(used);
    Expected<RuleId> id = ruleOf(*used, begin);
    RECIPERUN_TRY(id);
    uses[*used].isCalled = true;
    return reference(*id);
  }

  Expected<ExpressionPtr> quoted(size_t begin) {
    std::string bytes;
    while (!cursor.take("\"")) {
      if (cursor.isAtEnd() || cursor.startsWith("\n"))
        return cursor.failure(begin,
                              "a text has no closing `\"` in its line; a line "
                              "break in it is `\\n`");
      Expected<uint32_t> codePoint = characterHere();
      RECIPERUN_TRY(codePoint);
      appendUtf8(bytes, *codePoint);
    }
    return literal(std::move(bytes));
  }

  Expected<uint32_t> characterHere() {
    const size_t begin = cursor.position();
    const uint32_t c = cursor.next();
    if (c != '\\')
      return c;
    constexpr std::string_view escapes = "nrt\\\"[]-^",
                               meanings = "\n\r\t\\\"[]-^";
    const uint32_t escaped = cursor.next();
    if (escaped == 'x' || escaped == 'u' || escaped == 'U') {
      Expected<uint32_t> value = cursor.hexadecimal(escaped == 'x'   ? 2
                                                    : escaped == 'u' ? 4
                                                                     : 8);
      RECIPERUN_TRY(value);
      if (CodePointSet::of(*value).isEmpty())
        return cursor.failure(begin, "the escape is not a Unicode character");
      return value;
    }
    const size_t i = escaped > 0 && escaped < 0x80 ? escapes.find(char(escaped))
                                                   : escapes.npos;
    if (i == escapes.npos)
      return cursor.failure(begin,
                            "this escape is unknown; there are `\\n`, "
                            "`\\r`, `\\t`, `\\\\`, `\\\"`, `\\[`, `\\]`, "
                            "`\\xHH`, `\\uHHHH` and `\\UHHHHHHHH`");
    return uint32_t(meanings[i]);
  }

  Expected<ExpressionPtr> bracket(size_t begin) {
    const bool isNegated = cursor.take("^");
    std::vector<CodePointRange> ranges;
    while (!cursor.take("]")) {
      if (cursor.isAtEnd() || cursor.startsWith("\n"))
        return cursor.failure(begin, "`[` has no `]`; close the class");
      const size_t place = cursor.position();
      Expected<uint32_t> low = characterHere();
      RECIPERUN_TRY(low);
      uint32_t high = *low;
      const size_t dash = cursor.position();
      if (cursor.take("-")) {
        if (cursor.startsWith("]")) {
          cursor.moveTo(dash); // a character of the class
        } else {
          Expected<uint32_t> end = characterHere();
          RECIPERUN_TRY(end);
          high = *end;
        }
      }
      if (high < *low)
        return cursor.failure(place,
                              "the range ends before it begins; write its ends "
                              "the other way round");
      ranges.push_back({*low, high});
    }
    CodePointSet set(std::move(ranges));
    return character(isNegated ? set.complement() : std::move(set));
  }

  TextCursor cursor;
  Rules rules;
  std::map<std::string, Use> uses;
  int nesting = 0;
  int quantifiers = 0;
};

} // namespace

Expected<Rules> rulesOfGbnf(std::string_view text) {
  RECIPERUN_TRY(checkText(text, "grammar"));
  return GbnfParser(text).run();
}

} // namespace reciperun::grammar
