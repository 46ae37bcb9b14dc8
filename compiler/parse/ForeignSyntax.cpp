// The families of rules in their order; see ForeignSyntax.h.

#include "compiler/parse/ForeignSyntax.h"

#include <algorithm>
#include <iterator>

namespace recipec::parse {

using Family = bool (*)(const SourceMap&, const TokenList&, const SyntaxError&,
                        diag::Builder&);

constexpr Family families[] = {
    helpWithForeignChoices,   helpWithForeignTypes,
    helpWithForeignOperators, helpWithForeignNumbers,
    helpWithForeignFunctions, helpWithForeignMixins,
    helpWithUnpacking,        helpWithForeignStatements,
    helpWithForeignImports,   helpWithForeignDeclarations,
    helpWithForeignData,
};

bool helpWithForeignSyntax(const SourceMap& sources, const TokenList& list,
                           const SyntaxError& error, diag::Builder& report) {
  return std::any_of(
      std::begin(families), std::end(families),
      [&](Family family) { return family(sources, list, error, report); });
}

} // namespace recipec::parse
