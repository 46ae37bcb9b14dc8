// Collects the entries of a map: written keys, and keys made by `for`, `if` and
// `[key]`.
//
// 1. Bind the functions and `let`s of the braces; a `let` sees those before it.
// 2. Find the keys in the order of writing. Sources, conditions and computed
//    keys are evaluated at once; values are evaluated on first read.
// 3. Report a key that is given twice, with both places.

#include "compiler/sema/Evaluator.h"
#include "compiler/sema/records/AssignedPaths.h"
#include "compiler/sema/types/Mismatch.h"
#include "compiler/sema/values/Loops.h"

#include <algorithm>

namespace recipec::sema {
namespace {

/// A key costs more steps than an expression: it is stored and compared.
constexpr int64_t stepsOfKey = 4;

class MapFiller {
public:
  MapFiller(Evaluator& evaluator, Layer& layer)
      : evaluator(evaluator), layer(layer), assigned(evaluator) {}

  void fill(const ast::Body& body, const Env& around) {
    const Env& env = scopeOf(body, around);
    for (const ast::Item& item : body.items) {
      if (layer.isBroken || !evaluator.limits.takeStep(item.range)) {
        layer.isBroken = true;
        return;
      }
      fillItem(item, env);
    }
  }

private:
  const Env& scopeOf(const ast::Body& body, const Env& around) {
    bool bindsNames =
        std::any_of(body.items.begin(), body.items.end(), [](const auto& item) {
          return std::holds_alternative<ast::Let>(item.node) ||
                 std::holds_alternative<ast::FunDecl>(item.node);
        });
    if (!bindsNames)
      return around;
    Locals& locals = evaluator.store.make<Locals>();
    const Env& env = evaluator.localScope(around, locals);
    for (const ast::Item& item : body.items)
      if (auto* function = std::get_if<ast::FunDecl>(&item.node))
        locals.names.emplace_back(
            function->name.text,
            Value{&std::as_const(evaluator.store.make<Function>(
                      {function, &env, nullptr})),
                  evaluator.writtenAt(function->name.range)});
    for (const ast::Item& item : body.items)
      if (auto* let = std::get_if<ast::Let>(&item.node)) {
        Value value = evaluator.evaluate(let->value, env);
        locals.names.emplace_back(let->name.text, std::move(value));
      }
    return env;
  }

  void fillItem(const ast::Item& item, const Env& env) {
    if (auto* node = std::get_if<ast::Assignment>(&item.node)) {
      assigned.add(*env.file, *node);
      add({node->path, node->value, node->body, nullptr, item.range, &env});
    } else if (auto* node = std::get_if<ast::Entry>(&item.node)) {
      fillEntry(*node, item.range, env);
    } else if (auto* node = std::get_if<ast::For>(&item.node)) {
      fillFor(*node, env);
    } else if (auto* node = std::get_if<ast::If>(&item.node)) {
      fillIf(*node, env);
    } else if (!std::holds_alternative<ast::Let>(item.node) &&
               !std::holds_alternative<ast::FunDecl>(item.node)) {
      evaluator.messages
          .report(diag::Kind::InvalidItem, item.range,
                  "this cannot stand in a map")
          .help("a map holds `name = value`, `[key] = value`, `for`, `if` and "
                "`let`");
    }
  }

  void fillEntry(const ast::Entry& node, SourceRange range, const Env& env) {
    SourceRange place = (*env.file)[node.key].range;
    Value key =
        expect(evaluator, evaluator.evaluate(node.key, env),
               Type::plain(Type::Kind::string), place, "the key of a map");
    const std::string* text = key.get<std::string>();
    if (!text) {
      layer.isBroken = true;
      return;
    }
    auto& name = evaluator.store.make<ast::Name>({*text, place});
    if (assigned.add(name.text, place))
      add({std::span(&name, 1), node.value, ast::BodyId::none, nullptr, range,
           &env});
  }

  void fillFor(const ast::For& node, const Env& env) {
    std::optional<Turns> turns =
        Turns::of(evaluator, node.variables, node.source, env);
    layer.isBroken |= !turns;
    for (int64_t turn = 0; !layer.isBroken && turn < turns->count(); ++turn) {
      const Env* scope = turns->scope(turn);
      if (scope)
        fill((*env.file)[node.body], *scope);
      else
        layer.isBroken = true;
    }
  }

  void fillIf(const ast::If& node, const Env& env) {
    std::optional<bool> holds =
        evaluator.condition(node.condition, env, "the condition of `if`");
    layer.isBroken |= !holds;
    ast::BodyId body = holds && *holds ? node.thenBody : node.elseBody;
    if (holds && body != ast::BodyId::none)
      fill((*env.file)[body], env);
  }

  void add(Member member) {
    if (evaluator.limits.takeSteps(stepsOfKey, member.range) &&
        evaluator.limits.fitsElements(layer.members.size() + 1, member.range) &&
        evaluator.limits.takeBytes(sizeof(Member) + sizeof(Slot), member.range))
      layer.members.push_back(std::move(member));
    else
      layer.isBroken = true;
  }

  Evaluator& evaluator;
  Layer& layer;
  AssignedPaths assigned;
};

} // namespace

void Layers::fillMap(Layer& layer, const ast::Body& body, const Env& env) {
  MapFiller(evaluator, layer).fill(body, env);
}

} // namespace recipec::sema
