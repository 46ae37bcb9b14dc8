// Sections that `=` replaces; see Replaced.h.

#include "compiler/sema/records/Replaced.h"

#include "compiler/sema/Evaluator.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace recipec::sema {
namespace {

/// A setting of a field of a section, and how it is written.
struct InnerSetting {
  std::string_view field;
  SourceRange range;
};

/// The settings that a member makes in the section `key`, in braces or by a
/// path.
std::vector<InnerSetting> settingsIn(const Layer& layer, const Member& member) {
  if (member.path.size() > 1)
    return {{member.path[1].text, member.range}};
  if (member.given || !layer.env || !layer.env->file)
    return {};
  const ast::File& file = *layer.env->file;
  ast::BodyId body = member.body;
  if (member.value != ast::ExprId::none) {
    const auto& node = file[member.value].node;
    if (const auto* record = std::get_if<ast::RecordExpr>(&node))
      body = record->body;
    else if (const auto* amended = std::get_if<ast::Amend>(&node))
      body = amended->body;
  }
  std::vector<InnerSetting> settings;
  if (body != ast::BodyId::none)
    for (const ast::Item& item : file[body].items)
      if (const auto* node = std::get_if<ast::Assignment>(&item.node))
        settings.push_back({node->path.front().text, item.range});
  return settings;
}

/// The member that sets a slot to a record without a name, `{ ... }`; null if
/// there is none.
const Member* bareRecordOf(const Slot& slot) {
  if (slot.chain.empty() || !slot.chain.front().isValue())
    return nullptr;
  const Member& own = *slot.chain.front().member;
  const ast::File* file = slot.chain.front().layer->env->file;
  const bool isRecord =
      !own.given && own.path.size() == 1 && file &&
      std::holds_alternative<ast::RecordExpr>((*file)[own.value].node);
  return isRecord ? &own : nullptr;
}

/// The member that sets a slot to a schema with braces, `llama { ... }`; also
/// returns the braces.
const Member* namedRecordOf(const Slot& slot, SourceRange& braces) {
  if (slot.chain.empty() || !slot.chain.front().isValue())
    return nullptr;
  const Member& own = *slot.chain.front().member;
  const ast::File* file = slot.chain.front().layer->env->file;
  const auto* amend = !own.given && own.path.size() == 1 && file
                          ? std::get_if<ast::Amend>(&(*file)[own.value].node)
                          : nullptr;
  if (!amend)
    return nullptr;
  braces = (*file)[amend->body].range;
  return &own;
}

/// Whether a member gives a record of the schema.
bool givesRecordOf(Evaluator& evaluator, const Layer& layer,
                   const Member& member, const Schema& schema) {
  if (member.given || member.value == ast::ExprId::none || !layer.env ||
      !layer.env->file)
    return false;
  Messages::Muted muted(evaluator.messages);
  const Value value =
      evaluator.evaluate(member.value, member.env ? *member.env : *layer.env);
  Object* const* record = value.get<Object*>();
  return record && (*record)->schema == &schema;
}

} // namespace

bool helpWithReplaced(Evaluator& evaluator, diag::Builder& builder,
                      const Object& object) {
  Slot* slot = object.container ? object.container->find(object.key) : nullptr;
  const Member* own = slot ? bareRecordOf(*slot) : nullptr;
  const bool isBare = own != nullptr;
  SourceRange braces;
  if (isBare)
    braces = (*slot->chain.front().layer->env->file)[own->value].range;
  else if (slot)
    own = namedRecordOf(*slot, braces);
  if (!own)
    return false;
  for (const Layer* layer : object.container->layers)
    for (const Member& member : layer->members) {
      const bool isParents =
          &member != own && member.path.front().text == object.key &&
          (isBare || givesRecordOf(evaluator, *layer, member, *object.schema));
      if (!isParents)
        continue;
      const std::string name(object.key);
      const SourceRange path = own->path.front().range;
      builder
          .help("`=` replaces the parent's `" + name + "`: write `" + name +
                " { ... }`, which amends it")
          .fixIt({path.source, path.end, braces.begin}, " ",
                 isBare ? diag::Applicability::safe
                        : diag::Applicability::maybe);
      return true;
    }
  return false;
}

void warnOfReplaced(Evaluator& evaluator, const Object& object,
                    const Slot& slot) {
  const Member* own = bareRecordOf(slot);
  const Type* type = own ? evaluator.objects.typeOf(object, slot) : nullptr;
  if (!type || type->kind != Type::Kind::schema)
    return;
  const Layer& ownLayer = *slot.chain.front().layer;
  const std::vector<InnerSetting> kept = settingsIn(ownLayer, *own);
  const auto isIn = [](const std::vector<InnerSetting>& settings,
                       std::string_view field) {
    return std::any_of(
        settings.begin(), settings.end(),
        [&](const InnerSetting& each) { return each.field == field; });
  };
  std::vector<InnerSetting> lost;
  for (const Layer* layer : object.layers)
    for (const Member& member : layer->members) {
      if (layer == &ownLayer || member.path.front().text != slot.name)
        continue;
      for (const InnerSetting& each : settingsIn(*layer, member)) {
        const Field* field = type->schema->find(each.field);
        if (!field || isIn(kept, each.field) || isIn(lost, each.field))
          continue;
        // Without a default it is missing, which is an error.
        if (field->declaration->defaultValue == ast::ExprId::none)
          return;
        lost.push_back(each);
      }
    }
  // Later layers amend the new record, so their settings are not lost.
  std::erase_if(lost, [&](const InnerSetting& each) {
    return std::any_of(
        slot.chain.begin() + 1, slot.chain.end(), [&](const Definition& later) {
          return isIn(settingsIn(*later.layer, *later.member), each.field);
        });
  });
  if (lost.empty())
    return;
  std::vector<std::string> names;
  for (const InnerSetting& each : lost)
    names.emplace_back(each.field);
  const std::string name(slot.name);
  const bool isOne = names.size() == 1;
  auto builder = evaluator.messages.report(
      diag::Kind::UnlikelySetting, own->path.front().range,
      "`" + name + " = { ... }` replaces all of `" + name + "`, and " +
          diag::quotedList(names, names.size()) +
          (isOne ? " has its default again" : " have their defaults again"));
  for (const InnerSetting& each : lost)
    builder.label(each.range, "this is lost");
  const SourceRange path = own->path.front().range;
  const SourceRange value = (*ownLayer.env->file)[own->value].range;
  const std::string written(evaluator.sources.text(value));
  const bool isLine = written.find('\n') == written.npos;
  if (evaluator.sources.kind(path.source) != SourceKind::file)
    builder.help("set the fields one by one: `--set " + name + "." +
                 std::string(kept.empty() ? "..." : kept.front().field) +
                 "=...`");
  else
    builder
        .help("write `" + name + " " +
              (isLine ? written : std::string("{ ... }")) +
              "`, without `=`, to change these fields alone")
        .fixIt({path.source, path.end, value.begin}, " ");
}

} // namespace recipec::sema
