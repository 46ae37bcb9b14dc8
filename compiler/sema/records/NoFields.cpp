// Reports fields that are set in a value without fields; see NoFields.h.
//
// 1. If the field's name and a key together name a field of the same record,
//    here or in another tool, write that field: `recompute_granularity` for
//    `recompute { granularity }`.
// 2. Otherwise, if the field takes records, write the record that has the keys.
// 3. Otherwise list the choices of the field, or quote the field's comment.

#include "compiler/sema/records/NoFields.h"

#include "compiler/sema/Evaluator.h"
#include "compiler/sema/names/MeantPaths.h"
#include "compiler/sema/names/MeantValues.h"
#include "compiler/sema/types/Convert.h"
#include "compiler/sema/types/Examples.h"
#include "compiler/sema/types/Mismatch.h"
#include "compiler/sema/types/Quotation.h"
#include "compiler/sema/values/Comments.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace recipec::sema {
namespace {

/// A key with a value, in the braces or at the end of the path.
struct SetKey {
  std::string name;
  ast::ExprId value = ast::ExprId::none;
};

/// A setting of a field in the same record that a key means.
struct SettingOfKey {
  std::string field, text;
  bool isKind = false; // the key names the kind of a record
};

/// Whether other tools use this key to name the kind of a record.
bool namesKind(std::string_view key) {
  constexpr std::string_view kinds[] = {
      "type",        "kind",  "name",      "_target_", "format",  "source",
      "_component_", "class", "scheduler", "library",  "backend", "provider"};
  return std::find(std::begin(kinds), std::end(kinds), key) != std::end(kinds);
}

class NoFields {
public:
  NoFields(Evaluator& evaluator, Object& object, const Slot& slot,
           const Value& base)
      : evaluator(evaluator), object(object), slot(slot), base(base),
        definition(slot.chain.back()),
        type(evaluator.objects.typeOf(object, slot)),
        env(*evaluator.objects.scopeOf(object, definition)) {
    collect();
    if (base.isNumber())
      correct();
  }

  void report(const Suggestion* list);

private:
  void collect();
  void correct();
  std::vector<const Schema*> records() const;
  SourceRange place() const;
  std::string message() const;
  std::string textOf(const SetKey& key) const;
  MeantValue meant(const KnownField& field, const SetKey& key) const;
  bool helpWithFieldsAround(diag::Builder& builder) const;
  const Schema* namedRecord() const;
  std::string recordOf(const Schema& schema, bool& isWhole) const;
  bool helpWithRecords(diag::Builder& builder) const;
  bool helpWithChoice(diag::Builder& builder) const;
  bool isArgument() const {
    return evaluator.sources.kind(definition.member->range.source) ==
           SourceKind::commandLine;
  }
  std::string set(const std::string& value) const;

  Evaluator& evaluator;
  Object& object;
  const Slot& slot;
  const Value& base;
  const Definition& definition;
  const Type* type;
  const Env& env;
  std::vector<SetKey> keys;
};

/// Corrects misspelt keys to the nearest field of a record: `peek` to `peak`.
void NoFields::correct() {
  const std::vector<const Schema*> schemas = records();
  for (SetKey& key : keys) {
    const bool isKnown =
        namesKind(key.name) ||
        std::any_of(schemas.begin(), schemas.end(), [&](const Schema* schema) {
          return schema->find(key.name) ||
                 fieldKnownAs(evaluator, *schema, key.name);
        });
    for (const Schema* schema : schemas) {
      const std::string near =
          isKnown ? std::string() : nearField(*schema, key.name);
      if (near.empty())
        continue;
      key.name = near;
      break;
    }
  }
}

void NoFields::collect() {
  const Member& member = *definition.member;
  const size_t behind = definition.depth + 1;
  if (behind < member.path.size()) {
    if (behind + 1 == member.path.size() && member.body == ast::BodyId::none)
      keys.push_back({member.path[behind].text, member.value});
    return;
  }
  if (member.body == ast::BodyId::none)
    return;
  for (const ast::Item& item : (*env.file)[member.body].items)
    if (auto* node = std::get_if<ast::Assignment>(&item.node);
        node && node->path.size() == 1 && node->body == ast::BodyId::none)
      keys.push_back({node->path[0].text, node->value});
}

/// The schemas of the records that the field takes.
std::vector<const Schema*> NoFields::records() const {
  std::vector<const Schema*> schemas;
  for (const Type* member : type ? type->members : std::vector<const Type*>())
    if (member->kind == Type::Kind::schema)
      schemas.push_back(member->schema);
  return schemas;
}

SourceRange NoFields::place() const {
  const std::span<const ast::Name> path = definition.member->path;
  const SourceRange first = path[definition.depth].range;
  const SourceRange last = path.back().range;
  return first.isValid() && first.source == last.source
             ? cover(first, last)
             : definition.member->range;
}

std::string NoFields::message() const {
  const std::string path = "`" + evaluator.pathOf(object, slot.name) + "`";
  std::vector<std::string> names;
  for (const Schema* schema : records())
    names.emplace_back(schema->shownName());
  const bool isPath = definition.depth + 1 < definition.member->path.size();
  if (!names.empty() && base.isNumber())
    return path + " is the number " + describe(evaluator, base) +
           ", which has no " +
           (isPath ? "field `" + definition.member->path.back().text + "`"
                   : "fields to set");
  if (names.size() > 1)
    return path + " is one of " + diag::quotedList(names, names.size()) +
           ", and no name says which";
  return path + " is of type `" + (type ? nameOf(*type) : typeNameOf(base)) +
         "`, which has no fields to set";
}

std::string NoFields::textOf(const SetKey& key) const {
  if (key.value == ast::ExprId::none)
    return {};
  const std::string text(evaluator.sources.text((*env.file)[key.value].range));
  return text.find('\n') == text.npos ? text : std::string();
}

MeantValue NoFields::meant(const KnownField& field, const SetKey& key) const {
  Layer layer;
  layer.env = &env;
  Member member;
  member.value = key.value;
  return meantValue(evaluator, field, layer, member);
}

/// An assignment of `value` to the slot, as it is written in its place.
std::string NoFields::set(const std::string& value) const {
  if (!isArgument())
    return std::string(slot.name) + " = " + value;
  const std::string argument =
      evaluator.pathOf(object, slot.name) + "=" + value;
  const bool isPlain = argument.find_first_of(" \"()[]{}") == argument.npos;
  return "--set " + (isPlain ? argument : "'" + argument + "'");
}

bool NoFields::helpWithFieldsAround(diag::Builder& builder) const {
  if (!object.schema || isArgument())
    return false;
  std::vector<SettingOfKey> settings;
  for (const SetKey& key : keys) {
    const std::string joined = std::string(slot.name) + "_" + key.name;
    KnownField known;
    if (const Field* own = object.schema->find(joined))
      known = {joined,        own->declaration->isFixed, "", true,
               object.schema, own->declaration};
    else if (auto other = fieldKnownAs(evaluator, *object.schema, joined))
      known = *std::move(other);
    if (known.path.empty() || known.isFixed ||
        known.path.find('.') != known.path.npos)
      continue;
    const MeantValue value = meant(known, key);
    // A value that is not constant, such as `"{folder}/tokenizer.json"`, stays
    // as written.
    const std::string text =
        value.kind == MeantValue::Kind::unknown && !textOf(key).empty()
            ? known.path + " = " + textOf(key)
        : value.kind == MeantValue::Kind::unfit ||
                value.kind == MeantValue::Kind::unknown
            ? std::string()
            : settingOf(evaluator, known, known.path, value);
    if (text.empty())
      continue;
    auto same = std::find_if(
        settings.begin(), settings.end(),
        [&](const SettingOfKey& each) { return each.field == known.path; });
    // If both a type and a path of a tokenizer are given, use the path.
    if (same == settings.end())
      settings.push_back({known.path, text, namesKind(key.name)});
    else if (same->isKind && !namesKind(key.name))
      *same = {known.path, text, false};
  }
  std::string all;
  for (const SettingOfKey& each : settings)
    all += (all.empty() ? "" : ", ") + each.text;
  if (all.empty())
    return false;
  builder.help("write `" + all + "`");
  if (definition.member->path.size() == 1)
    builder.fixIt(definition.member->range, all);
  return true;
}

/// The schema that a key names, `type = "jsonl"`; else the first schema that
/// has all keys.
const Schema* NoFields::namedRecord() const {
  const std::vector<const Schema*> schemas = records();
  for (const SetKey& key : keys) {
    const std::string text = textOf(key);
    if (!namesKind(key.name) || text.size() < 2 || text.front() != '"')
      continue;
    const std::string name = text.substr(1, text.size() - 2);
    const auto known = evaluator.library.knownAs(name);
    for (const Schema* schema : schemas)
      if (isSameName(schema->shownName(), name) ||
          (known && known->name == schema->shownName()))
        return schema;
  }
  for (const Schema* schema : schemas) {
    const bool hasAll =
        std::all_of(keys.begin(), keys.end(), [&](const SetKey& key) {
          const auto known = fieldKnownAs(evaluator, *schema, key.name);
          return schema->find(key.name) || (known && known->declaration);
        });
    if (hasAll && !keys.empty())
      return schema;
  }
  return nullptr;
}

/// The arguments of a record made from the keys:
/// `peak = 1e-4, warmup = 10 steps`. Sets `isWhole` to false if required fields
/// are missing.
std::string NoFields::recordOf(const Schema& schema, bool& isWhole) const {
  std::vector<std::pair<std::string, std::string>> arguments; // by field
  for (const SetKey& key : keys) {
    KnownField known;
    if (const Field* own = schema.find(key.name))
      known = {key.name, own->declaration->isFixed, "", true,
               &schema,  own->declaration};
    else if (auto other = fieldKnownAs(evaluator, schema, key.name))
      known = *std::move(other);
    if (known.path.empty() || known.isFixed || !known.declaration)
      continue;
    const MeantValue value = meant(known, key);
    if (value.kind == MeantValue::Kind::asWritten ||
        value.kind == MeantValue::Kind::mended)
      arguments.emplace_back(known.path, value.text);
  }
  isWhole = true;
  for (const Field& field : schema.fields) {
    const ast::FieldDecl& declared = *field.declaration;
    const bool isGiven =
        std::any_of(arguments.begin(), arguments.end(), [&](const auto& each) {
          return each.first == declared.name.text;
        });
    if (declared.isFixed || isGiven ||
        declared.defaultValue != ast::ExprId::none)
      continue;
    // Take `peak` of a schedule from the number that `lr` is.
    if (base.isNumber() && arguments.size() == keys.size() &&
        convert(evaluator, base,
                *evaluator.types.resolve(*schema.layer.env, declared.type)))
      arguments.emplace(arguments.begin(), declared.name.text,
                        describe(evaluator, base));
    else
      isWhole = false;
  }
  std::string text;
  for (const auto& [name, value] : arguments)
    text += (text.empty() ? "" : ", ") + name + " = " + value;
  return text;
}

bool NoFields::helpWithRecords(diag::Builder& builder) const {
  const std::vector<const Schema*> schemas = records();
  if (schemas.empty())
    return false;
  const Schema* const named = namedRecord();
  bool isWhole = false;
  const std::string arguments = named ? recordOf(*named, isWhole) : "";
  std::vector<std::string> ways;
  // For `lr.peak = 1e-3`, offer the plain number too: `lr = 1e-3`.
  if (named && keys.size() == 1 && !named->fields.empty() &&
      named->fields.front().declaration->name.text == keys[0].name &&
      base.isNumber())
    ways.push_back(set(textOf(keys[0])));
  if (named && isWhole)
    for (const std::string& form : formsOf(*named)) {
      // Do not add a form that the arguments already have.
      const std::string field = form.substr(0, form.find(" ="));
      const bool isGiven =
          field.size() > 2 &&
          arguments.find(field.substr(2) + " =") != std::string::npos;
      ways.push_back(set(std::string(named->shownName()) + "(" + arguments +
                         (isGiven ? "" : form) + ")"));
      if (isGiven)
        break;
    }
  if (!ways.empty()) {
    builder.help("write " + joinAlternatives(ways));
    return true;
  }
  for (const Schema* schema : schemas)
    if (!named || schema == named)
      ways.push_back(set(std::string(schema->shownName()) + " { ... }"));
  builder.help("name the record before its braces: " + joinAlternatives(ways));
  return true;
}

/// Lists the literals of the field.
bool NoFields::helpWithChoice(diag::Builder& builder) const {
  constexpr size_t mostListed = 12;
  std::vector<std::string> values;
  for (const Type* member : type ? type->members : std::vector<const Type*>())
    if (member->kind == Type::Kind::literal)
      values.push_back(values.empty() ? set(nameOf(*member)) : nameOf(*member));
  if (values.empty() || values.size() > mostListed)
    return false;
  builder.help("write " + joinAlternatives(values));
  return true;
}

void NoFields::report(const Suggestion* list) {
  auto builder =
      evaluator.messages.report(diag::Kind::WrongType, place(), message());
  const SourceRange given = base.origin.range;
  if (base.isScalar() && given.isValid() && !evaluator.isLibrary(given) &&
      !(given == place()))
    builder.label(given, "it is given here");
  if (list) {
    builder.help(list->help);
    return;
  }
  if (helpWithFieldsAround(builder) || helpWithRecords(builder) ||
      helpWithChoice(builder))
    return;
  const auto typing = std::exchange(evaluator.typing, {&object, &slot});
  const bool isTold =
      type && helpWithDocumented(evaluator, builder, base, *type);
  evaluator.typing = typing;
  if (!isTold)
    builder.help("set the whole value: `" +
                 evaluator.pathOf(object, slot.name) + " = ...`");
}

} // namespace

void reportNoFields(Evaluator& evaluator, Object& object, const Slot& slot,
                    const Value& base, const Suggestion* list) {
  NoFields(evaluator, object, slot, base).report(list);
}

/// Whether all keys in the braces are fields of the library's `llama`.
static bool areFieldsOfLlama(Evaluator& evaluator, const ast::File& file,
                             ast::BodyId body) {
  Module* module = evaluator.modules.load("std/models/llama.recipe");
  ModuleEntry* entry = module ? module->find("llama") : nullptr;
  const Value model =
      entry ? evaluator.modules.entryValue(*module, *entry) : Value{};
  const Schema* const* schema = model.get<const Schema*>();
  const std::vector<ast::Item>& items = file[body].items;
  return schema && !items.empty() &&
         std::all_of(items.begin(), items.end(), [&](const ast::Item& item) {
           auto* node = std::get_if<ast::Assignment>(&item.node);
           return node && (*schema)->find(node->path.front().text);
         });
}

bool reportBracesOfNoModel(Evaluator& evaluator, const Slot& slot) {
  if (slot.chain.empty())
    return false;
  const Definition& definition = slot.chain.back();
  const Member& member = *definition.member;
  const Env& env = *definition.layer->env;
  const std::string name(slot.name);
  auto builder = evaluator.messages.report(
      diag::Kind::MissingField, member.path.front().range,
      "the fields of `" + name + "` are set here, and no model is");
  const auto known = evaluator.library.find("llama", *env.module, true);
  const std::string model = known ? known->text : std::string("llama.llama");
  const std::string import =
      known && known->import.empty() ? "" : " with `import std.models.llama`";
  const std::string form = "name the model before the braces, as in `" + name +
                           " = " + model + " { ... }`" + import;
  const bool hasBody = member.body != ast::BodyId::none;
  const std::string body(
      hasBody ? evaluator.sources.text((*env.file)[member.body].range) : "");
  if (body.empty() || body.find('\n') != body.npos ||
      !areFieldsOfLlama(evaluator, *env.file, member.body)) {
    builder.help(form);
    return true;
  }
  const std::string own = name + " = " + model + " " + body;
  builder.help("write `" + own + "`" + import).fixIt(member.range, own);
  if (known && known->added)
    builder.fixIt(known->added->range, known->added->replacement);
  builder.otherwise(form);
  return true;
}

} // namespace recipec::sema
