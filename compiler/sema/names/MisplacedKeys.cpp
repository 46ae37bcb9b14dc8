// Keys in a wrong place; see MisplacedKeys.h.

#include "compiler/sema/names/MisplacedKeys.h"

#include "compiler/sema/Evaluator.h"
#include "compiler/sema/names/AssignedRecords.h"
#include "compiler/sema/names/MeantPaths.h"
#include "compiler/sema/names/MeantValues.h"
#include "compiler/sema/names/Sections.h"
#include "compiler/sema/types/Convert.h"
#include "compiler/sema/values/Comments.h"
#include "compiler/sema/values/SetPlaces.h"

#include <algorithm>
#include <vector>

namespace recipec::sema {

bool helpWithServing(Evaluator& evaluator, diag::Builder& builder,
                     const Object& object, const KnownField& known) {
  const bool isInServe = object.schema && object.schema->find("max_batch");
  const std::string task = known.path.starts_with("serve.") && !isInServe
                               ? taskOf(evaluator)
                               : std::string();
  if (task.empty() || answersPrompts(task))
    return false;
  builder.help("leave it out: that is `" + known.path +
               "` here, a limit of `task = \"serve\"`, and this one is \"" +
               task + "\"");
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

bool helpWithMeantPath(Evaluator& evaluator, diag::Builder& builder,
                       const Object& object, const Member& member) {
  const ast::Name& name = member.path.front();
  const SourceKind kind = evaluator.sources.kind(name.range.source);
  const bool isArgument = kind == SourceKind::commandLine;
  // A name that is a field of a section means that field, even if other tools
  // use the name too.
  if (member.given ||
      (fieldKnownAs(evaluator, *object.schema, name.text) &&
       sectionsWith(evaluator, *object.schema, name.text).empty()))
    return false;
  if (!isArgument && member.body != ast::BodyId::none &&
      object.schema != evaluator.recipes.loadedSchema() &&
      isSameName(object.schema->shownName(), name.text)) {
    builder.help("these braces are those of `" +
                 std::string(object.schema->shownName()) +
                 "`: write its fields without `" + name.text +
                 " { ... }` around them");
    return true;
  }
  std::vector<std::string> names;
  SourceRange whole = cover(name.range, member.path.back().range);
  if (isArgument) {
    const std::string_view argument = evaluator.sources.text(name.range.source);
    const size_t sign = argument.find('=');
    if (sign == argument.npos)
      return false;
    whole = {name.range.source, 0, uint32_t(sign)};
    names = namesOfPath(argument.substr(0, sign));
  } else if (object.schema == evaluator.recipes.loadedSchema()) {
    for (const ast::Name& each : member.path)
      names.push_back(each.text);
  }
  if (names.size() < 2)
    return false;
  const std::string path(evaluator.sources.text(whole));
  const std::vector<std::string> all = pathsMeant(evaluator, names);
  if (all.size() != 1 || all.front() == path)
    return false;
  const std::string& meant = all.front();
  std::string setting(evaluator.sources.text(
      isArgument
          ? SourceRange{whole.source, 0,
                        uint32_t(evaluator.sources.text(whole.source).size())}
          : member.range));
  setting.replace(0, path.size(), meant);
  const bool isQuoted =
      isArgument && setting.find_first_of(" \"{}[]()$") != setting.npos;
  if (setting.find(isArgument ? '\'' : '\n') != setting.npos)
    setting = meant + (isArgument ? "=..." : " ...");
  builder
      .help(isArgument ? "write `--set " +
                             (isQuoted ? "'" + setting + "'" : setting) + "`"
                       : "write `" + setting + "`")
      .fixIt(whole, meant);
  return true;
}

bool helpWithInnerSweep(Evaluator& evaluator, diag::Builder& builder,
                        const Object& object, const Layer& layer,
                        const Member& member) {
  const ast::Name& name = member.path.front();
  if (name.text != sweepName || !object.schema ||
      object.schema == evaluator.recipes.loadedSchema() || member.given)
    return false;
  const bool isArgument =
      evaluator.sources.kind(name.range.source) == SourceKind::commandLine;
  // The record has no container yet, so find its path in the schemas.
  std::string section(object.schema->shownName());
  const Schema* recipes = evaluator.recipes.loadedSchema();
  if (auto holder = recipes
                        ? fieldOfRecords(evaluator, *recipes, section, 1, false)
                        : std::nullopt)
    section = holder->path;
  std::string axes;
  auto add = [&](std::span<const ast::Name> path, ast::ExprId value,
                 const ast::File& file) {
    if (path.empty() || value == ast::ExprId::none)
      return;
    std::string axis;
    for (const ast::Name& each : path)
      axis += (axis.empty() ? "" : ".") + each.text;
    if (object.schema->find(path.front().text))
      axis = section + "." + axis;
    const std::string_view values = evaluator.sources.text(file[value].range);
    const std::string text =
        values.find('\n') == values.npos ? std::string(values) : "[...]";
    axes +=
        (axes.empty() ? "" : ", ") + axis + (isArgument ? "=" : " = ") + text;
  };
  const ast::File& file = *layer.env->file;
  add(member.path.subspan(1), member.value, file);
  if (member.body != ast::BodyId::none)
    for (const ast::Item& item : file[member.body].items)
      if (const auto* node = std::get_if<ast::Assignment>(&item.node))
        add(node->path, node->value, file);
  if (isArgument)
    builder.help("a sweep is one of the recipe: write `--set 'sweep." +
                 (axes.empty() ? "PATH=[...]" : axes) + "'`");
  else
    builder.help("`sweep` stands in the recipe's braces, beside `" + section +
                 "`, with the path of each axis: write `sweep { " +
                 (axes.empty() ? "..." : axes) + " }` there");
  return true;
}

bool helpWithRecordName(Evaluator& evaluator, diag::Builder& builder,
                        const Object& object, const Layer& layer,
                        const Member& member) {
  const ast::Name& name = member.path.front();
  if (layer.isArguments || member.given || member.path.size() != 1 ||
      evaluator.sources.kind(name.range.source) != SourceKind::file)
    return false;
  const auto meant =
      fieldOfRecords(evaluator, *object.schema, name.text, 1, true);
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
  // `text = "a.txt"`: the value is that of the record's first field.
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

bool helpWithRecordOfRecipe(Evaluator& evaluator, diag::Builder& builder,
                            const Object& object, const Layer& layer,
                            const Member& member) {
  const Schema* recipes = evaluator.recipes.loadedSchema();
  const ast::Name& name = member.path.front();
  if (!recipes || object.schema == recipes || member.given ||
      layer.isArguments || member.path.size() != 1 ||
      evaluator.sources.kind(name.range.source) != SourceKind::file ||
      !evaluator.isLibrary(object.schema->range))
    return false;
  const auto meant = fieldOfRecords(evaluator, *recipes, name.text, 1, true);
  if (!meant || !sectionsWith(evaluator, *recipes, name.text).empty())
    return false;
  const std::string record(meant->schema->shownName());
  std::string value(
      evaluator.sources.text(member.body == ast::BodyId::none
                                 ? (*layer.env->file)[member.value].range
                                 : (*layer.env->file)[member.body].range));
  if (!value.starts_with(record))
    value = record + " " + value;
  const std::string start = "`" + record + "` is a value of `" + meant->path +
                            "`, a field of the recipe: write `" + meant->path +
                            " = ";
  const std::string end =
      "` beside `" + std::string(object.schema->shownName()) + "`";
  const std::string otherwise = start + record + " { ... }" + end;
  if (value.find('\n') != value.npos)
    builder.help(otherwise);
  else
    builder
        .propose({start,
                  {{value,
                    {meant->path + "=" + value},
                    {{withSeparator(evaluator.sources, member.range), ""}}}},
                  end})
        .otherwise(otherwise);
  return true;
}

/// The types of the fields of a recipe and of its sections.
static std::vector<const Type*> typesOfFields(Evaluator& evaluator,
                                              const Schema& recipes) {
  std::vector<const Type*> types;
  auto add = [&](const Schema& schema) {
    for (const Field& field : schema.fields)
      types.push_back(
          evaluator.types.resolve(*schema.layer.env, field.declaration->type));
  };
  add(recipes);
  for (size_t i = 0, sections = types.size(); i < sections; ++i)
    if (const Schema* section = onlySchemaOf(*types[i]))
      add(*section);
  return types;
}

/// The schema that has a field `name` and may replace `schema` where a recipe
/// takes it: `wsd` for the field `decay` of `cosine`.
static const Schema* siblingWith(Evaluator& evaluator, const Schema& schema,
                                 std::string_view name) {
  const Schema* recipes = evaluator.recipes.loadedSchema();
  if (!recipes)
    return nullptr;
  for (const Type* type : typesOfFields(evaluator, *recipes)) {
    const std::vector<const Schema*> taken = schemasOf(*type);
    if (std::find(taken.begin(), taken.end(), &schema) == taken.end())
      continue;
    for (const Schema* other : taken)
      if (const Field* field = other->find(name);
          field && !field->declaration->isFixed)
        return other;
  }
  return nullptr;
}

bool helpWithSibling(Evaluator& evaluator, diag::Builder& builder,
                     const Object& object, const ast::Name& name) {
  const Schema* other = siblingWith(evaluator, *object.schema, name.text);
  if (!other)
    return false;
  const std::string own(object.schema->shownName());
  const std::string meant(other->shownName());
  const std::string start = "`" + name.text + "` is a field of `" + meant + "`";
  const std::string written(evaluator.sources.text(object.range));
  const bool isWhole =
      written.starts_with(own) && written.find('\n') == written.npos &&
      evaluator.sources.kind(object.range.source) == SourceKind::file;
  if (!isWhole) {
    builder.help(start + ", and this is a `" + own +
                 "`: leave it out, or take `" + meant + "`");
    return true;
  }
  builder.help(start + ": write `" + meant + written.substr(own.size()) + "`")
      .fixIt({object.range.source, object.range.begin,
              object.range.begin + uint32_t(own.size())},
             meant);
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

/// Proposes a field of another section with each of the literals that it takes,
/// because it does not take the member's value.
static void proposeForSection(Evaluator& evaluator, diag::Builder& builder,
                              const Member& member, const KnownField& field,
                              const Type& type, const MeantValue& value,
                              const std::string& start) {
  const std::string& path = field.path;
  const size_t dot = path.find('.');
  const std::string section = path.substr(0, dot);
  const std::string example =
      settingOf(evaluator, field, path.substr(dot + 1), value);
  diag::Proposal proposal{start + ", which does not take `" + value.text +
                              "`: write `" + section + " { " +
                              path.substr(dot + 1) + " = ... }` with ",
                          {},
                          "",
                          listedAlternatives};
  for (const Type* each : alternativesOf(type))
    if (each->kind == Type::Kind::literal)
      proposal.ways.push_back(
          {"`" + nameOf(*each) + "`",
           {path + "=" + nameOf(*each)},
           {{withSeparator(evaluator.sources, member.range), ""}}});
  builder.propose(std::move(proposal))
      .otherwise(start + ", of type `" + nameOf(type) + "`" +
                 (example.empty() ? ""
                                  : ": write, for example, `" + section +
                                        " { " + example + " }`"));
}

/// Helps with a constant for a field of one section: adds it to the section's
/// assigned record, or shows the value that the field takes instead.
static bool helpWithOnlySection(Evaluator& evaluator, diag::Builder& builder,
                                const Object& object, const Schema& around,
                                const Layer& layer, const Member& member,
                                const std::string& section,
                                const std::string& start) {
  const Field* outer = around.find(section);
  const Schema* inside =
      outer ? onlySchemaOf(*evaluator.types.resolve(*around.layer.env,
                                                    outer->declaration->type))
            : nullptr;
  const std::string& name = member.path.front().text;
  const Field* meant = inside ? inside->find(name) : nullptr;
  if (!meant || meant->declaration->isFixed || member.path.size() != 1)
    return false;
  const KnownField field{section + "." + name, false, "", true, inside,
                         meant->declaration};
  if (&around == object.schema &&
      helpWithAssigned(evaluator, builder, object, layer, member, field, start))
    return true;
  const MeantValue value = meantValue(evaluator, field, layer, member);
  if (value.kind == MeantValue::Kind::mended) {
    builder.help(start + ": write `" + section + " { " +
                 settingOf(evaluator, field, name, value) + " }`");
    return true;
  }
  if (value.kind != MeantValue::Kind::unfit)
    return false;
  proposeForSection(
      evaluator, builder, member, field,
      *evaluator.types.resolve(*inside->layer.env, meant->declaration->type),
      value, start);
  return true;
}

bool helpWithSection(Evaluator& evaluator, diag::Builder& builder,
                     const Object& object, const Layer& layer,
                     const Member& member) {
  const ast::Name& name = member.path.front();
  const Schema* around = object.schema;
  std::vector<std::string> sections =
      sectionsTaking(evaluator, *around, layer, member);
  if (sections.empty() && evaluator.recipes.loadedSchema() &&
      !layer.isArguments) {
    around = evaluator.recipes.loadedSchema();
    sections = sectionsTaking(evaluator, *around, layer, member);
  }
  if (sections.empty())
    return false;
  const bool isArgument =
      evaluator.sources.kind(name.range.source) == SourceKind::commandLine;
  const std::string start =
      "`" + name.text + "` is a field of " + joinSections(sections);
  std::string set;
  if (evaluator.root && sections.size() == 1 && !isArgument)
    set = leaveOut(evaluator, *evaluator.root,
                   sections.front() + "." + name.text, name.range.source);
  if (set.empty() && sections.size() == 1 && !isArgument &&
      helpWithOnlySection(evaluator, builder, object, *around, layer, member,
                          sections.front(), start))
    return true;
  std::string value = "...";
  if (!isArgument && member.path.size() == 1 && !member.given &&
      member.value != ast::ExprId::none)
    value = evaluator.sources.text((*layer.env->file)[member.value].range);
  if (value.find('\n') != value.npos)
    value = "...";
  builder.help(
      start +
      (!set.empty() ? set
       : isArgument
           ? ": write `--set " + sections.front() + "." + name.text + "=...`"
           : ": write " + inSections(sections, name.text, value)));
  return true;
}

} // namespace recipec::sema
