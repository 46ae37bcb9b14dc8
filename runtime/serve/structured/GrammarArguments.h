// The command-line options that constrain answers to a grammar.

#ifndef RECIPERUN_SERVE_STRUCTURED_GRAMMARARGUMENTS_H
#define RECIPERUN_SERVE_STRUCTURED_GRAMMARARGUMENTS_H

#include "runtime/cli/Command.h"
#include "runtime/data/Tokenizer.h"
#include "runtime/grammar/MaskTable.h"

#include <memory>
#include <string>
#include <vector>

namespace reciperun::serve {

/// At most one of these options may be given.
struct GrammarArguments {
  std::string jsonSchema; // a schema, or the path of its file
  std::string regex;
  std::vector<std::string> choices;
  std::string grammarPath; // of a GBNF grammar

  bool isGiven() const;
};

/// The command-line options, under the heading `structured output`. They store
/// their values in `arguments`, which must outlive them.
std::vector<cli::Option> describeGrammar(GrammarArguments& arguments);

/// Fails when more than one of the options is given.
cli::Check checkGrammar(const GrammarArguments& arguments);

/// The compiled grammar. Fails, naming the option or the file, when a file
/// cannot be read, when the grammar is invalid, and when nothing matches it.
/// Nullptr when no option is given.
Expected<std::shared_ptr<const grammar::Automaton>>
compileGrammar(const GrammarArguments& arguments);

} // namespace reciperun::serve

#endif // RECIPERUN_SERVE_STRUCTURED_GRAMMARARGUMENTS_H
