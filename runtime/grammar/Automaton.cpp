// 1. Build the machine of each rule; repetitions add rules.
// 2. Join the states, and give each rule a first state that is not final: where
//    a rule matches the empty text, its callers already have the alternative
//    without it.
// 3. Keep only what can reach an end and what the root reaches.
// 4. Refuse left recursion; compute the first bytes of the rules.

#include "runtime/grammar/Automaton.h"

#include "runtime/grammar/Limits.h"
#include "runtime/grammar/MachineBuilder.h"

#include <algorithm>

namespace reciperun::grammar {

class Automaton::Linker {
public:
  explicit Linker(Rules rules)
      : rules(std::move(rules.rules)), rootRule(rules.root) {}

  Expected<Automaton> run() {
    RECIPERUN_TRY(buildMachines());
    findProductive();
    RECIPERUN_TRY(checkMatches());
    removeUnproductive();
    RECIPERUN_TRY(orderByFirstCalls());
    made.rootRule = rootRule;
    keepReachable();
    computeFirstBytes();
    return std::move(made);
  }

private:
  Status buildMachines() {
    MachineBuilder builder(rules);
    size_t edges = 0;
    for (size_t rule = 0; rule < rules.size(); ++rule) {
      Expected<Machine> machine = builder.build(static_cast<RuleId>(rule));
      if (!machine)
        return machine.status().withContext("`" + rules[rule].name + "`");
      append(std::move(*machine), edges);
      if (states.size() > maxStates || edges > maxEdges)
        return Status::error("the grammar needs more than " +
                             std::to_string(maxStates) +
                             " states; write shorter repetitions or fewer "
                             "rules");
    }
    made.isRootNullable = builder.isNullable(rootRule);
    return {};
  }

  void append(Machine machine, size_t& edges) {
    if (machine.states[0].isFinal) {
      machine.states.push_back(machine.states[0]);
      machine.states.back().isFinal = false;
      starts.push_back(
          static_cast<int32_t>(states.size() + machine.states.size()) - 1);
    } else {
      starts.push_back(static_cast<int32_t>(states.size()));
    }
    const int32_t base = static_cast<int32_t>(states.size());
    for (Machine::State& state : machine.states) {
      for (Edge& edge : state.edges)
        edge.target += base;
      for (Call& call : state.calls)
        call.target += base;
      edges += state.edges.size() + state.calls.size();
      states.push_back(std::move(state));
    }
  }

  /// Finds the states that can reach an end, backwards from the ends. A state
  /// reaches one through a call if both the state after the call and the first
  /// state of the called rule do.
  void findProductive() {
    isProductive.assign(states.size(), false);
    std::vector<std::vector<int32_t>> before(states.size());
    std::vector<int32_t> open;
    for (size_t i = 0; i < states.size(); ++i) {
      const int32_t id = static_cast<int32_t>(i);
      for (const Edge& edge : states[i].edges)
        before[size_t(edge.target)].push_back(id);
      for (const Call& call : states[i].calls) {
        before[size_t(call.target)].push_back(id);
        before[size_t(starts[size_t(call.rule)])].push_back(id);
      }
      if (states[i].isFinal)
        open.push_back(id);
    }
    for (const int32_t each : open)
      isProductive[size_t(each)] = true;
    while (!open.empty()) {
      const int32_t at = open.back();
      open.pop_back();
      for (const int32_t each : before[size_t(at)])
        if (!isProductive[size_t(each)] && leadsOn(states[size_t(each)])) {
          isProductive[size_t(each)] = true;
          open.push_back(each);
        }
    }
  }

  bool isUseful(const Call& call) const {
    return isProductive[size_t(call.target)] &&
           isProductive[size_t(starts[size_t(call.rule)])];
  }
  bool leadsOn(const Machine::State& state) const {
    return std::any_of(state.edges.begin(), state.edges.end(),
                       [&](const Edge& edge) {
                         return isProductive[size_t(edge.target)];
                       }) ||
           std::any_of(state.calls.begin(), state.calls.end(),
                       [&](const Call& call) { return isUseful(call); });
  }

  Status checkMatches() const {
    if (made.isRootNullable || isProductive[size_t(starts[size_t(rootRule)])])
      return {};
    for (size_t rule = 0; rule < rules.size(); ++rule)
      if (!rules[rule].whyEmpty.empty() && !isProductive[size_t(starts[rule])])
        return Status::error("nothing matches: `" + rules[rule].name +
                             "`: " + rules[rule].whyEmpty);
    return Status::error("nothing matches `" + rules[size_t(rootRule)].name +
                         "`: every alternative goes on for ever or leads to "
                         "an empty choice");
  }

  void removeUnproductive() {
    for (Machine::State& state : states) {
      std::erase_if(state.edges, [&](const Edge& edge) {
        return !isProductive[size_t(edge.target)];
      });
      std::erase_if(state.calls,
                    [&](const Call& call) { return !isUseful(call); });
    }
  }

  const std::vector<Call>& firstCalls(RuleId rule) const {
    return states[size_t(starts[size_t(rule)])].calls;
  }

  /// Orders the rules so that each follows the rules that it may begin with.
  /// Fails for a rule that may begin with itself.
  Status orderByFirstCalls() {
    enum class Mark : uint8_t { none, open, done };
    std::vector<Mark> marks(rules.size(), Mark::none);
    struct Visit {
      RuleId rule;
      size_t next;
    };
    for (size_t i = 0; i < rules.size(); ++i) {
      std::vector<Visit> path;
      if (marks[i] == Mark::none) {
        path.push_back({static_cast<RuleId>(i), 0});
        marks[i] = Mark::open;
      }
      while (!path.empty()) {
        Visit& visit = path.back();
        if (visit.next == firstCalls(visit.rule).size()) {
          marks[size_t(visit.rule)] = Mark::done;
          order.push_back(visit.rule);
          RECIPERUN_TRY(checkFirstCalls(visit.rule));
          path.pop_back();
          continue;
        }
        const RuleId called = firstCalls(visit.rule)[visit.next++].rule;
        if (marks[size_t(called)] == Mark::open)
          return Status::error(
              "`" + rules[size_t(called)].name +
              "` is left-recursive: it may begin with itself before it has "
              "read a character; put the repeated part first");
        if (marks[size_t(called)] == Mark::none) {
          marks[size_t(called)] = Mark::open;
          path.push_back({called, 0});
        }
      }
    }
    return {};
  }

  /// Limits how deep rules begin with other rules, because reading a byte
  /// recurses into them.
  Status checkFirstCalls(RuleId rule) {
    firstDepth.resize(rules.size());
    int& depth = firstDepth[size_t(rule)];
    for (const Call& call : firstCalls(rule))
      depth = std::max(depth, firstDepth[size_t(call.rule)] + 1);
    if (depth <= maxFirstCalls)
      return {};
    return Status::error(
        "`" + rules[size_t(rule)].name + "` begins with more than " +
        std::to_string(maxFirstCalls) + " rules inside one another");
  }

  /// Numbers the states that the root reaches and writes the final tables.
  void keepReachable() {
    std::vector<int32_t> idOf(states.size(), -1);
    std::vector<int32_t> kept;
    auto numberOf = [&](int32_t state) {
      if (idOf[size_t(state)] < 0) {
        idOf[size_t(state)] = static_cast<int32_t>(kept.size());
        kept.push_back(state);
      }
      return idOf[size_t(state)];
    };
    made.starts.assign(rules.size(), -1);
    auto startOf = [&](RuleId rule) {
      made.starts[size_t(rule)] = numberOf(starts[size_t(rule)]);
    };
    startOf(rootRule);
    for (size_t i = 0; i < kept.size(); ++i) {
      const Machine::State& state = states[size_t(kept[i])];
      State flat;
      flat.isFinal = state.isFinal;
      flat.firstEdge = static_cast<int32_t>(made.allEdges.size());
      flat.edges = static_cast<int32_t>(state.edges.size());
      for (const Edge& edge : state.edges)
        made.allEdges.push_back({edge.low, edge.high, numberOf(edge.target)});
      flat.firstCall = static_cast<int32_t>(made.allCalls.size());
      flat.calls = static_cast<int32_t>(state.calls.size());
      for (const Call& call : state.calls) {
        startOf(call.rule);
        made.allCalls.push_back({call.rule, numberOf(call.target)});
      }
      made.states.push_back(flat);
    }
  }

  void computeFirstBytes() {
    made.firstBytes.resize(rules.size());
    for (const RuleId rule : order) {
      const int32_t start = made.starts[size_t(rule)];
      if (start < 0)
        continue;
      std::bitset<256>& bytes = made.firstBytes[size_t(rule)];
      for (const Edge& edge : made.edges(start))
        for (int byte = edge.low; byte <= edge.high; ++byte)
          bytes.set(size_t(byte));
      for (const Call& call : made.calls(start))
        bytes |= made.firstBytes[size_t(call.rule)];
    }
  }

  std::vector<Rule> rules;
  RuleId rootRule;
  std::vector<Machine::State> states;
  std::vector<int32_t> starts; // by rule
  std::vector<bool> isProductive;
  std::vector<RuleId> order;
  std::vector<int> firstDepth; // by rule: nesting of rules that it begins with
  Automaton made;
};

Expected<Automaton> Automaton::compile(Rules rules) {
  return Linker(std::move(rules)).run();
}

} // namespace reciperun::grammar
