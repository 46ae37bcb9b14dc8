// Parses a template to its syntax tree.

#ifndef RECIPERUN_JINJA_PARSER_H
#define RECIPERUN_JINJA_PARSER_H

#include "runtime/jinja/Ast.h"

#include <string_view>

namespace reciperun::jinja {

/// Fails with the line and what is wrong there: a tag without its end, an
/// unknown tag, or one that chat templates cannot use (`include`, `import`,
/// `extends`, `block`).
Expected<ast::Body> parse(std::string_view source);

} // namespace reciperun::jinja

#endif // RECIPERUN_JINJA_PARSER_H
