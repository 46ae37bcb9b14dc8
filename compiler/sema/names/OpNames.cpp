// See OpNames.h.

#include "compiler/sema/names/OpNames.h"

#include "compiler/sema/Evaluator.h"
#include "compiler/sema/names/ForeignWords.h"
#include "compiler/sema/values/Comments.h"

namespace recipec::sema {

bool helpWithOp(Evaluator& evaluator, diag::Builder& builder,
                const ast::Name& name, SourceRange range) {
  if (!evaluator.modules.ops())
    return false;
  for (const auto& [own, entry] : evaluator.modules.ops()->entries) {
    const auto how = listedAs(entry.declaration->comments, name.text);
    if (!how)
      continue;
    builder.help("that is `" + std::string(own) + "` here" +
                 (how->empty() ? "" : ": " + *how));
    if (how->empty())
      builder.fixIt(range, std::string(own));
    return true;
  }
  return false;
}

const ast::Name* rootOf(const ast::File& file, const ast::Expr& expr) {
  const ast::Expr* base = &expr;
  while (auto* member = std::get_if<ast::Member>(&base->node))
    base = &file[member->base];
  auto* root = std::get_if<ast::NameRef>(&base->node);
  return root && base != &expr ? &root->name : nullptr;
}

void reportQualified(Evaluator& evaluator, const ast::Expr& callee,
                     const ast::Name& root, bool isKnown) {
  const ast::Name& member = std::get<ast::Member>(callee.node).member;
  auto builder = evaluator.messages.report(
      diag::Kind::UnknownName, callee.range,
      "there is nothing called `" + root.text + "` here");
  if (isKnown)
    builder
        .help("ops and blocks are called by their names alone: write `" +
              member.text + "(...)`")
        .fixIt(callee.range, member.text, diag::Applicability::safe);
  else if (!helpWithForeignWord(builder, member) &&
           !helpWithOp(evaluator, builder, member, callee.range))
    builder.help("ops are called by their names alone, as in `gelu(x)`; "
                 "`recipec doc std.ops` lists them");
}

} // namespace recipec::sema
