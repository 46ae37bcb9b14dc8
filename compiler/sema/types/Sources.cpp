// Helps for a value in place of a data source's record; see Sources.h.
//
// For a path, the schemas of the union that can be made from one string are
// listed as calls; for a list, the one schema whose first field takes it.

#include "compiler/sema/types/Sources.h"

#include "compiler/sema/Evaluator.h"
#include "compiler/sema/types/Convert.h"
#include "compiler/sema/types/Examples.h"
#include "compiler/sema/types/Mismatch.h"
#include "compiler/sema/values/Comments.h"

#include <algorithm>

namespace recipec::sema {
namespace {

/// The longest list that a help writes out.
constexpr size_t mostWritten = 60;
/// The most elements of a list of weights and sources.
constexpr size_t mostPaired = 16;

bool hasSchema(const Type& type, const Schema& schema) {
  return std::any_of(
      type.members.begin(), type.members.end(), [&](const Type* member) {
        return member->kind == Type::Kind::schema && member->schema == &schema;
      });
}

/// Helps with a list of records in place of a single record with this list:
/// `blend([text("a"), text("b")])`.
bool helpWithList(Evaluator& evaluator, diag::Builder& builder,
                  const Value& value, const Type& type, SourceRange range) {
  const ListValue* const* list = value.get<const ListValue*>();
  if (!list || (*list)->elements.empty() ||
      !(*list)->elements.front().is<Object*>())
    return false;
  for (const Type* member : type.members) {
    if (member->kind != Type::Kind::schema || member->schema->fields.empty())
      continue;
    const Schema& schema = *member->schema;
    const Field& first = schema.fields.front();
    if (!convert(evaluator, value,
                 *evaluator.types.resolve(*schema.layer.env,
                                          first.declaration->type)))
      continue;
    const std::string written(evaluator.sources.text(range));
    const std::string call =
        std::string(schema.shownName()) + "(" + written + ")";
    const bool isShort =
        written.size() <= mostWritten && written.find('\n') == written.npos;
    builder
        .help("several are a `" + std::string(schema.shownName()) +
              "`: write `" +
              (isShort ? call
                       : std::string(schema.shownName()) +
                             "([...])`, with the "
                             "list between the parentheses") +
              (isShort ? "`" : ""))
        .fixIt(range, call);
    return true;
  }
  return false;
}

/// The first field of a schema that takes a list of floats; empty if there is
/// none.
std::string numbersOf(Evaluator& evaluator, const Schema& schema) {
  for (const Field& field : schema.fields) {
    const Type& type =
        *evaluator.types.resolve(*schema.layer.env, field.declaration->type);
    if (findAlternative(type, [](const Type& each) {
          return each.kind == Type::Kind::list &&
                 each.element->kind == Type::Kind::real;
        }))
      return field.declaration->name.text;
  }
  return {};
}

/// The elements of a list, with nested lists flattened by one level.
std::vector<Value> flattened(const ListValue& list) {
  std::vector<Value> all;
  for (const Value& element : list.elements)
    if (const ListValue* const* inner = element.get<const ListValue*>())
      all.insert(all.end(), (*inner)->elements.begin(),
                 (*inner)->elements.end());
    else
      all.push_back(element);
  return all;
}

/// A source as a recipe writes it: the text of the user's record, or a call
/// made from a path. Empty for other values.
std::string sourceText(const Evaluator& evaluator, const Value& value) {
  if (const std::string* path = value.get<std::string>())
    return sourceCall(*path);
  Object* const* record = value.get<Object*>();
  if (!record || !(*record)->schema)
    return {};
  const std::string text(evaluator.sources.text((*record)->range));
  return text.find('\n') == text.npos ? text : std::string();
}

/// Helps with weights and sources in one list, in place of a blend.
bool helpWithPairs(Evaluator& evaluator, diag::Builder& builder,
                   const Value& value, const Type& type, SourceRange range) {
  for (const Schema* schema : schemasOf(type)) {
    const std::string own = blendOfPairs(evaluator, value, *schema);
    if (own.empty())
      continue;
    const ListValue& list = **value.get<const ListValue*>();
    const std::vector<Value> all = flattened(list);
    const bool hasPaths =
        std::any_of(all.begin(), all.end(),
                    [](const Value& each) { return each.is<std::string>(); });
    builder
        .help("weights have a list of their own: write `" + own + "`" +
              (hasPaths && own.find("jsonl(") != own.npos
                   ? ", with the names of the files' own fields"
                   : ""))
        .fixIt(range, own);
    return true;
  }
  return false;
}

} // namespace

std::string sourceCall(const std::string& path) {
  const size_t slash = path.rfind('/');
  const size_t dot = path.find('.', slash == path.npos ? 0 : slash + 1);
  const std::string ending =
      dot == path.npos ? "" : path.substr(path.rfind('.'));
  if (ending == ".jsonl" || ending == ".json")
    return "jsonl(\"" + path +
           "\", prompt = \"prompt\", completion = \"completion\")";
  const bool hasTokens = ending.empty() || ending == ".bin" ||
                         ending == ".npy" || ending == ".idx";
  return (hasTokens ? "tokens(\"" : "text(\"") + path + "\")";
}

std::string blendOfPairs(Evaluator& evaluator, const Value& list,
                         const Schema& schema) {
  const ListValue* const* given = list.get<const ListValue*>();
  if (!given || schema.fields.empty())
    return {};
  const Type& first = *evaluator.types.resolve(
      *schema.layer.env, schema.fields.front().declaration->type);
  const std::string numbers = numbersOf(evaluator, schema);
  const std::vector<Value> all = flattened(**given);
  if (first.kind != Type::Kind::list || schemasOf(*first.element).empty() ||
      numbers.empty() || all.empty() || all.size() % 2 != 0 ||
      all.size() > mostPaired)
    return {};
  const bool isWeightFirst = all.front().isNumber();
  std::string records, weights;
  for (size_t i = 0; i < all.size(); i += 2) {
    const Value& weight = all[isWeightFirst ? i : i + 1];
    const std::string record =
        sourceText(evaluator, all[isWeightFirst ? i + 1 : i]);
    if (!weight.isNumber() || record.empty())
      return {};
    const char* comma = i > 0 ? ", " : "";
    weights += comma + describe(evaluator, weight);
    records += comma + record;
  }
  return std::string(schema.shownName()) + "(" +
         schema.fields.front().declaration->name.text + " = [" + records +
         "], " + numbers + " = [" + weights + "])";
}

bool helpWithBlend(Evaluator& evaluator, diag::Builder& builder,
                   const Value& list) {
  const Object* const object = evaluator.typing.first;
  const std::string own =
      object && object->schema && evaluator.modules.prelude()
          ? blendOfPairs(evaluator, list, *object->schema)
          : std::string();
  if (own.empty())
    return false;
  builder.help("weights have a list of their own: write `" + own + "`" +
               (own.find("jsonl(") == own.npos
                    ? ""
                    : ", with the names of the files' own fields"));
  return true;
}

bool namesFieldOfFile(const Object& object, const Slot& slot) {
  return object.schema &&
         summaryOf(*object.schema, slot.name).starts_with("Field of ");
}

bool helpWithFieldNames(Evaluator& evaluator, diag::Builder& builder,
                        const Value& value) {
  const ListValue* const* list = value.get<const ListValue*>();
  const auto [object, slot] = evaluator.typing;
  if (!list || (*list)->elements.empty() || !object || !slot ||
      !namesFieldOfFile(*object, *slot))
    return false;
  const std::string name(slot->name);
  std::string joined;
  for (const Value& element : (*list)->elements) {
    const std::string* field = element.get<std::string>();
    if (!field)
      return false;
    joined += (joined.empty() ? "." : " + \"\\n\" + .") + *field;
  }
  builder.help("it is the name of one field: join them in the file, `jq -c '." +
               name + " = " + joined + "' FILE`, and write `" + name + " = \"" +
               name + "\"`");
  return true;
}

bool helpWithSeveralFiles(Evaluator& evaluator, diag::Builder& builder,
                          const Value& value, const Type& type,
                          SourceRange range) {
  const ListValue* const* list = value.get<const ListValue*>();
  const auto [object, slot] = evaluator.typing;
  if (!list || (*list)->elements.size() < 2 || !object || !object->schema ||
      !object->container || type.kind != Type::Kind::string)
    return false;
  // Find the schema in the union whose first field is a list of these records.
  Slot* around = object->container->find(object->key);
  const Type* choice =
      around ? evaluator.objects.typeOf(*object->container, *around) : nullptr;
  const Schema* several = nullptr;
  for (const Type* member :
       choice ? choice->members : std::vector<const Type*>()) {
    if (member->kind != Type::Kind::schema || member->schema->fields.empty())
      continue;
    const Type& first = *evaluator.types.resolve(
        *member->schema->layer.env,
        member->schema->fields.front().declaration->type);
    if (first.kind == Type::Kind::list &&
        hasSchema(*first.element, *object->schema))
      several = member->schema;
  }
  const std::string record(evaluator.sources.text(object->range));
  const bool isInside = range.source == object->range.source &&
                        range.begin >= object->range.begin &&
                        range.end <= object->range.end;
  if (!several || !isInside || record.find('\n') != record.npos)
    return false;
  std::string records;
  for (const Value& element : (*list)->elements) {
    const std::string* path = element.get<std::string>();
    if (!path)
      return false;
    std::string each = record;
    each.replace(range.begin - object->range.begin, range.end - range.begin,
                 "\"" + *path + "\"");
    records += (records.empty() ? "" : ", ") + each;
  }
  const std::string own = std::string(several->name) + "([" + records + "])";
  builder
      .help("a `" + std::string(object->schema->shownName()) +
            "` names one file: write `" + own + "`")
      .fixIt(object->range, own);
  return true;
}

bool helpWithSources(Evaluator& evaluator, diag::Builder& builder,
                     const Value& value, const Type& type, SourceRange range) {
  if (helpWithList(evaluator, builder, value, type, range) ||
      helpWithPairs(evaluator, builder, value, type, range))
    return true;
  bool isPath = value.is<std::string>() || value.is<const ListValue*>();
  std::string text(evaluator.sources.text(range));
  if (!isPath || type.kind != Type::Kind::unionOf ||
      !evaluator.modules.prelude() || text.find('\n') != std::string::npos)
    return false;
  std::vector<std::string> ways;
  bool hasFields = false;
  for (auto& [name, entry] : evaluator.modules.prelude()->entries) {
    const Value& named =
        evaluator.modules.entryValue(*evaluator.modules.prelude(), entry);
    const Schema* const* schema = named.get<const Schema*>();
    if (!schema || (*schema)->fields.empty() || !hasSchema(type, **schema))
      continue;
    const Field& first = (*schema)->fields.front();
    if (convert(evaluator, value,
                *evaluator.types.resolve(*(*schema)->layer.env,
                                         first.declaration->type)))
      for (const std::string& form : formsOf(**schema)) {
        ways.push_back(std::string(name) + "(" + text + form + ")");
        hasFields |= !form.empty();
      }
  }
  // `["a.jsonl", "b.jsonl"]`: write each path as a `jsonl` record.
  const ListValue* const* list = value.get<const ListValue*>();
  std::string records;
  for (const Value& element : list ? (*list)->elements : std::vector<Value>()) {
    const std::string* path = element.get<std::string>();
    if (!path || !path->ends_with(".jsonl")) {
      records.clear();
      break;
    }
    records += (records.empty() ? "" : ", ") + ("jsonl(\"" + *path) +
               "\", prompt = \"prompt\", completion = \"completion\")";
  }
  if (!records.empty()) {
    builder.help("several sources are a blend: write `blend([" + records +
                 "])`, with the names of the files' own fields");
    return true;
  }
  if (ways.size() < 2)
    return false;
  builder.help("say what it holds: " + joinAlternatives(ways) +
               (hasFields ? ", with the names of the file's own fields" : ""));
  return true;
}

} // namespace recipec::sema
