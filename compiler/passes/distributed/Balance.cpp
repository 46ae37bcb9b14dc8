// 1. `begin`: clear the sums of the routers.
// 2. `update`: all-reduce the load of each router's experts over the ranks that
//    hold other samples, and update the router's bias. Every rank with a copy
//    of the bias computes the same update.
// 3. `update`: all-reduce the counts of rows over capacity, over the ranks that
//    counted them and over the stages.

#include "compiler/passes/distributed/Balance.h"

#include "compiler/passes/ValueNames.h"
#include "runtime/ops/ExpertOps.h"
#include "runtime/ops/OpKind.h"

#include <string>

namespace recipec::passes {
namespace {

using ir::Op;
using ir::OpKind;
using ir::ValueId;

class Balancing {
public:
  explicit Balancing(ir::Module& program) : program(program), names(program) {}

  void run() {
    // Functions are looked up by name: adding one moves the others.
    for (size_t i = 0; i < program.functions.size(); ++i)
      for (size_t op = 0; op < program.functions[i].ops.size(); ++op)
        if (program.functions[i].ops[op].kind == OpKind::Route)
          balance(i, op);
    for (const char* role : {"dropped", "overflow", "further_loss"}) {
      auto sum = program.bindings.find(role);
      if (sum == program.bindings.end())
        continue;
      zero(sum->second);
      sum->second = complete(role, sum->second);
    }
  }

private:
  void balance(size_t function, size_t number) {
    Op& route = program.functions[function].ops[number];
    if (!route.attributes.contains("correction_rate"))
      return;
    const double rate = ops::RouteAttributes(route.attributes).correctionRate;
    route.attributes.erase("correction_rate");
    ValueId bias = route.operands[2], load = route.results[3];
    if (load == ValueId::none)
      return; // evaluation
    zero(load);
    Op op = made(OpKind::BalanceExperts, program[bias].name,
                 {complete(program[load].name, load)}, {bias});
    op.attributes["rate"] = rate;
    ir::obtainFunction(program, "update").ops.push_back(std::move(op));
  }

  void zero(ValueId value) {
    ir::obtainFunction(program, "begin")
        .ops.push_back(made(OpKind::Zero, program[value].name, {}, {value}));
  }

  // Names are passed by value: adding a value moves the program's names.

  /// Appends the all-reduce of `part` over the ranks that hold a part of it.
  ValueId complete(std::string name, ValueId part) {
    ir::AxisSet group = program[part].sharding.partial;
    if (ir::groupName(program, group).empty())
      return part;
    ir::Value whole = program[part];
    whole.name = names.make(name + "_sum");
    whole.sharding.partial = {};
    ValueId result = ir::addValue(program, std::move(whole));
    Op op = made(OpKind::AllReduce, name, {part}, {result});
    op.attributes["reduce"] = std::string("sum");
    op.group = group;
    ir::obtainFunction(program, "update").ops.push_back(std::move(op));
    return result;
  }

  Op made(OpKind kind, std::string name, std::vector<ValueId> operands,
          std::vector<ValueId> results) const {
    Op op{};
    op.kind = kind;
    op.name = std::move(name);
    op.operands = std::move(operands);
    op.results = std::move(results);
    op.range = program[op.results[0]].range;
    return op;
  }

  ir::Module& program;
  ValueNames names;
};

} // namespace

void addBalancing(ir::Module& program) {
  Balancing(program).run();
}

} // namespace recipec::passes
