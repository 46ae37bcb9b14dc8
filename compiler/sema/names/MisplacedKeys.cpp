// Keys in a wrong place; see MisplacedKeys.h.

#include "compiler/sema/names/MisplacedKeys.h"

#include "compiler/sema/Evaluator.h"
#include "compiler/sema/names/Sections.h"
#include "compiler/sema/types/Convert.h"
#include "compiler/sema/values/Comments.h"

#include <vector>

namespace recipec::sema {
namespace {

/// A field that takes records of a schema, and the path to it.
struct RecordField {
  std::string path;
  const Schema* schema;
};

/// The first field below `schema` that takes records of a schema called `name`.
std::optional<RecordField> fieldOfRecords(Evaluator& evaluator,
                                          const Schema& schema,
                                          const std::string& name, int depth) {
  const auto known = evaluator.library.knownAs(name);
  for (const Field& field : schema.fields) {
    if (field.declaration->isFixed)
      continue;
    const Type& type =
        *evaluator.types.resolve(*schema.layer.env, field.declaration->type);
    const std::string& path = field.declaration->name.text;
    std::vector<const Type*> members = type.members;
    if (type.kind == Type::Kind::schema)
      members = {&type};
    for (const Type* member : members) {
      if (member->kind != Type::Kind::schema)
        continue;
      const std::string own(member->schema->shownName());
      const bool isSeen =
          evaluator.modules.prelude() && evaluator.modules.prelude()->find(own);
      if (isSeen && (isSameName(own, name) || (known && known->name == own)))
        return RecordField{path, member->schema};
    }
  }
  if (depth == 0)
    return std::nullopt;
  for (const Field& field : schema.fields) {
    const Type& type =
        *evaluator.types.resolve(*schema.layer.env, field.declaration->type);
    if (type.kind != Type::Kind::schema)
      continue;
    if (auto inner = fieldOfRecords(evaluator, *type.schema, name, depth - 1)) {
      inner->path = field.declaration->name.text + "." + inner->path;
      return inner;
    }
  }
  return std::nullopt;
}

} // namespace

bool helpWithServing(Evaluator& evaluator, diag::Builder& builder,
                     const Object& object, const KnownField& known) {
  const bool isInServe = object.schema && object.schema->find("max_batch");
  Slot* task = known.path.starts_with("serve.") && !isInServe && evaluator.root
                   ? evaluator.root->find("task")
                   : nullptr;
  if (!task || task->state == Slot::State::running)
    return false;
  Messages::Muted muted(evaluator.messages);
  const Value value = evaluator.objects.force(*evaluator.root, *task);
  const std::string* name = value.get<std::string>();
  if (!name || *name == "serve" || *name == "generate")
    return false;
  builder.help("leave it out: that is `" + known.path +
               "` here, a limit of `task = \"serve\"`, and this one is \"" +
               *name + "\"");
  return true;
}

bool helpWithAxisPath(Evaluator& evaluator, diag::Builder& builder,
                      const Object& object, const Member& member) {
  const ast::Name& name = member.path.front();
  if (!member.given || object.schema != evaluator.recipes.loadedSchema() ||
      member.path.size() != 1 ||
      evaluator.sources.kind(name.range.source) != SourceKind::file)
    return false;
  std::string path;
  if (const auto sections = sectionsWith(evaluator, *object.schema, name.text);
      sections.size() == 1)
    path = sections[0] + "." + name.text;
  else if (const auto known =
               sections.empty()
                   ? fieldKnownAs(evaluator, *object.schema, name.text)
                   : std::nullopt;
           known && !known->isFixed)
    path = known->path;
  if (path.empty())
    return false;
  std::string_view behind =
      evaluator.sources.text(name.range.source).substr(name.range.end);
  const size_t begin = behind.find_first_not_of(" =");
  const size_t end = behind.find(']');
  const bool isList =
      begin != behind.npos && behind[begin] == '[' && end < behind.find('\n');
  builder
      .help("an axis is the path of a field: write `sweep { " + path + " = " +
            (isList ? std::string(behind.substr(begin, end + 1 - begin))
                    : "[...]") +
            " }`")
      .fixIt(name.range, path);
  return true;
}

bool helpWithRecordName(Evaluator& evaluator, diag::Builder& builder,
                        const Object& object, const Layer& layer,
                        const Member& member) {
  const ast::Name& name = member.path.front();
  if (layer.isArguments || member.given || member.path.size() != 1 ||
      evaluator.sources.kind(name.range.source) != SourceKind::file)
    return false;
  const auto meant = fieldOfRecords(evaluator, *object.schema, name.text, 1);
  if (!meant || !sectionsWith(evaluator, *object.schema, name.text).empty())
    return false;
  const Schema& schema = *meant->schema;
  const std::string start =
      meant->path + " = " + std::string(schema.shownName());
  const std::string_view written = evaluator.sources.text(member.range);
  if (member.body != ast::BodyId::none) {
    const bool isShort = written.find('\n') == written.npos;
    builder
        .help("write `" + start +
              (isShort ? std::string(written.substr(name.text.size()))
                       : " { ... }") +
              "`")
        .fixIt(name.range, start);
    return true;
  }
  // `text = "a.txt"`: the first field's value.
  Messages::Muted muted(evaluator.messages);
  const bool isConstant = Objects::isConstant(*layer.env->file, member.value);
  const ast::FieldDecl* first =
      schema.fields.empty() ? nullptr : schema.fields.front().declaration;
  const Value value =
      isConstant ? evaluator.evaluate(member.value,
                                      member.env ? *member.env : *layer.env)
                 : poison();
  const bool isFirst =
      first && !value.isPoison() && !value.is<Object*>() &&
      convert(evaluator, value,
              *evaluator.types.resolve(*schema.layer.env, first->type));
  builder.help("write `" + start +
               (isFirst ? "(" + first->name.text + " = " +
                              std::string(evaluator.sources.text(
                                  (*layer.env->file)[member.value].range)) +
                              ")"
                        : " { ... }") +
               "`");
  return true;
}

bool mayTake(Evaluator& evaluator, const Schema& recipes, const Field& field,
             const Layer& layer, const Member& member) {
  if (member.given || member.value == ast::ExprId::none ||
      !Objects::isConstant(*layer.env->file, member.value))
    return true;
  Messages::Muted muted(evaluator.messages);
  const Value value =
      evaluator.evaluate(member.value, member.env ? *member.env : *layer.env);
  return value.isPoison() ||
         convert(evaluator, value,
                 *evaluator.types.resolve(*recipes.layer.env,
                                          field.declaration->type));
}

std::vector<std::string> sectionsTaking(Evaluator& evaluator,
                                        const Schema& recipes,
                                        const Layer& layer,
                                        const Member& member) {
  const std::string_view name = member.path.front().text;
  std::vector<std::string> all = sectionsWith(evaluator, recipes, name);
  if (all.size() < 2 || member.path.size() != 1)
    return all;
  std::vector<std::string> taking;
  for (const std::string& section : all) {
    const Field* field = recipes.find(section);
    const Schema* inside =
        field ? onlySchemaOf(*evaluator.types.resolve(*recipes.layer.env,
                                                      field->declaration->type))
              : nullptr;
    const Field* meant = inside ? inside->find(name) : nullptr;
    if (meant && !meant->declaration->isFixed &&
        mayTake(evaluator, *inside, *meant, layer, member))
      taking.push_back(section);
  }
  return taking.empty() ? all : taking;
}

} // namespace recipec::sema
