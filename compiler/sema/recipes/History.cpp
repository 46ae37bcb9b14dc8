// Walks the layers of a record; see History.h.
//
// A Slot keeps only the definitions that make its value and drops overridden
// ones. The walk therefore reads the layers themselves:
//
//   1. A record's field first has the default of its schema.
//   2. Each member of a layer whose path shares our path's beginning is a
//      definition: it ends at our field, before it, or after it.
//   3. A member that ends before it in braces is entered. A member that ends
//      before it with a value puts its own record there, which is then walked.

#include "compiler/sema/recipes/History.h"

#include <algorithm>
#include <utility>

namespace recipec::sema {
namespace {

using Entry = Explanation::Definition;
using Names = std::span<const std::string>;

class Walk {
public:
  explicit Walk(Evaluator& evaluator) : evaluator(evaluator) {}

  void record(Object& object, Names names) {
    addDefault(object, names);
    for (const Layer* layer : object.layers)
      for (const Member& each : layer->members)
        member(object, *layer, each, names);
  }

  std::vector<Entry> found;

private:
  /// The record that a value denotes, placed in `container`; nullptr when the
  /// value is no record.
  Object* recordOf(const Value& value, Object& container,
                   std::string_view key) {
    if (const Schema* const* schema = value.get<const Schema*>())
      return evaluator.objects.copyInto(
          *evaluator.objects.make(*schema, {}, {}), container, key);
    Object* const* object = value.get<Object*>();
    if (!object)
      return nullptr;
    const Object* record = *object;
    if (const Schema* schema = schemaOf(container, key);
        schema && !record->schema)
      record = evaluator.objects.make(schema, record->layers, record->range);
    return evaluator.objects.copyInto(*record, container, key);
  }

  /// The schema that plain braces have as the field's value.
  const Schema* schemaOf(const Object& container, std::string_view key) {
    const Field* field =
        container.schema ? container.schema->find(key) : nullptr;
    if (!field)
      return nullptr;
    const Type* type = evaluator.types.resolve(*container.schema->layer.env,
                                               field->declaration->type);
    return type->kind == Type::Kind::schema ? type->schema : nullptr;
  }

  /// The final record at the end of `path`.
  Object* finalRecord(Object& object, std::span<const ast::Name> path) {
    Object* at = &object;
    for (const ast::Name& name : path) {
      Slot* slot = at->find(name.text);
      Object* const* inner =
          slot ? evaluator.objects.force(*at, *slot).get<Object*>() : nullptr;
      if (!inner)
        return nullptr;
      at = *inner;
    }
    return at;
  }

  void addDefault(Object& object, Names names) {
    const Field* field =
        object.schema ? object.schema->find(names.front()) : nullptr;
    if (!field)
      return;
    ast::ExprId expr = field->declaration->defaultValue;
    if (names.size() == 1) {
      if (expr != ast::ExprId::none)
        addDefault(object, *field);
      return;
    }
    Object* inner = nullptr;
    if (expr != ast::ExprId::none) {
      const Env* env = evaluator.objects.schemaScope(object, names.front());
      inner = recordOf(evaluator.evaluate(expr, *env), object, names.front());
    } else {
      const Type* type = evaluator.types.resolve(*object.schema->layer.env,
                                                 field->declaration->type);
      if (type->kind == Type::Kind::schema)
        inner = recordOf(Value{type->schema, {}}, object, names.front());
    }
    if (inner)
      record(*inner, names.subspan(1));
  }

  void addDefault(const Object& object, const Field& field) {
    SourceRange range =
        (*object.schema->file)[field.declaration->defaultValue].range;
    forget(range);
    add(Entry::Kind::defaultValue, range);
  }

  void member(Object& object, const Layer& layer, const Member& member,
              Names names) {
    size_t common = std::min(member.path.size(), names.size());
    for (size_t i = 0; i < common; ++i)
      if (member.path[i].text != names[i])
        return;
    bool hasValue = member.body == ast::BodyId::none;
    if (member.path.size() > names.size())
      add(Entry::Kind::amended, member.range);
    else if (member.path.size() < names.size())
      inner(object, layer, member, names.subspan(member.path.size()));
    else
      add(hasValue ? Entry::Kind::written : Entry::Kind::amended, member.range);
  }

  void inner(Object& object, const Layer& layer, const Member& member,
             Names names) {
    const Env* env = evaluator.objects.scopeOf(
        object, sema::Definition{&layer, &member, 0}, member.path[0].text);
    if (member.body != ast::BodyId::none) {
      Object* target = finalRecord(object, member.path);
      if (!target)
        return;
      const Layer* body =
          evaluator.layers.ofBody(*env, member.body, target->schema != nullptr);
      for (const Member& each : body->members)
        this->member(*target, *body, each, names);
      return;
    }
    Value value =
        member.given ? *member.given : evaluator.evaluate(member.value, *env);
    Object* container =
        finalRecord(object, member.path.first(member.path.size() - 1));
    Object* replacement =
        container ? recordOf(value, *container, member.path.back().text)
                  : nullptr;
    if (replacement)
      replace(*replacement, member, names);
    else
      add(Entry::Kind::written, member.range);
  }

  /// Handles a member that replaces a record around the path. It discards all
  /// earlier definitions, even if the new record does not mention the path.
  void replace(Object& replacement, const Member& member, Names names) {
    std::vector<Entry> earlier = std::exchange(found, {});
    record(replacement, names);
    std::vector<Entry> later = std::exchange(found, std::move(earlier));
    auto isDefault = [](const Entry& entry) {
      return entry.kind == Entry::Kind::defaultValue;
    };
    bool takesAway = !std::all_of(found.begin(), found.end(), isDefault);
    if (takesAway && std::all_of(later.begin(), later.end(), isDefault)) {
      add(Entry::Kind::written, member.range);
      found.back().isReplacement = true;
    }
    for (Entry& entry : later) {
      if (isDefault(entry))
        forget(entry.range);
      found.push_back(std::move(entry));
    }
  }

  /// Removes an earlier entry of the same default. A record that replaces
  /// another brings its defaults again.
  void forget(SourceRange range) {
    std::erase_if(found,
                  [&](const Entry& entry) { return entry.range == range; });
  }

  void add(Entry::Kind kind, SourceRange range) {
    bool isArgument = range.isValid() && evaluator.sources.kind(range.source) ==
                                             SourceKind::commandLine;
    Entry entry;
    entry.kind = isArgument ? Entry::Kind::commandLine : kind;
    entry.text = std::string(evaluator.sources.text(range));
    entry.owner = ownerOf(evaluator, range);
    entry.range = range;
    found.push_back(std::move(entry));
  }

  Evaluator& evaluator;
};

/// The name of a declaration in a message; empty for an import.
struct OwnerName {
  std::string operator()(const ast::Import&) const { return ""; }
  std::string operator()(const ast::RecipeDecl& node) const {
    return "recipe `" + node.name.text + "`";
  }
  std::string operator()(const ast::MixinDecl& node) const {
    return "mixin `" + node.name.text + "`";
  }
  std::string operator()(const ast::SchemaDecl& node) const {
    return "schema `" + node.name.text + "`";
  }
  std::string operator()(const ast::ModelDecl& node) const {
    return "model `" + node.name.text + "`";
  }
  std::string operator()(const ast::Let& node) const {
    return "let `" + node.name.text + "`";
  }
  std::string operator()(const ast::BlockDecl& node) const {
    return "block `" + node.name.text + "`";
  }
  std::string operator()(const ast::FunDecl& node) const {
    return "function `" + node.name.text + "`";
  }
};

bool contains(SourceRange outer, SourceRange inner) {
  return outer.source == inner.source && outer.begin <= inner.begin &&
         inner.end <= outer.end;
}

/// Whether the place is in the `sweep` of the recipe.
bool isSwept(const ast::File& file, const ast::RecipeDecl& recipe,
             SourceRange range) {
  const std::vector<ast::Item>& items = file[recipe.body].items;
  return std::any_of(items.begin(), items.end(), [&](const ast::Item& item) {
    auto* node = std::get_if<ast::Assignment>(&item.node);
    return node && node->path.front().text == "sweep" &&
           contains(item.range, range);
  });
}

} // namespace

std::string ownerOf(const Evaluator& evaluator, SourceRange range) {
  const Module* module = evaluator.modules.find(range.source);
  const ast::File* file = module ? module->file : nullptr;
  // Data files declare nothing.
  bool isData =
      file && evaluator.sources.kind(range.source) == SourceKind::data;
  if (!file || isData)
    return "";
  for (const ast::Declaration& declaration : file->declarations) {
    if (!contains(declaration.range, range))
      continue;
    auto* recipe = std::get_if<ast::RecipeDecl>(&declaration.node);
    std::string owner = std::visit(OwnerName{}, declaration.node);
    return recipe && isSwept(*file, *recipe, range) ? "the sweep of " + owner
                                                    : owner;
  }
  return "";
}

std::vector<Entry> historyOf(Evaluator& evaluator, Object& root, Names names,
                             const recipe::Origin& origin) {
  Walk walk(evaluator);
  walk.record(root, names);
  std::vector<Entry>& found = walk.found;
  auto isValue = [](const Entry& entry) {
    return entry.kind != Entry::Kind::amended;
  };
  auto last = std::find_if(found.rbegin(), found.rend(), isValue);
  if (last == found.rend())
    return std::move(found);
  // `auto` restores the schema's default.
  bool isDefault = origin.kind == recipe::Origin::Kind::defaultValue ||
                   origin.kind == recipe::Origin::Kind::derived;
  for (auto at = last + 1; at != found.rend(); ++at) {
    bool bringsLast = at == last + 1 && at->isReplacement &&
                      last->kind == Entry::Kind::defaultValue;
    bool isBack = isDefault && at->kind == Entry::Kind::defaultValue;
    at->isOverridden = !bringsLast && !isBack;
  }
  return std::move(found);
}

} // namespace recipec::sema
