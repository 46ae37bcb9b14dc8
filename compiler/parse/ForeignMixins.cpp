// Help for mixins inside braces.
//
// A mixin is applied in the head of its recipe. Braces contain fields, so a
// name there that the file declares as a mixin, or imports, is a misplaced
// mixin.

#include "compiler/parse/ForeignSyntax.h"
#include "compiler/parse/SyntaxView.h"

namespace recipec::parse {
namespace {

class ForeignMixins : public SyntaxView {
public:
  using SyntaxView::SyntaxView;

  bool run() const { return mixinBehindWord() || mixinAsItem(); }

private:
  /// `wide`, `wide(2)` or `team.wide` alone, which is a mixin
  bool mixinAsItem() const {
    if (error.rule != Grammar::RuleSetting || !isName(type(error.begin)) ||
        !setsFields() ||
        !(isEndOfItem(error.token) || found() == TokenType::LPAREN))
      return false;
    const bool isCall = found() == TokenType::LPAREN;
    size_t last = error.token - !isCall;
    if (isCall)
      while (last + 1 < list.tokens.size() &&
             list.tokens[last + 1].depth > list.tokens[error.token].depth)
        ++last;
    last += isCall;
    if (!isMixin(error.begin) || !isEndOfItem(last + 1) ||
        (isCall && type(last) != TokenType::RPAREN))
      return false;
    const std::string own = textOf(error.begin, last);
    reword("`" + textOf(error.begin, error.token - 1) +
               "` is a mixin, and no item of braces",
           rangeOf(error.begin, last));
    return applyMixin(own, last);
  }

  /// `with wide`, `include wide` or `mixin wide(2)` in braces
  bool mixinBehindWord() const {
    static constexpr std::string_view words =
        " with include mixin use extends inherit inherits import apply ";
    if (error.rule != Grammar::RuleSetting || error.begin + 1 != error.token ||
        !isName(found()) || !setsFields() ||
        words.find(" " + textOf(error.begin) + " ") == words.npos ||
        !isMixin(error.token))
      return false;
    const size_t last = lastOfItem(error.token);
    reword("mixins stand in the head of a recipe, not among its items",
           rangeOf(error.begin, last));
    return applyMixin(textOf(error.token, last), last);
  }

  /// Whether the name that begins at a token may be a mixin: the file declares
  /// it as one, or imports it.
  bool isMixin(size_t first) const {
    const std::string name = textOf(first);
    const bool isPath = type(first + 1) == TokenType::DOT;
    for (size_t i = 0; i + 1 < list.tokens.size(); ++i) {
      if (!isPath && type(i) == TokenType::MIXIN && textOf(i + 1) == name)
        return true;
      if (type(i) != TokenType::IMPORT)
        continue;
      const size_t last = lastOfItem(i);
      const bool hasNames = type(last + 1) == TokenType::CLOSE;
      if (hasNames == isPath)
        continue;
      for (size_t at = hasNames ? i : last; at <= last; ++at)
        if (textOf(at) == name || textOf(at) == "\"" + name + ".recipe\"")
          return true;
    }
    return false;
  }

  /// Moves a mixin from the braces to the head of its recipe.
  bool applyMixin(const std::string& mixin, size_t last) const {
    const auto head = headOfBraces();
    const bool isRecipe = head && (type(*head) == TokenType::RECIPE ||
                                   type(*head) == TokenType::ABSTRACT);
    if (!isRecipe)
      return help("write `with " + mixin + "` before the `{` of the recipe");
    size_t brace = *head;
    bool hasMixins = false;
    while (brace < error.begin && type(brace) != TokenType::OPEN &&
           type(brace) != TokenType::BLOCK_OPEN)
      hasMixins |= type(brace++) == TokenType::WITH;
    const std::string added = (hasMixins ? ", " : " with ") + mixin;
    const uint32_t end = list.tokens[brace - 1].end;
    report.help("write `" + textOf(*head, brace - 1) + added + " {`");
    report.fixIt({list.source, end, end}, added);
    report.fixIt(
        {list.source, list.tokens[error.begin - 1].end, list.tokens[last].end},
        "");
    return true;
  }
};

} // namespace

bool helpWithForeignMixins(const SourceMap& sources, const TokenList& list,
                           const SyntaxError& error, diag::Builder& report) {
  return ForeignMixins(sources, list, error, report).run();
}

} // namespace recipec::parse
