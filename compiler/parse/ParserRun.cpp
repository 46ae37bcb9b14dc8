// Sets up the generated parser with our tokens and error strategy, without
// ANTLR's listeners. Catches ANTLR's exceptions.

#include "compiler/parse/ParserRun.h"

#include "compiler/parse/ErrorStrategy.h"

#include "CommonToken.h"
#include "CommonTokenStream.h"
#include "ListTokenSource.h"

namespace recipec::parse {

static std::vector<std::unique_ptr<antlr4::Token>>
toAntlr(const TokenList& list) {
  std::vector<std::unique_ptr<antlr4::Token>> result;
  result.reserve(list.tokens.size());
  for (const Token& token : list.tokens)
    result.push_back(std::make_unique<antlr4::CommonToken>(token.type));
  return result;
}

struct ParserRun::State {
  State(const SourceMap& sources, const TokenList& list, diag::Engine& engine)
      : source(toAntlr(list)), stream(&source), parser(&stream) {
    parser.removeErrorListeners();
    parser.setErrorHandler(
        std::make_shared<ErrorStrategy>(sources, list, engine));
  }

  antlr4::ListTokenSource source;
  antlr4::CommonTokenStream stream;
  Grammar parser;
};

ParserRun::ParserRun(const SourceMap& sources, const TokenList& list,
                     diag::Engine& engine)
    : sources(sources), list(list), engine(engine),
      state(std::make_unique<State>(sources, list, engine)) {}

ParserRun::~ParserRun() = default;

/// Runs a rule. Returns null when the rule did not recover from an error, which
/// has been reported.
template <typename Context>
Context* ParserRun::runRule(Context* (Grammar::*rule)()) {
  int errorsBefore = engine.errors();
  Context* result = nullptr;
  try {
    result = (state->parser.*rule)();
  } catch (const antlr4::RecognitionException&) {
    return nullptr;
  }
  if (engine.errors() == errorsBefore)
    reportUnopened(sources, list, engine);
  return result;
}

Grammar::FileContext* ParserRun::file() {
  return runRule(&Grammar::file);
}

Grammar::OverrideArgumentContext* ParserRun::overrideArgument() {
  return runRule(&Grammar::overrideArgument);
}

Grammar::InterpolationContext* ParserRun::interpolation() {
  return runRule(&Grammar::interpolation);
}

} // namespace recipec::parse
