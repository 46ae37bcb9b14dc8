// Reports fields that a record does not have, and helps with what was meant:
// another tool's name for a field, a misspelling, or a field of a section or of
// the model.

#include "compiler/sema/names/UnknownKeys.h"

#include "compiler/base/Text.h"
#include "compiler/sema/Evaluator.h"
#include "compiler/sema/names/AssignedRecords.h"
#include "compiler/sema/names/ForeignBraces.h"
#include "compiler/sema/names/HubNames.h"
#include "compiler/sema/names/KeysOfOneSubject.h"
#include "compiler/sema/names/MeantPaths.h"
#include "compiler/sema/names/MeantValues.h"
#include "compiler/sema/names/MisplacedKeys.h"
#include "compiler/sema/names/OtherNames.h"
#include "compiler/sema/names/Sections.h"
#include "compiler/sema/types/Examples.h"
#include "compiler/sema/values/SetPlaces.h"

#include <algorithm>

namespace recipec::sema {
namespace {

/// A shorter prefix of a name is too ambiguous.
constexpr size_t leastPrefix = 3;

/// More fields than this are not listed.
constexpr size_t mostListedFields = 24;

/// The only name of several words with which a longer name begins or ends:
/// `original_max_position` for `original_max_position_embeddings`.
std::optional<std::string> onlyWithin(const std::vector<std::string>& names,
                                      std::string_view longer) {
  std::optional<std::string> only;
  for (const std::string& name : names) {
    if (name.find('_') == name.npos ||
        !(longer.starts_with(name + "_") || longer.ends_with("_" + name)))
      continue;
    if (only)
      return std::nullopt;
    only = name;
  }
  return only;
}

/// The only name that begins with `prefix`: `optimizer` for `optim`.
std::optional<std::string> onlyWith(const std::vector<std::string>& names,
                                    std::string_view prefix) {
  std::optional<std::string> only;
  for (const std::string& name : names) {
    if (prefix.size() < leastPrefix || !name.starts_with(prefix))
      continue;
    if (only)
      return std::nullopt;
    only = name;
  }
  return only;
}

/// Helps with another tool's name for a field of the same record.
void helpWithOwnField(Evaluator& evaluator, diag::Builder& builder,
                      const Object& object, const Layer& layer,
                      const Member& member, KnownField own) {
  const ast::Name& name = member.path.front();
  // `dataset { ... }` means the section, not the field in it.
  const size_t dot = own.path.find('.');
  const std::string set =
      leaveOut(evaluator, object, own.path, name.range.source);
  if (set.empty() &&
      (helpWithBraces(evaluator, builder, object, layer, member, own) ||
       helpWithAssigned(evaluator, builder, object, layer, member, own,
                        "that is `" + own.path + "` here")))
    return;
  if (member.body != ast::BodyId::none && set.empty() && dot != own.path.npos &&
      own.declaration &&
      evaluator.types.resolve(*own.owner->layer.env, own.declaration->type)
              ->kind != Type::Kind::schema) {
    const std::string section = own.path.substr(0, dot);
    builder.help("that is `" + section + "` here").fixIt(name.range, section);
    return;
  }
  if (!set.empty()) {
    const std::string several = severalOf(own);
    builder.help("that is `" + own.path + "` here" + set +
                 (several.empty() ? "" : "; " + several));
    return;
  }
  const MeantValue value = member.path.size() == 1
                               ? meantValue(evaluator, own, layer, member)
                               : MeantValue();
  const bool isFit = value.kind == MeantValue::Kind::asWritten ||
                     value.kind == MeantValue::Kind::mended;
  const std::string record =
      isFit && object.schema == evaluator.recipes.loadedSchema()
          ? recordOfNumber(evaluator, &object, own, value.text)
          : std::string();
  const std::string setting =
      record.empty() ? settingOf(evaluator, own, own.path, value)
                     : own.path.substr(0, own.path.find('.') + 1) + record;
  const bool isOther = value.kind == MeantValue::Kind::mended ||
                       value.kind == MeantValue::Kind::settings ||
                       !record.empty();
  if (isOther && !own.isFixed &&
      evaluator.sources.kind(member.range.source) == SourceKind::file) {
    builder.help("that is `" + own.path + "` here: write `" + setting + "`")
        .fixIt(member.range, setting,
               own.hasOneMeaning ? diag::Applicability::safe
                                 : diag::Applicability::maybe);
    return;
  }
  const Member* const other = own.path.find('.') == own.path.npos
                                  ? excludedBy(*object.schema, own.path, layer)
                                  : nullptr;
  if (other && value.kind == MeantValue::Kind::asWritten) {
    builder.label(other->range, "");
    builder.help("that is `" + own.path + "` here: write `" + setting +
                 "` in place of `" +
                 onOneLine(evaluator.sources.text(other->range)) +
                 "`, or leave it out");
    return;
  }
  if (value.kind == MeantValue::Kind::unfit && own.values.empty()) {
    const Type& type =
        *evaluator.types.resolve(*own.owner->layer.env, own.declaration->type);
    const std::string given(
        evaluator.sources.text((*layer.env->file)[member.value].range));
    const bool isChoice =
        given.starts_with('"') && given.find('\n') == given.npos &&
        std::ranges::any_of(type.members, [](const Type* each) {
          return each->kind == Type::Kind::literal;
        });
    builder.help("that is `" + own.path + "` here, of type `" + nameOf(type) +
                 (isChoice ? "`, which has no `" + given : "") +
                 "`: write, for example, `" + setting + "`");
    return;
  }
  // `zero = "gradients"`: the field takes the value as written, so the remark
  // about other values does not apply.
  if (value.kind == MeantValue::Kind::asWritten && !own.isFixed &&
      !own.values.empty() && !differsInMeaning(own)) {
    builder.help("that is `" + own.path + "` here: write `" + setting + "`")
        .fixIt(name.range, own.path, applicabilityOf(own));
    return;
  }
  builder.help(helpFor(own));
  if (!own.isFixed && own.values.empty())
    builder.fixIt(name.range, own.path, applicabilityOf(own));
}

/// `` `checkpoint { every = 100 steps }` `` for a path of the recipe.
std::string inSection(std::string_view path, const std::string& setting) {
  const size_t dot = path.find('.');
  if (dot == path.npos)
    return setting;
  return std::string(path.substr(0, dot)) + " { " + setting + " }";
}

/// Helps with another tool's name for a field of another section.
void helpWithFieldElsewhere(Evaluator& evaluator, diag::Builder& builder,
                            const Layer& layer, const Member& member,
                            const KnownField& other) {
  std::string set;
  if (evaluator.root && !other.isFixed)
    set = leaveOut(evaluator, *evaluator.root, other.path,
                   member.path.front().range.source);
  const bool isFile =
      evaluator.sources.kind(member.range.source) == SourceKind::file;
  const MeantValue value = set.empty() && !other.isFixed && isFile &&
                                   other.owner && member.path.size() == 1
                               ? meantValue(evaluator, other, layer, member)
                               : MeantValue();
  const bool isFit = value.kind == MeantValue::Kind::asWritten ||
                     value.kind == MeantValue::Kind::mended;
  if (!set.empty() || other.isFixed || differsInMeaning(other) ||
      (!other.values.empty() && !isFit) || !isFile || !other.owner ||
      member.path.size() != 1) {
    builder.help(set.empty() ? helpFor(other)
                             : "that is `" + other.path + "` here" + set);
    return;
  }
  const size_t dot = other.path.find('.');
  const std::string record =
      isFit ? recordOfNumber(evaluator, evaluator.root, other, value.text)
            : std::string();
  const std::string setting =
      record.empty()
          ? settingOf(evaluator, other,
                      dot == other.path.npos ? other.path
                                             : other.path.substr(dot + 1),
                      value)
          : record;
  const bool isKnown = value.kind != MeantValue::Kind::unfit &&
                       value.kind != MeantValue::Kind::unknown &&
                       value.kind != MeantValue::Kind::settings;
  builder.help(
      (isFit ? "that is `" + other.path + "` here" : helpFor(other)) +
      (isKnown ? ": write `" + inSection(other.path, setting) + "`"
       : value.kind == MeantValue::Kind::unfit
           ? ": write, for example, `" + inSection(other.path, setting) + "`"
           : ""));
}

/// Helps if another tool uses the name for a field of the schema, or else for a
/// field of the recipe.
bool helpWithOtherName(Evaluator& evaluator, diag::Builder& builder,
                       const Object& object, const Layer& layer,
                       const Member& member) {
  const ast::Name& name = member.path.front();
  const Schema& schema = *object.schema;
  if (std::optional<KnownField> own =
          fieldKnownAs(evaluator, schema, name.text)) {
    if (helpWithServing(evaluator, builder, object, *own))
      return true;
    helpWithOwnField(evaluator, builder, object, layer, member, *own);
    return true;
  }
  if (std::string_view help = insteadOfKey(evaluator, schema, member);
      !help.empty()) {
    builder.help(std::string(help));
    return true;
  }
  const Schema* const recipes = evaluator.recipes.loadedSchema();
  if (!recipes || &schema == recipes)
    return false;
  // Skip names of our own fields in sections, such as `dir`.
  if (!sectionsWith(evaluator, *recipes, name.text).empty())
    return false;
  std::optional<KnownField> other =
      fieldKnownAs(evaluator, *recipes, name.text, true);
  if (other && !helpWithServing(evaluator, builder, object, *other))
    helpWithFieldElsewhere(evaluator, builder, layer, member, *other);
  return other.has_value();
}

/// Whether a field of the recipe, or of one of its sections, takes records of a
/// schema.
bool isSection(Evaluator& evaluator, const Schema& around, const Schema& schema,
               int depth = 2) {
  for (const Field& field : around.fields) {
    const Type& type =
        *evaluator.types.resolve(*around.layer.env, field.declaration->type);
    std::vector<const Type*> members = type.members;
    members.push_back(&type);
    for (const Type* member : members)
      if (member->kind == Type::Kind::schema &&
          (member->schema == &schema ||
           (depth > 0 &&
            isSection(evaluator, *member->schema, schema, depth - 1))))
        return true;
  }
  return false;
}

/// Helps with a misspelling of another tool's name.
bool helpWithNearName(Evaluator& evaluator, diag::Builder& builder,
                      const Object& object, const ast::Name& name) {
  const Schema* const recipes = evaluator.recipes.loadedSchema();
  for (const Schema* schema : {object.schema, recipes}) {
    // Do not search the recipe's fields for a record that no recipe holds, such
    // as a model.
    if (!schema || (schema == recipes && schema != object.schema &&
                    !isSection(evaluator, *recipes, *object.schema)))
      continue;
    auto near = nearestOtherName(evaluator, *schema, name.text);
    auto known = near ? fieldKnownAs(evaluator, *schema, *near) : std::nullopt;
    if (!known)
      continue;
    builder.help(known->path.empty()
                     ? helpFor(*known)
                     : "`" + *near + "` of other tools is `" + known->path +
                           "` here" +
                           (known->values.empty() ? "" : ": " + known->values));
    return true;
  }
  return false;
}

/// Reports all keys that set one field as one error, at the first of them:
/// `betas = [0.9, 0.98]` for `beta1` and `beta2`. Returns false if the keys do
/// not set a common field.
bool reportKeysOfOneField(Evaluator& evaluator, const Object& object,
                          const Layer& layer, const Member& member) {
  if (layer.isArguments)
    return false;
  const Schema& schema = *object.schema;
  const auto keys = keysOfOneField(evaluator, schema, layer, member);
  if (keys.empty())
    return false;
  const std::string setting = settingOfAll(evaluator, object, layer, keys);
  if (setting.empty())
    return false;
  if (keys.front() != &member)
    return true;
  // The names that the setting replaces, including the field itself if it is
  // set.
  std::vector<std::string> names;
  for (const Member* key : keys)
    names.push_back(key->path[0].text);
  const std::string head = setting.substr(0, setting.find(' '));
  std::vector<std::string> replaced = names;
  for (const Member& each : layer.members) {
    const bool isHead = each.path.size() == 1 && each.path[0].text == head;
    if (isHead)
      replaced.insert(replaced.begin(), head);
  }
  auto builder = evaluator.messages.report(
      diag::Kind::UnknownKey, member.path[0].range,
      "`" + std::string(schema.shownName()) + "` has no field" +
          (names.size() > 1 ? "s " : " ") +
          diag::quotedList(names, names.size()));
  for (size_t i = 1; i < keys.size(); ++i)
    builder.label(keys[i]->path[0].range, "");
  builder.help("write `" + setting + "` in place of " +
               diag::quotedList(replaced, replaced.size()));
  if (keys.size() == 1 && replaced.size() == 1)
    builder.fixIt(member.range, setting);
  return true;
}

/// Helps with a path whose section and field are both named differently:
/// `trainer.max_steps` for `train.steps`.
bool helpWithOtherPath(Evaluator& evaluator, diag::Builder& builder,
                       const Object& object, const Member& member) {
  if (member.path.size() != 2)
    return false;
  const auto section =
      fieldKnownAs(evaluator, *object.schema, member.path[0].text);
  if (!section || section->path.empty())
    return false;
  const Schema* schema = object.schema;
  for (const std::string& part : namesOfPath(section->path)) {
    const Field* field = schema ? schema->find(part) : nullptr;
    schema = field ? onlySchemaOf(*evaluator.types.resolve(
                         *schema->layer.env, field->declaration->type))
                   : nullptr;
  }
  if (!schema)
    return false;
  const ast::Name& name = member.path[1];
  KnownField meant;
  meant.path = name.text;
  if (!schema->find(name.text)) {
    auto known = fieldKnownAs(evaluator, *schema, name.text);
    if (!known || known->path.empty())
      return false;
    meant = *std::move(known);
  }
  meant.path = section->path + "." + meant.path;
  builder.help(helpFor(meant));
  if (!meant.isFixed && meant.values.empty())
    builder.fixIt(cover(member.path[0].range, name.range), meant.path,
                  applicabilityOf(meant));
  return true;
}

/// Helps with a field of the recipe's model that lacks its section: `hidden`
/// for `model.hidden`.
bool helpWithModelField(Evaluator& evaluator, diag::Builder& builder,
                        const Object& object, const ast::Name& name) {
  if (object.schema != evaluator.recipes.loadedSchema())
    return false;
  for (const Layer* layer : object.layers)
    for (const Member& member : layer->members) {
      const Field* field = object.schema->find(member.path.front().text);
      const bool isModel =
          field && member.path.size() == 1 && !member.given &&
          member.value != ast::ExprId::none &&
          evaluator.types
                  .resolve(*object.schema->layer.env, field->declaration->type)
                  ->kind == Type::Kind::model;
      if (!isModel)
        continue;
      Messages::Muted muted(evaluator.messages);
      const Value model = evaluator.evaluate(member.value, *layer->env);
      Object* const* record = model.get<Object*>();
      const Schema* const* schema = model.get<const Schema*>();
      const Schema* declared = record   ? (*record)->schema
                               : schema ? *schema
                                        : nullptr;
      const Field* meant = declared ? declared->find(name.text) : nullptr;
      if (!meant || meant->declaration->isFixed)
        continue;
      const std::string path = member.path.front().text + "." + name.text;
      builder
          .help("`" + name.text + "` is a field of the model: write `" + path +
                "`")
          .fixIt(name.range, path);
      return true;
    }
  return false;
}

/// Whether a path leads to a field of the recipe. Below the model any name may
/// be a field.
bool isPathOfRecipe(Evaluator& evaluator, std::string_view path) {
  const Schema* schema = evaluator.recipes.loadedSchema();
  for (const std::string& part : namesOfPath(path)) {
    const Field* field = schema ? schema->find(part) : nullptr;
    if (!field)
      return false;
    const Type& type =
        *evaluator.types.resolve(*schema->layer.env, field->declaration->type);
    if (type.kind == Type::Kind::model)
      return true;
    schema = onlySchemaOf(type);
  }
  return true;
}

/// Corrects the path of a `--set` argument and keeps its value: `parallel.tp=2`
/// for `tp=2`, `base.parallel.tp=2`, `parallel_tp=2` or `Parallel.TP=2`.
bool helpWithArgument(Evaluator& evaluator, diag::Builder& builder,
                      const Object& object, const Member& member) {
  const SourceRange first = member.path.front().range;
  if (evaluator.sources.kind(first.source) != SourceKind::commandLine ||
      object.schema != evaluator.recipes.loadedSchema() || member.given ||
      member.range.source != first.source)
    return false;
  std::string path, rest;
  for (const ast::Name& name : member.path) {
    path += (path.empty() ? "" : ".") + name.text;
    if (&name != &member.path.front())
      rest += (rest.empty() ? "" : ".") + name.text;
  }
  std::string lower = path;
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return char(std::tolower(c)); });
  std::vector<std::string> candidates = {lower, rest};
  for (size_t at = lower.find('_'); at != lower.npos;
       at = lower.find('_', at + 1)) {
    candidates.push_back(lower);
    candidates.back()[at] = '.';
  }
  for (const std::string& section :
       sectionsWith(evaluator, *object.schema, path))
    candidates.push_back(section + "." + path);
  const SourceRange whole = cover(first, member.path.back().range);
  for (const std::string& meant : candidates) {
    if (meant.empty() || meant == path || !isPathOfRecipe(evaluator, meant))
      continue;
    std::string argument(evaluator.sources.text(member.range));
    argument.replace(0, whole.end - whole.begin, meant);
    const bool isPlain = argument.find_first_of(" \"'{}[]()$") == argument.npos;
    const bool isQuotable = argument.find('\'') == argument.npos;
    builder
        .help("write `--set " +
              (isPlain      ? argument
               : isQuotable ? "'" + argument + "'"
                            : meant + "=...") +
              "`")
        .fixIt(whole, meant);
    return true;
  }
  return false;
}

/// Whether a key of the recipe is a field of exactly one section. With braces,
/// the field must take a record.
bool isFieldOfOneSection(Evaluator& evaluator, const Object& object,
                         const Layer& layer, const Member& member) {
  const Schema& schema = *object.schema;
  const std::string& name = member.path.front().text;
  if (&schema != evaluator.recipes.loadedSchema() || layer.isArguments)
    return false;
  const auto sections = sectionsWith(evaluator, schema, name);
  if (sections.size() != 1)
    return false;
  const bool isRecord =
      member.body != ast::BodyId::none || member.path.size() > 1;
  if (!isRecord)
    return true;
  const Schema& section = *onlySchemaOf(*evaluator.types.resolve(
      *schema.layer.env, schema.find(sections[0])->declaration->type));
  return !schemasOf(
              *evaluator.types.resolve(*section.layer.env,
                                       section.find(name)->declaration->type))
              .empty();
}

bool helpWithNearest(Evaluator& evaluator, diag::Builder& builder,
                     const Object& object, const Member& member) {
  const bool isRecord =
      member.body != ast::BodyId::none || member.path.size() > 1;
  return evaluator.nearestFields.help(builder, *object.schema,
                                      member.path.front().text, isRecord);
}

/// Lists the fields of a record, up to a limit, and the command that describes
/// them.
std::string fieldsListed(Evaluator& evaluator, const Schema& schema,
                         std::vector<std::string> names) {
  const size_t left = names.size() - std::min(names.size(), mostListedFields);
  names.resize(names.size() - left);
  std::string list;
  for (const std::string& field : names)
    list += (list.empty() ? "`" : ", `") + field + "`";
  if (left > 0)
    list += " and " + std::to_string(left) + " more";
  list = (names.size() == 1 ? "its one field is " : "its fields are ") + list;
  if (evaluator.isLibrary(schema.range))
    list += "; `recipec doc " + std::string(schema.shownName()) + "` " +
            (names.size() == 1 ? "describes it" : "describes them");
  return list;
}

} // namespace

void reportUnknownKey(Evaluator& evaluator, const Object& object,
                      const Layer& layer, const Member& member) {
  // Trials of remedies evaluate the record again without messages.
  if (evaluator.messages.isMuted())
    return;
  const Schema& schema = *object.schema;
  const ast::Name& name = member.path.front();
  // The help functions search every field of every section, which is slow.
  constexpr int mostHelped = 200;
  const bool isHelped = evaluator.messages.errors() <= mostHelped;
  // A field of one section, such as `lr`, takes precedence over other tools'
  // names.
  const bool isOfSection =
      isHelped && isFieldOfOneSection(evaluator, object, layer, member);
  if (isHelped &&
      (reportKeysOfOneField(evaluator, object, layer, member) ||
       reportArgumentsOfOneField(evaluator, object, layer, member) ||
       (!isOfSection && reportAbsentSubject(evaluator, object, layer, member))))
    return;
  auto builder = evaluator.messages.report(
      layer.isArguments ? diag::Kind::UnknownArgument : diag::Kind::UnknownKey,
      name.range,
      "`" + std::string(schema.shownName()) + "` has no field `" + name.text +
          "`");
  if (!isHelped)
    return;
  if (helpWithInnerSweep(evaluator, builder, object, layer, member) ||
      helpWithMeantPath(evaluator, builder, object, member) ||
      helpWithArgument(evaluator, builder, object, member) ||
      helpWithAxisPath(evaluator, builder, object, member) ||
      helpWithOtherPath(evaluator, builder, object, member) ||
      (!isOfSection &&
       helpWithOtherName(evaluator, builder, object, layer, member)))
    return;
  if (helpWithHubName(evaluator, builder, schema, name) ||
      helpWithRecordName(evaluator, builder, object, layer, member))
    return;
  std::vector<std::string> names;
  for (const Field& field : schema.fields)
    if (!field.declaration->isFixed)
      names.push_back(field.declaration->name.text);
  if (&schema == evaluator.recipes.loadedSchema())
    names.emplace_back(sweepName);
  if (builder.suggest(name.range, name.text, names))
    return;
  std::optional<std::string> whole = onlyWith(names, name.text);
  if (!whole)
    whole = onlyWithin(names, name.text);
  if (whole) {
    builder.help("did you mean `" + *whole + "`?").fixIt(name.range, *whole);
    return;
  }
  if (helpWithSection(evaluator, builder, object, layer, member))
    return;
  if (const Schema* recipes = evaluator.recipes.loadedSchema();
      recipes && &schema != recipes && evaluator.isLibrary(schema.range) &&
      !layer.isArguments) {
    const Field* outside = recipes->find(name.text);
    // A field of the recipe with the same name must take the value.
    const bool isMeant =
        outside && !outside->declaration->isFixed &&
        (evaluator.types
                 .resolve(*recipes->layer.env, outside->declaration->type)
                 ->kind == Type::Kind::schema ||
         mayTake(evaluator, *recipes, *outside, layer, member));
    if (isMeant) {
      builder.help("`" + name.text +
                   "` is a field of the recipe: write it beside `" +
                   std::string(schema.name) + "`, not in it");
      return;
    }
  }
  if (helpWithRecordOfRecipe(evaluator, builder, object, layer, member) ||
      helpWithModelField(evaluator, builder, object, name))
    return;
  const bool isOfSibling = !names.empty() && !member.given &&
                           helpWithSibling(evaluator, builder, object, name);
  if (names.empty() && !layer.isArguments)
    builder.help("a `" + std::string(schema.shownName()) +
                 "` has no fields: name another record before the braces, or "
                 "leave them out");
  if (names.empty() && layer.isArguments)
    builder.help("it takes no arguments: write `" +
                 std::string(schema.shownName()) + "()`");
  // Try the words of the name before misspellings: `max_num_steps` is not a
  // misspelt `max_num_seqs`.
  if (names.empty() ||
      (!isOfSibling && (helpWithNearest(evaluator, builder, object, member) ||
                        helpWithNearName(evaluator, builder, object, name))))
    return;
  std::string list = fieldsListed(evaluator, schema, std::move(names));
  if (isOfSibling)
    builder.otherwise(std::move(list));
  else
    builder.help(std::move(list));
}

} // namespace recipec::sema
