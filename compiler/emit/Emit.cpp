// Writes a plan section by section: mesh and groups; the parameters of all
// stages; for each stage memory and buffers, regions, functions, transfers,
// schedules and host buffers; then the connections between all ranks, the
// recipe's settings and the prediction.

#include "compiler/emit/Emit.h"

#include "compiler/emit/Buffers.h"
#include "compiler/emit/ExchangeJson.h"
#include "compiler/emit/Serving.h"
#include "compiler/emit/Settings.h"
#include "runtime/ops/CollectiveOps.h"
#include "runtime/ops/OpTable.h"

#include <algorithm>
#include <cassert>
#include <map>

namespace recipec::emit {
namespace {

namespace plan = reciperun::plan;
using ir::AxisSet;
using ir::ValueId;

class Emitter {
public:
  Emitter(const std::vector<ir::Module>& stages, const recipe::Recipe& recipe,
          Findings findings)
      : stages(stages), recipe(recipe), findings(std::move(findings)) {}

  plan::Plan run();

private:
  void mesh();
  void parameters();
  plan::Stage stage(const ir::Module& module);
  void holdings(plan::Stage& made) const;
  void regions(plan::Stage& made);
  void functions(plan::Stage& made);
  void transfers(plan::Stage& made) const;
  void schedules(plan::Stage& made) const;
  void hostBuffers(plan::Stage& made) const;
  void connections();
  plan::GroupConnection connection(const ir::GroupConnection& group) const;
  plan::StageStep step(const plan::Stage& made, int64_t tokens) const;
  void serving();
  void settings();

  plan::Op op(const ir::Op& op);
  plan::Parameter parameter(const ir::Module& module, const ir::Param& param);
  void addGroup(const std::string& name, AxisSet axes);
  int group(const ir::Op& op);
  std::string groupName(AxisSet axes);
  void listGroup(const std::string& name);
  int groupOf(const std::string& name) const;
  int functionNumber(const std::string& name) const;
  int bound(const std::string& role) const;
  int64_t vocabulary() const;

  const std::vector<ir::Module>& stages;
  const recipe::Recipe& recipe;
  Findings findings;
  const ir::Module* current = nullptr; // the stage being written
  Buffers buffers;                     // its buffers
  std::map<std::string, int> numbers;  // index of a parameter, by name
  plan::Plan result;
};

// ---- the mesh

void Emitter::mesh() {
  const ir::Module& program = stages[0];
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
  for (size_t i = 0; i < stages[0].axes.size(); ++i)
    if (axes.contains(ir::AxisId(i)))
      made.axes.push_back(stages[0].axes[i].name);
  result.mesh.groups.push_back(std::move(made));
}

/// The group of a collective. The plan lists one group for each set of axes and
/// each subset of stages.
int Emitter::group(const ir::Op& op) {
  std::string name = groupName(op.group);
  const std::vector<std::string> stages =
      ops::AllReduceAttributes(op.attributes).stages;
  if (stages.empty())
    return groupOf(name);
  const plan::Group whole = result.mesh.groups[size_t(groupOf(name))];
  plan::Group part = whole;
  for (const std::string& stage : stages) {
    part.name += "." + stage;
    part.stages.push_back(std::stoi(stage));
  }
  if (groupOf(part.name) < 0)
    result.mesh.groups.push_back(part);
  return groupOf(part.name);
}

/// The plan's name of a set of axes; empty for an empty set.
std::string Emitter::groupName(AxisSet axes) {
  std::string name = ir::groupName(stages[0], axes);
  if (!name.empty() && groupOf(name) < 0)
    addGroup(name, axes);
  return name;
}

/// Adds the group of ranks that an attribute names to the plan.
void Emitter::listGroup(const std::string& name) {
  groupName(ir::findGroup(stages[0], name));
}

int Emitter::groupOf(const std::string& name) const {
  for (size_t i = 0; i < result.mesh.groups.size(); ++i)
    if (result.mesh.groups[i].name == name)
      return int(i);
  return -1;
}

// ---- memory and parameters

plan::Parameter Emitter::parameter(const ir::Module& module,
                                   const ir::Param& param) {
  plan::Parameter made;
  const ir::Value& value = module[param.value];
  made.name = param.name;
  for (size_t i = 0; i < value.dims.size(); ++i) {
    made.globalShape.push_back(module[value.dims[i]].size);
    made.shardAxes.push_back(groupName(value.sharding.dims[i]));
  }
  made.init = {param.init.kind, param.init.scale};
  made.trainable = param.trainable;
  made.adapter = param.adapter;
  if (param.quantization) {
    made.quantization = plan::WeightQuantization{param.quantization->format,
                                                 param.quantization->scales};
    if (value.type == ir::DType::u8) // two elements each
      made.globalShape.back() *= 2;
  } else if (value.type != module.compute) {
    made.type = value.type;
  }
  made.hfName = param.hfName;
  made.hfShape = param.hfShape;
  if (param.hfRows > 0)
    made.hfRows = plan::HfRows{param.hfFirst, param.hfRows};
  made.loraScale = param.loraScale;
  return made;
}

/// Lists the parameters of all stages; a shared parameter is listed once.
void Emitter::parameters() {
  for (const ir::Module& module : stages)
    for (const ir::Param& param : module.params) {
      auto [place, isNew] =
          numbers.emplace(param.name, int(result.parameters.size()));
      if (isNew)
        result.parameters.push_back(parameter(module, param));
      result.parameters[size_t(place->second)].stages.push_back(module.stage);
    }
  for (const ir::Module& module : stages)
    for (const ir::Param& param : module.params) {
      if (param.loraA == ir::ParamId::none)
        continue;
      plan::Parameter& made = result.parameters[size_t(numbers.at(param.name))];
      made.loraA = numbers.at(module[param.loraA].name);
      made.loraB = numbers.at(module[param.loraB].name);
    }
}

void Emitter::holdings(plan::Stage& made) const {
  for (const ir::Param& param : current->params) {
    const ir::WeightQuantization none,
        &kept = param.quantization ? *param.quantization : none;
    made.holdings.push_back(
        {numbers.at(param.name), buffers.number(param.value),
         buffers.number(param.gradient), buffers.number(kept.scale),
         buffers.number(kept.inScale)});
  }
}

void Emitter::regions(plan::Stage& made) {
  for (const ir::Region& region : current->regions) {
    plan::Region flat;
    flat.name = region.name;
    flat.elements = region.elements;
    flat.param = buffers.number(region.param);
    flat.part = buffers.number(region.paramPart);
    flat.master = buffers.number(region.master);
    flat.momentM = buffers.number(region.momentM);
    flat.momentV = buffers.number(region.momentV);
    flat.shardAxis = groupName(region.shard);
    for (ir::ParamId param : region.params)
      flat.parameters.push_back(numbers.at((*current)[param].name));
    flat.starts = region.starts;
    made.regions.push_back(std::move(flat));
  }
}

// ---- functions

plan::Op Emitter::op(const ir::Op& op) {
  plan::Op made{};
  made.kind = op.kind;
  made.name = op.name;
  for (ValueId operand : op.operands)
    made.inputs.push_back(buffers.number(operand));
  for (ValueId value : op.results)
    made.outputs.push_back(buffers.number(value));
  if (ops::traitsOf(op.kind).isCollective)
    made.group = group(op);
  for (const ops::AttributeInfo& info : ops::infoOf(op.kind).attributes)
    if (auto found = op.attributes.find(info.name);
        info.isInPlans && found != op.attributes.end())
      made.attributes.add(found->first, found->second);
    else if (info.isGroup && !op.group.empty())
      made.attributes.add(std::string(info.name), groupName(op.group));
  if (op.attributes.contains("workspace"))
    made.workspace = bound("workspace");
  for (const std::string& name : op.attributes.strings("axes"))
    listGroup(name);
  return made;
}

void Emitter::functions(plan::Stage& made) {
  for (const ir::Function& function : current->functions) {
    plan::Function& written = made.functions.emplace_back();
    written.name = function.name;
    for (const ir::Op& each : function.ops)
      if (!ops::traitsOf(each.kind).isAlias && !each.attributes.flag("nothing"))
        written.ops.push_back(op(each));
  }
}

int Emitter::functionNumber(const std::string& name) const {
  for (size_t i = 0; i < current->functions.size(); ++i)
    if (current->functions[i].name == name)
      return int(i);
  return -1;
}

void Emitter::transfers(plan::Stage& made) const {
  for (const ir::Transfer& transfer : current->transfers) {
    made.transfers.push_back({transfer.kind, buffers.number(transfer.value),
                              transfer.peer, transfer.channel, transfer.link});
  }
}

void Emitter::schedules(plan::Stage& made) const {
  for (const ir::Schedule& schedule : current->schedules) {
    plan::Schedule& written = made.schedules.emplace_back();
    written.name = schedule.name;
    for (const ir::ScheduleStep& step : schedule.steps) {
      bool isRun = step.kind == ir::ScheduleStep::Kind::run;
      written.steps.push_back({step.kind,
                               isRun ? functionNumber(step.function) : -1,
                               step.transfer, step.microBatch});
    }
  }
}

// ---- the host's side

int Emitter::bound(const std::string& role) const {
  auto found = current->bindings.find(role);
  return found == current->bindings.end() ? -1 : buffers.number(found->second);
}

void Emitter::hostBuffers(plan::Stage& made) const {
  plan::Inputs& in = made.inputs;
  in.tokens = bound("tokens");
  in.labels = bound("labels");
  in.weights = bound("weights");
  in.furtherLabels = bound("further_labels");
  in.furtherWeights = bound("further_weights");
  if (bound("further_loss") >= 0)
    in.furtherFactor = recipe::furtherFactor(recipe);
  in.positions = bound("positions");
  in.segments = bound("segments");
  in.places = bound("places");
  in.samples = bound("samples");
  in.lossScale = bound("loss_scale");
  in.learningRate = bound("learning_rate");
  in.step = bound("step");
  made.outputs.loss = bound("loss");
  made.outputs.furtherLoss = bound("further_loss");
  made.outputs.normSquared = bound("norm_squared");
  made.outputs.dropped = bound("dropped");
  made.outputs.overflow = bound("overflow");
  made.outputs.secondPass = bound("second_pass");
}

// ---- connections

plan::GroupConnection
Emitter::connection(const ir::GroupConnection& group) const {
  plan::GroupConnection made;
  made.transport = group.transport;
  made.overlaps = group.overlaps;
  for (size_t i = 0; i < stages[0].axes.size(); ++i)
    if (group.axes.contains(ir::AxisId(i)))
      made.axes.push_back(stages[0].axes[i].name);
  made.stages = group.stages;
  std::string name = ir::groupName(stages[0], group.axes);
  for (int stage : group.stages)
    name += "." + std::to_string(stage);
  if (group.isUsed)
    made.groups.push_back(groupOf(name));
  made.traffic = group.traffic;
  made.largest = group.largest;
  made.width = group.width;
  made.bytes = group.bytes;
  return made;
}

void Emitter::connections() {
  if (!findings.connections)
    return;
  const ir::Connections& table = *findings.connections;
  plan::Connections& made = result.connections.emplace();
  made.ranksPerNode = int(table.ranksPerNode);
  made.packs = table.packs;
  made.commonBytes = table.commonBytes;
  for (const ir::GroupConnection& group : table.groups)
    made.groups.push_back(connection(group));
  for (const ir::LinkConnection& link : table.links)
    made.links.push_back({link.link, link.from, link.to, link.width,
                          link.senderBytes, link.receiverBytes});
}

// ---- settings

/// The schedule and the buffers of the current stage for steps of a width.
plan::StageStep Emitter::step(const plan::Stage& made, int64_t tokens) const {
  const std::string suffix = "_" + std::to_string(tokens);
  const auto schedule =
      std::ranges::find(made.schedules, "step" + suffix, &plan::Schedule::name);
  assert(schedule != made.schedules.end() && "each stage runs each width");
  plan::StageStep step;
  step.schedule = int(schedule - made.schedules.begin());
  step.inputs.tokens = bound("tokens" + suffix);
  step.inputs.positions = bound("positions" + suffix);
  step.inputs.sequences = bound("sequences" + suffix);
  step.inputs.pages = bound("pages");
  step.inputs.rows = bound("rows" + suffix);
  step.inputs.adapters = bound("adapters" + suffix);
  step.inputs.draws = bound("draws" + suffix);
  step.logits = bound("logits" + suffix);
  step.chosen = bound("chosen" + suffix);
  return step;
}

void Emitter::serving() {
  if (findings.widths.empty())
    return;
  result.serving = servingSection(recipe, stages);
  const plan::Stage& last = result.stages.back();
  for (size_t i = 0; i < findings.widths.size(); ++i) {
    const int chosen = last.steps[i].chosen;
    result.serving->buckets.push_back(
        {findings.widths[i], last.buffers[size_t(chosen)].shape.back()});
  }
}

/// The vocabulary size: the last dimension of the logits.
int64_t Emitter::vocabulary() const {
  for (const ir::Module& module : stages)
    for (const ir::Function& function : module.functions)
      for (const ir::Op& op : function.ops)
        if (op.kind == ir::OpKind::SoftmaxMax ||
            op.kind == ir::OpKind::SoftmaxStats)
          return module[module[op.operands[0]].dims.back()].size;
  assert(result.serving && "a model without logits");
  const plan::Stage& last = result.stages.back();
  const int logits = last.steps.front().logits;
  return last.buffers[size_t(logits)].shape.back();
}

void Emitter::settings() {
  result.data = dataSection(recipe);
  result.data.vocab = vocabulary();
  result.train = trainSection(recipe);
  result.checkpoint = checkpointSection(recipe);
  plan::ModelExchange& exchange = result.exchange;
  exchange.weights = stringOr(recipe, "weights");
  exchange.hf = stringOr(recipe, "export.hf");
  if (const recipe::Value* config = recipe.find("model.hf_config"))
    exchange.config = toJson(recipe, *config);
  if (const recipe::Value* config = recipe.find("model.hf_generation"))
    exchange.generationConfig = toJson(recipe, *config);
  exchange.adapterConfig = adapterConfig(stages[0], recipe);
}

plan::Stage Emitter::stage(const ir::Module& module) {
  current = &module;
  buffers = makeBuffers(module);
  plan::Stage made;
  made.memory = findings.memory[size_t(module.stage)];
  made.buffers = buffers.buffers;
  for (const ir::Frame& frame : current->frames)
    made.frames.push_back({frame.offsets});
  holdings(made);
  regions(made);
  functions(made);
  transfers(made);
  schedules(made);
  hostBuffers(made);
  for (int64_t tokens : findings.widths)
    made.steps.push_back(step(made, tokens));
  return made;
}

plan::Plan Emitter::run() {
  result.name = recipe.name;
  result.task = recipe.string("task");
  result.device = recipe.string("cluster.hardware.kind");
  result.compute = stages[0].compute;
  mesh();
  parameters();
  for (const ir::Module& module : stages)
    result.stages.push_back(stage(module));
  connections();
  serving();
  settings();
  result.prediction = findings.prediction;
  if (!findings.draft.empty())
    result.draft = {recipe.string("serve.draft.path"),
                    std::move(findings.draft)};
  result.generation = std::move(findings.generation);
  return std::move(result);
}

} // namespace

plan::Plan emit(const std::vector<ir::Module>& stages,
                const recipe::Recipe& recipe, Findings findings) {
  return Emitter(stages, recipe, std::move(findings)).run();
}

} // namespace recipec::emit
