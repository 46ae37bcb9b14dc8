// Sets up the generated parser: our tokens in, our error strategy, no listener
// of ANTLR's. Its exceptions end here.

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
    : state(std::make_unique<State>(sources, list, engine)) {}

ParserRun::~ParserRun() = default;

/// Runs a rule; an error that the rule did not recover from has been reported.
template <typename Rule>
static auto runRule(Grammar& parser, Rule rule) -> decltype((parser.*rule)()) {
  try {
    return (parser.*rule)();
  } catch (const antlr4::RecognitionException&) {
    return nullptr;
  }
}

Grammar::FileContext* ParserRun::file() {
  return runRule(state->parser, &Grammar::file);
}

Grammar::OverrideArgumentContext* ParserRun::overrideArgument() {
  return runRule(state->parser, &Grammar::overrideArgument);
}

Grammar::InterpolationContext* ParserRun::interpolation() {
  return runRule(state->parser, &Grammar::interpolation);
}

} // namespace recipec::parse
