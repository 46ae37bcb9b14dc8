// Several keys of one record with one cause; see KeysOfOneSubject.h.
//
// 1. Collect the keys with this cause in the same braces or parentheses.
// 2. The first of them reports all, the others report nothing.

#include "compiler/sema/names/KeysOfOneSubject.h"

#include "compiler/sema/Evaluator.h"
#include "compiler/sema/names/AbsentFields.h"
#include "compiler/sema/names/OtherNames.h"

namespace recipec::sema {
namespace {

/// `` `jsonl` has no fields `instruction`, `input` ``, with the ranges of
/// all but the first key.
diag::Builder reportKeys(Evaluator& evaluator, const Schema& schema,
                         const Layer& layer,
                         const std::vector<const Member*>& keys) {
  std::vector<std::string> names;
  for (const Member* key : keys)
    names.push_back(key->path.front().text);
  auto builder = evaluator.messages.report(
      layer.isArguments ? diag::Kind::UnknownArgument : diag::Kind::UnknownKey,
      keys.front()->path.front().range,
      "`" + std::string(schema.shownName()) + "` has no fields " +
          diag::quotedList(names, names.size()));
  for (size_t i = 1; i < keys.size(); ++i)
    builder.label(keys[i]->path.front().range, "");
  return builder;
}

bool isUnknown(const Schema& schema, const Member& member) {
  return member.path.size() == 1 && !member.given &&
         !schema.find(member.path.front().text);
}

} // namespace

std::string_view insteadOfKey(Evaluator& evaluator, const Schema& schema,
                              const Member& member) {
  const std::string_view name = member.path.front().text;
  if (!evaluator.isLibrary(schema.range) ||
      fieldKnownAs(evaluator, schema, name))
    return {};
  return insteadOf(schema.name, name);
}

bool reportAbsentSubject(Evaluator& evaluator, const Object& object,
                         const Layer& layer, const Member& member) {
  const Schema& schema = *object.schema;
  const std::string_view help = insteadOfKey(evaluator, schema, member);
  if (help.empty() || member.given ||
      evaluator.sources.kind(member.range.source) != SourceKind::file)
    return false;
  std::vector<const Member*> keys;
  for (const Member& each : layer.members)
    if (isUnknown(schema, each) &&
        insteadOfKey(evaluator, schema, each).data() == help.data())
      keys.push_back(&each);
  if (keys.size() < 2)
    return false;
  if (keys.front() == &member)
    reportKeys(evaluator, schema, layer, keys).help(std::string(help));
  return true;
}

bool reportArgumentsOfOneField(Evaluator& evaluator, const Object& object,
                               const Layer& layer, const Member& member) {
  const Schema& schema = *object.schema;
  const auto own = fieldKnownAs(evaluator, schema, member.path.front().text);
  if (!layer.isArguments || !own || own->path.empty() || own->isFixed ||
      !own->values.empty())
    return false;
  std::vector<const Member*> keys;
  for (const Member& each : layer.members) {
    if (!isUnknown(schema, each))
      continue;
    const auto known = fieldKnownAs(evaluator, schema, each.path.front().text);
    if (known && known->path == own->path)
      keys.push_back(&each);
  }
  if (keys.size() < 2)
    return false;
  if (keys.front() != &member)
    return true;
  const std::string several = severalOf(*own);
  reportKeys(evaluator, schema, layer, keys)
      .help(std::string(keys.size() == 2 ? "both" : "all") + " are `" +
            own->path + "` here, which is one field: " +
            (several.empty() ? "write it once" : several));
  return true;
}

} // namespace recipec::sema
