// Settings of other tools that have braces; see ForeignBraces.h.
//
// 1. Take the keys in the braces of `zero_optimization { stage = 3 }`, in those
//    of a value, or at the end of a path.
// 2. Find the field that each key sets. Try a field of the same section, by its
//    own name or another tool's, then the field that the braces stand for, then
//    a field elsewhere in the recipe. The first that takes the value is used.
// 3. Write the settings by section. Leave out keys that set nothing.

#include "compiler/sema/names/ForeignBraces.h"

#include "compiler/sema/Evaluator.h"
#include "compiler/sema/names/MeantValues.h"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

namespace recipec::sema {
namespace {

/// Whether a key gives the value of the setting itself, such as `stage` in
/// DeepSpeed's `zero_optimization`.
bool namesValue(std::string_view key) {
  constexpr std::string_view names[] = {
      "stage",  "level",  "mode",   "enabled", "enable",      "active",
      "use",    "type",   "kind",   "name",    "strategy",    "value",
      "method", "policy", "degree", "size",    "granularity", "state"};
  return std::find(std::begin(names), std::end(names), key) != std::end(names);
}

/// A key in the braces.
struct InnerKey {
  std::string name;
  ast::ExprId value = ast::ExprId::none;
};

std::vector<InnerKey> keysOf(const ast::File& file, const Member& member) {
  std::vector<InnerKey> keys;
  if (member.path.size() == 2 && member.body == ast::BodyId::none)
    return {{member.path[1].text, member.value}};
  ast::BodyId body = member.body;
  if (body == ast::BodyId::none && member.value != ast::ExprId::none)
    if (const auto* record =
            std::get_if<ast::RecordExpr>(&file[member.value].node))
      body = record->body;
  if (member.path.size() != 1 || body == ast::BodyId::none)
    return {};
  for (const ast::Item& item : file[body].items)
    if (const auto* node = std::get_if<ast::Assignment>(&item.node))
      keys.push_back({node->path.front().text, node->path.size() == 1
                                                   ? node->value
                                                   : ast::ExprId::none});
  return keys;
}

class Braces {
public:
  Braces(Evaluator& evaluator, const Object& object, const Layer& layer,
         const Member& member, const KnownField& known)
      : evaluator(evaluator), object(object), layer(layer), member(member),
        known(known) {}

  bool help(diag::Builder& builder);

private:
  /// A field and its section; an empty section is that of `object`.
  struct Target {
    std::string section;
    KnownField field;
  };

  std::optional<std::string> settingOfKey(const Target& target,
                                          const InnerKey& key) const;
  bool take(const InnerKey& key);
  void add(const std::string& section, std::string setting);
  const Schema* sectionOf() const;

  Evaluator& evaluator;
  const Object& object;
  const Layer& layer;
  const Member& member;
  const KnownField& known;
  /// By section, in the order of the keys.
  std::vector<std::pair<std::string, std::vector<std::string>>> settings;
};

/// The schema with the field that the braces stand for.
const Schema* Braces::sectionOf() const {
  return known.path.find('.') == std::string::npos ? object.schema
                                                   : known.owner;
}

std::optional<std::string> Braces::settingOfKey(const Target& target,
                                                const InnerKey& key) const {
  if (target.field.isFixed || !target.field.declaration ||
      key.value == ast::ExprId::none)
    return std::nullopt;
  Member inner;
  inner.value = key.value;
  inner.env = member.env;
  const MeantValue value = meantValue(evaluator, target.field, layer, inner);
  if (value.kind == MeantValue::Kind::unfit ||
      value.kind == MeantValue::Kind::unknown)
    return std::nullopt;
  return settingOf(evaluator, target.field, target.field.declaration->name.text,
                   value);
}

void Braces::add(const std::string& section, std::string setting) {
  auto found =
      std::find_if(settings.begin(), settings.end(),
                   [&](const auto& each) { return each.first == section; });
  if (found == settings.end())
    found = settings.insert(settings.end(), {section, {}});
  const std::string field = setting.substr(0, setting.find(" ="));
  const bool isSet = std::any_of(
      found->second.begin(), found->second.end(),
      [&](const std::string& each) { return each.starts_with(field + " ="); });
  if (!isSet)
    found->second.push_back(std::move(setting));
}

bool Braces::take(const InnerKey& key) {
  const size_t dot = known.path.find('.');
  const std::string section =
      dot == std::string::npos ? "" : known.path.substr(0, dot);
  std::vector<Target> targets;
  const Schema& schema = *sectionOf();
  if (const Field* own = schema.find(key.name))
    targets.push_back({section,
                       {key.name, own->declaration->isFixed, "", true, &schema,
                        own->declaration}});
  if (auto other = fieldKnownAs(evaluator, schema, key.name);
      other && other->path.find('.') == std::string::npos)
    targets.push_back({section, *std::move(other)});
  // A string may be one of the field's choices, whatever its key is called.
  const bool isText =
      key.value != ast::ExprId::none &&
      std::holds_alternative<ast::StringLiteral>(
          (*layer.env->file)[key.value].node) &&
      evaluator.types.resolve(*known.owner->layer.env, known.declaration->type)
              ->kind != Type::Kind::string;
  if (isText || namesValue(key.name))
    targets.push_back({section, known});
  if (const Schema* recipes = evaluator.recipes.loadedSchema())
    if (auto other = fieldKnownAs(evaluator, *recipes, key.name, true);
        other && std::count(other->path.begin(), other->path.end(), '.') == 1)
      targets.push_back(
          {other->path.substr(0, other->path.find('.')), *std::move(other)});
  for (const Target& target : targets)
    if (auto setting = settingOfKey(target, key)) {
      add(target.section, std::move(*setting));
      return true;
    }
  return false;
}

bool Braces::help(diag::Builder& builder) {
  const size_t dots =
      size_t(std::count(known.path.begin(), known.path.end(), '.'));
  if (!known.declaration || !known.owner || known.isFixed || dots > 1 ||
      member.given || !layer.env || !layer.env->file ||
      evaluator.sources.kind(member.range.source) != SourceKind::file)
    return false;
  const Type& type = *evaluator.types.resolve(*known.owner->layer.env,
                                              known.declaration->type);
  // A section keeps its braces, and each key in it has its own help.
  if (type.kind == Type::Kind::schema)
    return false;
  std::vector<std::string> left;
  for (const InnerKey& key : keysOf(*layer.env->file, member))
    if (!take(key))
      left.push_back(key.name);
  const bool takesRecords = std::any_of(
      type.members.begin(), type.members.end(),
      [](const Type* each) { return each->kind == Type::Kind::schema; });
  if (settings.empty() && !left.empty() && !takesRecords) {
    builder.help(known.values.empty()
                     ? "that is `" + known.path + "` here, without " +
                           diag::quotedList(left, left.size()) +
                           ": leave it out"
                     : helpFor(known));
    return true;
  }
  if (settings.empty())
    return false;
  std::string all;
  for (size_t i = 0; i < settings.size(); ++i) {
    std::string text;
    for (const std::string& each : settings[i].second)
      text += (text.empty() ? "" : ", ") + each;
    const std::string& section = settings[i].first;
    all += (i == 0                     ? "`"
            : i + 1 == settings.size() ? " and `"
                                       : ", `") +
           (section.empty() ? text : section + " { " + text + " }") + "`";
  }
  builder.help(
      "that is `" + known.path + "` here: write " + all +
      (left.empty()
           ? ""
           : ", and leave " + diag::quotedList(left, left.size()) + " out"));
  if (left.empty() && settings.size() == 1)
    builder.fixIt(member.range, all.substr(1, all.size() - 2));
  return true;
}

} // namespace

bool helpWithBraces(Evaluator& evaluator, diag::Builder& builder,
                    const Object& object, const Layer& layer,
                    const Member& member, const KnownField& known) {
  return Braces(evaluator, object, layer, member, known).help(builder);
}

} // namespace recipec::sema
