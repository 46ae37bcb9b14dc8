// Expressions: one function a node of the syntax tree.

#include "compiler/sema/Evaluator.h"
#include "compiler/sema/Trace.h"

#include <algorithm>

namespace recipec::sema {
namespace {

/// The longest string that an interpolation or `+` may make, in bytes.
constexpr size_t maxString = 1 << 20;

constexpr std::string_view outerName = "outer";

struct UnitEntry {
  std::string_view name;
  recipe::Unit unit;
  double scale;
};

constexpr UnitEntry units[] = {
    {"B", recipe::Unit::bytes, 1},        {"KB", recipe::Unit::bytes, 1e3},
    {"MB", recipe::Unit::bytes, 1e6},     {"GB", recipe::Unit::bytes, 1e9},
    {"TB", recipe::Unit::bytes, 1e12},    {"KiB", recipe::Unit::bytes, 0x1p10},
    {"MiB", recipe::Unit::bytes, 0x1p20}, {"GiB", recipe::Unit::bytes, 0x1p30},
    {"TiB", recipe::Unit::bytes, 0x1p40}, {"ms", recipe::Unit::seconds, 1e-3},
    {"s", recipe::Unit::seconds, 1},      {"min", recipe::Unit::seconds, 60},
    {"h", recipe::Unit::seconds, 3600},   {"d", recipe::Unit::seconds, 86400},
    {"step", recipe::Unit::steps, 1},     {"steps", recipe::Unit::steps, 1},
    {"epoch", recipe::Unit::epochs, 1},   {"epochs", recipe::Unit::epochs, 1},
    {"token", recipe::Unit::tokens, 1},   {"tokens", recipe::Unit::tokens, 1},
};

struct BuiltinEntry {
  std::string_view name;
  Builtin::Which which;
};

constexpr BuiltinEntry builtins[] = {
    {"min", Builtin::Which::min},     {"max", Builtin::Which::max},
    {"floor", Builtin::Which::floor}, {"ceil", Builtin::Which::ceil},
    {"sqrt", Builtin::Which::sqrt},   {"len", Builtin::Which::len},
    {"sum", Builtin::Which::sum},
};

template <class Declaration>
const Declaration* named(const std::vector<const Declaration*>& declarations,
                         std::string_view name) {
  for (const Declaration* declaration : declarations)
    if (declaration->name.text == name)
      return declaration;
  return nullptr;
}

} // namespace

// ---- names
// -------------------------------------------------------------------

Value Evaluator::letValue(const ast::Let& let, const Env& env) {
  std::vector<LetValue>& known = env.object->letValues;
  for (LetValue& entry : known) {
    if (entry.let != &let)
      continue;
    if (entry.isRunning)
      report(diag::Kind::Recursion, let.name.range,
             "`" + let.name.text + "` depends on itself");
    return entry.value;
  }
  size_t index = known.size();
  known.push_back({&let, true, poison()});
  Value value = evaluate(let.value, env);
  known[index] = {&let, false, value};
  return value;
}

std::optional<Value> Evaluator::lookUp(std::string_view name, const Env& env) {
  for (const Env* at = &env; at; at = at->outer) {
    if (at->locals)
      if (Value* local = at->locals->find(name))
        return *local;
    if (!at->object)
      continue;
    Slot* slot = name == at->defined ? nullptr : at->object->find(name);
    if (slot)
      return force(*at->object, *slot);
    if (!at->layer)
      continue;
    if (auto* let = named(at->layer->lets, name))
      return letValue(*let, *at);
    if (auto* function = named(at->layer->functions, name))
      return Value{&std::as_const(make<Function>({function, at})),
                   writtenAt(function->name.range)};
    if (auto* block = named(at->layer->blocks, name))
      return Value{&std::as_const(make<Block>({block, at})),
                   writtenAt(block->name.range)};
  }
  for (Module* module = env.module; module; module = module->fallback)
    if (ModuleEntry* entry = module->find(name))
      return entryValue(*module, *entry);
  if (env.inBlock && opsModule)
    if (ModuleEntry* entry = opsModule->find(name))
      return entryValue(*opsModule, *entry);
  if (preludeModule && env.module != opsModule)
    if (ModuleEntry* entry = preludeModule->find(name))
      return entryValue(*preludeModule, *entry);
  for (const BuiltinEntry& builtin : builtins)
    if (builtin.name == name)
      return Value{Builtin{builtin.which}, {}};
  for (const Module* module = env.module; module; module = module->fallback)
    for (const std::string& missing : module->missing)
      if (missing == name)
        return poison();
  return std::nullopt;
}

std::vector<std::string> Evaluator::visibleNames(const Env& env) {
  std::vector<std::string> names;
  auto addModule = [&](const Module* module) {
    if (module)
      for (const auto& [name, entry] : module->entries)
        names.emplace_back(name);
  };
  for (const Env* at = &env; at; at = at->outer) {
    if (at->locals)
      for (const auto& [name, value] : at->locals->names)
        names.emplace_back(name);
    if (at->object)
      for (const Slot& slot : at->object->slots)
        names.emplace_back(slot.name);
    if (!at->layer)
      continue;
    for (const ast::Let* let : at->layer->lets)
      names.push_back(let->name.text);
    for (const ast::FunDecl* function : at->layer->functions)
      names.push_back(function->name.text);
    for (const ast::BlockDecl* block : at->layer->blocks)
      names.push_back(block->name.text);
  }
  for (Module* module = env.module; module; module = module->fallback)
    addModule(module);
  if (env.inBlock)
    addModule(opsModule);
  addModule(preludeModule);
  for (const BuiltinEntry& builtin : builtins)
    names.emplace_back(builtin.name);
  return names;
}

void Evaluator::reportUnknownName(const ast::Name& name, const Env& env) {
  auto builder = report(diag::Kind::UnknownName, name.range,
                        "there is nothing called `" + name.text + "` here");
  if (builder.suggest(name.range, name.text, visibleNames(env)))
    return;
  for (const std::string& path : loader.standardFiles())
    if (path.ends_with("/" + name.text + ".recipe")) {
      std::string import = path.substr(0, path.rfind('.'));
      std::replace(import.begin(), import.end(), '/', '.');
      builder.help("add `import " + import + "`");
      return;
    }
}

Value Evaluator::nameValue(const ast::Name& name, const Env& env) {
  if (std::optional<Value> value = lookUp(name.text, env))
    return *value;
  if (name.text == outerName) {
    for (const Env* at = &env; at; at = at->outer)
      if (at->object && at->object->schema) {
        if (Object* container = at->object->container)
          return {container, writtenAt(name.range)};
        break;
      }
    report(diag::Kind::InvalidValue, name.range,
           "this record is in no other, so that it has no `outer`");
    return poison();
  }
  reportUnknownName(name, env);
  return poison();
}

Value Evaluator::memberOf(const Value& base, const ast::Name& member,
                          SourceRange range) {
  if (base.isPoison())
    return poison();
  std::vector<std::string> names;
  if (Object* const* object = base.get<Object*>()) {
    if (Slot* slot = (*object)->find(member.text))
      return force(**object, *slot);
    for (const Slot& slot : (*object)->slots)
      names.emplace_back(slot.name);
  } else if (Module* const* module = base.get<Module*>()) {
    if (ModuleEntry* entry = (*module)->find(member.text))
      return entryValue(**module, *entry);
    for (const auto& [name, entry] : (*module)->entries)
      if (!std::holds_alternative<ast::Import>(entry.declaration->node))
        names.emplace_back(name);
  } else {
    report(diag::Kind::WrongType, range,
           "a value of type `" + typeNameOf(base) + "` has no `" + member.text +
               "`");
    return poison();
  }
  Module* const* module = base.get<Module*>();
  std::string owner = module ? (*module)->path : typeNameOf(base);
  auto builder = report(diag::Kind::UnknownName, member.range,
                        "`" + owner + "` has no " + (module ? "`" : "field `") +
                            member.text + "`");
  builder.suggest(member.range, member.text, names);
  return poison();
}

// ---- nodes
// -------------------------------------------------------------------

struct Evaluator::NodeEvaluator {
  Evaluator& self;
  const Env& env;
  SourceRange range;

  recipe::Origin origin() const { return self.writtenAt(range); }
  Value evaluate(ast::ExprId id) const { return self.evaluate(id, env); }

  Value operator()(const ast::KeywordLiteral& node) const {
    using Which = ast::KeywordLiteral::Which;
    switch (node.which) {
    case Which::none:
      return {recipe::None{}, origin()};
    case Which::automatic:
      return {recipe::Auto{}, origin()};
    case Which::trueValue:
      return {true, origin()};
    case Which::falseValue:
      return {false, origin()};
    }
    return self.poison();
  }
  Value operator()(const ast::IntLiteral& node) const {
    return {node.value, origin()};
  }
  Value operator()(const ast::FloatLiteral& node) const {
    return {node.value, origin()};
  }
  Value operator()(const ast::QuantityLiteral& node) const {
    for (const UnitEntry& unit : units)
      if (unit.name == node.unit.text)
        return {recipe::Quantity{node.value * unit.scale, unit.unit}, origin()};
    std::vector<std::string> names;
    for (const UnitEntry& unit : units)
      names.emplace_back(unit.name);
    auto builder = self.report(diag::Kind::UnknownUnit, node.unit.range,
                               "there is no unit `" + node.unit.text + "`");
    builder.suggest(node.unit.range, node.unit.text, names);
    return self.poison();
  }
  Value operator()(const ast::StringLiteral& node) const {
    std::string text = node.texts.front();
    for (size_t i = 0; i < node.holes.size(); ++i) {
      Value value = evaluate(node.holes[i]);
      if (value.isPoison())
        return self.poison();
      const std::string* string = value.get<std::string>();
      text += string ? *string : self.describe(value);
      text += node.texts[i + 1];
      if (text.size() <= maxString)
        continue;
      self.report(diag::Kind::InvalidValue, range,
                  "this string is longer than " + std::to_string(maxString) +
                      " bytes");
      return self.poison();
    }
    return {std::move(text), origin()};
  }
  Value operator()(const ast::NameRef& node) const {
    return self.nameValue(node.name, env);
  }
  Value operator()(const ast::Member& node) const {
    return self.memberOf(evaluate(node.base), node.member, range);
  }
  Value operator()(const ast::Index& node) const {
    Value base = evaluate(node.base);
    Value index = evaluate(node.index);
    if (base.isPoison() || index.isPoison())
      return self.poison();
    return self.indexValue(base, index, range);
  }
  Value operator()(const ast::Call& node) const {
    return self.call(node, range, env);
  }
  Value operator()(const ast::Amend& node) const {
    Value base = evaluate(node.base);
    if (base.isPoison())
      return base;
    if (const Schema* const* schema = base.get<const Schema*>())
      return {self.makeObject(*schema, {self.bodyLayer(env, node.body, true)},
                              range),
              origin()};
    if (Object* const* object = base.get<Object*>()) {
      bool isScope = (*object)->schema != nullptr;
      return {self.amended(**object, self.bodyLayer(env, node.body, isScope),
                           range),
              origin()};
    }
    self.report(diag::Kind::WrongType, (*env.file)[node.base].range,
                "braces amend a record, and this is of type `" +
                    self.typeNameOf(base) + "`");
    return self.poison();
  }
  Value operator()(const ast::ListExpr& node) const {
    std::vector<Value> elements;
    elements.reserve(node.elements.size());
    for (ast::ExprId element : node.elements) {
      Value value = evaluate(element);
      if (value.isPoison())
        return value;
      // An element is at fault where it is written, not where it came from.
      value.origin = self.writtenAt((*env.file)[element].range);
      elements.push_back(std::move(value));
    }
    return self.makeList(std::move(elements), range);
  }
  Value operator()(const ast::Comprehension& node) const {
    std::vector<Value> elements;
    bool isWhole = collect(node, 0, env, elements);
    return isWhole ? self.makeList(std::move(elements), range) : self.poison();
  }
  /// The turns of the clauses from `index` on; false where something is poison.
  bool collect(const ast::Comprehension& node, size_t index, const Env& around,
               std::vector<Value>& elements) const {
    if (index == node.clauses.size()) {
      elements.push_back(self.evaluate(node.element, around));
      return !elements.back().isPoison();
    }
    const ast::Clause& clause = node.clauses[index];
    std::optional<std::vector<Value>> turns =
        self.elementsOf(self.evaluate(clause.source, around),
                        (*env.file)[clause.source].range);
    if (!turns)
      return false;
    for (Value& turn : *turns) {
      Locals& locals = self.make<Locals>();
      locals.names = {{clause.variables.back().text, std::move(turn)}};
      Env& inner = self.make<Env>(around);
      inner.outer = &around;
      inner.object = nullptr;
      inner.layer = nullptr;
      inner.locals = &locals;
      std::optional<bool> keep = true;
      if (clause.condition != ast::ExprId::none)
        keep = self.condition(clause.condition, inner,
                              "the condition of a comprehension");
      if (!keep || (*keep && !collect(node, index + 1, inner, elements)))
        return false;
    }
    return true;
  }
  Value operator()(const ast::Unary& node) const {
    if (node.op == ast::UnaryOp::logicalNot) {
      std::optional<bool> value =
          self.condition(node.operand, env, "the operand of `not`");
      return value ? Value{!*value, origin()} : self.poison();
    }
    return self.negate(evaluate(node.operand), range);
  }
  Value operator()(const ast::Binary& node) const {
    return self.binary(node, range, env);
  }
  Value operator()(const ast::Conditional& node) const {
    std::optional<bool> value =
        self.condition(node.condition, env, "the condition of `if`");
    if (!value)
      return self.poison();
    return evaluate(*value ? node.thenValue : node.elseValue);
  }
  Value operator()(const ast::RecordExpr& node) const {
    // Like a map: values do not see the keys.
    return {self.makeObject(nullptr, {self.bodyLayer(env, node.body, false)},
                            range),
            origin()};
  }
};

Value Evaluator::evaluate(ast::ExprId id, const Env& env) {
  const ast::Expr& expr = (*env.file)[id];
  DepthGuard guard(*this);
  if (!takeStep(expr.range))
    return poison();
  return std::visit(NodeEvaluator{*this, env, expr.range}, expr.node);
}

std::optional<bool> Evaluator::condition(ast::ExprId id, const Env& env,
                                         std::string_view what) {
  Value value = evaluate(id, env);
  if (value.isPoison())
    return std::nullopt;
  if (const bool* result = value.get<bool>())
    return *result;
  report(diag::Kind::WrongType, (*env.file)[id].range,
         std::string(what) + " is of type `bool`, and this is of type `" +
             typeNameOf(value) + "`");
  return std::nullopt;
}

std::optional<std::vector<Value>> Evaluator::elementsOf(const Value& value,
                                                        SourceRange range) {
  if (value.isPoison())
    return std::nullopt;
  if (const ListValue* const* list = value.get<const ListValue*>())
    return (*list)->elements;
  if (const Range* turns = value.get<Range>()) {
    std::vector<Value> elements;
    for (int64_t i = turns->begin; i < turns->end; ++i) {
      if (!takeStep(range))
        return std::nullopt;
      elements.push_back({i, writtenAt(range)});
    }
    return elements;
  }
  report(diag::Kind::WrongType, range,
         "`for` goes over a list or a range, and this is of type `" +
             typeNameOf(value) + "`");
  return std::nullopt;
}

Value Evaluator::makeList(std::vector<Value> elements, SourceRange range) {
  return {&std::as_const(make<ListValue>({std::move(elements)})),
          writtenAt(range)};
}

Value Evaluator::indexValue(const Value& base, const Value& index,
                            SourceRange range) {
  Object* const* object = base.get<Object*>();
  const std::string* key = index.get<std::string>();
  if (object && key)
    return memberOf(base, {*key, range}, range);
  const ListValue* const* list = base.get<const ListValue*>();
  Type integer = Type::plain(Type::Kind::integer);
  std::optional<Value> whole = convert(index, integer);
  if (!list || !whole) {
    report(diag::Kind::WrongType, range,
           "`[]` does not take `" + typeNameOf(base) + "` and `" +
               typeNameOf(index) + "`");
    return poison();
  }
  int64_t position = *whole->get<int64_t>();
  int64_t count = int64_t((*list)->elements.size());
  if (position >= 0 && position < count)
    return (*list)->elements[size_t(position)];
  report(diag::Kind::InvalidValue, range,
         "there is no element " + std::to_string(position) + " in a list of " +
             std::to_string(count));
  return poison();
}

} // namespace recipec::sema
