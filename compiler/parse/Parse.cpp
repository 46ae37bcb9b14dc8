// The phases in order: see Parse.h.

#include "compiler/parse/Parse.h"

#include "compiler/parse/Transformer.h"

namespace recipec::parse {

/// Runs lexing and layout of a whole source. Returns false when it cannot be
/// parsed.
static bool tokenize(const SourceMap& sources, SourceId source, TokenList& list,
                     TokenBudget& budget, diag::Engine& engine) {
  SourceRange all{source, 0, uint32_t(sources.text(source).size())};
  if (!lex(sources, all, list, budget, engine))
    return false;
  rewriteForeignNotation(sources, list, engine);
  return layOut(sources, list, engine);
}

ast::File parse(const SourceMap& sources, SourceId source,
                diag::Engine& engine) {
  ast::File file;
  file.source = source;
  TokenList list;
  TokenBudget budget;
  if (!tokenize(sources, source, list, budget, engine))
    return file;
  ParserRun run(sources, list, engine);
  if (Grammar::FileContext* context = run.file())
    Transformer(sources, list, file, budget, engine).transform(context);
  // Each phase above reports over the whole text.
  engine.sortByPlace();
  return file;
}

std::optional<Override> parseOverride(const SourceMap& sources, SourceId source,
                                      diag::Engine& engine) {
  int errorsBefore = engine.errors();
  TokenList list;
  list.endName = "the end of the argument";
  TokenBudget budget;
  if (!tokenize(sources, source, list, budget, engine))
    return std::nullopt;
  ParserRun run(sources, list, engine);
  auto* context = run.overrideArgument();
  if (!context || engine.errors() > errorsBefore)
    return std::nullopt;
  Override result;
  Transformer transformer(sources, list, result.file, budget, engine);
  result.path = transformer.path(context->path());
  result.value = transformer.expression(context->expression());
  if (engine.errors() > errorsBefore)
    return std::nullopt;
  return result;
}

std::string printTokens(const SourceMap& sources, SourceId source,
                        diag::Engine& engine) {
  TokenList list;
  TokenBudget budget;
  if (tokenize(sources, source, list, budget, engine))
    reportUnopened(sources, list, engine);
  std::string out;
  for (size_t i = 0; i < list.tokens.size(); ++i) {
    const Token& token = list.tokens[i];
    LineColumn place = sources.lineColumn(source, token.begin);
    out += std::to_string(place.line) + ":" + std::to_string(place.column) +
           " " + typeName(token.type);
    bool hasText = token.type != TokenType::SEPARATOR && !token.isInserted &&
                   token.end > token.begin;
    if (hasText)
      out += " " + std::string(sources.text(list.range(i)));
    out += "\n";
  }
  return out;
}

} // namespace recipec::parse
