// Checks that the names in functions and blocks exist; see NameCheck.h. Braces
// that amend a record are skipped: the names that its fields add are known only
// when it is evaluated.

#include "compiler/sema/names/NameCheck.h"

#include "compiler/sema/names/ForeignWords.h"
#include "compiler/sema/names/Interpolation.h"
#include "compiler/sema/names/NearestNames.h"
#include "compiler/sema/names/OpNames.h"
#include "compiler/sema/types/OpArguments.h"

#include <algorithm>

namespace recipec::sema {
namespace {

std::unordered_set<std::string> setOf(std::vector<std::string> names) {
  return {std::make_move_iterator(names.begin()),
          std::make_move_iterator(names.end())};
}

/// Whether the scope is a block of the file, which sees no fields of a model.
bool isOutsideModels(const Env& env) {
  for (const Env* at = &env; at; at = at->outer)
    if (at->object)
      return false;
  return env.inBlock;
}

} // namespace

bool helpOutsideModel(diag::Builder& builder, const Env& env,
                      const ast::Name& name) {
  if (!isOutsideModels(env))
    return false;
  const ast::File& file = *env.file;
  const std::string own = "give it a parameter `" + name.text + ": dim`";
  for (const ast::Declaration& declaration : file.declarations) {
    const auto* model = std::get_if<ast::ModelDecl>(&declaration.node);
    if (!model)
      continue;
    for (const ast::Item& item : file[model->body].items)
      if (auto* field = std::get_if<ast::FieldDecl>(&item.node);
          field && field->name.text == name.text) {
        builder
            .label(field->name.range, "`" + name.text + "` is a field of `" +
                                          model->name.text + "`")
            .help("fields of a model are known between its braces: move the "
                  "block there, or " +
                  own);
        return true;
      }
  }
  builder.help("a block of the file has its parameters and the names of the "
               "file: " +
               own);
  return true;
}

NameCheck::NameCheck(Evaluator& evaluator, const Env& scope)
    : evaluator(evaluator), scope(scope), file(*scope.file),
      names(setOf(evaluator.lookup.visibleNames(scope))) {
  Env block = scope;
  block.inBlock = true;
  namesInBlock = setOf(evaluator.lookup.visibleNames(block));
}

// ---- names

bool NameCheck::isKnown(std::string_view name) const {
  if (std::find(locals.begin(), locals.end(), name) != locals.end())
    return true;
  const Names& visible = isInBlock ? namesInBlock : names;
  if (name == outerName || visible.contains(std::string(name)))
    return true;
  const std::vector<std::string>& missing = scope.module->missing;
  return std::find(missing.begin(), missing.end(), name) != missing.end();
}

void NameCheck::name(const ast::Name& name, bool isCalled) {
  if (isKnown(name.text))
    return;
  const Names& visible = isInBlock ? namesInBlock : names;
  std::vector<std::string> candidates(visible.begin(), visible.end());
  std::sort(candidates.begin(), candidates.end());
  candidates.insert(candidates.end(), locals.begin(), locals.end());
  std::string message = isInBlock && isCalled
                            ? "there is no op or block `" + name.text + "`"
                            : unknownMessage(evaluator.sources, name);
  auto builder = evaluator.messages.report(diag::Kind::UnknownName, name.range,
                                           std::move(message));
  if (helpWithHfInterpolation(evaluator.sources, builder, name) ||
      helpWithForeignWord(builder, name) ||
      (isCalled && isInBlock &&
       helpWithOp(evaluator, builder, name, name.range)) ||
      builder.suggest(name.range, name.text, candidates) ||
      helpWithInterpolation(evaluator.sources, builder, name))
    return;
  if (isCalled && argumentForms.empty() &&
      helpWithNearestName(evaluator, builder, name.text, isInBlock))
    return;
  if (!isInBlock)
    return helpInFunction(builder, name, isCalled);
  if (isCalled) {
    builder.help(!argumentForms.empty()
                     ? argumentForms
                     : "`recipec doc std.ops` lists the ops");
    return;
  }
  if (locals.empty()) {
    builder.help("a dimension is declared between the braces of the model: `" +
                 name.text + " : dim`");
    return;
  }
  Env block = scope;
  block.inBlock = true;
  if (helpOutsideModel(builder, block, name))
    return;
  std::string known;
  for (size_t i = 0; i < locals.size(); ++i)
    known += (i == 0                   ? ""
              : i + 1 == locals.size() ? " and "
                                       : ", ") +
             ("`" + std::string(locals[i]) + "`");
  builder.help("the block has " + known +
               "; a dimension is declared between the braces of the model: `" +
               name.text + " : dim`");
}

/// Helps with an unknown name in a function: an op, or what is not declared.
void NameCheck::helpInFunction(diag::Builder& builder, const ast::Name& name,
                               bool isCalled) const {
  if (namesInBlock.contains(name.text))
    builder.help("`" + name.text +
                 "` is an op, which blocks call alone: declare a `block` in "
                 "place of the `fun`");
  else if (isCalled)
    builder.help("declare it, `fun " + name.text +
                 "(x: int): int = ...`, or import the file that does");
  else
    builder.help("declare it, `let " + name.text +
                 " = ...`, or give the function a parameter `" + name.text +
                 "`");
}

/// Reports a call of a member of an unknown name, `F.silu(x)`, in a block.
bool NameCheck::qualified(const ast::Expr& callee) {
  const ast::Name* root = isInBlock ? rootOf(file, callee) : nullptr;
  if (!root || isKnown(root->text))
    return false;
  reportQualified(evaluator, callee, *root,
                  isKnown(std::get<ast::Member>(callee.node).member.text));
  return true;
}

// ---- expressions

struct NameCheck::Walk {
  NameCheck& self;

  void operator()(const ast::KeywordLiteral&) const {}
  void operator()(const ast::IntLiteral&) const {}
  void operator()(const ast::FloatLiteral&) const {}
  void operator()(const ast::QuantityLiteral&) const {}
  void operator()(const ast::StringLiteral& node) const {
    for (ast::ExprId hole : node.holes)
      self.check(hole);
  }
  void operator()(const ast::NameRef& node) const {
    self.name(node.name, false);
  }
  void operator()(const ast::Member& node) const { self.check(node.base); }
  void operator()(const ast::Index& node) const {
    self.check(node.base);
    self.check(node.index);
  }
  void operator()(const ast::Call& node) const {
    if (auto* callee = std::get_if<ast::NameRef>(&self.file[node.callee].node))
      self.name(callee->name, true);
    else if (!self.qualified(self.file[node.callee]))
      self.check(node.callee);
    for (size_t i = 0; i < node.arguments.size(); ++i) {
      if (std::holds_alternative<ast::Call>(
              self.file[node.arguments[i].value].node))
        self.argumentForms =
            recordsOfArgument(self.evaluator, self.file, node, i);
      self.check(node.arguments[i].value);
      self.argumentForms.clear();
    }
  }
  void operator()(const ast::Amend& node) const { self.check(node.base); }
  void operator()(const ast::ListExpr& node) const {
    for (ast::ExprId element : node.elements)
      self.check(element);
  }
  void operator()(const ast::Comprehension& node) const {
    size_t before = self.locals.size();
    for (const ast::Clause& clause : node.clauses) {
      self.check(clause.source);
      for (const ast::Name& variable : clause.variables)
        self.locals.push_back(variable.text);
      self.check(clause.condition);
    }
    self.check(node.element);
    self.locals.resize(before);
  }
  void operator()(const ast::Unary& node) const { self.check(node.operand); }
  void operator()(const ast::Binary& node) const {
    self.check(node.left);
    self.check(node.right);
  }
  void operator()(const ast::TypeTest& node) const { self.check(node.operand); }
  void operator()(const ast::Conditional& node) const {
    self.check(node.condition);
    self.check(node.thenValue);
    self.check(node.elseValue);
  }
  void operator()(const ast::RecordExpr& node) const {
    self.entries(node.body);
  }
};

void NameCheck::check(ast::ExprId expr) {
  if (expr != ast::ExprId::none)
    std::visit(Walk{*this}, file[expr].node);
}

// ---- bodies

void NameCheck::loop(const ast::For& node,
                     void (NameCheck::*inner)(ast::BodyId)) {
  check(node.source);
  size_t before = locals.size();
  for (const ast::Name& variable : node.variables)
    locals.push_back(variable.text);
  (this->*inner)(node.body);
  locals.resize(before);
}

/// Checks the entries of a map. Their values see the map's functions and
/// `let`s, but not its keys.
void NameCheck::entries(ast::BodyId body) {
  size_t before = locals.size();
  for (const ast::Item& item : file[body].items) {
    if (auto* let = std::get_if<ast::Let>(&item.node))
      locals.push_back(let->name.text);
    else if (auto* function = std::get_if<ast::FunDecl>(&item.node))
      locals.push_back(function->name.text);
  }
  for (const ast::Item& item : file[body].items)
    entry(item);
  locals.resize(before);
}

void NameCheck::entry(const ast::Item& item) {
  if (auto* node = std::get_if<ast::Assignment>(&item.node)) {
    check(node->value);
    if (node->body != ast::BodyId::none)
      entries(node->body);
  } else if (auto* node = std::get_if<ast::Entry>(&item.node)) {
    check(node->key);
    check(node->value);
  } else if (auto* node = std::get_if<ast::For>(&item.node)) {
    loop(*node, &NameCheck::entries);
  } else if (auto* node = std::get_if<ast::If>(&item.node)) {
    check(node->condition);
    entries(node->thenBody);
    if (node->elseBody != ast::BodyId::none)
      entries(node->elseBody);
  } else if (auto* node = std::get_if<ast::Let>(&item.node)) {
    check(node->value);
  } else if (auto* node = std::get_if<ast::FunDecl>(&item.node)) {
    check(*node);
  }
}

/// Binds all names that a block binds anywhere: a branch may bind a name that a
/// later iteration of a loop reads.
void NameCheck::bindAll(ast::BodyId body) {
  if (body == ast::BodyId::none)
    return;
  for (const ast::Item& item : file[body].items) {
    if (auto* node = std::get_if<ast::Assignment>(&item.node))
      locals.push_back(node->path.front().text);
    else if (auto* node = std::get_if<ast::Let>(&item.node))
      locals.push_back(node->name.text);
    else if (auto* node = std::get_if<ast::For>(&item.node))
      bindAll(node->body);
    else if (auto* node = std::get_if<ast::If>(&item.node)) {
      bindAll(node->thenBody);
      bindAll(node->elseBody);
    }
  }
}

void NameCheck::statements(ast::BodyId body) {
  for (const ast::Item& item : file[body].items)
    statement(item);
}

void NameCheck::statement(const ast::Item& item) {
  if (auto* node = std::get_if<ast::Assignment>(&item.node))
    check(node->value);
  else if (auto* node = std::get_if<ast::Let>(&item.node))
    check(node->value);
  else if (auto* node = std::get_if<ast::Return>(&item.node))
    check(node->value);
  else if (auto* node = std::get_if<ast::For>(&item.node))
    loop(*node, &NameCheck::statements);
  else if (auto* node = std::get_if<ast::If>(&item.node)) {
    check(node->condition);
    statements(node->thenBody);
    if (node->elseBody != ast::BodyId::none)
      statements(node->elseBody);
  } else if (auto* node = std::get_if<ast::Require>(&item.node)) {
    check(node->condition);
    check(node->message);
  }
}

void NameCheck::parameters(const std::vector<ast::Parameter>& parameters) {
  for (const ast::Parameter& parameter : parameters) {
    if (parameter.type != ast::TypeId::none)
      evaluator.types.resolve(scope, parameter.type);
    check(parameter.defaultValue);
  }
  for (const ast::Parameter& parameter : parameters)
    locals.push_back(parameter.name.text);
}

void NameCheck::check(const ast::FunDecl& function) {
  size_t before = locals.size();
  parameters(function.parameters);
  if (function.result != ast::TypeId::none)
    evaluator.types.resolve(scope, function.result);
  if (function.body != ast::BodyId::none) {
    bindAll(function.body);
    statements(function.body);
  }
  check(function.value);
  locals.resize(before);
}

void NameCheck::check(const ast::BlockDecl& block) {
  if (block.body == ast::BodyId::none)
    return;
  size_t before = locals.size();
  parameters(block.parameters);
  bindAll(block.body);
  isInBlock = true;
  statements(block.body);
  isInBlock = false;
  locals.resize(before);
}

} // namespace recipec::sema
