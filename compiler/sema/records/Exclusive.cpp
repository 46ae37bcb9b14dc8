// Remedies for fields that exclude each other, such as `steps` and `epochs`:
// proposes which to remove.

#include "compiler/sema/Evaluator.h"
#include "compiler/sema/records/Remedies.h"
#include "compiler/sema/types/Convert.h"

#include <algorithm>

namespace recipec::sema {
namespace {

Value none() {
  return {recipe::None{}, {}};
}

} // namespace

/// If a parent sets one of these fields and the recipe sets another, proposes
/// to set the parent's to `none` in the recipe.
std::optional<diag::Proposal>
Remedies::undoInherited(const std::vector<const Operand*>& optional) {
  const Operand* own = nullptr;
  std::vector<const Operand*> inherited;
  for (const Operand* operand : optional)
    if (evaluator.isOwnPlace(operand->value.origin.range))
      own = operand;
    else
      inherited.push_back(operand);
  if (!own || inherited.size() + 1 < optional.size())
    return std::nullopt;
  diag::Proposal proposal{
      "write ", {}, " beside `" + own->text + "`, which undoes the parent's"};
  for (const Operand* operand : inherited)
    if (operand->object == own->object && holdsWith(*operand, none()))
      proposal.ways.push_back(
          wayOut(*operand, none(), "`" + operand->text + " = none`"));
  return proposal.ways.empty() ? std::nullopt : std::optional(proposal);
}

/// When several fields that may be `none` are all set, proposes to leave one
/// out. Keeps a field set on the command line, since that is the user's last
/// word, unless all of them are.
std::optional<diag::Proposal>
Remedies::leaveOut(const std::vector<const Operand*>& candidates) {
  std::vector<const Operand*> optional;
  for (const Operand* operand : candidates)
    if (canBeTried(*operand) && !operand->value.is<recipe::None>() &&
        convert(evaluator, none(),
                *evaluator.objects.typeOf(*operand->object, *operand->slot)))
      optional.push_back(operand);
  if (optional.size() < 2)
    return std::nullopt;
  auto isArgument = [](const Operand* operand) {
    return operand->value.origin.kind == recipe::Origin::Kind::commandLine;
  };
  size_t arguments =
      size_t(std::count_if(optional.begin(), optional.end(), isArgument));
  bool isOverridden = arguments > 0 && arguments < optional.size();
  diag::Proposal proposal{isOverridden ? "add " : "leave out ", {}, "", 2};
  Messages::Muted muted(evaluator.messages);
  if (arguments == 0)
    if (auto undone = undoInherited(optional))
      return undone;
  for (size_t i = optional.size(); i > 0; --i) {
    const Operand& operand = *optional[i - 1];
    if ((isOverridden && isArgument(&operand)) || !holdsWith(operand, none()))
      continue;
    diag::WayOut way = wayOut(operand, none(), "`" + operand.text + "`");
    if (isOverridden && !way.settings.empty())
      way.text = "`--set " + way.settings.front() + "`";
    proposal.ways.push_back(std::move(way));
  }
  return proposal.ways.empty() ? std::nullopt
                               : std::optional(std::move(proposal));
}

} // namespace recipec::sema
