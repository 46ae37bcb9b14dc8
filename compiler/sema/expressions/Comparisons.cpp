// Finds comparisons whose result is known from the types of their operands; see
// Comparisons.h.
//
// 1. Compute for each operand the sorts of values that it can have: those of
//    the declared type for a field or parameter, those of all elements for a
//    loop's variable, that of the value for everything else that cannot change.
//    An operand that may have any value ends the check.
// 2. If the operands have no sort in common, report the comparison.

#include "compiler/sema/expressions/Comparisons.h"

#include "compiler/ast/Operators.h"
#include "compiler/recipe/Units.h"
#include "compiler/sema/Evaluator.h"
#include "compiler/sema/modules/DataText.h"
#include "compiler/sema/types/Examples.h"
#include "compiler/sema/types/Mismatch.h"

#include <algorithm>

namespace recipec::sema {
namespace {

/// A set of sorts of values. Values of different sorts are never equal.
using Sorts = unsigned;
namespace sort {
constexpr Sorts numbers = 1, booleans = 2, texts = 4, quantities = 8,
                lists = 16, records = 32, ranges = 64, functions = 128,
                others = 256, everything = 511;
}

/// Longer operands are not repeated in a message.
constexpr size_t longestOperand = 40;

Sorts sortOf(const Value& value) {
  if (value.isPoison() || value.is<recipe::None>() || value.is<recipe::Auto>())
    return sort::everything;
  if (value.isNumber())
    return sort::numbers;
  if (value.is<bool>())
    return sort::booleans;
  if (value.is<std::string>())
    return sort::texts;
  if (value.is<recipe::Quantity>())
    return sort::quantities;
  if (value.is<const ListValue*>())
    return sort::lists;
  if (value.is<Object*>())
    return sort::records;
  if (value.is<Range>())
    return sort::ranges;
  if (value.is<const Function*>() || value.is<Builtin>())
    return sort::functions;
  return sort::others;
}

Sorts sortsOf(const Type& type) {
  switch (type.kind) {
  case Type::Kind::integer:
  case Type::Kind::real:
  case Type::Kind::dim:
  case Type::Kind::integerLiteral:
    return sort::numbers;
  case Type::Kind::boolean:
    return sort::booleans;
  case Type::Kind::string:
  case Type::Kind::literal:
    return sort::texts;
  case Type::Kind::quantity:
    return sort::quantities;
  case Type::Kind::list:
    return sort::lists;
  case Type::Kind::map:
  case Type::Kind::schema:
  case Type::Kind::model:
    return sort::records;
  case Type::Kind::function:
    return sort::functions;
  case Type::Kind::none:
  case Type::Kind::automatic:
    return 0;
  case Type::Kind::unionOf: {
    Sorts sorts = 0;
    for (const Type* member : type.members)
      sorts |= sortsOf(*member);
    return sorts;
  }
  default:
    return sort::everything;
  }
}

Sorts sortsOfElements(const Value& value) {
  if (value.is<Range>())
    return sort::numbers;
  const ListValue* const* list = value.get<const ListValue*>();
  if (!list)
    return sort::everything;
  Sorts sorts = 0;
  for (const Value& element : (*list)->elements)
    sorts |= sortOf(element);
  return sorts;
}

/// One side of a comparison.
class ComparedSide {
public:
  ComparedSide(Evaluator& evaluator, ast::ExprId id, const Value& value,
               const Env& env)
      : evaluator(evaluator), value(value), range((*env.file)[id].range) {
    inspect(id, env);
    const auto& node = (*env.file)[id].node;
    isLiteral = std::holds_alternative<ast::StringLiteral>(node) ||
                std::holds_alternative<ast::IntLiteral>(node);
  }

  /// The sorts that the operand can have.
  Sorts sorts() const {
    const Sorts own = sortOf(value);
    if (isOpen)
      return sort::everything;
    if (type)
      return sortsOf(*type) | (own == sort::everything ? 0 : own);
    if (loop)
      return own | sortsOfLoop();
    return own;
  }

  /// The sorts that the elements of the operand can have.
  Sorts elementSorts() const {
    const Sorts own = sortsOfElements(value);
    if (isOpen || !own)
      return sort::everything;
    Sorts declared = 0;
    if (type)
      for (const Type* member : type->kind == Type::Kind::unionOf
                                    ? type->members
                                    : std::vector<const Type*>{type})
        if (member->kind == Type::Kind::list)
          declared |= sortsOf(*member->element);
    return own | declared;
  }

  /// The text at a range if it is short; else `otherwise`.
  std::string textOf(SourceRange place, std::string_view otherwise) const {
    const std::string_view written = evaluator.sources.text(place);
    const bool isShort =
        written.size() <= longestOperand && written.find('\n') == written.npos;
    return std::string(isShort ? written : otherwise);
  }
  std::string text(std::string_view otherwise) const {
    const std::string written = textOf(range, "");
    return written.empty() ? std::string(otherwise) : "`" + written + "`";
  }

  std::string typeName() const {
    const bool isUnset = value.is<recipe::None>() || value.is<recipe::Auto>();
    return type && isUnset ? nameOf(*type) : typeNameOf(value);
  }

  /// Whether the operand is one of the two variables of a `for` over a list.
  bool isOfPair() const {
    return loop && loop->variables->size() == 2 && !source.is<Object*>();
  }
  bool isIndex() const { return isOfPair() && isFirst(); }

  Evaluator& evaluator;
  const Value& value;
  SourceRange range;
  const Type* type = nullptr;   // declared type of a field or parameter
  const Type* choice = nullptr; // element type of the loop
  const Locals* loop = nullptr; // the iteration that binds the operand
  Value source;                 // of the loop
  SourceRange sourceRange;
  Sorts elements = sort::everything; // of the source
  std::string name;
  bool isLiteral = false;

private:
  void inspect(ast::ExprId id, const Env& env) {
    const ast::Expr& expr = (*env.file)[id];
    if (auto* ref = std::get_if<ast::NameRef>(&expr.node)) {
      inspectName(ref->name.text, env);
    } else if (auto* member = std::get_if<ast::Member>(&expr.node)) {
      inspectMember(evaluator.evaluate(member->base, env), member->member.text);
    } else if (auto* index = std::get_if<ast::Index>(&expr.node)) {
      const Value base = evaluator.evaluate(index->base, env);
      isOpen = !base.is<std::string>() &&
               ComparedSide(evaluator, index->base, base, env).elementSorts() !=
                   sortOf(value);
    } else if (auto* call = std::get_if<ast::Call>(&expr.node)) {
      inspectResult(evaluator.evaluate(call->callee, env));
    } else {
      isOpen = std::holds_alternative<ast::Conditional>(expr.node);
    }
  }

  void inspectName(const std::string& written, const Env& env) {
    const Binding binding = evaluator.lookup.findBinding(written, env);
    name = written;
    if (binding.slot) {
      inspectSlot(*binding.env->object, *binding.slot);
    } else if (binding.let) {
      inspect(binding.let->value, *binding.env);
    } else if (binding.local) {
      inspectLocal(*binding.env);
    } else if (!binding && env.module) {
      inspectEntry(*env.module, written);
    }
  }

  void inspectLocal(const Env& at) {
    for (const ast::Parameter& parameter : at.locals->parameters
                                               ? *at.locals->parameters
                                               : std::vector<ast::Parameter>())
      if (parameter.name.text == name && at.outer &&
          parameter.type != ast::TypeId::none)
        type = evaluator.types.resolve(*at.outer, parameter.type);
    for (const ast::Name& variable : at.locals->variables
                                         ? *at.locals->variables
                                         : std::vector<ast::Name>())
      if (variable.text == name)
        inspectLoop(at);
    // A variable of a block may be bound again to a value of another type.
    isOpen = !type && !loop && !value.is<Tensor>();
  }

  void inspectLoop(const Env& at) {
    loop = at.locals;
    sourceRange = (*at.outer->file)[loop->source].range;
    source = evaluator.evaluate(loop->source, *at.outer);
    const ComparedSide list(evaluator, loop->source, source, *at.outer);
    elements = list.elementSorts();
    if (!isIndex() && list.type && list.type->kind == Type::Kind::list)
      choice = list.type->element;
  }

  void inspectMember(const Value& base, const std::string& member) {
    Module* const* module = base.get<Module*>();
    Object* const* object = base.get<Object*>();
    Slot* slot = object ? (*object)->find(member) : nullptr;
    name = member;
    if (slot)
      inspectSlot(**object, *slot);
    else if (module)
      inspectEntry(**module, member);
  }

  void inspectEntry(Module& module, const std::string& entry) {
    for (Module* at = &module; at; at = at->fallback)
      if (ModuleEntry* found = at->find(entry)) {
        if (auto* let = std::get_if<ast::Let>(&found->declaration->node))
          inspect(let->value, at->env);
        else
          isOpen = found->selected != nullptr;
        return;
      }
  }

  void inspectSlot(const Object& object, const Slot& slot) {
    type = evaluator.objects.typeOf(object, slot);
    isOpen = !type;
  }

  void inspectResult(const Value& callee) {
    const Function* const* function = callee.get<const Function*>();
    if (!function)
      return;
    const ast::FunDecl& declaration = *(*function)->declaration;
    isOpen = declaration.result == ast::TypeId::none;
    if (!isOpen)
      type = evaluator.types.resolve(*(*function)->env, declaration.result);
  }

  Sorts sortsOfLoop() const {
    if (source.is<Object*>())
      return isFirst() ? sort::texts : sort::everything;
    return isIndex() ? sort::numbers : elements;
  }

  bool isFirst() const {
    return loop->variables->size() == 2 &&
           loop->variables->front().text == name;
  }

  bool isOpen = false; // may have a value of any type
};

/// Whether the type allows only fixed literals for values of this kind, and the
/// value is none of them.
bool excludes(const Type& type, const Value& value) {
  const std::vector<const Type*> members =
      type.kind == Type::Kind::unionOf ? type.members
                                       : std::vector<const Type*>{&type};
  const Sorts sort = sortOf(value);
  const std::string* text = value.get<std::string>();
  const int64_t* number = value.get<int64_t>();
  bool isChoice = false;
  for (const Type* member : members) {
    if (!(sortsOf(*member) & sort))
      continue;
    const bool isText = member->kind == Type::Kind::literal;
    const bool isNumber = member->kind == Type::Kind::integerLiteral;
    if ((!isText && !isNumber) ||
        (isText && text && *text == member->literal) ||
        (isNumber && number && *number == member->number))
      return false;
    isChoice = true;
  }
  return isChoice;
}

/// Reports `kind == "half"` if `kind` takes only other literals.
bool reportNoChoice(const ComparedSide& choice, const ComparedSide& literal) {
  const Type* const type = choice.type ? choice.type : choice.choice;
  if (!type || !literal.isLiteral || !excludes(*type, literal.value))
    return false;
  Evaluator& evaluator = choice.evaluator;
  auto builder = evaluator.messages.report(
      diag::Kind::WrongType, literal.range,
      choice.text("this") + " is of type `" + nameOf(*type) +
          "`; it is never `" + describe(evaluator, literal.value) + "`");
  std::vector<std::string> names;
  for (const Type* member : type->members)
    if (member->kind == Type::Kind::literal)
      names.push_back(member->literal);
  const std::string* text = literal.value.get<std::string>();
  if (!text || !builder.suggest(literal.range, *text, names, "\""))
    builder.help("compare it with one of its values");
  return true;
}

/// Helps with the names of `for kind, i in kinds` in the wrong order.
bool helpWithOrder(diag::Builder& builder, const ComparedSide& variable,
                   const ComparedSide& other) {
  if (!variable.isOfPair())
    return false;
  const Sorts meant = variable.isIndex() ? variable.elements : sort::numbers;
  if (!(meant & sortOf(other.value)) || meant == sort::everything)
    return false;
  const ast::Name& first = variable.loop->variables->front();
  const ast::Name& second = variable.loop->variables->back();
  const std::string names = second.text + ", " + first.text;
  builder.label(first.range, "the first of two names is the index")
      .help("write `for " + names + " in " +
            variable.textOf(variable.sourceRange, "...") + "`")
      .fixIt(cover(first.range, second.range), names);
  return true;
}

/// Helps with a literal that has quotation marks or no unit, unlike the values
/// that it is compared with.
bool helpWithLiteralOperand(diag::Builder& builder, const ComparedSide& literal,
                            const ComparedSide& other) {
  if (!literal.isLiteral)
    return false;
  const Sorts due = other.sorts();
  const std::string* text = literal.value.get<std::string>();
  std::string meant;
  if (text && due == sort::booleans && (*text == "true" || *text == "false"))
    meant = *text;
  else if (text && due == sort::numbers && !text->empty() &&
           text->find_first_not_of("0123456789.") == text->npos)
    meant = *text;
  else if (text && due == sort::quantities && quantityOf(*text))
    meant = *text;
  if (!meant.empty()) {
    builder.help("write `" + meant + "`, without the quotation marks")
        .fixIt(literal.range, meant);
    return true;
  }
  const int64_t* number = literal.value.get<int64_t>();
  const auto* quantity = other.value.get<recipe::Quantity>();
  if (number && due == sort::booleans && (*number == 0 || *number == 1))
    meant = *number ? "true" : "false";
  else if (number && due == sort::texts)
    meant = "\"" + std::to_string(*number) + "\"";
  else if (text && due == sort::quantities && quantity && !text->empty() &&
           text->find_first_not_of("0123456789") == text->npos)
    meant = *text + " " + std::string(recipe::unitTypeName(quantity->unit));
  if (meant.empty())
    return false;
  builder.help("write `" + meant + "`").fixIt(literal.range, meant);
  return true;
}

} // namespace

bool reportNeverEqual(Evaluator& evaluator, const ast::Binary& node,
                      const Value& left, const Value& right, SourceRange range,
                      const Env& env) {
  const bool isIn = node.op == ast::BinaryOp::in;
  const ComparedSide one(evaluator, node.left, left, env);
  const ComparedSide other(evaluator, node.right, right, env);
  if (!isIn && (reportNoChoice(one, other) || reportNoChoice(other, one)))
    return true;
  const Sorts due = isIn ? other.elementSorts() : other.sorts();
  if (one.sorts() & due)
    return false;
  std::string message =
      one.text("the left side") + " is of type `" + one.typeName() + "`, and ";
  if (isIn)
    message += "no element of " + other.text("the list") + " is";
  else
    message += other.text("the right side") + " of type `" + other.typeName() +
               "`: they are never equal";
  auto builder = evaluator.messages.report(diag::Kind::WrongType, range,
                                           std::move(message));
  if (isIn)
    builder.help("look for a value of the type of the elements");
  else if (!helpWithOrder(builder, one, other) &&
           !helpWithOrder(builder, other, one) &&
           !helpWithLiteralOperand(builder, other, one) &&
           !helpWithLiteralOperand(builder, one, other))
    builder.help("compare values of one type");
  return true;
}

bool mayBeNone(Evaluator& evaluator, ast::ExprId id, const Value& value,
               const Env& env) {
  const ComparedSide side(evaluator, id, value, env);
  return side.type &&
         std::ranges::any_of(side.type->members, [](const Type* member) {
           return member->kind == Type::Kind::none;
         });
}

} // namespace recipec::sema
