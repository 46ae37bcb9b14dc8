// Writes a plan section by section: mesh and groups, memory and buffers,
// parameters and regions, functions and schedules, what the host fills and
// reads, then the recipe's settings and the prediction.

#include "compiler/emit/Emit.h"

#include "compiler/emit/Buffers.h"
#include "compiler/emit/ExchangeJson.h"
#include "compiler/emit/Settings.h"

#include <algorithm>
#include <cassert>

namespace recipec::emit {
namespace {

namespace plan = reciperun::plan;
using ir::AxisSet;
using ir::ValueId;

static_assert(std::is_same_v<ir::Attribute, plan::AttributeValue>,
              "attributes pass from the Program to the plan as they are");

/// The enumerators of both lists have the same names, so that an op of the
/// Program is the op of that name in the plan.
plan::OpKind planKind(ir::OpKind kind) {
  switch (kind) {
#define OP(Enumerator, ...)                                                    \
  case ir::OpKind::Enumerator:                                                 \
    return plan::OpKind::Enumerator;
#include "compiler/ir/Ops.def"
  }
  assert(false && "an op that plans lack");
  return plan::OpKind::Zero;
}

class Emitter {
public:
  Emitter(const ir::Module& program, const recipe::Recipe& recipe,
          Findings findings)
      : program(program), recipe(recipe), findings(std::move(findings)),
        buffers(makeBuffers(program)) {}

  plan::Plan run();

private:
  void mesh();
  void parameters();
  void regions();
  void functions();
  void schedules();
  void hostBuffers();
  void buckets();
  void settings();

  plan::Op op(const ir::Op& op);
  plan::Parameter parameter(const ir::Param& param);
  void addGroup(const std::string& name, AxisSet axes);
  int group(AxisSet axes);
  std::string groupName(AxisSet axes);
  void listGroup(const std::string& name);
  int groupOf(const std::string& name) const;
  int functionNumber(const std::string& name) const;
  int bound(const std::string& role) const;
  int64_t vocabulary() const;

  const ir::Module& program;
  const recipe::Recipe& recipe;
  Findings findings;
  Buffers buffers;
  plan::Plan result;
};

// ---- the mesh

void Emitter::mesh() {
  for (const ir::Axis& axis : program.axes) {
    result.mesh.axes.push_back({axis.name, axis.size});
    result.mesh.ranks *= axis.size;
  }
  for (const auto& [name, degree] : program.degrees) {
    AxisSet axes = ir::axesOf(program, name);
    if (ir::groupName(program, axes) != name)
      addGroup(name, axes);
  }
}

void Emitter::addGroup(const std::string& name, AxisSet axes) {
  plan::Group made{name, {}};
  for (size_t i = 0; i < program.axes.size(); ++i)
    if (axes.contains(ir::AxisId(i)))
      made.axes.push_back(program.axes[i].name);
  result.mesh.groups.push_back(std::move(made));
}

/// The group over which a collective runs: one is listed for each set of axes.
int Emitter::group(AxisSet axes) {
  return groupOf(groupName(axes));
}

/// The name by which the plan knows a set of axes; empty for none.
std::string Emitter::groupName(AxisSet axes) {
  std::string name = ir::groupName(program, axes);
  if (!name.empty() && groupOf(name) < 0)
    addGroup(name, axes);
  return name;
}

/// Attributes name sets of axes, too.
void Emitter::listGroup(const std::string& name) {
  groupName(ir::findGroup(program, name));
}

int Emitter::groupOf(const std::string& name) const {
  for (size_t i = 0; i < result.mesh.groups.size(); ++i)
    if (result.mesh.groups[i].name == name)
      return int(i);
  return -1;
}

// ---- memory and parameters

plan::Parameter Emitter::parameter(const ir::Param& param) {
  plan::Parameter made;
  const ir::Value& value = program[param.value];
  made.name = param.name;
  for (size_t i = 0; i < value.dims.size(); ++i) {
    made.globalShape.push_back(program[value.dims[i]].size);
    made.shardAxes.push_back(groupName(value.sharding.dims[i]));
  }
  made.init = {param.init.kind, param.init.scale};
  made.trainable = param.trainable;
  made.adapter = param.adapter;
  made.value = buffers.number(param.value);
  made.gradient = buffers.number(param.gradient);
  made.hfName = param.hfName;
  made.hfShape = param.hfShape;
  made.loraA = int(param.loraA);
  made.loraB = int(param.loraB);
  made.loraScale = param.loraScale;
  return made;
}

void Emitter::parameters() {
  for (const ir::Param& param : program.params)
    result.parameters.push_back(parameter(param));
}

void Emitter::regions() {
  for (const ir::Region& region : program.regions) {
    plan::Region made;
    made.name = region.name;
    made.elements = region.elements;
    made.param = buffers.number(region.param);
    made.master = buffers.number(region.master);
    made.shardAxis = groupName(region.shard);
    for (ir::ParamId param : region.params)
      made.parameters.push_back(int(param));
    result.regions.push_back(std::move(made));
  }
}

// ---- functions

plan::Op Emitter::op(const ir::Op& op) {
  plan::Op made{};
  made.kind = planKind(op.kind);
  made.name = op.name;
  for (ValueId operand : op.operands)
    made.inputs.push_back(buffers.number(operand));
  for (ValueId value : op.results)
    made.outputs.push_back(buffers.number(value));
  if (ir::isCollective(op.kind))
    made.group = group(op.group);
  for (const auto& attribute : op.attributes) {
    if (attribute.first == "workspace")
      made.workspace = bound("workspace");
    else
      made.attributes.push_back(attribute);
    if (attribute.first == "axis")
      listGroup(std::get<std::string>(attribute.second));
    else if (attribute.first == "axes")
      for (const std::string& name :
           std::get<std::vector<std::string>>(attribute.second))
        listGroup(name);
  }
  return made;
}

void Emitter::functions() {
  for (const ir::Function& function : program.functions) {
    plan::Function made;
    made.name = function.name;
    for (const ir::Op& each : function.ops)
      made.ops.push_back(op(each));
    result.functions.push_back(std::move(made));
  }
}

int Emitter::functionNumber(const std::string& name) const {
  for (size_t i = 0; i < program.functions.size(); ++i)
    if (program.functions[i].name == name)
      return int(i);
  return -1;
}

void Emitter::schedules() {
  for (const ir::Schedule& schedule : program.schedules) {
    plan::Schedule made;
    made.name = schedule.name;
    for (const ir::Step& step : schedule.steps) {
      bool isLoad = step.kind == ir::Step::Kind::load;
      plan::Step entry;
      entry.kind = isLoad ? plan::Step::Kind::load : plan::Step::Kind::run;
      entry.function = isLoad ? -1 : functionNumber(step.function);
      entry.microBatch = step.microBatch;
      entry.slot = step.slot;
      made.steps.push_back(entry);
    }
    result.schedules.push_back(std::move(made));
  }
}

// ---- the host's side

int Emitter::bound(const std::string& role) const {
  auto found = program.bindings.find(role);
  return found == program.bindings.end() ? -1 : buffers.number(found->second);
}

void Emitter::hostBuffers() {
  plan::Inputs& in = result.inputs;
  in.tokens = bound("tokens");
  in.labels = bound("labels");
  in.weights = bound("weights");
  in.positions = bound("positions");
  in.segments = bound("segments");
  in.places = bound("places");
  in.samples = bound("samples");
  in.lossScale = bound("loss_scale");
  in.learningRate = bound("learning_rate");
  in.step = bound("step");
  result.outputs.loss = bound("loss");
  result.outputs.normSquared = bound("norm_squared");
}

void Emitter::buckets() {
  for (int64_t tokens : findings.buckets) {
    std::string suffix = "_" + std::to_string(tokens);
    plan::Bucket bucket;
    bucket.tokens = tokens;
    bucket.function = functionNumber("step" + suffix);
    bucket.inputs.tokens = bound("tokens" + suffix);
    bucket.inputs.positions = bound("positions" + suffix);
    bucket.logits = bound("logits" + suffix);
    result.buckets.push_back(bucket);
  }
  if (!findings.buckets.empty())
    result.cacheTokens = recipe.integer("data.sequence");
}

/// Token ids are below the last dimension of the logits.
int64_t Emitter::vocabulary() const {
  for (const ir::Function& function : program.functions)
    for (const ir::Op& op : function.ops)
      if (op.kind == ir::OpKind::SoftmaxMax)
        return program[program[op.operands[0]].dims.back()].size;
  assert(!result.buckets.empty() && "a model without logits");
  return result.buffers[size_t(result.buckets[0].logits)].shape.back();
}

void Emitter::settings() {
  result.data = dataSection(recipe);
  result.data.vocab = vocabulary();
  result.train = trainSection(recipe);
  plan::Exchange& exchange = result.exchange;
  exchange.weights = stringOr(recipe, "weights");
  exchange.hf = stringOr(recipe, "export.hf");
  if (const recipe::Value* config = recipe.find("model.hf_config"))
    exchange.config = toJson(recipe, *config);
  if (const recipe::Value* config = recipe.find("model.hf_generation"))
    exchange.generationConfig = toJson(recipe, *config);
  exchange.adapterConfig = adapterConfig(program, recipe);
}

plan::Plan Emitter::run() {
  result.name = recipe.name;
  result.task = recipe.string("task");
  result.device = recipe.string("cluster.hardware.kind");
  result.compute = planType(program.compute);
  mesh();
  result.memory = findings.memory;
  result.buffers = buffers.buffers;
  parameters();
  regions();
  functions();
  schedules();
  hostBuffers();
  buckets();
  settings();
  result.prediction = findings.prediction;
  result.generation = std::move(findings.generation);
  return std::move(result);
}

} // namespace

plan::Plan emit(const ir::Module& program, const recipe::Recipe& recipe,
                Findings findings) {
  return Emitter(program, recipe, std::move(findings)).run();
}

} // namespace recipec::emit
