// See Layouts.h.

#include "compiler/sema/recipes/Layouts.h"

#include "compiler/sema/Evaluator.h"
#include "compiler/sema/recipes/Sweep.h"
#include "compiler/sema/types/ElasticInt.h"

#include <algorithm>

namespace recipec::sema {
namespace {

constexpr std::string_view ranksSection = "cluster", ranksField = "ranks";

} // namespace

Layouts layoutsOf(Evaluator& evaluator, Object& settings) {
  Messages::Muted muted(evaluator.messages);
  Slot* section = settings.find(ranksSection);
  Object* const* cluster =
      section ? evaluator.objects.force(settings, *section).get<Object*>()
              : nullptr;
  Slot* ranks = cluster ? (*cluster)->find(ranksField) : nullptr;
  if (!ranks || ranks->chain.empty() || !ranks->chain.front().isValue())
    return {};
  const Definition& definition = ranks->chain.front();
  const Member& member = *definition.member;
  const Env* env = evaluator.objects.scopeOf(**cluster, definition, ranksField);
  const Value written =
      member.given ? *member.given : evaluator.evaluate(member.value, *env);
  if (!isCounts(written))
    return {};
  Layouts found;
  found.range = written.origin.range;
  for (const Value& element : (*written.get<const ListValue*>())->elements)
    found.all.push_back(
        {*element.get<int64_t>(), placeOfCount(element, found.range)});
  if (found.all.size() == 1)
    found.all.clear();
  return found;
}

bool setsRanks(const Axis& axis) {
  return std::ranges::any_of(axis.values, [](const AxisValue& value) {
    return std::ranges::any_of(value.settings, [](const Setting& setting) {
      return setting.path.front().text == ranksSection &&
             (setting.path.size() == 1 || setting.path[1].text == ranksField);
    });
  });
}

const Layer* layoutLayer(Evaluator& evaluator, const Layout& layout) {
  const auto path =
      std::vector<ast::Name>{{std::string(ranksSection), layout.range},
                             {std::string(ranksField), layout.range}};
  Member member;
  member.path = evaluator.store.make<std::vector<ast::Name>>(path);
  member.given = &evaluator.store.make<Value>(
      Value{layout.ranks, evaluator.writtenAt(layout.range)});
  member.range = layout.range;
  Layer& layer = evaluator.store.make<Layer>();
  layer.env = &evaluator.modules.ops()->env;
  layer.range = layout.range;
  layer.members.push_back(member);
  return &layer;
}

std::string nameOfLayout(std::string_view run, const Layout& layout) {
  std::string name(run);
  name += run.find('@') == run.npos ? "@" : ",";
  return name + std::string(ranksSection) + "." + std::string(ranksField) +
         "=" + std::to_string(layout.ranks);
}

} // namespace recipec::sema
