// Executes the statements of blocks; see Trace.h for the algorithm.

#include "compiler/sema/models/Trace.h"

#include "compiler/ast/Operators.h"
#include "compiler/sema/models/TensorHelp.h"
#include "compiler/sema/types/Convert.h"
#include "compiler/sema/types/OpArguments.h"
#include "compiler/sema/values/Comments.h"
#include "compiler/sema/values/Loops.h"
#include "compiler/sema/values/Lower.h"

#include <algorithm>

namespace recipec::sema {
namespace {

std::string joined(const std::string& scope, const std::string& name) {
  if (scope.empty() || name.empty())
    return scope + name;
  return scope + "." + name;
}

/// Finds a name in the scopes of the block, loops and branches around `env`.
Value* findLocal(std::string_view name, const Env& env) {
  for (const Env* at = &env; at && !at->object; at = at->outer)
    if (at->locals)
      if (Value* value = at->locals->find(name))
        return value;
  return nullptr;
}

void declareLocal(std::string_view name, Value value, const Env& env) {
  if (Value* local = env.locals->find(name))
    *local = std::move(value);
  else
    env.locals->names.emplace_back(name, std::move(value));
}

/// Whether a statement of the body assigns a parameter that has a type.
bool bindsParameter(const ast::Body& body, const ast::BlockDecl& block,
                    const ast::File& file) {
  auto isIn = [&](ast::BodyId inner) {
    return inner != ast::BodyId::none &&
           bindsParameter(file[inner], block, file);
  };
  auto isTyped = [&](const ast::Name& name) {
    return std::ranges::any_of(block.parameters, [&](const auto& each) {
      return each.type != ast::TypeId::none && each.name.text == name.text;
    });
  };
  return std::ranges::any_of(body.items, [&](const ast::Item& item) {
    if (auto* node = std::get_if<ast::Assignment>(&item.node))
      return isTyped(node->path.front());
    if (auto* node = std::get_if<ast::Let>(&item.node))
      return isTyped(node->name);
    if (auto* node = std::get_if<ast::For>(&item.node))
      return isIn(node->body);
    auto* node = std::get_if<ast::If>(&item.node);
    return node && (isIn(node->thenBody) || isIn(node->elseBody));
  });
}

} // namespace

// ---- entry

void Tracer::collectDims() {
  for (const Slot& slot : model.slots) {
    const DimRef* dim = slot.value.get<DimRef>();
    if (!dim || dim->model != &model)
      continue;
    dims[slot.name] = recipe::DimId(dataflow.dims.size());
    dataflow.dims.push_back(
        {std::string(slot.name), dim->size, slot.value.origin});
  }
}

/// Why ops do not take an operand of this name: "`causal` and the documents of
/// a row are the mask". Empty if no op's comment explains it.
static std::string whyNoOperand(Evaluator& evaluator, std::string_view name) {
  if (const Module* ops = evaluator.modules.ops())
    for (const auto& [op, entry] : ops->entries)
      if (std::string why = whyAbsent(entry.declaration->comments, name);
          !why.empty())
        return why;
  return {};
}

/// Reports a `forward` whose parameters are not just the tokens.
static void reportParameters(Evaluator& evaluator,
                             const ast::BlockDecl& forward) {
  const std::vector<ast::Parameter>& parameters = forward.parameters;
  if (parameters.empty()) {
    evaluator.messages
        .report(diag::Kind::InvalidValue, forward.name.range,
                "`forward` takes the tokens, and this has no parameter")
        .help("write `block forward(tokens)`");
    return;
  }
  const bool hasSelf = parameters[0].name.text == "self";
  std::vector<std::string> surplus;
  for (size_t i = hasSelf ? 0 : 1; i < parameters.size(); ++i)
    if (!hasSelf || i != 1)
      surplus.push_back(parameters[i].name.text);
  const ast::Name& first = parameters[hasSelf ? 0 : 1].name;
  auto builder =
      evaluator.messages.report(diag::Kind::InvalidValue, first.range,
                                "`forward` takes the tokens alone, and not " +
                                    diag::quotedList(surplus, surplus.size()));
  std::string why;
  for (const std::string& name : surplus)
    if (why.empty())
      why = whyNoOperand(evaluator, name);
  builder.help((surplus.size() == 1 ? "remove it: " : "remove them: ") +
               (!why.empty() ? why
                : hasSelf
                    ? "a block sees the fields of its model by their names"
                    : "a block sees the fields of its model, and what else it "
                      "is to know is one of them"));
  const bool arePlain =
      std::all_of(parameters.begin(), parameters.end(), [](const auto& each) {
        return each.type == ast::TypeId::none &&
               each.defaultValue == ast::ExprId::none;
      });
  if (arePlain && !hasSelf)
    builder.fixIt({first.range.source, parameters[0].name.range.end,
                   parameters.back().name.range.end},
                  "");
  else if (arePlain && parameters.size() == 2)
    builder.fixIt(
        {first.range.source, first.range.begin, parameters[1].name.range.begin},
        "");
}

std::optional<recipe::Dataflow> Tracer::run() {
  const Schema& schema = *model.schema;
  auto forward =
      std::find_if(schema.layer.blocks.begin(), schema.layer.blocks.end(),
                   [](const ast::BlockDecl* block) {
                     return block->name.text == "forward";
                   });
  if (forward == schema.layer.blocks.end()) {
    auto builder = evaluator.messages.report(
        diag::Kind::MissingField, schema.range,
        "the model `" + std::string(schema.name) + "` has no block `forward`");
    // A block with the tokens as its only parameter may be meant as `forward`.
    for (const ast::BlockDecl* each : schema.layer.blocks)
      if (each->parameters.size() == 1 &&
          each->parameters[0].name.text == "tokens") {
        builder
            .help("call `" + each->name.text + "` so: write `block forward(" +
                  each->parameters[0].name.text + ")`")
            .fixIt(each->name.range, "forward");
        return std::nullopt;
      }
    builder.help("add `block forward(tokens) { ... }`");
    return std::nullopt;
  }
  const ast::BlockDecl& block = **forward;
  if (block.parameters.size() != 1) {
    reportParameters(evaluator, block);
    return std::nullopt;
  }
  collectDims();
  Tracer* outer = std::exchange(evaluator.tracer, this);
  Env& env = evaluator.store.make<Env>(*evaluator.objects.schemaScope(model));
  env.inBlock = true;
  Env& body = evaluator.store.make<Env>(env);
  body.outer = &env;
  body.object = nullptr;
  body.layer = nullptr;
  body.locals = &evaluator.store.make<Locals>();
  dataflow.tokens = recipe::TensorId(dataflow.tensorCount++);
  declareLocal(block.parameters[0].name.text,
               {Tensor{dataflow.tokens},
                evaluator.writtenAt(block.parameters[0].name.range)},
               body);
  callStack.push_back(&block);
  std::optional<Value> result = execute((*env.file)[block.body], body);
  callStack.pop_back();
  evaluator.tracer = outer;
  if (!result && !failed)
    evaluator.messages
        .report(diag::Kind::InvalidValue, block.name.range,
                "`forward` returns nothing")
        .help("end it with `return` and the logits");
  if (!result || result->isPoison() || failed || isBroken)
    return std::nullopt;
  const Tensor* output = result->get<Tensor>();
  if (!output) {
    evaluator.messages
        .report(diag::Kind::WrongType, result->origin.range,
                "`forward` returns a `tensor`, and this is of type `" +
                    typeNameOf(*result) + "`")
        .help("end it with `return` and what an op or a block made");
    return std::nullopt;
  }
  dataflow.output = output->id;
  return std::move(dataflow);
}

// ---- statements

const Env& Tracer::nested(const Env& env) {
  return evaluator.localScope(env, evaluator.store.make<Locals>());
}

void Tracer::assign(const ast::Assignment& node, const Env& env) {
  if (node.path.size() != 1 || node.value == ast::ExprId::none) {
    evaluator.messages
        .report(diag::Kind::InvalidItem, node.path.front().range,
                "a block binds plain names: `name = value`")
        .help("write `name = value`, and `return` at the end");
    failed = true;
    return;
  }
  Value value = evaluator.evaluate(node.value, env);
  const std::string& name = node.path.front().text;
  if (Value* local = findLocal(name, env))
    *local = std::move(value);
  else
    declareLocal(name, std::move(value), env);
}

std::optional<Value> Tracer::executeFor(const ast::For& node, const Env& env) {
  std::optional<Turns> turns =
      Turns::of(evaluator, node.variables, node.source, env);
  if (!turns) {
    failed = true;
    return std::nullopt;
  }
  std::optional<Value> result;
  bool isOutermost = loopDepth++ == 0;
  for (int64_t turn = 0; turn < turns->count() && !result && !failed; ++turn) {
    if (isOutermost)
      layer = layersDone++;
    const Env* inner = turns->scope(turn);
    if (inner)
      result = execute((*env.file)[node.body], *inner);
    else
      failed = true;
  }
  --loopDepth;
  if (isOutermost)
    layer = -1;
  return result;
}

std::optional<Value> Tracer::executeIf(const ast::If& node, const Env& env) {
  std::optional<bool> holds =
      evaluator.condition(node.condition, env, "the condition of `if`");
  if (!holds) {
    failed = true;
    return std::nullopt;
  }
  ast::BodyId body = *holds ? node.thenBody : node.elseBody;
  if (body == ast::BodyId::none)
    return std::nullopt;
  // Code after a branch sees the names bound in the branch.
  return execute((*env.file)[body], env);
}

std::optional<Value> Tracer::execute(const ast::Body& body, const Env& env) {
  Limits::Level level(evaluator.limits);
  for (const ast::Item& item : body.items) {
    if (!evaluator.limits.takeStep(item.range))
      failed = true;
    if (failed)
      return std::nullopt;
    if (auto* node = std::get_if<ast::Assignment>(&item.node)) {
      assign(*node, env);
    } else if (auto* node = std::get_if<ast::Let>(&item.node)) {
      declareLocal(node->name.text, evaluator.evaluate(node->value, env), env);
    } else if (auto* node = std::get_if<ast::Return>(&item.node)) {
      return evaluator.evaluate(node->value, env);
    } else if (auto* node = std::get_if<ast::For>(&item.node)) {
      if (std::optional<Value> result = executeFor(*node, env))
        return result;
    } else if (auto* node = std::get_if<ast::If>(&item.node)) {
      if (std::optional<Value> result = executeIf(*node, env))
        return result;
    } else {
      evaluator.messages
          .report(diag::Kind::InvalidItem, item.range,
                  "this cannot stand in a block")
          .help("a block holds `name = value`, `for`, `if` and `return`");
      failed = true;
    }
  }
  return std::nullopt;
}

// ---- calls

Tracer::Scope Tracer::scopeWith(const ScopeArguments& arguments) const {
  auto textOf = [](const std::optional<BoundArgument>& argument) {
    const std::string* text = argument && argument->value
                                  ? argument->value->get<std::string>()
                                  : nullptr;
    return text ? *text : std::string();
  };
  std::string name = textOf(arguments.name);
  std::string hf = arguments.hf ? textOf(arguments.hf) : name;
  return {joined(scope.name, name), joined(scope.hf, hf)};
}

Value Tracer::call(const Block& block, const ast::Call& node, SourceRange range,
                   const Env& env) {
  return block.isOp() ? callOp(block, node, range, env)
                      : callBlock(block, node, range, env);
}

Value Tracer::callBlock(const Block& block, const ast::Call& node,
                        SourceRange range, const Env& env) {
  const ast::BlockDecl& declaration = *block.declaration;
  const std::string& name = declaration.name.text;
  if (std::find(callStack.begin(), callStack.end(), &declaration) !=
      callStack.end()) {
    evaluator.messages
        .report(diag::Kind::Recursion, range, "`" + name + "` calls itself")
        .help("repeat layers by a loop, `for i in 0..layers { ... }`");
    return {};
  }
  Type tensor = Type::plain(Type::Kind::tensor);
  ScopeArguments names;
  auto arguments = evaluator.calls.bind(
      Calls::parametersOf(declaration.parameters, block.env), node, range, env,
      name, &names, &tensor);
  if (!arguments)
    return {};
  Env& around = evaluator.store.make<Env>(*block.env);
  around.inBlock = true;
  const Env& body = nested(around);
  for (size_t i = 0; i < arguments->size(); ++i)
    declareLocal(declaration.parameters[i].name.text, *(*arguments)[i].value,
                 body);
  // A comparison may assume that a parameter has any value of its type, unless
  // the block assigns it.
  if (!bindsParameter((*block.env->file)[declaration.body], declaration,
                      *block.env->file))
    body.locals->parameters = &declaration.parameters;
  Scope outer = std::exchange(scope, scopeWith(names));
  callStack.push_back(&declaration);
  callPlaces.push_back({range, loopDepth});
  std::optional<Value> result =
      execute((*block.env->file)[declaration.body], body);
  callStack.pop_back();
  callPlaces.pop_back();
  scope = std::move(outer);
  if (!result && !failed)
    evaluator.messages
        .report(diag::Kind::InvalidValue, declaration.name.range,
                "the block `" + name + "` returns nothing")
        .help("end it with `return` and its result");
  if (!result)
    return {};
  result->origin = evaluator.writtenAt(range);
  return *result;
}

Value Tracer::callOp(const Block& op, const ast::Call& node, SourceRange range,
                     const Env& env) {
  Type tensor = Type::plain(Type::Kind::tensor);
  ScopeArguments names;
  auto arguments = evaluator.calls.bind(
      Calls::parametersOf(op.declaration->parameters, op.env), node, range, env,
      op.declaration->name.text, &names, &tensor);
  if (!arguments)
    return {};
  return record(op, std::move(*arguments), scopeWith(names),
                names.name.has_value(), range);
}

Value Tracer::arithmetic(ast::BinaryOp op, const Value& left,
                         const Value& right, SourceRange range,
                         const WrittenSides& written) {
  bool isPair = left.is<Tensor>() && right.is<Tensor>();
  std::string_view name;
  if (op == ast::BinaryOp::add && isPair)
    name = "add";
  else if (op == ast::BinaryOp::multiply)
    name = isPair ? "mul" : "scale";
  ModuleEntry* entry =
      name.empty() ? nullptr : evaluator.modules.ops()->find(name);
  Value other = left.is<Tensor>() ? right : left;
  Type real = Type::plain(Type::Kind::real);
  std::optional<Value> factor = convert(evaluator, other, real);
  if (!entry || (!isPair && !factor)) {
    evaluator.messages
        .report(diag::Kind::WrongType, range,
                "`" + std::string(ast::spelling(op)) + "` does not take `" +
                    typeNameOf(left) + "` and `" + typeNameOf(right) + "`")
        .help(wayOutOf(op, {left, written.left, makerOf(left)},
                       {right, written.right, makerOf(right)}));
    return {};
  }
  const Block& block =
      **evaluator.modules.entryValue(*evaluator.modules.ops(), *entry)
            .get<const Block*>();
  std::vector<BoundArgument> arguments(2);
  arguments[0] = {isPair || left.is<Tensor>() ? left : right, range};
  arguments[1] = {isPair ? right : *factor, range};
  return record(block, std::move(arguments), {}, false, range);
}

// ---- recording

std::optional<recipe::DimId> Tracer::dimOf(const DimRef& dim,
                                           SourceRange range) {
  if (auto found = dims.find(dim.name);
      dim.model == &model && found != dims.end())
    return found->second;
  if (isBroken) // a field without the type `dim`
    return std::nullopt;
  evaluator.messages
      .report(diag::Kind::InvalidValue, range,
              "`" + std::string(dim.name) +
                  "` is not a dimension of this model")
      .help("declare it between the braces of this model: `" +
            std::string(dim.name) + " : dim = " + std::to_string(dim.size) +
            "`");
  failed = true;
  return std::nullopt;
}

recipe::Value Tracer::lowerAttribute(const Value& value, const Type& type) {
  recipe::Value lowered;
  lowered.origin = value.origin;
  if (const Mapping* const* mapping = value.get<const Mapping*>()) {
    recipe::DimsMapping dims;
    for (const DimRef& dim : (*mapping)->from)
      if (auto id = dimOf(dim, value.origin.range))
        dims.from.push_back(*id);
    for (const DimRef& dim : (*mapping)->to)
      if (auto id = dimOf(dim, value.origin.range))
        dims.to.push_back(*id);
    lowered.data = std::move(dims);
    return lowered;
  }
  const ListValue* const* list = value.get<const ListValue*>();
  if (list && type.kind == Type::Kind::list) {
    recipe::List elements;
    for (const Value& element : (*list)->elements)
      elements.push_back(lowerAttribute(element, *type.element));
    lowered.data = std::move(elements);
    return lowered;
  }
  if (type.kind == Type::Kind::dim) {
    const DimRef* dim = value.get<DimRef>();
    const SourceRange use = value.origin.range;
    const Slot* field = dim || !use.isValid()
                            ? nullptr
                            : model.find(evaluator.sources.text(use));
    if (field && field->field &&
        evaluator.operators.reportFieldWithoutDim(model, *field, use)) {
      isBroken = true; // other fields may lack the type too
    } else if (!dim) {
      evaluator.messages
          .report(diag::Kind::WrongType, value.origin.range,
                  "a dimension is due here, and this is of type `" +
                      typeNameOf(value) + "`")
          .help("declare a field of type `dim` in the model");
      failed = true;
    } else if (auto id = dimOf(*dim, value.origin.range)) {
      lowered.data = recipe::DimValue{*id};
    }
    return lowered;
  }
  evaluator.objects.finishValue(value);
  return lower(evaluator, value);
}

bool Tracer::checkParameterName(const Block& op, const recipe::Call& call,
                                bool isNamed, SourceRange range) {
  const auto& parameters = op.declaration->parameters;
  auto declares = [&](std::string_view name) {
    return std::any_of(parameters.begin(), parameters.end(),
                       [&](const ast::Parameter& parameter) {
                         return parameter.name.text == name;
                       });
  };
  // An op with a `weight` operand creates the parameter unless the call gives
  // one. The op `parameter` always creates one.
  bool hasWeight = declares("weight");
  bool isGiven = hasWeight && !call.operands.empty() &&
                 call.operands.back() != recipe::TensorId::none;
  bool makesParameter = hasWeight ? !isGiven : declares("init");
  if (!makesParameter)
    return true;
  if (!isNamed) {
    evaluator.messages
        .report(diag::Kind::MissingArgument, range,
                "`" + call.op + "` makes a parameter, which needs a `name`")
        .help("add `name = \"...\"`, and `hf = \"...\"` where Hugging Face's "
              "name differs");
    return false;
  }
  auto [first, isNew] = parameterNames.emplace(call.name, range);
  if (isNew)
    return true;
  if (const CallPlace* repeated = repeatedCall();
      repeated && first->second == range) {
    evaluator.messages
        .report(diag::Kind::DuplicateName, repeated->range,
                "two parameters are called `" + call.name +
                    "`: each turn of the loop makes one")
        .label(range, "the parameter is made here")
        .help("let the name have the number of the turn, as in `name = "
              "\"layers.{i}\"`");
    return false;
  }
  const std::string_view made = evaluator.sources.text(first->second);
  std::string help = "give one of them another `name`; in a loop "
                     "`\"layers.{i}.q\"` has the number of the turn";
  if (hasWeight && made.starts_with("parameter("))
    help = "to share it, bind it where it is made, `table = parameter(...)`, "
           "and write `weight = table` here; else give this `" +
           call.op + "` another `name`";
  evaluator.messages
      .report(diag::Kind::DuplicateName, range,
              "two parameters are called `" + call.name + "`")
      .note("the first is made here", first->second)
      .help(std::move(help));
  return false;
}

/// The innermost call that a loop repeats, of those under execution.
const Tracer::CallPlace* Tracer::repeatedCall() const {
  const CallPlace* found = nullptr;
  int around = 0;
  for (const CallPlace& each : callPlaces) {
    if (each.loops > around)
      found = &each;
    around = each.loops;
  }
  return found;
}

Value Tracer::record(const Block& op, std::vector<BoundArgument> arguments,
                     const Scope& names, bool isNamed, SourceRange range) {
  const auto& parameters = op.declaration->parameters;
  recipe::Call call;
  call.op = op.declaration->name.text;
  call.range = range;
  call.layer = layer;
  if (isNamed) {
    call.name = names.name;
    call.hfName = names.hf;
  }
  for (size_t i = 0; i < parameters.size(); ++i) {
    const Value& value = *arguments[i].value;
    const Type& type = *evaluator.types.resolve(*op.env, parameters[i].type);
    bool isOperand = type.kind == Type::Kind::tensor;
    for (const Type* member : type.members)
      isOperand = isOperand || member->kind == Type::Kind::tensor;
    if (isOperand) {
      const Tensor* tensor = value.get<Tensor>();
      call.operands.push_back(tensor ? tensor->id : recipe::TensorId::none);
      call.written.push_back(writtenOperand(evaluator, parameters[i].name.text,
                                            arguments[i].range));
    } else {
      call.attributes.push_back(
          {parameters[i].name.text, lowerAttribute(value, type)});
    }
  }
  if (!checkParameterName(op, call, isNamed, range))
    return {};
  if (call.operands.size() < 2 || evaluator.isLibrary(range))
    call.written.clear();
  call.result = recipe::TensorId(dataflow.tensorCount++);
  Value result{Tensor{call.result}, evaluator.writtenAt(range)};
  dataflow.calls.push_back(std::move(call));
  return result;
}

} // namespace recipec::sema
