// Checks that the names in functions and blocks exist.
//
// Functions and blocks that nothing calls are not evaluated, so their first
// user would find a misspelt name. This walk needs no arguments: it resolves
// names, and leaves checks that depend on values (members, types) to
// evaluation.

#ifndef RECIPEC_SEMA_NAMES_NAMECHECK_H
#define RECIPEC_SEMA_NAMES_NAMECHECK_H

#include "compiler/sema/Evaluator.h"

#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace recipec::sema {

/// Helps with an unknown name in a block of the file, which does not see the
/// fields of a model. Returns false in any other scope.
bool helpOutsideModel(diag::Builder& builder, const Env& env,
                      const ast::Name& name);

class NameCheck {
public:
  /// Accepts the names visible in `scope`, and the ops inside blocks.
  NameCheck(Evaluator& evaluator, const Env& scope);

  void check(const ast::FunDecl& function);
  void check(const ast::BlockDecl& block);
  void check(ast::ExprId expr);

private:
  struct Walk;
  using Names = std::unordered_set<std::string>;

  void parameters(const std::vector<ast::Parameter>& parameters);
  void bindAll(ast::BodyId body);
  void statements(ast::BodyId body);
  void statement(const ast::Item& item);
  void entries(ast::BodyId body);
  void entry(const ast::Item& item);
  void loop(const ast::For& node, void (NameCheck::*inner)(ast::BodyId));
  void name(const ast::Name& name, bool isCalled);
  void helpInFunction(diag::Builder& builder, const ast::Name& name,
                      bool isCalled) const;
  bool qualified(const ast::Expr& callee);
  bool isKnown(std::string_view name) const;

  Evaluator& evaluator;
  const Env& scope;
  const ast::File& file;
  Names names;
  Names namesInBlock;
  std::vector<std::string_view> locals;
  /// What an op takes as the argument under check, where it takes records.
  std::string argumentForms;
  bool isInBlock = false;
};

} // namespace recipec::sema

#endif // RECIPEC_SEMA_NAMES_NAMECHECK_H
