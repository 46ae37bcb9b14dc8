// Translates the values of other tools' keys; see MeantValues.h.
//
// Only constants are evaluated: anything else could depend on the record that
// is being made.

#include "compiler/sema/names/MeantValues.h"

#include "compiler/sema/names/PipelineLayout.h"
#include "compiler/sema/types/Convert.h"
#include "compiler/sema/types/Examples.h"
#include "compiler/sema/types/Quotation.h"
#include "compiler/sema/types/Types.h"
#include "compiler/sema/values/Comments.h"

#include <algorithm>
#include <cctype>
#include <cmath>

namespace recipec::sema {
namespace {

const Type* typeOf(Evaluator& evaluator, const KnownField& field) {
  return evaluator.types.resolve(*field.owner->layer.env,
                                 field.declaration->type);
}

bool isIdentifier(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
}

/// The path up to its first dot.
std::string_view headOf(std::string_view path) {
  return path.substr(0, path.find('.'));
}

/// Whether a number without a unit may be a fraction, as in `warmup = 0.03`.
bool takesReal(const Type& type) {
  bool hasReal = false, hasInt = false;
  for (const Type* member : type.members) {
    hasReal |= member->kind == Type::Kind::real;
    hasInt |= member->kind == Type::Kind::integer;
  }
  return hasReal && !hasInt;
}

/// `25MiB` for `bucket_cap_mb = 25`, if the field takes bytes. Empty if the
/// name does not end in a unit.
std::string withUnitOfName(const Type& type, std::string_view name,
                           const Value& value, const std::string& text) {
  static constexpr std::pair<std::string_view, std::string_view> units[] = {
      {"_kb", "KiB"}, {"_mb", "MiB"}, {"_gb", "GiB"}};
  auto isBytes = [](const Type* each) {
    return each->kind == Type::Kind::quantity &&
           each->unit == recipe::Unit::bytes;
  };
  const bool takesBytes =
      isBytes(&type) ||
      std::any_of(type.members.begin(), type.members.end(), isBytes);
  if (!takesBytes || !value.isNumber())
    return {};
  for (const auto& [ending, unit] : units)
    if (name.ends_with(ending))
      return text + std::string(unit);
  return {};
}

/// Whether a field takes a list of whole numbers.
bool takesCounts(const Type& type) {
  return findAlternative(type, [](const Type& each) {
    return each.kind == Type::Kind::list &&
           each.element->kind == Type::Kind::integer;
  });
}

/// The value in a remark for what is written: `"full"` in "true is `"full"`".
std::string remarkedValue(std::string_view remark, const std::string& written) {
  std::vector<std::string> starts = {"`" + written + "` is `",
                                     written + " is `", written + " `"};
  if (written == "true") // `fsdp` (it is `"parameters"`)
    starts.emplace_back("it is `");
  for (const std::string& start : starts) {
    size_t at = remark.find(start);
    if (at == remark.npos || (at > 0 && isIdentifier(remark[at - 1])))
      continue;
    at += start.size();
    return std::string(remark.substr(at, remark.find('`', at) - at));
  }
  return {};
}

/// The value of a member if it is constant, with its text; poison otherwise.
Value constantOf(Evaluator& evaluator, const Layer& layer, const Member& member,
                 std::string& text) {
  if (member.given || member.value == ast::ExprId::none || !layer.env ||
      !layer.env->file || !Objects::isConstant(*layer.env->file, member.value))
    return poison();
  const Env& env = member.env ? *member.env : *layer.env;
  text = std::string(evaluator.sources.text((*env.file)[member.value].range));
  Messages::Muted muted(evaluator.messages);
  return evaluator.evaluate(member.value, env);
}

/// The written constant that the layer gives this name; empty if there is none.
std::string writtenFor(Evaluator& evaluator, const Layer& layer,
                       std::string_view name) {
  for (const Member& member : layer.members)
    if (member.path.size() == 1 && isSameName(member.path[0].text, name)) {
      std::string text;
      if (!constantOf(evaluator, layer, member, text).isPoison())
        return text;
    }
  return {};
}

/// An element of a field's default list, as it is written.
std::string elementOfDefault(Evaluator& evaluator, const KnownField& field,
                             size_t index) {
  const ast::ExprId id = field.declaration->defaultValue;
  const ast::File& file = *field.owner->layer.env->file;
  const auto* list = id == ast::ExprId::none
                         ? nullptr
                         : std::get_if<ast::ListExpr>(&file[id].node);
  if (!list || index >= list->elements.size())
    return {};
  return std::string(evaluator.sources.text(file[list->elements[index]].range));
}

/// Fills in a remark such as `betas = [beta1, beta2]`. Each name is replaced by
/// the value that the layer writes for it, or by the element of the field's
/// default list. Empty if a value is missing.
std::string filledIn(Evaluator& evaluator, const Layer& layer,
                     const KnownField& field) {
  const std::string_view remark = field.values;
  if (!remark.starts_with('`'))
    return {};
  const size_t end = remark.find('`', 1);
  const size_t sign = remark.find(" = ");
  if (end == remark.npos || sign == remark.npos || sign > end)
    return {};
  std::string text(remark.substr(1, sign + 2));
  size_t count = 0;
  for (size_t at = sign + 3; at < end;) {
    size_t stop = at;
    while (stop < end && isIdentifier(remark[stop]))
      ++stop;
    if (stop == at || std::isdigit(static_cast<unsigned char>(remark[at]))) {
      text += remark[at++];
      continue;
    }
    std::string value =
        writtenFor(evaluator, layer, remark.substr(at, stop - at));
    if (value.empty())
      value = elementOfDefault(evaluator, field, count);
    if (value.empty())
      return {};
    text += value;
    ++count;
    at = stop;
  }
  return text;
}

/// The record schema of the type that is called `name` here or in other tools.
const Schema* schemaCalled(Evaluator& evaluator, const Type& type,
                           const std::string& name) {
  auto known = evaluator.library.knownAs(name);
  for (const Type* member : type.members)
    if (member->kind == Type::Kind::schema &&
        (isSameName(member->schema->name, name) ||
         (known && known->name == member->schema->name)))
      return member->schema;
  return nullptr;
}

/// The last setting of a field in a layer other than `own`; null if there is
/// none.
std::pair<const Layer*, const Member*>
settingBefore(const Object& object, const Layer& own, std::string_view field) {
  for (auto layer = object.layers.rbegin(); layer != object.layers.rend();
       ++layer)
    for (const Member& member : (*layer)->members)
      if (*layer != &own && member.path.size() == 1 &&
          member.path[0].text == field)
        return {*layer, &member};
  return {};
}

/// Whether `made` has a field for each key that means a field of an inner
/// record.
bool hasAll(Evaluator& evaluator, const Schema& schema, const Schema& made,
            const std::vector<const Member*>& keys) {
  return std::all_of(keys.begin(), keys.end(), [&](const Member* key) {
    const auto known = fieldKnownAs(evaluator, schema, key->path[0].text);
    const size_t dot = known ? known->path.rfind('.') : std::string::npos;
    return dot == std::string::npos ||
           made.find(std::string_view(known->path).substr(dot + 1));
  });
}

/// What several keys say about the record of one field.
struct Parts {
  const Schema* schema = nullptr; // of the record
  bool isNamed = false;           // whether a key or a value names the schema
  std::string first;              // the value of its first field
  std::string whole;              // the record itself, as it is written
  /// Further fields that a parent's layer writes for the record.
  std::vector<std::pair<std::string_view, std::string>> inherited;
};

/// The fields of a record that have a written value, with their texts.
std::vector<std::pair<std::string_view, std::string>>
writtenFields(const Evaluator& evaluator, const Object& record) {
  std::vector<std::pair<std::string_view, std::string>> fields;
  for (const Slot& slot : record.slots) {
    const Definition* last = slot.chain.empty() ? nullptr : &slot.chain.back();
    if (last && last->isValue() && !last->member->given)
      fields.emplace_back(
          slot.name, evaluator.sources.text(
                         (*last->layer->env->file)[last->member->value].range));
  }
  return fields;
}

/// Takes the value that a parent's layer gives the field: a number, or the
/// fields of a record. Returns false for any other value than these or `none`.
bool takeInherited(Evaluator& evaluator, const Object& object, const Layer& own,
                   std::string_view head, Parts& parts) {
  const auto [layer, member] = settingBefore(object, own, head);
  if (!member)
    return true;
  std::string text;
  const Value value = constantOf(evaluator, *layer, *member, text);
  if (Object* const* record = value.get<Object*>()) {
    if (!parts.isNamed && (*record)->schema)
      parts.schema = (*record)->schema;
    for (auto& [name, written] : writtenFields(evaluator, **record))
      if (name == parts.schema->fields.front().declaration->name.text)
        parts.first = written;
      else if (parts.schema->find(name))
        parts.inherited.emplace_back(name, written);
    return true;
  }
  if (value.isNumber())
    parts.first = text;
  return value.isNumber() || value.is<recipe::None>();
}

/// Collects what the keys say about a field's record: the name of its schema,
/// the value of its first field, or the whole record.
Parts partsOf(Evaluator& evaluator, const Object& object, const Layer& layer,
              const Field& field, const Type& type,
              const std::vector<const Member*>& keys) {
  const Schema& schema = *object.schema;
  Parts parts;
  const std::string& head = field.declaration->name.text;
  std::string text;
  for (const Member* key : keys) {
    const Value value = constantOf(evaluator, layer, *key, text);
    const std::string* name = value.get<std::string>();
    if (name && !parts.schema)
      parts.schema = schemaCalled(evaluator, type, *name);
    parts.isNamed |= parts.schema != nullptr;
    if (value.is<Object*>())
      parts.whole = text;
  }
  for (const Type* member : type.members)
    if (!parts.schema && member->kind == Type::Kind::schema &&
        hasAll(evaluator, schema, *member->schema, keys))
      parts.schema = member->schema;
  if (!parts.schema || parts.schema->fields.empty())
    return {};
  const Field& first = parts.schema->fields.front();
  const Type& due = *evaluator.types.resolve(*parts.schema->layer.env,
                                             first.declaration->type);
  for (const Member& member : layer.members) {
    const auto known = fieldKnownAs(evaluator, schema, member.path[0].text);
    const bool isHead =
        member.path.size() == 1 &&
        (member.path[0].text == head || (known && known->path == head));
    if (!isHead)
      continue;
    const Value value = constantOf(evaluator, layer, member, text);
    const std::string* name = value.get<std::string>();
    if (const Schema* called =
            name ? schemaCalled(evaluator, type, *name) : nullptr) {
      parts.schema = called;
      parts.isNamed = true;
    }
    if (!value.isPoison() && convert(evaluator, value, due) &&
        !(name && schemaCalled(evaluator, type, *name)))
      parts.first = text;
  }
  if (parts.first.empty() &&
      !takeInherited(evaluator, object, layer, head, parts))
    return {};
  const ast::ExprId fallback = field.declaration->defaultValue;
  if (parts.first.empty() && due.kind == Type::Kind::real &&
      fallback != ast::ExprId::none)
    parts.first =
        evaluator.sources.text((*schema.layer.env->file)[fallback].range);
  return parts;
}

/// Combines a number, the name of a schedule and further lengths into one
/// record: `lr = cosine(peak = 1e-4, warmup = 0.03)`;
/// `adapter = lora(rank = 8)`. Empty if the parts do not make a record.
std::string recordOfAll(Evaluator& evaluator, const Object& object,
                        const Layer& layer, std::string_view head,
                        const std::vector<const Member*>& keys) {
  const Schema& schema = *object.schema;
  const Field* field = schema.find(head);
  if (!field)
    return {};
  const Type& type =
      *evaluator.types.resolve(*schema.layer.env, field->declaration->type);
  Parts parts = partsOf(evaluator, object, layer, *field, type, keys);
  if (!parts.whole.empty())
    return parts.whole.find('\n') == parts.whole.npos
               ? std::string(head) + " = " + parts.whole
               : "";
  if (!parts.schema)
    return {};
  const Schema& made = *parts.schema;
  std::string arguments;
  for (const Member* key : keys) {
    auto known = fieldKnownAs(evaluator, schema, key->path[0].text);
    if (!known || known->path.find('.') == known->path.npos)
      continue;
    const std::string name = known->path.substr(known->path.rfind('.') + 1);
    const Field* inner = made.find(name);
    if (!inner)
      continue;
    known->owner = &made;
    known->declaration = inner->declaration;
    const MeantValue value = meantValue(evaluator, *known, layer, *key);
    if (value.kind != MeantValue::Kind::asWritten &&
        value.kind != MeantValue::Kind::mended)
      return {};
    std::erase_if(parts.inherited,
                  [&](const auto& each) { return each.first == name; });
    if (inner == &made.fields.front())
      parts.first = value.text;
    else
      arguments += ", " + name + " = " + value.text;
  }
  for (const auto& [name, text] : parts.inherited)
    arguments += ", " + std::string(name) + " = " + text;
  const std::string& first = made.fields.front().declaration->name.text;
  const bool isAskedFor =
      made.fields.front().declaration->defaultValue == ast::ExprId::none;
  if (parts.first.empty() && isAskedFor)
    return {};
  if (!parts.first.empty())
    arguments = first + " = " + parts.first + arguments;
  else if (arguments.starts_with(", "))
    arguments.erase(0, 2);
  return std::string(head) + " = " + std::string(made.name) + "(" + arguments +
         ")";
}

/// Whether a field takes records of several schemas, so that it is not a
/// section.
bool takesRecords(const Type& type) {
  return std::any_of(
      type.members.begin(), type.members.end(),
      [](const Type* member) { return member->kind == Type::Kind::schema; });
}

/// The field in an expression `field == none`; empty for other expressions.
std::string_view comparedWithNone(const ast::File& file, ast::ExprId id) {
  const auto* equal = std::get_if<ast::Binary>(&file[id].node);
  if (!equal || equal->op != ast::BinaryOp::equal)
    return {};
  const auto* name = std::get_if<ast::NameRef>(&file[equal->left].node);
  const auto* none = std::get_if<ast::KeywordLiteral>(&file[equal->right].node);
  return name && none ? std::string_view(name->name.text) : std::string_view();
}

} // namespace

const Member* excludedBy(const Schema& schema, std::string_view field,
                         const Layer& layer) {
  const ast::File& file = *schema.layer.env->file;
  for (const ast::Require* rule : schema.layer.conditions) {
    const auto* either = std::get_if<ast::Binary>(&file[rule->condition].node);
    if (!either || either->op != ast::BinaryOp::logicalOr)
      continue;
    const std::string_view left = comparedWithNone(file, either->left);
    const std::string_view right = comparedWithNone(file, either->right);
    if (left.empty() || right.empty() || (left != field && right != field))
      continue;
    for (const Member& member : layer.members)
      if (member.path.size() == 1 &&
          member.path[0].text == (left == field ? right : left))
        return &member;
  }
  return nullptr;
}

MeantValue meantValue(Evaluator& evaluator, const KnownField& field,
                      const Layer& layer, const Member& member) {
  MeantValue meant;
  if (!field.declaration || field.isFixed)
    return meant;
  const Value value = constantOf(evaluator, layer, member, meant.text);
  if (value.isPoison())
    return meant;
  if (std::string whole = filledIn(evaluator, layer, field); !whole.empty())
    return {MeantValue::Kind::settings, std::move(whole)};
  const Type& type = *typeOf(evaluator, field);
  if (std::string own = remarkedValue(field.values, meant.text); !own.empty())
    return {MeantValue::Kind::mended, std::move(own)};
  const ast::Comments* comments =
      commentsOf(*field.owner, field.declaration->name.text);
  if (auto own =
          comments ? valueListedAs(*comments, meant.text) : std::nullopt) {
    const bool isSetting = own->find(" = ") != own->npos;
    return {isSetting ? MeantValue::Kind::settings : MeantValue::Kind::mended,
            *own};
  }
  // A value in inner braces has no name of its own.
  const std::string_view name =
      member.path.empty() ? "" : std::string_view(member.path.back().text);
  if (std::string own = withUnitOfName(type, name, value, meant.text);
      !own.empty())
    return {MeantValue::Kind::mended, std::move(own)};
  const std::string* given = value.get<std::string>();
  if (std::string own =
          given && takesCounts(type) ? layersOfLayout(*given) : std::string();
      !own.empty())
    return {MeantValue::Kind::mended, std::move(own)};
  // A number above 1 is not a fraction of a run but a count, such as steps.
  const Type* count = onlyCountOf(type);
  const int64_t* whole = value.get<int64_t>();
  if (count && whole && *whole > 1 && takesReal(type))
    return {MeantValue::Kind::mended, meant.text + " " + nameOf(*count)};
  if (convert(evaluator, value, type)) {
    meant.kind = MeantValue::Kind::asWritten;
    return meant;
  }
  if (count && whole && *whole >= 0)
    return {MeantValue::Kind::mended, meant.text + " " + nameOf(*count)};
  const auto typing = std::exchange(evaluator.typing, {});
  auto correction = correctionOf(evaluator, value, type,
                                 (*layer.env->file)[member.value].range,
                                 "`" + field.declaration->name.text + "`");
  evaluator.typing = typing;
  if (correction && !correction->replacement.empty() && !correction->also)
    return {MeantValue::Kind::mended, correction->replacement};
  meant.kind = MeantValue::Kind::unfit;
  return meant;
}

std::string settingOf(Evaluator& evaluator, const KnownField& field,
                      std::string_view name, const MeantValue& value) {
  if (value.kind == MeantValue::Kind::settings || !field.declaration)
    return value.text;
  std::string text = value.text;
  if (value.kind == MeantValue::Kind::unfit ||
      value.kind == MeantValue::Kind::unknown) {
    const Type& type = *typeOf(evaluator, field);
    text = exampleOf(evaluator, type.kind == Type::Kind::unionOf
                                    ? *type.members.front()
                                    : type);
    // Put the user's text into the example.
    constexpr std::string_view hole = "\"text\"";
    const size_t at = text.find(hole);
    if (value.text.starts_with('"') && at != text.npos)
      text.replace(at, hole.size(), value.text);
  }
  return text.empty() ? "" : std::string(name) + " = " + text;
}

std::vector<const Member*> keysOfOneField(Evaluator& evaluator,
                                          const Schema& schema,
                                          const Layer& layer,
                                          const Member& member) {
  const auto own = fieldKnownAs(evaluator, schema, member.path[0].text);
  const Field* head =
      own && !own->path.empty() ? schema.find(headOf(own->path)) : nullptr;
  if (!head || own->isFixed || member.path.size() != 1)
    return {};
  const Type& type =
      *evaluator.types.resolve(*schema.layer.env, head->declaration->type);
  const bool isRecord = takesRecords(type);
  std::vector<const Member*> keys;
  bool isNumber = true; // whether all are names of the number alone
  for (const Member& each : layer.members) {
    if (each.path.size() != 1 || schema.find(each.path[0].text))
      continue;
    const auto known = fieldKnownAs(evaluator, schema, each.path[0].text);
    if (!known || known->path.empty() ||
        (isRecord ? headOf(known->path) != headOf(own->path)
                  : known->path != own->path))
      continue;
    keys.push_back(&each);
    // The name of a schedule implies a record, too.
    isNumber &= known->path == headOf(own->path) &&
                (known->values.empty() || !takesReal(type));
  }
  // `learning_rate = 2e-4` beside `lr = "cosine"`: the name is that of a
  // record.
  if (isRecord && isNumber && keys.size() == 1)
    for (const Member& each : layer.members) {
      std::string text;
      const bool isHead = each.path.size() == 1 &&
                          each.path[0].text == head->declaration->name.text;
      const Value value =
          isHead ? constantOf(evaluator, layer, each, text) : poison();
      const std::string* name = value.get<std::string>();
      if (name && schemaCalled(evaluator, type, *name))
        isNumber = false;
    }
  const bool isOne = keys.size() > 1 || (isRecord && !isNumber);
  return isOne ? keys : std::vector<const Member*>();
}

bool isSetByKeys(Evaluator& evaluator, const Object& object,
                 std::string_view field) {
  if (!object.schema)
    return false;
  for (const Layer* layer : object.layers)
    for (const Member& member : layer->members) {
      if (layer->isArguments || object.schema->find(member.path[0].text))
        continue;
      const auto known =
          fieldKnownAs(evaluator, *object.schema, member.path[0].text);
      if (!known || headOf(known->path) != field)
        continue;
      const auto keys =
          keysOfOneField(evaluator, *object.schema, *layer, member);
      if (!keys.empty() &&
          !settingOfAll(evaluator, object, *layer, keys).empty())
        return true;
    }
  return false;
}

std::string settingOfAll(Evaluator& evaluator, const Object& object,
                         const Layer& layer,
                         const std::vector<const Member*>& keys) {
  const Schema& schema = *object.schema;
  std::string carried, name;
  for (const Member* key : keys) {
    const auto known = fieldKnownAs(evaluator, schema, key->path[0].text);
    if (std::string text = filledIn(evaluator, layer, *known); !text.empty())
      return text;
    name = headOf(known->path);
    if (known->path != name || !carried.empty())
      continue;
    const MeantValue value = meantValue(evaluator, *known, layer, *key);
    if (value.kind == MeantValue::Kind::asWritten ||
        value.kind == MeantValue::Kind::mended)
      carried = settingOf(evaluator, *known, name, value);
  }
  const std::string record = recordOfAll(evaluator, object, layer, name, keys);
  return record.empty() ? carried : record;
}

} // namespace recipec::sema
