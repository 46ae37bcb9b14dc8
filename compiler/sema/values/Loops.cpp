// The iterations of a `for`.
//
// An iteration is made only when it runs, so the length of a range costs
// nothing by itself.

#include "compiler/sema/values/Loops.h"

namespace recipec::sema {
namespace {

/// The memory that an iteration keeps: its scope and its variables.
size_t bytesOfTurn(size_t variables) {
  using Binding = decltype(Locals::names)::value_type;
  return sizeof(Env) + sizeof(Locals) + variables * sizeof(Binding);
}

bool isSource(const Value& value) {
  return value.is<const ListValue*>() || value.is<Range>() ||
         value.is<Object*>();
}

} // namespace

Env& Evaluator::localScope(const Env& outer, Locals& locals) {
  Env& env = store.make<Env>(outer);
  env.outer = &outer;
  env.object = nullptr;
  env.layer = nullptr;
  env.locals = &locals;
  return env;
}

std::optional<std::vector<Value>> Evaluator::elementsOf(const Value& value,
                                                        SourceRange range) {
  if (value.isPoison())
    return std::nullopt;
  if (const ListValue* const* list = value.get<const ListValue*>())
    return (*list)->elements;
  if (const Range* numbers = value.get<Range>()) {
    if (!limits.takeSteps(numbers->count(), range))
      return std::nullopt;
    std::vector<Value> elements;
    for (int64_t i = numbers->begin; i < numbers->end; ++i)
      elements.push_back({i, writtenAt(range)});
    return elements;
  }
  messages
      .report(diag::Kind::WrongType, range,
              "a list or a range is due here, and this is of type `" +
                  fullTypeNameOf(sources, value) + "`")
      .help("write a list, `[1, 2]`, or a range, `0..4`");
  return std::nullopt;
}

std::optional<Turns> Turns::of(Evaluator& evaluator,
                               const std::vector<ast::Name>& variables,
                               ast::ExprId source, const Env& around) {
  if (variables.size() > 1 && variables[0].text == variables[1].text) {
    evaluator.messages
        .report(diag::Kind::DuplicateName, variables[1].range,
                "`" + variables[1].text + "` is bound twice")
        .label(variables[0].range, "it is bound here first")
        .help("give them two names");
    return std::nullopt;
  }
  Value value = evaluator.evaluate(source, around);
  if (value.isPoison())
    return std::nullopt;
  SourceRange range = (*around.file)[source].range;
  if (!isSource(value)) {
    auto builder = evaluator.messages.report(
        diag::Kind::WrongType, range,
        "`for` goes over a list, a range or a map, and this "
        "is of type `" +
            fullTypeNameOf(evaluator.sources, value) + "`");
    if (value.is<int64_t>() || value.is<DimRef>())
      builder.help("write `0.." + std::string(evaluator.sources.text(range)) +
                   "`");
    else if (value.is<std::string>())
      builder.help("the parts of a string are `split(" +
                   std::string(evaluator.sources.text(range)) + ", \" \")`");
    else
      builder.help("write a list, `[1, 2]`, a range, `0..4`, or a map");
    return std::nullopt;
  }
  if (value.is<Object*>() && variables.size() == 1) {
    evaluator.messages
        .report(diag::Kind::WrongType, range,
                "`for` goes over a map with two names, for key and value")
        .help("write `for key, " + variables[0].text +
              " in ...`, or go over `keys(...)` or `values(...)`");
    return std::nullopt;
  }
  Turns turns(evaluator, variables, source, std::move(value), range, around);
  if (!evaluator.limits.takeSteps(turns.count(), range))
    return std::nullopt;
  return turns;
}

int64_t Turns::count() const {
  if (const ListValue* const* list = source.get<const ListValue*>())
    return int64_t((*list)->elements.size());
  if (const Range* numbers = source.get<Range>())
    return numbers->count();
  return int64_t((*source.get<Object*>())->slots.size());
}

Value Turns::keyOf(int64_t turn) const {
  recipe::Origin origin = evaluator->writtenAt(range);
  if (Object* const* object = source.get<Object*>())
    return {std::string((*object)->slots[size_t(turn)].name), origin};
  return {turn, origin};
}

Value Turns::elementOf(int64_t turn) const {
  if (const ListValue* const* list = source.get<const ListValue*>())
    return (*list)->elements[size_t(turn)];
  if (const Range* numbers = source.get<Range>())
    return {numbers->begin + turn, evaluator->writtenAt(range)};
  Object& object = **source.get<Object*>();
  return evaluator->objects.force(object, object.slots[size_t(turn)]);
}

const Env* Turns::scope(int64_t turn) {
  if (!evaluator->limits.takeBytes(bytesOfTurn(variables->size()), range))
    return nullptr;
  Value element = elementOf(turn);
  if (element.isPoison())
    return nullptr;
  Locals& locals = evaluator->store.make<Locals>();
  locals.variables = variables;
  locals.source = expr;
  if (variables->size() > 1)
    locals.names.emplace_back(variables->front().text, keyOf(turn));
  locals.names.emplace_back(variables->back().text, std::move(element));
  return &evaluator->localScope(*around, locals);
}

} // namespace recipec::sema
