// Statements. Each writes to the output, or changes the variables of the
// innermost scope: a loop or macro has its own, `if` has none.

#include "runtime/jinja/Renderer.h"

namespace reciperun::jinja {
namespace {

/// Calls of macros and recursive loops within each other.
constexpr int maxCallDepth = 100;

} // namespace

Status atLine(const Status& failure, int line) {
  const bool hasLine = failure.message().starts_with("line ");
  return failure.isOk() || hasLine
             ? failure
             : failure.withContext("line " + std::to_string(line));
}

const Value* Scope::find(std::string_view name) const {
  for (const Scope* at = this; at; at = at->outer)
    if (const auto known = at->names.find(name); known != at->names.end())
      return &known->second;
  return nullptr;
}

void Scope::set(const std::string& name, Value value) {
  names.insert_or_assign(name, std::move(value));
}

Expected<Value> made(std::string text, Budget& budget) {
  RECIPERUN_TRY(budget.takeBytes(text.size()));
  return Value(std::move(text));
}

Expected<Value> made(List elements, Budget& budget) {
  RECIPERUN_TRY(budget.takeBytes(elements.size() * sizeof(Value)));
  return Value(std::move(elements));
}

Scope& Renderer::newScope(Scope* outer) {
  scopes.push_back({outer, {}});
  return scopes.back();
}

Renderer::~Renderer() {
  for (const auto& [address, container] : changed)
    if (List* list = container.list())
      list->clear();
    else
      container.dict()->entries.clear();
}

void Renderer::noteChange(const Value& container) {
  const void* const address = container.list()
                                  ? static_cast<const void*>(container.list())
                                  : container.dict();
  changed.emplace(address, container);
}

Expected<std::string> Renderer::render(const ast::Body& body, Dict variables) {
  Scope& global = newScope(nullptr);
  declareFunctions(*this, global);
  for (auto& [name, value] : variables.entries)
    global.set(name, std::move(value));
  return textOf(body, newScope(&global));
}

Expected<std::string> Renderer::textOf(const ast::Body& body, Scope& scope) {
  std::string output;
  Expected<Flow> flow = execute(body, scope, output);
  RECIPERUN_TRY(flow);
  if (*flow != Flow::next)
    return Status::error("`break` and `continue` stand outside of a loop");
  return output;
}

// ---- statements

struct Renderer::StatementRenderer {
  Renderer& renderer;
  Scope& scope;
  std::string& output;

  Expected<Flow> write(std::string_view text) const {
    RECIPERUN_TRY(renderer.budget.takeBytes(text.size()));
    output += text;
    return Flow::next;
  }
  Expected<Flow> print(const Value& value) const {
    RECIPERUN_TRY(value.appendTo(output, renderer.budget));
    return Flow::next;
  }

  Expected<Flow> operator()(const ast::Text& node) const {
    return write(node.text);
  }
  Expected<Flow> operator()(const ast::Output& node) const {
    Expected<Value> value = renderer.evaluate(*node.value, scope);
    RECIPERUN_TRY(value);
    return print(*value);
  }
  Expected<Flow> operator()(const ast::If& node) const {
    for (const ast::If::Branch& branch : node.branches) {
      if (branch.condition) {
        Expected<Value> condition = renderer.evaluate(*branch.condition, scope);
        RECIPERUN_TRY(condition);
        if (!condition->isTrue())
          continue;
      }
      return renderer.execute(branch.body, scope, output);
    }
    return Flow::next;
  }
  Expected<Flow> operator()(const ast::For& node) const {
    Expected<Value> elements = renderer.evaluate(*node.elements, scope);
    RECIPERUN_TRY(elements);
    return renderer.loop(node, *elements, scope, output, 0);
  }
  Expected<Flow> operator()(const ast::Set& node) const {
    Expected<Value> value = renderer.evaluate(*node.value, scope);
    RECIPERUN_TRY(value);
    if (node.attribute.empty()) {
      RECIPERUN_TRY(renderer.assign(node.targets, *value, scope));
      return Flow::next;
    }
    const std::string& name = node.targets.front();
    const Value* target = scope.find(name);
    if (!target || !target->dict() || !target->dict()->isNamespace)
      return Status::error("`" + name +
                           "` is no `namespace(...)`, and only "
                           "its attributes can be set");
    RECIPERUN_TRY(target->dict()->set(node.attribute, *std::move(value),
                                      renderer.budget));
    renderer.noteChange(*target);
    return Flow::next;
  }
  Expected<Flow> operator()(const ast::SetBlock& node) const {
    Expected<std::string> text =
        renderer.textOf(node.body, renderer.newScope(&scope));
    RECIPERUN_TRY(text);
    scope.set(node.target, *std::move(text));
    return Flow::next;
  }
  Expected<Flow> operator()(const ast::Macro& node) const {
    scope.set(node.name, renderer.macro(node, scope));
    return Flow::next;
  }
  Expected<Flow> operator()(const ast::CallBlock& node) const {
    const auto& call = std::get<ast::Call>(node.call->node);
    Expected<Value> callee = renderer.evaluate(*call.callee, scope);
    RECIPERUN_TRY(callee);
    Expected<Arguments> arguments = renderer.evaluateAll(call.arguments, scope);
    RECIPERUN_TRY(arguments);
    arguments->named.emplace_back("caller", renderer.macro(node.caller, scope));
    Expected<Value> text = renderer.call(*callee, *arguments);
    RECIPERUN_TRY(text);
    return print(*text);
  }
  Expected<Flow> operator()(const ast::FilterBlock& node) const {
    Expected<std::string> text =
        renderer.textOf(node.body, renderer.newScope(&scope));
    RECIPERUN_TRY(text);
    Expected<Arguments> arguments = renderer.evaluateAll(node.arguments, scope);
    RECIPERUN_TRY(arguments);
    Expected<Value> value =
        renderer.applyFilter(node.name, *std::move(text), *arguments);
    RECIPERUN_TRY(value);
    return print(*value);
  }
  Expected<Flow> operator()(const ast::Block& node) const {
    return renderer.execute(node.body, scope, output);
  }
  Expected<Flow> operator()(const ast::Break&) const { return Flow::leaveLoop; }
  Expected<Flow> operator()(const ast::Continue&) const {
    return Flow::continueLoop;
  }
};

Expected<Renderer::Flow> Renderer::execute(const ast::Body& body, Scope& scope,
                                           std::string& output) {
  const StatementRenderer visitor{*this, scope, output};
  const Level level(budget);
  for (const ast::Statement& statement : body) {
    RECIPERUN_TRY(atLine(level.takeStep(), statement.line));
    Expected<Flow> flow = std::visit(visitor, statement.node);
    RECIPERUN_TRY(atLine(flow.status(), statement.line));
    if (*flow != Flow::next)
      return flow;
  }
  return Flow::next;
}

Status Renderer::assign(const std::vector<std::string>& targets,
                        const Value& value, Scope& scope) {
  if (targets.size() == 1) {
    scope.set(targets.front(), value);
    return {};
  }
  Expected<List> elements = elementsOf(value);
  RECIPERUN_TRY(elements);
  if (elements->size() != targets.size())
    return Status::error(std::to_string(elements->size()) +
                         " values are assigned to " +
                         std::to_string(targets.size()) + " names");
  for (size_t i = 0; i < targets.size(); ++i)
    scope.set(targets[i], (*elements)[i]);
  return {};
}

// ---- loops

namespace {

/// The variable `loop` of an iteration. Its functions refer to the scope: a
/// value of their own could contain the variable and would never be freed.
Value loopVariable(const List& elements, size_t i, int depth, Scope& scope,
                   Budget& budget) {
  auto number = [](size_t value) { return Value(int64_t(value)); };
  const size_t count = elements.size();
  Dict loop;
  loop.entries = {
      {"index", number(i + 1)},
      {"index0", number(i)},
      {"revindex", number(count - i)},
      {"revindex0", number(count - i - 1)},
      {"first", i == 0},
      {"last", i + 1 == count},
      {"length", number(count)},
      {"depth", number(size_t(depth) + 1)},
      {"depth0", number(size_t(depth))},
      {"previtem", i > 0 ? elements[i - 1] : Undefined{"loop.previtem"}},
      {"nextitem",
       i + 1 < count ? elements[i + 1] : Undefined{"loop.nextitem"}},
  };
  auto cycle = [i](const Arguments& arguments) -> Expected<Value> {
    if (arguments.positional.empty())
      return Status::error("`loop.cycle` needs the values to cycle through");
    return arguments.positional[i % arguments.positional.size()];
  };
  auto changed = [&scope,
                  &budget](const Arguments& arguments) -> Expected<Value> {
    const Value now(arguments.positional);
    Expected<bool> isSame = isEqual(scope.changed, now, budget);
    RECIPERUN_TRY(isSame);
    scope.changed = now;
    return Value(!*isSame);
  };
  loop.entries.emplace_back("cycle", Function{"cycle", cycle});
  loop.entries.emplace_back("changed", Function{"changed", changed});
  return loop;
}

} // namespace

Expected<Renderer::Flow> Renderer::loop(const ast::For& node,
                                        const Value& value, Scope& scope,
                                        std::string& output, int level) {
  Expected<List> all = elementsOf(value);
  RECIPERUN_TRY(all);
  Scope& own = newScope(&scope);
  List elements;
  for (Value& element : *all) {
    if (node.condition) {
      RECIPERUN_TRY(assign(node.targets, element, own));
      Expected<Value> condition = evaluate(*node.condition, own);
      RECIPERUN_TRY(condition);
      if (!condition->isTrue())
        continue;
    }
    elements.push_back(std::move(element));
  }
  if (elements.empty())
    return execute(node.otherwise, newScope(&scope), output);
  for (size_t i = 0; i < elements.size(); ++i) {
    RECIPERUN_TRY(budget.takeStep());
    own.names.clear();
    Value variable = loopVariable(elements, i, level, own, budget);
    if (node.isRecursive)
      variable.dict()->entries.emplace_back(
          "()", Function{"loop",
                         [this, &node, &scope, level](
                             const Arguments& arguments) -> Expected<Value> {
                           const Value* inner = arguments.find(0, "");
                           if (!inner || level >= maxCallDepth)
                             return Status::error(
                                 inner ? "loops recurse too deeply"
                                       : "`loop` needs the elements");
                           std::string text;
                           Expected<Flow> flow =
                               loop(node, *inner, scope, text, level + 1);
                           RECIPERUN_TRY(flow);
                           return Value(std::move(text));
                         }});
    own.set("loop", std::move(variable));
    RECIPERUN_TRY(assign(node.targets, elements[i], own));
    Expected<Flow> flow = execute(node.body, own, output);
    RECIPERUN_TRY(flow);
    if (*flow == Flow::leaveLoop)
      break;
  }
  return Flow::next;
}

// ---- macros

Value Renderer::macro(const ast::Macro& node, Scope& scope) {
  return Function{node.name, [this, &node, &scope](const Arguments& arguments) {
                    return callMacro(node, scope, arguments);
                  }};
}

Expected<Value> Renderer::callMacro(const ast::Macro& node, Scope& scope,
                                    const Arguments& arguments) {
  const std::string name = "macro `" + node.name + "`";
  if (depth >= maxCallDepth)
    return Status::error(name + " recurses too deeply");
  if (arguments.positional.size() > node.parameters.size())
    return Status::error(
        name + " takes " + std::to_string(node.parameters.size()) +
        " arguments, and not " + std::to_string(arguments.positional.size()));
  // Each parameter is searched among the named arguments, and the reverse.
  RECIPERUN_TRY(
      budget.takeReads(2 * node.parameters.size() * arguments.named.size()));
  Scope& own = newScope(&scope);
  for (size_t i = 0; i < node.parameters.size(); ++i) {
    const ast::Parameter& parameter = node.parameters[i];
    if (const Value* given = arguments.find(i, parameter.name)) {
      own.set(parameter.name, *given);
    } else if (parameter.initial) {
      Expected<Value> value = evaluate(*parameter.initial, own);
      RECIPERUN_TRY(value);
      own.set(parameter.name, *std::move(value));
    } else {
      own.set(parameter.name, Undefined{parameter.name});
    }
  }
  for (const auto& [given, value] : arguments.named) {
    bool isKnown = given == "caller";
    for (const ast::Parameter& parameter : node.parameters)
      isKnown |= parameter.name == given;
    if (!isKnown)
      return Status::error(name + " has no parameter `" + given + "`");
    if (given == "caller")
      own.set(given, value);
  }
  ++depth;
  Expected<std::string> text = textOf(node.body, own);
  --depth;
  RECIPERUN_TRY(text);
  return Value(*std::move(text));
}

} // namespace reciperun::jinja
