// Helps for a number of tokens in a field that counts something else; see
// Counts.h.

#include "compiler/sema/types/Counts.h"

#include "compiler/recipe/Format.h"
#include "compiler/sema/Evaluator.h"
#include "compiler/sema/values/Comments.h"

#include <algorithm>
#include <cctype>

namespace recipec::sema {

/// Converts a number of tokens to sequences. The alternatives are the count
/// rounded down to multiples of growing powers of two; the driver takes the
/// first that the layout divides.
static diag::Proposal sequencesFor(Evaluator& evaluator,
                                   const recipe::Quantity& given) {
  Slot* section = evaluator.root ? evaluator.root->find("data") : nullptr;
  Object* const* data =
      section
          ? evaluator.objects.force(*evaluator.root, *section).get<Object*>()
          : nullptr;
  Slot* slot = data ? (*data)->find("sequence") : nullptr;
  if (!slot)
    return {};
  Messages::Muted muted(evaluator.messages);
  const Value length = evaluator.objects.force(**data, *slot);
  const int64_t* tokens = length.get<int64_t>();
  if (!tokens || *tokens < 1 || given.amount < double(*tokens) ||
      given.amount > 1e15)
    return {};
  const int64_t all = int64_t(given.amount) / *tokens;
  diag::Proposal proposal{recipe::formatValue({given, {}}, {}) + " are " +
                              std::to_string(all) + " sequences of " +
                              std::to_string(*tokens) + " tokens: write ",
                          {},
                          "",
                          1};
  constexpr int64_t largest = 1024;
  for (int64_t group = 1; group <= std::min(all, largest); group *= 2) {
    const std::string number = std::to_string(all - all % group);
    if (proposal.ways.empty() || proposal.ways.back().settings[0] != number)
      proposal.ways.push_back({"`" + number + "`", {number}});
  }
  return proposal;
}

bool helpWithSequences(Evaluator& evaluator, diag::Builder& builder,
                       const recipe::Quantity& given) {
  auto [object, slot] = evaluator.typing;
  if (given.unit != recipe::Unit::tokens || !object || !object->schema || !slot)
    return false;
  std::string summary = summaryOf(*object->schema, slot->name);
  if (summary.empty() || summary.starts_with("Tokens"))
    return false;
  summary[0] = char(std::tolower(static_cast<unsigned char>(summary[0])));
  const std::string counted =
      "`" + std::string(slot->name) + "` counts " + summary;
  if (diag::Proposal proposal = sequencesFor(evaluator, given);
      !proposal.ways.empty()) {
    const std::string path = evaluator.pathOf(*object, slot->name);
    for (diag::WayOut& way : proposal.ways)
      way.settings = {path + "=" + way.settings.front()};
    proposal.before = counted + ", and " + proposal.before;
    builder.propose(std::move(proposal))
        .otherwise(counted + ": write their number, say `32`");
    return true;
  }
  builder.help(counted + ": write their number, say `32`");
  return true;
}

} // namespace recipec::sema
