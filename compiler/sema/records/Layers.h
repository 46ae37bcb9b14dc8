// Layers: the settings that one pair of braces or one call gives to a record.

#ifndef RECIPEC_SEMA_RECORDS_LAYERS_H
#define RECIPEC_SEMA_RECORDS_LAYERS_H

#include "compiler/sema/values/Value.h"

#include <string_view>

namespace recipec::sema {

class Evaluator;

class Layers {
public:
  explicit Layers(Evaluator& evaluator) : evaluator(evaluator) {}

  const Layer* ofBody(const Env& env, ast::BodyId body, bool isScope);
  const Layer* ofArguments(const Env& env, const Schema& schema,
                           const ast::Call& call, SourceRange range);
  /// The layer for the rest of a definition's path: `tp = 2` in
  /// `parallel.tp = 2`.
  const Layer* ofTail(const Env& env, const Definition& definition);
  /// A layer that sets one field to a value.
  const Layer* ofValue(std::string_view name, const Value& value);
  const Schema* makeSchema(Module& module, const ast::Name& name,
                           ast::BodyId body, bool isModel);

private:
  void fill(Layer& layer, const ast::Body& body, bool isDeclaration);
  /// Fills in the keys of a map. Its `for`, `if` and `let` are evaluated at
  /// once. Defined in Entries.cpp.
  void fillMap(Layer& layer, const ast::Body& body, const Env& env);

  Evaluator& evaluator;
};

} // namespace recipec::sema

#endif // RECIPEC_SEMA_RECORDS_LAYERS_H
