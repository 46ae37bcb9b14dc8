// Layers: the settings that one pair of braces or one list of arguments gives a
// record.
//
// A layer lists the assignments in the text and the scope around it, without
// evaluating anything. Fields that one layer assigns twice are reported.

#include "compiler/sema/records/Layers.h"

#include "compiler/sema/Evaluator.h"
#include "compiler/sema/records/AssignedPaths.h"

namespace recipec::sema {
namespace {

std::string joined(std::span<const ast::Name> path) {
  std::string text;
  for (const ast::Name& name : path)
    text += (text.empty() ? "" : ".") + name.text;
  return text;
}

} // namespace

void Layers::fill(Layer& layer, const ast::Body& body, bool isDeclaration) {
  AssignedPaths assigned(evaluator);
  for (const ast::Item& item : body.items) {
    if (auto* node = std::get_if<ast::Assignment>(&item.node)) {
      layer.members.push_back(
          {node->path, node->value, node->body, nullptr, item.range});
      if (node->path.front().text != sweepName) // Sweep.cpp compares axes
        assigned.add(*layer.env->file, *node);
    } else if (auto* let = std::get_if<ast::Let>(&item.node)) {
      layer.lets.push_back(let);
    } else if (auto* function = std::get_if<ast::FunDecl>(&item.node)) {
      layer.functions.push_back(function);
    } else if (auto* block = std::get_if<ast::BlockDecl>(&item.node)) {
      layer.blocks.push_back(block);
    } else if (auto* require = std::get_if<ast::Require>(&item.node)) {
      layer.conditions.push_back(require);
    } else if (!isDeclaration ||
               !std::holds_alternative<ast::FieldDecl>(item.node)) {
      evaluator.messages
          .report(diag::Kind::InvalidItem, item.range,
                  "this cannot stand in a record")
          .help("a record holds `name = value` and `name { ... }`; fields are "
                "declared in a `schema`");
    }
  }
}

const Layer* Layers::ofBody(const Env& env, ast::BodyId body, bool isScope) {
  Layer& layer = evaluator.store.make<Layer>();
  layer.env = &env;
  layer.isScope = isScope;
  layer.range = (*env.file)[body].range;
  if (isScope)
    fill(layer, (*env.file)[body], false);
  else
    fillMap(layer, (*env.file)[body], env);
  return &layer;
}

const Layer* Layers::ofArguments(const Env& env, const Schema& schema,
                                 const ast::Call& call, SourceRange range) {
  Layer& layer = evaluator.store.make<Layer>();
  layer.env = &env;
  layer.isArguments = true;
  layer.range = range;
  size_t next = 0;
  std::map<std::string_view, SourceRange> given;
  for (const ast::Argument& argument : call.arguments) {
    SourceRange valueRange = (*env.file)[argument.value].range;
    const ast::Name* name = argument.name ? &*argument.name : nullptr;
    if (!name) {
      while (next < schema.fields.size() &&
             schema.fields[next].declaration->isFixed)
        ++next;
      if (next == schema.fields.size()) // SchemaCalls.cpp reports it
        continue;
      name = &schema.fields[next++].declaration->name;
    }
    auto [first, isNew] = given.emplace(name->text, valueRange);
    if (!isNew) {
      evaluator.messages
          .report(diag::Kind::DuplicateName, valueRange,
                  "`" + name->text + "` is given twice")
          .label(first->second, "it is given here first")
          .help("remove one of the two");
      continue;
    }
    SourceRange all =
        argument.name ? cover(name->range, valueRange) : valueRange;
    layer.members.push_back(
        {std::span(name, 1), argument.value, ast::BodyId::none, nullptr, all});
  }
  return &layer;
}

const Layer* Layers::ofTail(const Env& env, const Definition& definition) {
  // This layer holds the rest of a dotted path. Its value is still evaluated in
  // the scope of the braces in which it was written.
  Layer& layer = evaluator.store.make<Layer>();
  layer.env = &env;
  layer.range = definition.member->range;
  Member tail = *definition.member;
  tail.path = tail.path.subspan(definition.depth + 1);
  layer.members.push_back(tail);
  return &layer;
}

const Layer* Layers::ofValue(std::string_view name, const Value& value) {
  Layer& layer = evaluator.store.make<Layer>();
  layer.env = &evaluator.modules.ops()->env;
  layer.range = value.origin.range;
  Member member;
  member.path = std::span(
      &evaluator.store.make<ast::Name>({std::string(name), value.origin.range}),
      1);
  member.given = &evaluator.store.make<Value>(value);
  member.range = value.origin.range;
  member.setsFixed = true;
  layer.members.push_back(member);
  return &layer;
}

const Schema* Layers::makeSchema(Module& module, const ast::Name& name,
                                 ast::BodyId body, bool isModel) {
  Schema& schema = evaluator.store.make<Schema>();
  schema.name = name.text;
  schema.alias = evaluator.modules.aliasInPrelude(module, name.text);
  schema.isModel = isModel;
  schema.file = module.file;
  schema.body = &(*module.file)[body];
  schema.range = name.range;
  schema.layer.env = &module.env;
  schema.layer.isScope = true;
  schema.layer.range = schema.body->range;
  fill(schema.layer, *schema.body, true);
  for (const Member& member : schema.layer.members)
    evaluator.messages
        .report(diag::Kind::InvalidItem, member.range,
                "a schema declares fields; it does not set them")
        .help("write `" + joined(member.path) + " : type = value`");
  schema.layer.members.clear();
  for (const ast::Item& item : schema.body->items) {
    auto* field = std::get_if<ast::FieldDecl>(&item.node);
    if (!field)
      continue;
    if (const Field* first = schema.find(field->name.text))
      evaluator.messages
          .report(diag::Kind::DuplicateName, field->name.range,
                  "`" + field->name.text + "` is declared twice")
          .label(first->declaration->name.range, "it is declared here first")
          .help("remove one of the two, or give it another name");
    else
      schema.fields.push_back({field, nullptr, item.range});
  }
  return &schema;
}

} // namespace recipec::sema
