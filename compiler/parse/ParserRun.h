// One run of the generated parser over a token list after layout. Owns the
// parse tree. Private to this folder.

#ifndef RECIPEC_PARSE_PARSERRUN_H
#define RECIPEC_PARSE_PARSERRUN_H

#include "compiler/parse/Tokens.h"

#include <memory>

namespace recipec::parse {

using Grammar = generated::RecipeParser;

class ParserRun {
public:
  ParserRun(const SourceMap& sources, const TokenList& list,
            diag::Engine& engine);
  ~ParserRun();

  /// Each returns null if an error reached the rule itself; the error has been
  /// reported. Inner rules that recovered hold contexts with `exception` set.
  Grammar::FileContext* file();
  Grammar::OverrideArgumentContext* overrideArgument();
  Grammar::InterpolationContext* interpolation();

private:
  template <typename Context> Context* runRule(Context* (Grammar::*rule)());

  struct State;
  const SourceMap& sources;
  const TokenList& list;
  diag::Engine& engine;
  std::unique_ptr<State> state;
};

} // namespace recipec::parse

#endif // RECIPEC_PARSE_PARSERRUN_H
