// Newlines, commas, brackets: from raw tokens to the tokens of
// grammar/Recipe.g4.
//
// One pass with a stack of open brackets:
//
//   1. In round and square brackets newlines mean nothing. Elsewhere a newline
//      or a comma ends an item and becomes a SEPARATOR, unless the item
//      continues: after an operator, `=`, `:` or an opening brace, before a
//      closing one, before `then` and `else`.
//   2. The brace that opens the body of `for`, `if`, `recipe .. amends ..` or
//      `recipe .. with ..` becomes BLOCK_OPEN, so that it does not amend the
//      expression before it. Commas before it stay commas. A line may end there
//      after a comma and before `amends` and `with`.
//   3. A trailing comma before `)` and `]` is dropped.
//   4. Brackets are balanced. An unclosed bracket is reported, located by
//      indentation, and closed where its surroundings end, so that the parser
//      sees balanced text. The text in between is marked as doubtful.
//   5. Nesting is counted before any recursive code sees the tokens: brackets,
//      `if`s of one item and the `fun`s of its types. The Transformer counts
//      the prefix operators, because it is the first phase that recurses over
//      them.

#include "compiler/parse/Parse.h"
#include "compiler/parse/Tokens.h"

#include <optional>
#include <utility>

namespace recipec::parse {

namespace {

/// An open bracket; the bottom of the stack stands for the file itself.
struct Open {
  size_t type = TokenType::EOF;
  uint32_t begin = 0;
  int conditionals = 0;  // `if`s and `fun` types nested in the current item
  int before = 0;        // the same count before the last separator
  bool inHeader = false; // between `for` or `if` and its body
  bool isBody = false;   // the body of `for` or `if`
};

bool isOpening(size_t type) {
  return type == TokenType::OPEN || type == TokenType::BLOCK_OPEN ||
         type == TokenType::LPAREN || type == TokenType::LBRACKET;
}

bool isClosing(size_t type) {
  return type == TokenType::CLOSE || type == TokenType::RPAREN ||
         type == TokenType::RBRACKET;
}

size_t closingOf(size_t type) {
  switch (type) {
  case TokenType::LPAREN:
    return TokenType::RPAREN;
  case TokenType::LBRACKET:
    return TokenType::RBRACKET;
  default:
    return TokenType::CLOSE;
  }
}

std::string_view bracketText(size_t type) {
  switch (type) {
  case TokenType::LPAREN:
    return "(";
  case TokenType::RPAREN:
    return ")";
  case TokenType::LBRACKET:
    return "[";
  case TokenType::RBRACKET:
    return "]";
  case TokenType::CLOSE:
    return "}";
  default:
    return "{";
  }
}

/// Whether an item that ends in this token continues on the next line.
bool continuesLine(size_t type) {
  switch (type) {
  case TokenType::ASSIGN:
  case TokenType::COLON:
  case TokenType::PIPE:
  case TokenType::NOT:
  case TokenType::IF:
  case TokenType::THEN:
  case TokenType::ELSE:
    return true;
  default:
    return isBinaryOperator(type);
  }
}

/// Whether an item, but no expression, may begin with this token.
bool beginsOnlyItems(size_t type) {
  switch (type) {
  case TokenType::BLOCK:
  case TokenType::FIXED:
  case TokenType::FOR:
  case TokenType::FUN:
  case TokenType::LET:
  case TokenType::REQUIRE:
  case TokenType::RETURN:
    return true;
  default:
    return false;
  }
}

class Layout {
public:
  Layout(const SourceMap& sources, TokenList& list, diag::Engine& engine)
      : sources(sources), list(list), engine(engine),
        raw(std::move(list.tokens)) {
    // A broken string may hide brackets, so missing ones are not reported then.
    for (const Token& token : raw)
      hidesBrackets |= token.isBroken;
    list.tokens.clear();
    stack.emplace_back();
  }

  bool run() {
    for (at = 0; at + 1 < raw.size(); ++at) {
      if (!step(raw[at]) || engine.isFull())
        return false;
      isFirstOnLine = raw[at].type == TokenType::NEWLINE;
      findLineBegin(raw[at]);
    }
    closeAll(raw.back().begin);
    dropSeparator();
    emit(raw.back());
    list.arrangeDoubtful();
    return true;
  }

private:
  /// Returns false when the text is nested too deeply.
  bool step(const Token& token) {
    if (token.type == TokenType::NEWLINE) {
      newline(token);
      return true;
    }
    if (isFirstOnLine && stack.size() > 1 && beginsDeclaration())
      closeForDeclaration(token);
    if (token.type == TokenType::COMMA) {
      comma(token);
    } else if (isOpening(token.type)) {
      return open(token);
    } else if (isClosing(token.type)) {
      close(token);
    } else {
      return word(token);
    }
    return true;
  }

  // ---- separators

  bool inBrackets() const {
    size_t type = stack.back().type;
    return type == TokenType::LPAREN || type == TokenType::LBRACKET;
  }

  size_t lastType() const {
    if (list.tokens.empty())
      return TokenType::SEPARATOR;
    return list.tokens.back().type;
  }

  bool atItemStart() const {
    size_t last = lastType();
    return last == TokenType::SEPARATOR || last == TokenType::OPEN ||
           last == TokenType::BLOCK_OPEN;
  }

  void newline(const Token& token) {
    if (inBrackets() || atItemStart() || goesOnInHeader())
      return;
    if (continuesLine(lastType()) && !isValueMissing())
      return;
    separate(token);
  }

  bool inHeader() const { return stack.back().inHeader; }

  /// The type of the next token other than a newline.
  size_t nextType() const {
    size_t next = at + 1;
    while (raw[next].type == TokenType::NEWLINE)
      ++next;
    return raw[next].type;
  }

  bool goesOnInHeader() const {
    if (inHeader() && lastType() == TokenType::COMMA)
      return true;
    bool isClause =
        nextType() == TokenType::WITH || nextType() == TokenType::AMENDS;
    return inRecipeHeader && isClause;
  }

  /// Whether a value is missing, because `x =` or `x = a +` is followed by a
  /// line that begins an item.
  bool isValueMissing() const {
    size_t next = at + 1;
    while (raw[next].type == TokenType::NEWLINE)
      ++next;
    if (beginsOnlyItems(raw[next].type))
      return true;
    if (!isName(raw[next].type))
      return false;
    // A `require` condition may end in a name and a colon, with its message
    // after it.
    bool mayDeclare =
        lastType() == TokenType::ASSIGN || lastType() == TokenType::PIPE;
    size_t afterNext = raw[next + 1].type;
    return afterNext == TokenType::ASSIGN ||
           (afterNext == TokenType::COLON && mayDeclare);
  }

  void comma(const Token& token) {
    if (inHeader()) {
      emit(token);
      return;
    }
    if (inBrackets()) {
      bool isTrailing = nextType() == closingOf(stack.back().type) &&
                        !isOpening(lastType()) &&
                        lastType() != TokenType::COMMA;
      stack.back().conditionals = 0;
      if (!isTrailing)
        emit(token);
      return;
    }
    bool isBehindNewline =
        lastType() == TokenType::SEPARATOR && !list.tokens.empty() &&
        sources.text(list.range(list.tokens.size() - 1)) != ",";
    if (isBehindNewline)
      dropSeparator();
    // Two commas in a row, or a comma without an item: the parser reports it.
    if (atItemStart() || continuesLine(lastType()))
      emit(token);
    else
      separate(token);
  }

  void separate(Token token) {
    token.type = TokenType::SEPARATOR;
    stack.back().before = std::exchange(stack.back().conditionals, 0);
    stack.back().inHeader = false;
    inRecipeHeader = false;
    emit(token);
  }

  void dropSeparator() {
    if (!list.tokens.empty() && lastType() == TokenType::SEPARATOR)
      list.tokens.pop_back();
  }

  /// Removes the separator because the item continues on the next line.
  void rejoin() {
    if (list.tokens.empty() || lastType() != TokenType::SEPARATOR)
      return;
    list.tokens.pop_back();
    stack.back().conditionals = stack.back().before;
  }

  // ---- words and headers

  bool word(const Token& token) {
    bool opensStatement = atItemStart() && !inBrackets();
    bool isElseIf = lastType() == TokenType::ELSE && elseBelongsToStatement;
    switch (token.type) {
    case TokenType::FOR:
      stack.back().inHeader = opensStatement;
      break;
    case TokenType::IF:
      stack.back().inHeader = opensStatement || isElseIf;
      ++stack.back().conditionals;
      if (nesting() > maxNesting)
        return reportNesting(token);
      break;
    case TokenType::RECIPE:
      if (stack.size() == 1 &&
          (atItemStart() || lastType() == TokenType::ABSTRACT))
        inRecipeHeader = true;
      break;
    case TokenType::AMENDS:
    case TokenType::WITH:
      // `recipe with {` declares a recipe named `with`.
      if (inRecipeHeader && stack.size() == 1 &&
          lastType() != TokenType::RECIPE)
        stack.back().inHeader = true;
      break;
    case TokenType::FUN:
      if (raw[at + 1].type != TokenType::LPAREN)
        break;
      ++stack.back().conditionals;
      if (nesting() > maxNesting)
        return reportNesting(token);
      break;
    case TokenType::THEN:
      rejoin();
      break;
    case TokenType::ELSE:
      rejoin();
      elseBelongsToStatement =
          lastClosed.isBody && lastType() == TokenType::CLOSE;
      break;
    default:
      break;
    }
    emit(token);
    return true;
  }

  int nesting() const {
    int result = int(stack.size()) - 1;
    for (const Open& open : stack)
      result += open.conditionals;
    return result;
  }

  bool reportNesting(const Token& token) {
    engine
        .report(
            diag::Kind::NestingTooDeep, {list.source, token.begin, token.end},
            "nested more than " + std::to_string(maxNesting) + " levels deep")
        .help("give inner parts names with `let`");
    return false;
  }

  // ---- brackets

  bool open(Token token) {
    Open entry;
    entry.begin = token.begin;
    if (token.type == TokenType::OPEN) {
      bool isElseBody = lastType() == TokenType::ELSE && elseBelongsToStatement;
      if (inHeader()) {
        token.type = TokenType::BLOCK_OPEN;
        stack.back().inHeader = false;
        entry.isBody = true;
      }
      inRecipeHeader &= stack.size() > 1;
      entry.isBody |= isElseBody;
    }
    entry.type = token.type;
    emit(token);
    stack.push_back(entry);
    return nesting() <= maxNesting || reportNesting(token);
  }

  void close(Token token) {
    if (!hasMatch(token)) {
      const bool isForBrace = standsForBrace(token);
      reportUnexpectedClosing(token, isForBrace);
      if (isForBrace)
        return pop({TokenType::CLOSE, token.begin, token.end});
      // In `[1, 2)` the user meant to close the bracket here.
      if (!inBrackets() || token.type == TokenType::CLOSE)
        return;
      token.type = closingOf(stack.back().type);
    }
    while (closingOf(stack.back().type) != token.type)
      closeForgotten(token.begin);
    const Open& top = stack.back();
    // A brace that closes one opened on a more indented line probably belongs
    // to an outer brace.
    if (token.type == TokenType::CLOSE && isFirstOnLine && !suspect.isSet &&
        indentOf(token.begin) < indentOf(top.begin))
      suspect = {true, top.begin, token};
    pop(token);
  }

  void pop(Token token) {
    dropSeparator();
    lastClosed = stack.back();
    stack.pop_back();
    emit(token);
  }

  /// Whether an open bracket matches this closing one. A brace may close over
  /// unclosed round and square brackets. Round and square brackets may close
  /// over a brace only if it opened on their line.
  bool hasMatch(const Token& token) const {
    for (size_t i = stack.size() - 1; i > 0; --i) {
      size_t closing = closingOf(stack[i].type);
      if (closing == token.type)
        return true;
      if (closing == TokenType::CLOSE && stack[i].begin < lineBegin)
        return false;
    }
    return false;
  }

  /// Reports the innermost open bracket and closes it at `offset`.
  void closeForgotten(uint32_t offset) {
    Open top = stack.back();
    bool isBrace = closingOf(top.type) == TokenType::CLOSE;
    if (isBrace && suspect.isSet)
      top.begin = suspect.begin;
    if (!hidesBrackets)
      reportUnclosed(top, offset);
    list.doubtful.push_back({list.source, top.begin, offset});
    Token inserted{closingOf(top.type), offset, offset};
    inserted.isInserted = true;
    pop(inserted);
  }

  void reportUnclosed(const Open& open, uint32_t offset) {
    bool isBrace = closingOf(open.type) == TokenType::CLOSE;
    std::string text(bracketText(open.type));
    std::string closing(bracketText(closingOf(open.type)));
    auto report = engine.report(
        isBrace ? diag::Kind::UnclosedBlock : diag::Kind::UnclosedBracket,
        {list.source, open.begin, open.begin + 1},
        "`" + text + "` is not closed: a `" + closing + "` is missing");
    report.label(isBrace ? "the block opens here" : "opens here");
    if (isBrace && sources.text(list.source).substr(open.begin, 2) == "{{") {
      report.help("one `{` is enough")
          .fixIt({list.source, open.begin, open.begin + 1}, "",
                 diag::Applicability::safe);
      return;
    }
    if (isBrace && suspect.isSet) {
      const Token& brace = suspect.closing;
      report.note("this `}` closes it, but stands further left",
                  {list.source, brace.begin, brace.end});
      if (auto line = lineBehind(open.begin))
        report.help("by the indentation it belongs before line " +
                    std::to_string(*line));
    } else if (offset < raw.back().begin) {
      report.note("expected `" + closing + "` before this",
                  {list.source, offset, offset + 1});
    }
  }

  void closeAll(uint32_t offset) {
    if (stack.size() == 1)
      return;
    // A missing closing brace leaves all enclosing brackets open, so only the
    // innermost is reported.
    closeForgotten(offset);
    bool wasHidden = std::exchange(hidesBrackets, true);
    while (stack.size() > 1)
      closeForgotten(offset);
    hidesBrackets = wasHidden;
    suspect = {};
  }

  /// Whether a `)` or `]` is where the indentation expects the `}` of the
  /// innermost block.
  bool standsForBrace(const Token& token) const {
    const Open& top = stack.back();
    return stack.size() > 1 && closingOf(top.type) == TokenType::CLOSE &&
           isFirstOnLine && top.begin < lineBegin &&
           indentOf(token.begin) == indentOf(top.begin);
  }

  void reportUnexpectedClosing(const Token& token, bool isForBrace) {
    SourceRange place{list.source, token.begin, token.end};
    auto& doubtful = list.doubtful;
    bool isRun = !doubtful.empty() && doubtful.back().end == token.begin;
    if (isRun)
      doubtful.back().end = token.end;
    else
      doubtful.push_back(place);
    if (hidesBrackets || isRun)
      return;
    if (stack.size() == 1) {
      list.unopened.push_back(place);
      return;
    }
    std::string text(bracketText(token.type));
    const Open& top = stack.back();
    const std::string opening(bracketText(top.type));
    auto report =
        engine.report(diag::Kind::UnexpectedClosing, place,
                      "`" + text + "` does not close `" + opening + "`");
    report.note("the innermost open bracket is this one",
                {list.source, top.begin, top.begin + 1});
    if (isForBrace)
      report.help("write `}`").fixIt(place, "}", diag::Applicability::safe);
    else
      report.help("remove it, or close `" + opening + "` first");
  }

  /// Whether the line begins in its first column with `recipe NAME {`,
  /// `import NAME` or the like, so that it must be a declaration of the file.
  bool beginsDeclaration() const {
    const Token& token = raw[at];
    if (indentOf(token.begin) != 0 || at + 2 >= raw.size())
      return false;
    size_t next = raw[at + 1].type, afterNext = raw[at + 2].type;
    switch (token.type) {
    case TokenType::ABSTRACT:
      return next == TokenType::RECIPE && isName(afterNext);
    case TokenType::RECIPE:
      return isName(next) &&
             (afterNext == TokenType::OPEN || afterNext == TokenType::AMENDS ||
              afterNext == TokenType::WITH);
    case TokenType::MIXIN:
      return isName(next) &&
             (afterNext == TokenType::OPEN || afterNext == TokenType::LPAREN);
    case TokenType::SCHEMA:
    case TokenType::MODEL:
      return isName(next) && afterNext == TokenType::OPEN;
    case TokenType::IMPORT:
      return isName(next) || next == TokenType::STRING;
    default:
      return false;
    }
  }

  void closeForDeclaration(const Token& token) {
    closeAll(token.begin);
    if (lastType() != TokenType::SEPARATOR)
      separate(Token{TokenType::SEPARATOR, token.begin, token.begin});
  }

  /// Records where the line of the next token begins.
  void findLineBegin(const Token& token) {
    std::string_view text =
        sources.text(SourceRange{list.source, token.begin, token.end});
    if (size_t end = text.rfind('\n'); end != std::string_view::npos)
      lineBegin = token.begin + uint32_t(end) + 1;
  }

  int indentOf(uint32_t offset) const {
    int line = sources.lineColumn(list.source, offset).line;
    std::string_view text = sources.lineText(list.source, line);
    size_t indent = text.find_first_not_of(" \t");
    return indent == std::string_view::npos ? 0 : int(indent);
  }

  /// The first line after a block that is indented no further than the line
  /// that opens the block; nullopt if there is none.
  std::optional<int> lineBehind(uint32_t begin) const {
    int last = sources.lineColumn(list.source, begin).line;
    for (const Token& token : raw) {
      if (token.begin <= begin || token.type == TokenType::NEWLINE)
        continue;
      const int line = sources.lineColumn(list.source, token.begin).line;
      if (std::exchange(last, line) != line &&
          indentOf(token.begin) <= indentOf(begin))
        return line;
    }
    return std::nullopt;
  }

  void emit(Token token) {
    token.depth = int(stack.size()) - 1;
    list.tokens.push_back(token);
  }

  /// A closing brace on a line with less indentation than the line of its
  /// opening brace.
  struct Suspect {
    bool isSet = false;
    uint32_t begin = 0; // of the opening brace
    Token closing;
  };

  const SourceMap& sources;
  TokenList& list;
  diag::Engine& engine;
  std::vector<Token> raw;
  std::vector<Open> stack;
  Open lastClosed;
  Suspect suspect;
  size_t at = 0;
  uint32_t lineBegin = 0; // of the current token's line
  bool isFirstOnLine = true;
  bool inRecipeHeader = false; // between `recipe` and its brace
  bool elseBelongsToStatement = false;
  bool hidesBrackets = false;
};

} // namespace

bool layOut(const SourceMap& sources, TokenList& list, diag::Engine& engine) {
  return Layout(sources, list, engine).run();
}

void reportUnopened(const SourceMap& sources, const TokenList& list,
                    diag::Engine& engine) {
  for (SourceRange range : list.unopened)
    engine
        .report(diag::Kind::UnexpectedClosing, range,
                "`" + std::string(sources.text(range)) + "` closes nothing")
        .help("remove it");
}

} // namespace recipec::parse
