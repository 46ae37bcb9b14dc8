// Explains the origin of a recipe's value, for `recipec explain FILE PATH`.
//
// 1. Follow the path through the recipe's settings. Evaluate nothing else and
//    check no condition, so that a recipe with mistakes can be explained.
// 2. Take the value apart: the expression that gave it and its operands,
//    recursively for derived operands.
// 3. List every definition of the path: the schema's default first, then those
//    of parents, mixins, the recipe itself, the sweep and `--set`.

#ifndef RECIPEC_SEMA_RECIPES_EXPLAIN_H
#define RECIPEC_SEMA_RECIPES_EXPLAIN_H

#include "compiler/sema/recipes/Analyze.h"

#include <variant>

namespace recipec::sema {

/// `tp` or `[0]` of a path. The range lies in the command-line argument.
struct PathStep {
  std::variant<std::string, int64_t> key;
  SourceRange range;
};

struct Explanation {
  /// One definition that affects the path.
  struct Definition {
    enum class Kind { defaultValue, written, amended, commandLine };
    Kind kind = Kind::written;
    std::string text;  // as written: `tp = 4`
    std::string owner; // ``recipe `base` ``; empty when there is none
    SourceRange range;
    bool isOverridden = false;
    /// The definition replaces a record around the path and leaves the path
    /// out.
    bool isReplacement = false;
  };
  /// An operand from which another value was computed.
  struct Operand {
    std::string name;
    std::string value;
    recipe::Origin origin;
    std::string expression; // computes the value; empty for a constant
    std::vector<Operand> operands;
  };
  struct Field {
    std::string name;
    std::string value; // empty when it has an error
    recipe::Origin origin;
  };

  std::string path;
  std::string value; // as a recipe writes it; empty when it has an error
  std::string type;
  const ast::Comments* comments = nullptr; // of the field's declaration
  recipe::Origin origin;
  std::string owner;      // the enclosing declaration, as in Definition
  std::string expression; // computes the value; empty for a constant
  std::vector<Operand> operands;
  std::vector<Definition> history; // the last that is not overridden wins
  bool isRecord = false;
  std::vector<Field> fields; // of a record
};

/// Returns nullopt, with diagnostics, when the recipe lacks the path, which
/// must not be empty. An explanation without a value comes with diagnostics
/// that say why.
std::optional<Explanation> explain(const SourceMap& sources,
                                   const Request& request,
                                   const std::vector<PathStep>& path,
                                   Loader& loader, diag::Engine& engine);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_RECIPES_EXPLAIN_H
