// GBNF, the grammars of llama.cpp: rules `name ::= ...`, of which `root` is the
// first.
//
// "literal", [class], [^class], `.`, names, groups, alternatives, `* + ?`,
// `{m}`
// `{m,}` `{m,n}`, comments from `#`. The escapes are \n \r \t \\ \" \[ \] \- \^
// \xHH \uHHHH \UHHHHHHHH. A rule ends with its line, unless a group is open or
// `|` or `::=` stands at the end or `|` begins the next line.

#ifndef RECIPERUN_GRAMMAR_GBNF_H
#define RECIPERUN_GRAMMAR_GBNF_H

#include "runtime/base/Status.h"
#include "runtime/grammar/Expression.h"

#include <string_view>

namespace reciperun::grammar {

/// Parses a grammar. A failure states line, column and what is wrong there.
Expected<Rules> rulesOfGbnf(std::string_view text);

} // namespace reciperun::grammar

#endif // RECIPERUN_GRAMMAR_GBNF_H
