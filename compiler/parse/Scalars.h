// YAML plain scalars: which text is a number, a boolean, null or a string.

#ifndef RECIPEC_PARSE_SCALARS_H
#define RECIPEC_PARSE_SCALARS_H

#include "compiler/ast/Ast.h"

#include <optional>
#include <string>
#include <variant>

namespace recipec::parse {

using Scalar = std::variant<ast::KeywordLiteral, ast::IntLiteral,
                            ast::FloatLiteral, ast::StringLiteral>;

/// Reads a plain scalar by the core schema of YAML 1.2 (yaml.org/spec/1.2.2,
/// 10.3.2): `no` is a string, `0o17` and `0x1F` are integers, `2e-5` is a
/// float. Returns nullopt for a number that is not finite or does not fit 64
/// bits.
std::optional<Scalar> plainScalar(const std::string& text);

} // namespace recipec::parse

#endif // RECIPEC_PARSE_SCALARS_H
