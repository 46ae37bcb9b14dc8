// Thompson's construction ("Regular expression search algorithm", 1968), with
// calls for references. `add` connects two given states, so that alternatives
// need no states of their own; a loop always gets its own state.

#include "runtime/grammar/MachineBuilder.h"

#include "runtime/grammar/Limits.h"

#include <algorithm>

namespace reciperun::grammar {
namespace {

template <class... Cases> struct Overloaded : Cases... {
  using Cases::operator()...;
};
template <class... Cases> Overloaded(Cases...) -> Overloaded<Cases...>;

/// A rule with at most this many states is copied in place of references to it.
constexpr int64_t inlinedStates = 24;
/// A repetition with more states than this calls its body as a rule.
constexpr int64_t expandedStates = 512;
/// The nesting of references up to which rules are considered for inlining.
constexpr int inliningDepth = 16;
constexpr int64_t manyStates = int64_t(1) << 40; // sums saturate here

/// The rules that an expression refers to.
void collectReferences(const Expression& expression, std::vector<RuleId>& out) {
  auto all = [&](const std::vector<ExpressionPtr>& parts) {
    for (const ExpressionPtr& part : parts)
      collectReferences(*part, out);
  };
  std::visit(
      Overloaded{
          [&](const Sequence& node) { all(node.parts); },
          [&](const Choice& node) { all(node.alternatives); },
          [&](const Repeat& node) { collectReferences(*node.part, out); },
          [&](const Reference& node) { out.push_back(node.rule); },
          [&](const Separated& node) {
            collectReferences(*node.separator, out);
            for (const Separated::Item& item : node.items)
              collectReferences(*item.part, out);
          },
          [](const auto&) {},
      },
      expression.node);
}

Status tooLarge() {
  return Status::error("the grammar needs more than " +
                       std::to_string(maxStates) +
                       " states; write shorter repetitions or fewer rules");
}

} // namespace

MachineBuilder::MachineBuilder(std::vector<Rule>& rules)
    : rules(rules), nullable(rules.size(), false),
      inlining(rules.size(), Inlining::unknown) {
  findNullable();
}

void MachineBuilder::findNullable() {
  std::vector<std::vector<RuleId>> users(rules.size());
  std::vector<RuleId> open;
  for (size_t i = 0; i < rules.size(); ++i) {
    std::vector<RuleId> used;
    collectReferences(*rules[i].body, used);
    std::sort(used.begin(), used.end());
    used.erase(std::unique(used.begin(), used.end()), used.end());
    for (const RuleId each : used)
      users[size_t(each)].push_back(static_cast<RuleId>(i));
    open.push_back(static_cast<RuleId>(i));
  }
  while (!open.empty()) {
    const size_t rule = size_t(open.back());
    open.pop_back();
    if (nullable[rule] || !isNullable(*rules[rule].body))
      continue;
    nullable[rule] = true;
    open.insert(open.end(), users[rule].begin(), users[rule].end());
  }
}

bool MachineBuilder::isNullable(const Expression& expression) const {
  auto matches = [&](const ExpressionPtr& part) { return isNullable(*part); };
  return std::visit(
      Overloaded{
          [](const Literal& node) { return node.bytes.empty(); },
          [](const Character&) { return false; },
          [&](const Sequence& node) {
            return std::all_of(node.parts.begin(), node.parts.end(), matches);
          },
          [&](const Choice& node) {
            return std::any_of(node.alternatives.begin(),
                               node.alternatives.end(), matches);
          },
          [&](const Repeat& node) {
            return node.least == 0 || isNullable(*node.part);
          },
          [&](const Reference& node) {
            return bool(nullable[size_t(node.rule)]);
          },
          [&](const Separated& node) {
            auto mayMiss = [&](const Separated::Item& item) {
              return item.isOptional;
            };
            auto isEmpty = [&](const Separated::Item& item) {
              return isNullable(*item.part);
            };
            return (node.mayBeEmpty &&
                    std::all_of(node.items.begin(), node.items.end(),
                                mayMiss)) ||
                   std::any_of(node.items.begin(), node.items.end(), isEmpty);
          },
          [](const Regular& node) { return node.machine->states[0].isFinal; },
          [](const Anchor&) { return true; },
      },
      expression.node);
}

// ---- sizes

MachineBuilder::Size MachineBuilder::sizeOf(const ExpressionPtr& expression,
                                            int depth) {
  const auto known = sizes.find(expression.get());
  if (known != sizes.end())
    return known->second;
  Size size;
  auto add = [&](const ExpressionPtr& part) {
    const Size other = sizeOf(part, depth);
    size.states = std::min(size.states + other.states, manyStates);
    size.hasCalls |= other.hasCalls;
  };
  std::visit(Overloaded{
                 [&](const Literal& node) {
                   size.states = int64_t(node.bytes.size());
                 },
                 [&](const Character& node) {
                   const bool isAscii = node.set.isEmpty() ||
                                        node.set.ranges().back().high < 0x80;
                   size.states = isAscii ? 1 : 8;
                 },
                 [&](const Sequence& node) {
                   std::for_each(node.parts.begin(), node.parts.end(), add);
                 },
                 [&](const Choice& node) {
                   std::for_each(node.alternatives.begin(),
                                 node.alternatives.end(), add);
                 },
                 [&](const Repeat& node) { size = sizeOfRepeat(node, depth); },
                 [&](const Reference& node) {
                   if (isInlined(node.rule, depth + 1))
                     add(rules[size_t(node.rule)].body);
                   else
                     size = {1, true};
                 },
                 [&](const Separated& node) {
                   for (const Separated::Item& item : node.items) {
                     add(item.part);
                     add(node.separator);
                   }
                 },
                 [&](const Regular& node) {
                   size.states = int64_t(node.machine->states.size());
                 },
                 [](const Anchor&) {},
             },
             expression->node);
  sizes.emplace(expression.get(), size);
  return size;
}

MachineBuilder::Size MachineBuilder::sizeOfRepeat(const Repeat& repeat,
                                                  int depth) {
  const Size body = sizeOf(repeat.part, depth);
  const int64_t count =
      std::max<int64_t>(1, repeat.most.value_or(repeat.least + 1));
  const int64_t expanded =
      body.states > manyStates / count ? manyStates : body.states * count;
  if (isRegular || expanded <= expandedStates || body.states <= 1)
    return {expanded, body.hasCalls};
  return {count, true};
}

bool MachineBuilder::isInlined(RuleId rule, int depth) {
  Inlining& known = inlining[size_t(rule)];
  if (known == Inlining::yes || known == Inlining::no)
    return known == Inlining::yes;
  if (known == Inlining::inProgress || depth > inliningDepth)
    return false; // recursive, or not worth a deeper search
  known = Inlining::inProgress;
  const Size size = sizeOf(rules[size_t(rule)].body, depth);
  const bool isSmall = size.states <= inlinedStates && !size.hasCalls;
  inlining[size_t(rule)] = isSmall ? Inlining::yes : Inlining::no;
  return isSmall;
}

Expected<RuleId> MachineBuilder::ruleOf(const ExpressionPtr& body) {
  const auto known = bodies.find(body);
  if (known != bodies.end())
    return known->second;
  if (rules.size() >= maxRules)
    return Status::error("the grammar needs more than " +
                         std::to_string(maxRules) + " rules");
  const RuleId id = static_cast<RuleId>(rules.size());
  rules.push_back({"a repetition", body});
  nullable.push_back(isNullable(*body));
  inlining.push_back(Inlining::no);
  bodies.emplace(body, id);
  return id;
}

// ---- states

Expected<int32_t> MachineBuilder::addState() {
  if (made.states.size() >= 4 * maxStates)
    return tooLarge();
  made.states.emplace_back();
  return static_cast<int32_t>(made.states.size()) - 1;
}

void MachineBuilder::addEmpty(int32_t from, int32_t to) {
  made.states[size_t(from)].empty.push_back(to);
}

Status MachineBuilder::add(const ExpressionPtr& expression, int32_t from,
                           int32_t to) {
  return std::visit(
      Overloaded{
          [&](const Literal& node) -> Status {
            int32_t at = from;
            for (const char each : node.bytes) {
              Expected<int32_t> next = addState();
              RECIPERUN_TRY(next);
              const uint8_t byte = static_cast<uint8_t>(each);
              made.states[size_t(at)].edges.push_back({byte, byte, *next});
              at = *next;
            }
            addEmpty(at, to);
            return {};
          },
          [&](const Character& node) {
            return addCharacter(node.set, from, to);
          },
          [&](const Sequence& node) {
            return addSequence(node.parts, from, to);
          },
          [&](const Choice& node) -> Status {
            for (const ExpressionPtr& each : node.alternatives)
              RECIPERUN_TRY(add(each, from, to));
            return {};
          },
          [&](const Repeat& node) { return addRepeat(node, from, to); },
          [&](const Reference& node) {
            return addReference(node.rule, from, to);
          },
          [&](const Separated& node) { return addSeparated(node, from, to); },
          [&](const Regular& node) {
            return addMachine(*node.machine, from, to);
          },
          [&](const Anchor&) {
            addEmpty(from, to);
            return Status::ok();
          },
      },
      expression->node);
}

Status MachineBuilder::addCharacter(const CodePointSet& set, int32_t from,
                                    int32_t to) {
  // Sequences with the same last ranges share states.
  std::map<std::pair<int32_t, int>, int32_t> before; // by target and range
  for (const std::vector<ByteRange>& ranges : set.utf8()) {
    int32_t target = to;
    for (size_t i = ranges.size(); i-- > 1;) {
      const ByteRange range = ranges[i];
      const auto [place, isNew] =
          before.try_emplace({target, range.low << 8 | range.high}, 0);
      if (isNew) {
        Expected<int32_t> state = addState();
        RECIPERUN_TRY(state);
        place->second = *state;
        made.states[size_t(*state)].edges.push_back(
            {range.low, range.high, target});
      }
      target = place->second;
    }
    made.states[size_t(from)].edges.push_back(
        {ranges[0].low, ranges[0].high, target});
  }
  return {};
}

Status MachineBuilder::addSequence(const std::vector<ExpressionPtr>& parts,
                                   int32_t from, int32_t to) {
  int32_t at = from;
  for (const ExpressionPtr& part : parts) {
    Expected<int32_t> next = addState();
    RECIPERUN_TRY(next);
    RECIPERUN_TRY(add(part, at, *next));
    at = *next;
  }
  addEmpty(at, to);
  return {};
}

Status MachineBuilder::addRepeat(const Repeat& repeat, int32_t from,
                                 int32_t to) {
  ExpressionPtr part = repeat.part;
  if (!isRegular) {
    const Size body = sizeOf(part, 0);
    const int64_t count = repeat.most.value_or(repeat.least + 1);
    if (body.states > 1 && count > 1 && body.states > expandedStates / count) {
      Expected<RuleId> rule = ruleOf(part);
      RECIPERUN_TRY(rule);
      part = reference(*rule);
    }
  }
  int32_t at = from;
  const int64_t copies = repeat.most.value_or(repeat.least);
  for (int64_t i = 0; i < copies; ++i) {
    if (i >= repeat.least)
      addEmpty(at, to);
    Expected<int32_t> next = addState();
    RECIPERUN_TRY(next);
    RECIPERUN_TRY(add(part, at, *next));
    at = *next;
  }
  if (!repeat.most) {
    Expected<int32_t> loop = addState();
    RECIPERUN_TRY(loop);
    addEmpty(at, *loop);
    RECIPERUN_TRY(add(part, *loop, *loop));
    at = *loop;
  }
  addEmpty(at, to);
  return {};
}

Status MachineBuilder::addSeparated(const Separated& list, int32_t from,
                                    int32_t to) {
  Expected<int32_t> none = addState();
  RECIPERUN_TRY(none);
  addEmpty(from, *none);
  bool mayBeEmpty = list.mayBeEmpty;
  bool isFirst = true;          // until a required item
  std::optional<int32_t> later; // after the last item so far
  for (const Separated::Item& item : list.items) {
    Expected<int32_t> before = addState(), after = addState();
    RECIPERUN_TRY(before);
    RECIPERUN_TRY(after);
    if (isFirst)
      addEmpty(*none, *before);
    if (later)
      RECIPERUN_TRY(add(list.separator, *later, *before));
    RECIPERUN_TRY(add(item.part, *before, *after));
    if (item.repeats)
      RECIPERUN_TRY(add(list.separator, *after, *before));
    if (item.isOptional && later)
      addEmpty(*later, *after);
    later = *after;
    if (!item.isOptional) {
      isFirst = false;
      mayBeEmpty = false;
    }
  }
  if (later)
    addEmpty(*later, to);
  if (isFirst && mayBeEmpty)
    addEmpty(*none, to);
  return {};
}

Status MachineBuilder::addReference(RuleId rule, int32_t from, int32_t to) {
  if (isRegular || isInlined(rule, 0))
    return add(rules[size_t(rule)].body, from, to);
  made.states[size_t(from)].calls.push_back({rule, to});
  if (nullable[size_t(rule)])
    addEmpty(from, to);
  return {};
}

Status MachineBuilder::addMachine(const Machine& machine, int32_t from,
                                  int32_t to) {
  const int32_t base = static_cast<int32_t>(made.states.size());
  for (size_t i = 0; i < machine.states.size(); ++i)
    RECIPERUN_TRY(addState());
  for (size_t i = 0; i < machine.states.size(); ++i) {
    EmptyEdgeMachine::State& state = made.states[size_t(base) + i];
    for (const Edge& edge : machine.states[i].edges)
      state.edges.push_back({edge.low, edge.high, base + edge.target});
    if (machine.states[i].isFinal)
      state.empty.push_back(to);
  }
  addEmpty(from, base);
  return {};
}

Expected<Machine> MachineBuilder::build(RuleId rule) {
  made = {};
  made.states.resize(2);
  made.start = 0;
  made.end = 1;
  const ExpressionPtr body = rules[size_t(rule)].body;
  RECIPERUN_TRY(add(body, made.start, made.end));
  return determinize(made);
}

Expected<Machine> machineOf(const ExpressionPtr& expression) {
  std::vector<Rule> rules = {{"", expression}};
  MachineBuilder builder(rules);
  builder.isRegular = true;
  if (builder.sizeOf(expression, 0).states > int64_t(maxRegularStates))
    return Status::error("needs more than " + std::to_string(maxRegularStates) +
                         " states");
  return builder.build(0);
}

} // namespace reciperun::grammar
