// Orders loads and functions.
//
// `train`: begin; load, forward and backward of each micro-batch in turn, so
// that one micro-batch's activations are alive at a time; update.
// `evaluate`: evaluate_begin, load, evaluate, evaluate_end.
// `generate` has no schedule: a bucket of the plan names the function that the
// next tokens go through, and how many follow is known only when they do.

#include "compiler/passes/Schedule.h"

#include <sstream>

namespace recipec::passes {
namespace {

class ScheduleBuilder {
public:
  ScheduleBuilder(const ir::Module& program, std::string name)
      : program(program) {
    schedule.name = std::move(name);
  }

  void load(int microBatch) {
    ir::Step step;
    step.kind = ir::Step::Kind::load;
    step.microBatch = microBatch;
    schedule.steps.push_back(std::move(step));
  }
  /// Functions without an op are left out.
  void run(const std::string& name, int microBatch = 0) {
    const ir::Function* function = ir::findFunction(program, name);
    if (!function || function->ops.empty())
      return;
    ir::Step step;
    step.function = name;
    step.microBatch = microBatch;
    schedule.steps.push_back(std::move(step));
  }

  ir::Schedule schedule;

private:
  const ir::Module& program;
};

std::string picture(const ir::Schedule& schedule) {
  std::ostringstream out;
  for (const ir::Step& step : schedule.steps) {
    if (step.kind == ir::Step::Kind::load)
      out << "  |";
    else if (step.function == "forward")
      out << " F" << step.microBatch;
    else if (step.function == "backward")
      out << " B" << step.microBatch;
    else
      out << " [" << step.function << ']';
  }
  return out.str();
}

} // namespace

void addSchedules(ir::Module& program, const recipe::Recipe& recipe) {
  ScheduleBuilder train(program, "train");
  train.run("begin");
  int64_t accumulation = recipe.integer("batch.accumulation");
  for (int m = 0; m < accumulation; ++m) {
    train.load(m);
    train.run("forward", m);
    train.run("backward", m);
  }
  train.run("update");
  program.schedules.push_back(std::move(train.schedule));

  if (!ir::findFunction(program, "evaluate"))
    return;
  ScheduleBuilder evaluate(program, "evaluate");
  evaluate.run("evaluate_begin");
  evaluate.load(0);
  evaluate.run("evaluate");
  evaluate.run("evaluate_end");
  program.schedules.push_back(std::move(evaluate.schedule));
}

std::string drawSchedules(const ir::Module& program) {
  std::ostringstream out;
  if (program.schedules.empty()) {
    out << "no schedule: each of these runs when tokens are there for it\n";
    for (const ir::Function& function : program.functions)
      out << "  run " << function.name << '\n';
  }
  for (const ir::Schedule& schedule : program.schedules) {
    out << "schedule " << schedule.name << '\n'
        << "  stage 0:" << picture(schedule) << "\n\n";
    for (const ir::Step& step : schedule.steps) {
      bool isLoad = step.kind == ir::Step::Kind::load;
      out << "  " << (isLoad ? "load" : "run " + step.function)
          << " micro-batch=" << step.microBatch << " slot=" << step.slot
          << '\n';
    }
    out << '\n';
  }
  return out.str();
}

} // namespace recipec::passes
