// The messages of evaluation; see Messages.h.
//
// When a default or condition of the library fails, the report is placed at the
// user's value that it was derived from, and notes list all operands.

#include "compiler/sema/Messages.h"

#include "compiler/sema/Evaluator.h"
#include "compiler/sema/records/Operands.h"

#include <algorithm>

namespace recipec::sema {

diag::Builder Messages::report(diag::Kind kind, SourceRange range,
                               std::string message) {
  bool isDerived = !muted && evaluator.isLibrary(range) && !derivations.empty();
  SourceRange rule = range;
  std::vector<Operand> operands;
  const Operand* nearest = nullptr;
  if (isDerived) {
    Derived derivation = derivations.back();
    // Clear `derivations`, so that reports about the operands do not enter this
    // branch again.
    std::vector<Derived> outer = std::exchange(derivations, {});
    operands = operandsOf(
        evaluator, derivation.expr,
        *evaluator.objects.schemaScope(*derivation.object,
                                       derivation.slot ? derivation.slot->name
                                                       : std::string_view()));
    std::vector<const Operand*> candidates =
        suspects(evaluator, operands, derivation.object);
    nearest = candidates.empty() ? nullptr : candidates.front();
    derivations = std::move(outer);
    if (evaluator.isPartial && followsDefaults(operands)) {
      ++evaluator.missing;
      discarded = {};
      return diag::Builder(discarded);
    }
    range = nearest ? nearest->value.origin.range : derivation.object->range;
  }
  if (evaluator.isLibrary(range) && evaluator.recipeRange.isValid())
    range = evaluator.recipeRange;
  bool isNew =
      !muted &&
      reported.emplace(range.source, range.begin, diag::causeOf(kind, message))
          .second;
  if (!isNew) {
    discarded = {};
    return diag::Builder(discarded);
  }
  diag::Builder builder = engine.report(kind, range, std::move(message));
  if (!(rule == range)) {
    builder.note("found in `" + std::string(evaluator.sources.text(rule)) + "`",
                 rule);
    noteOperands(evaluator, builder, operands,
                 nearest ? nearest->slot : nullptr);
  }
  return builder;
}

diag::Builder Messages::reportRecursion(std::vector<CycleLink> links) {
  // A cycle is one mistake: start it at the same link wherever evaluation
  // entered it.
  std::rotate(links.begin(),
              std::min_element(links.begin(), links.end(),
                               [&](const CycleLink& a, const CycleLink& b) {
                                 auto placeOf = [&](const CycleLink& link) {
                                   return std::tuple(
                                       evaluator.isLibrary(link.range),
                                       link.range.source, link.range.begin);
                                 };
                                 return placeOf(a) < placeOf(b);
                               }),
              links.end());
  // A longer cycle is shown by its beginning and its end.
  constexpr size_t mostShown = 8;
  auto builder = report(diag::Kind::Recursion, links.front().range,
                        "`" + links.front().name + "` depends on itself");
  if (links.size() == 1)
    return builder;
  auto need = [&](size_t i) {
    return "`" + links[i].name + "` needs `" +
           links[(i + 1) % links.size()].name + "`";
  };
  builder.label(need(0));
  for (size_t i = 1; i < links.size(); ++i)
    if (i < mostShown || i + 1 == links.size())
      builder.label(links[i].range, need(i));
  if (links.size() > mostShown + 1)
    builder.note("the circle goes through " + std::to_string(links.size()) +
                 " names");
  return builder;
}

std::optional<std::string> Messages::noteComputed(diag::Builder& builder,
                                                  SourceRange range) {
  const auto [expr, env] = evaluator.computed;
  if (!env || expr == ast::ExprId::none || evaluator.isLibrary(range) ||
      (*env->file)[expr].range != range)
    return std::nullopt;
  const std::vector<Operand> operands = directOperands(evaluator, expr, *env);
  noteOperands(evaluator, builder, operands, nullptr);
  std::string names;
  for (const Operand& operand : operands)
    names += (names.empty() ? "`" : " and `") + operand.text + "`";
  return names;
}

void Messages::labelLast(SourceRange range, std::string text) {
  if (!engine.isFull() && !engine.all().empty())
    engine.at(engine.all().size() - 1).label(range, std::move(text));
}

} // namespace recipec::sema
