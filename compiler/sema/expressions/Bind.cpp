// Arguments to parameters.
//
// 1. Each argument goes to the parameter that it names, or to the next one;
//    with a scope, `name` and `hf` are taken out.
// 2. Its value is converted to the parameter's type.
// 3. What was not given has its default, or is reported.

#include "compiler/sema/Evaluator.h"

#include <algorithm>

namespace recipec::sema {
namespace {

class Binder {
public:
  Binder(Evaluator& evaluator, const std::vector<ParameterRef>& parameters,
         const ast::Call& node, SourceRange range, const Env& env,
         const std::string& callee, ScopeArguments* scope, const Type* untyped)
      : evaluator(evaluator), parameters(parameters), node(node), range(range),
        env(env), callee(callee), scope(scope), untyped(untyped),
        bound(parameters.size()) {}

  std::optional<std::vector<BoundArgument>> run() {
    size_t next = 0;
    for (const ast::Argument& argument : node.arguments)
      bindGiven(argument,
                argument.name ? indexOf(argument.name->text) : next++);
    for (size_t i = 0; i < parameters.size(); ++i)
      if (!bound[i].value)
        bindDefault(i);
    if (!isGood)
      return std::nullopt;
    return std::move(bound);
  }

private:
  size_t indexOf(std::string_view name) const {
    auto found = std::find_if(parameters.begin(), parameters.end(),
                              [&](const ParameterRef& parameter) {
                                return parameter.declaration->name.text == name;
                              });
    return size_t(found - parameters.begin());
  }

  SourceRange placeOf(const ast::Argument& argument) const {
    return (*env.file)[argument.value].range;
  }

  std::optional<BoundArgument>* scopeArgument(const ast::Argument& argument) {
    if (!scope || !argument.name)
      return nullptr;
    if (argument.name->text == "name")
      return &scope->name;
    return argument.name->text == "hf" ? &scope->hf : nullptr;
  }

  void bindGiven(const ast::Argument& argument, size_t index) {
    if (index < parameters.size()) {
      const ParameterRef& parameter = parameters[index];
      ast::TypeId type = parameter.declaration->type;
      store(argument, parameter.declaration->name.text, bound[index],
            type == ast::TypeId::none
                ? *untyped
                : *evaluator.resolve(*parameter.env, type));
      return;
    }
    if (std::optional<BoundArgument>* special = scopeArgument(argument)) {
      if (!*special)
        special->emplace();
      store(argument, argument.name->text, **special,
            Type::plain(Type::Kind::string));
      return;
    }
    reportUnknown(argument);
  }

  void store(const ast::Argument& argument, const std::string& name,
             BoundArgument& target, const Type& type) {
    SourceRange place = placeOf(argument);
    if (target.value) {
      isGood = false;
      evaluator
          .report(diag::Kind::DuplicateName, place,
                  "`" + callee + "` is given `" + name + "` twice")
          .label(target.range, "it is given here first")
          .help("remove one of the two");
      return;
    }
    target.range = argument.name ? cover(argument.name->range, place) : place;
    target.value =
        evaluator.expect(evaluator.evaluate(argument.value, env), type, place,
                         "`" + name + "` of `" + callee + "`");
    isGood = isGood && !target.value->isPoison();
  }

  void reportUnknown(const ast::Argument& argument) {
    isGood = false;
    hasUnknown = true;
    if (!argument.name) {
      size_t count = parameters.size();
      auto builder = evaluator.report(
          diag::Kind::UnknownArgument, placeOf(argument),
          "`" + callee + "` takes " + std::to_string(count) +
              (count == 1 ? " argument" : " arguments") + ", not more");
      if (count > 0)
        builder.label(cover(parameters.front().declaration->name.range,
                            parameters.back().declaration->name.range),
                      "`" + callee + "` is declared with " +
                          (count == 1 ? "this" : "these"));
      builder.help("remove what is too much");
      return;
    }
    std::vector<std::string> names;
    for (const ParameterRef& parameter : parameters)
      names.push_back(parameter.declaration->name.text);
    auto builder = evaluator.report(
        diag::Kind::UnknownArgument, argument.name->range,
        "`" + callee + "` has no argument `" + argument.name->text + "`");
    if (builder.suggest(argument.name->range, argument.name->text, names) ||
        names.empty())
      return;
    std::string list;
    for (const std::string& name : names)
      list += (list.empty() ? "`" : ", `") + name + "`";
    builder.help(
        (names.size() == 1 ? "its argument is " : "its arguments are ") + list);
  }

  void bindDefault(size_t index) {
    const ast::Parameter& parameter = *parameters[index].declaration;
    const Env& outside = *parameters[index].env;
    if (parameter.defaultValue == ast::ExprId::none) {
      isGood = false;
      if (hasUnknown) // which was probably meant to be this one
        return;
      evaluator
          .report(diag::Kind::MissingArgument, range,
                  "`" + callee + "` needs `" + parameter.name.text + "`")
          .label(parameter.name.range, "`" + callee + "` is declared with it")
          .help("give it: `" + callee + "(" + parameter.name.text + " = ...)`");
      return;
    }
    Value value = evaluator.evaluate(parameter.defaultValue, outside);
    if (parameter.type != ast::TypeId::none)
      value =
          evaluator.expect(value, *evaluator.resolve(outside, parameter.type),
                           (*outside.file)[parameter.defaultValue].range,
                           "`" + parameter.name.text + "`");
    value.origin.kind = recipe::Origin::Kind::defaultValue;
    isGood = isGood && !value.isPoison();
    bound[index] = {std::move(value), range};
  }

  Evaluator& evaluator;
  const std::vector<ParameterRef>& parameters;
  const ast::Call& node;
  SourceRange range;
  const Env& env;
  const std::string& callee;
  ScopeArguments* scope;
  const Type* untyped;
  std::vector<BoundArgument> bound;
  bool isGood = true;
  bool hasUnknown = false; // an argument that no parameter takes
};

} // namespace

std::vector<ParameterRef>
Evaluator::parametersOf(const std::vector<ast::Parameter>& parameters,
                        const Env* env) {
  std::vector<ParameterRef> refs;
  refs.reserve(parameters.size());
  for (const ast::Parameter& parameter : parameters)
    refs.push_back({&parameter, env});
  return refs;
}

std::optional<std::vector<BoundArgument>>
Evaluator::bind(const std::vector<ParameterRef>& parameters,
                const ast::Call& node, SourceRange range, const Env& env,
                const std::string& callee, ScopeArguments* scope,
                const Type* untyped) {
  return Binder(*this, parameters, node, range, env, callee, scope, untyped)
      .run();
}

} // namespace recipec::sema
