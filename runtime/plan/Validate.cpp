// Checks that the numbers of a plan are in range, table by table.
//
// 1. version, task, device, mesh: sizes multiply to the ranks, groups consist
//    of axes;
// 2. memory: every buffer lies in the arena, including its last slot, its last
//    shard and the farthest position of its frame;
// 3. functions (each op through ValidateOps.cpp) and schedules;
// 4. parameters, regions, inputs, outputs: buffers have the right type and
//    size;
// 5. messages between stages (ValidateTransfers.cpp), the connections between
//    GPUs (ValidateConnections.cpp), the steps of serving (ValidateServing.cpp)
//    and the settings of the run (ValidateSettings.cpp).

#include "runtime/plan/Validate.h"
#include "runtime/ops/OpTable.h"
#include "runtime/plan/ExpertNames.h"
#include "runtime/plan/LoraFactors.h"
#include "runtime/plan/Mesh.h"
#include "runtime/plan/PlanJson.h"
#include "runtime/plan/RegionShards.h"
#include "runtime/plan/TensorRows.h"
#include "runtime/sizes/WeightScales.h"

#include <algorithm>
#include <set>

namespace reciperun::plan {
namespace {

/// Validates one stage of a plan, and the tables that all stages share.
class Validation {
public:
  Validation(const Plan& plan, const Stage& stage) : plan(plan), stage(stage) {}

  Status run() {
    RECIPERUN_TRY(head());
    RECIPERUN_TRY(mesh());
    RECIPERUN_TRY(memory());
    for (const Schedule& schedule : stage.schedules)
      RECIPERUN_TRY(steps(schedule));
    for (const Frame& frame : stage.frames)
      RECIPERUN_TRY(positions(frame));
    for (const Buffer& buffer : stage.buffers)
      RECIPERUN_TRY(inArena(buffer));
    for (const Function& function : stage.functions)
      RECIPERUN_TRY(ops(function));
    for (const Parameter& parameter : plan.parameters)
      RECIPERUN_TRY(parameterShape(parameter));
    for (const Holding& holding : stage.holdings)
      RECIPERUN_TRY(parameterBlock(holding));
    for (const Transfer& transfer : stage.transfers)
      RECIPERUN_TRY(message(transfer));
    for (const Parameter& parameter : plan.parameters)
      RECIPERUN_TRY(loraPair(parameter));
    for (const Region& region : stage.regions)
      RECIPERUN_TRY(regionRun(region));
    RECIPERUN_TRY(hostBuffers());
    return training();
  }

private:
  Status head() {
    if (plan.major != majorVersion || plan.minor > minorVersion)
      return damaged("version " + std::to_string(plan.major) + "." +
                     std::to_string(plan.minor) + " is not known here");
    if (plan.task != "pretrain" && plan.task != "sft" &&
        !isServingTask(plan.task))
      return damaged("there is no task " + quoted(plan.task));
    if (plan.device != "cpu" && plan.device != "cuda")
      return damaged("there is no device " + quoted(plan.device));
    if (!isWeightType(plan.compute))
      return damaged("it computes in integers");
    return Status::ok();
  }

  Status mesh() {
    std::set<std::string> names;
    int64_t ranks = 1;
    for (const Axis& axis : plan.mesh.axes) {
      if (axis.name.empty() || !names.insert(axis.name).second)
        return damaged("the mesh has two axes " + quoted(axis.name));
      if (axis.size < 1 || axis.size > maxRanks)
        return damaged("axis " + quoted(axis.name) + " has size " +
                       std::to_string(axis.size));
      ranks = std::min(ranks * axis.size, maxRanks + 1);
    }
    if (ranks != plan.mesh.ranks)
      return damaged("the axes of the mesh make " + std::to_string(ranks) +
                     " ranks and the plan says " +
                     std::to_string(plan.mesh.ranks));
    for (const Group& group : plan.mesh.groups)
      for (const std::string& axis : group.axes)
        if (!names.count(axis))
          return damaged("group " + quoted(group.name) + " spans " +
                         quoted(axis) + ", which is no axis");
    return Status::ok();
  }

  Status memory() {
    const MemoryTable& memory = stage.memory;
    for (int64_t bytes :
         {memory.parameters, memory.gradients, memory.optimizer, memory.cache,
          memory.activations, memory.workspace, memory.library, memory.host,
          memory.offloaded, memory.arena, memory.draft, memory.total,
          memory.capacity})
      if (bytes < 0)
        return damaged("the memory table has a negative entry");
    if (memory.total < memory.arena)
      return damaged("the arena has " + std::to_string(memory.arena) +
                     " bytes, more than the total of " +
                     std::to_string(memory.total));
    if (memory.total - memory.arena < memory.draft)
      return damaged("the draft model has " + std::to_string(memory.draft) +
                     " bytes beside the arena, more than the total of " +
                     std::to_string(memory.total) + " leaves");
    return Status::ok();
  }

  Status positions(const Frame& frame) const {
    if (frame.offsets.empty())
      return damaged("a frame has no offsets");
    for (int64_t offset : frame.offsets)
      if (offset < 0 || offset % bufferAlignment != 0)
        return damaged("a frame has offset " + std::to_string(offset) +
                       ", which is no multiple of " +
                       std::to_string(bufferAlignment));
    return Status::ok();
  }

  /// The largest offset of the buffer's frame; 0 without one.
  int64_t farthest(const Buffer& buffer) const {
    return buffer.frame < 0
               ? 0
               : std::ranges::max(stage.frames[size_t(buffer.frame)].offsets);
  }

  /// The end of the buffer in bytes, over all slots, shards and positions.
  std::optional<int64_t> end(const Buffer& buffer) const {
    int64_t bytes = byteSize(buffer.dtype);
    for (int64_t dimension : buffer.shape) {
      std::optional<int64_t> wider = product(bytes, dimension);
      if (!wider)
        return std::nullopt;
      bytes = *wider;
    }
    int64_t result = bytes;
    int64_t shards = axisSize(plan.mesh, buffer.shardAxis);
    for (std::optional<int64_t> part :
         {std::optional(buffer.offset),
          product(buffer.slots - 1, buffer.slotStride),
          product(shards - 1, buffer.shardStride),
          std::optional(farthest(buffer))})
      if (!part || __builtin_add_overflow(result, *part, &result))
        return std::nullopt;
    return result;
  }

  Status inArena(const Buffer& buffer) const {
    std::string who = "buffer " + quoted(buffer.name);
    if (std::any_of(buffer.shape.begin(), buffer.shape.end(),
                    [](int64_t dimension) { return dimension < 1; }))
      return damaged(who + " has a dimension below 1");
    if (buffer.slots < 1 || (buffer.slots > 1 && buffer.slotStride <= 0))
      return damaged(who + " has " + std::to_string(buffer.slots) + " slots, " +
                     std::to_string(buffer.slotStride) + " bytes apart");
    if (buffer.offset < 0 || buffer.slotStride < 0 || buffer.shardStride < 0)
      return damaged(who + " has a negative offset or stride");
    if (!buffer.shardAxis.empty() && !hasExtent(plan.mesh, buffer.shardAxis))
      return damaged(who + " is split along " + quoted(buffer.shardAxis) +
                     ", which is no axis");
    if (buffer.frame < -1 || buffer.frame >= int(stage.frames.size()))
      return damaged(who + " is in frame " + std::to_string(buffer.frame) +
                     " of " + std::to_string(stage.frames.size()));
    if (buffer.frame >= 0 && (buffer.slots > 1 || !buffer.shardAxis.empty()))
      return damaged(who + " is in a frame and has slots or shards");
    int64_t size = byteSize(buffer.dtype);
    if (buffer.offset % bufferAlignment != 0 || buffer.slotStride % size != 0 ||
        buffer.shardStride % size != 0)
      return damaged(who + " is not aligned: offset " +
                     std::to_string(buffer.offset) + " is no multiple of " +
                     std::to_string(bufferAlignment));
    std::optional<int64_t> last = end(buffer);
    int64_t arena = buffer.host ? stage.memory.offloaded : stage.memory.arena;
    if (!last || *last > arena)
      return damaged(who + " ends at byte " +
                     (last ? std::to_string(*last) : "2^63") +
                     " of an arena of " + std::to_string(arena));
    return Status::ok();
  }

  Status ops(const Function& function) const {
    for (size_t i = 0; i < function.ops.size(); ++i) {
      const Op& op = function.ops[i];
      Status status = validateOp(plan, stage, op);
      if (!status.isOk())
        return damaged("function " + quoted(function.name) + ", op " +
                       std::to_string(i) + " " + quoted(op.name) + " (" +
                       ops::opName(op.kind) + ") " + status.message());
    }
    return Status::ok();
  }

  bool isFunction(int number) const {
    return number >= 0 && number < int(stage.functions.size());
  }

  /// Whether a `send` step names a send and a `receive` step a receive.
  bool isOfItsKind(const ScheduleStep& step) const {
    const Transfer::Kind kind = stage.transfers[size_t(step.transfer)].kind;
    return step.kind == ScheduleStep::Kind::wait ||
           (step.kind == ScheduleStep::Kind::send) ==
               (kind == Transfer::Kind::send);
  }

  Status steps(const Schedule& schedule) const {
    int64_t microBatches = std::max<int64_t>(1, plan.train.accumulation);
    for (const ScheduleStep& step : schedule.steps) {
      std::string who = "schedule " + quoted(schedule.name);
      if (step.kind == ScheduleStep::Kind::run && !isFunction(step.function))
        return damaged(who + " runs function " + std::to_string(step.function) +
                       " of " + std::to_string(stage.functions.size()));
      if (step.microBatch < 0 || step.microBatch >= microBatches)
        return damaged(who + " names micro-batch " +
                       std::to_string(step.microBatch) + " of " +
                       std::to_string(microBatches));
      bool isRun = step.kind == ScheduleStep::Kind::run;
      bool isLoad = step.kind == ScheduleStep::Kind::load;
      if (!isRun && !isLoad &&
          (step.transfer < 0 || step.transfer >= int(stage.transfers.size())))
        return damaged(who + " names transfer " +
                       std::to_string(step.transfer) + " of " +
                       std::to_string(stage.transfers.size()));
      if (!isRun && !isLoad && !isOfItsKind(step))
        return damaged(who +
                       " sends what is received, or receives what is "
                       "sent: transfer " +
                       std::to_string(step.transfer));
    }
    return Status::ok();
  }

  /// Checks that the index names a buffer of one of these types with this many
  /// elements.
  Status holds(const std::string& who, int number, const std::set<DType>& types,
               int64_t elements) const {
    if (number < 0 || number >= int(stage.buffers.size()))
      return damaged(who + " is buffer " + std::to_string(number) + " of " +
                     std::to_string(stage.buffers.size()));
    const Buffer& buffer = stage.buffers[number];
    if (!types.count(buffer.dtype))
      return damaged(who + " is " + quoted(buffer.name) + ", of another type");
    if (buffer.host)
      return damaged(who + " is " + quoted(buffer.name) +
                     ", which waits on the host");
    if (elements >= 0 && elementCount(buffer.shape) != elements)
      return damaged(who + " is " + quoted(buffer.name) + " with " +
                     std::to_string(elementCount(buffer.shape)) +
                     " elements instead of " + std::to_string(elements));
    return Status::ok();
  }
  Status holdsIf(const std::string& who, int number,
                 const std::set<DType>& types, int64_t elements) const {
    return number == -1 ? Status::ok() : holds(who, number, types, elements);
  }

  Status parameterShape(const Parameter& parameter) const {
    std::string who = "parameter " + quoted(parameter.name);
    constexpr std::string_view initializers[] = {
        "normal", "uniform", "zeros", "ones", "decay_rates", "time_steps"};
    const std::string& init = parameter.init.kind;
    if (std::find(std::begin(initializers), std::end(initializers), init) ==
        std::end(initializers))
      return damaged(who + " is initialised by " + quoted(init) +
                     ", which is not known");
    if (parameter.shardAxes.size() != parameter.globalShape.size())
      return damaged(
          who + " has " + std::to_string(parameter.shardAxes.size()) +
          " shard axes for " + std::to_string(parameter.globalShape.size()) +
          " dimensions");
    if (parameter.type && !isWeightType(*parameter.type))
      return damaged(who + " is of a type that no weight has");
    int64_t whole = 1;
    for (size_t i = 0; i < parameter.globalShape.size(); ++i) {
      int64_t size = axisSize(plan.mesh, parameter.shardAxes[i]);
      int64_t dimension = parameter.globalShape[i];
      if (dimension < 1 || dimension % size != 0)
        return damaged(who + " has dimension " + std::to_string(dimension) +
                       " over " + std::to_string(size) + " ranks");
      std::optional<int64_t> wider = product(whole, dimension);
      if (!wider)
        return damaged(who + " has more than 2^63 elements");
      whole = *wider;
    }
    bool hasExperts = isByExpert(parameter) && !parameter.globalShape.empty();
    int64_t external = hasExperts ? parameter.globalShape[0] : 1;
    for (int64_t dimension : parameter.hfShape) {
      std::optional<int64_t> wider =
          dimension < 1 ? std::nullopt : product(external, dimension);
      if (!wider)
        return damaged(who + " has an external shape out of range");
      external = *wider;
    }
    if (!parameter.hfName.empty() && external != whole)
      return damaged(who + " has " + std::to_string(whole) +
                     " elements here and " + std::to_string(external) +
                     " in its external shape");
    return Status::ok();
  }

  Status parameterBlock(const Holding& holding) const {
    if (holding.parameter < 0 ||
        holding.parameter >= int(plan.parameters.size()))
      return damaged("a stage holds parameter " +
                     std::to_string(holding.parameter) + " of " +
                     std::to_string(plan.parameters.size()));
    const Parameter& parameter = plan.parameters[size_t(holding.parameter)];
    std::string who = "parameter " + quoted(parameter.name);
    int64_t local = blockElements(parameter, plan.mesh);
    if (parameter.quantization)
      return quantizedBlock(holding, parameter, who, local);
    if (holding.value != -1 || !isInParts(holding.parameter))
      RECIPERUN_TRY(holds("the value of " + who, holding.value,
                          {typeOf(plan, parameter)}, local));
    return holdsIf("the gradient of " + who, holding.gradient, storedTypes(),
                   local);
  }

  /// Checks a quantized matrix and its scales.
  Status quantizedBlock(const Holding& holding, const Parameter& parameter,
                        const std::string& who, int64_t local) const {
    const auto format = sizes::findWeightFormat(parameter.quantization->format);
    const auto scales = sizes::findWeightScales(parameter.quantization->scales);
    if (!format || !scales)
      return damaged(who + " has the quantization " +
                     quoted(parameter.quantization->format) + " " +
                     quoted(parameter.quantization->scales) +
                     ", which is not known");
    const int64_t each = *format == sizes::WeightFormat::int4 ? 2 : 1;
    if (local % each != 0)
      return damaged(who + " has an odd number of elements in int4");
    RECIPERUN_TRY(holds("the value of " + who, holding.value,
                        {sizes::storedType(*format)}, local / each));
    const std::vector<int64_t>& shape =
        stage.buffers[size_t(holding.value)].shape;
    if (shape.size() != 2)
      return damaged("the value of " + who + " is no matrix");
    const int64_t n = shape[0], k = shape[1] * each;
    RECIPERUN_TRY(holds("the scales of " + who, holding.scale, {DType::f32},
                        elementCount(sizes::scaleShape(*scales, n, k))));
    return holdsIf("the factors of the inputs of " + who, holding.inScale,
                   {DType::f32}, k);
  }

  /// Whether the parameter is in a region of which each rank stores only its
  /// part.
  bool isInParts(int parameter) const {
    return std::any_of(
        stage.regions.begin(), stage.regions.end(), [&](const Region& region) {
          return region.param == -1 &&
                 std::find(region.parameters.begin(), region.parameters.end(),
                           parameter) != region.parameters.end();
        });
  }

  Status message(const Transfer& transfer) const {
    std::string who = "transfer " + std::to_string(transfer.channel);
    if (transfer.buffer < 0 || transfer.buffer >= int(stage.buffers.size()))
      return damaged(who + " is buffer " + std::to_string(transfer.buffer) +
                     " of " + std::to_string(stage.buffers.size()));
    if (transfer.channel < 0 || transfer.channel >= maxChannels)
      return damaged(who + " is no channel");
    if (transfer.link < 0 || transfer.link >= maxChannels)
      return damaged(who + " is of no link");
    if (stage.buffers[size_t(transfer.buffer)].host)
      return damaged(who + " is of a buffer that waits on the host");
    if (transfer.peer < 0 || transfer.peer >= axisSize(plan.mesh, "pp"))
      return damaged(who + " is with stage " + std::to_string(transfer.peer) +
                     " of " + std::to_string(axisSize(plan.mesh, "pp")));
    return Status::ok();
  }

  /// Checks a LoRA pair: A has r rows and B r columns, and B A has the matrix's
  /// elements.
  Status loraPair(const Parameter& parameter) const {
    std::string who = "parameter " + quoted(parameter.name);
    if (parameter.loraA == -1 && parameter.loraB == -1)
      return Status::ok();
    for (int number : {parameter.loraA, parameter.loraB})
      if (number < 0 || number >= int(plan.parameters.size()))
        return damaged(who + " names parameter " + std::to_string(number) +
                       " of " + std::to_string(plan.parameters.size()));
    return areLoraFactors(parameter.globalShape,
                          plan.parameters[size_t(parameter.loraA)].globalShape,
                          plan.parameters[size_t(parameter.loraB)].globalShape)
               ? Status::ok()
               : damaged(who + " is not of the shape of its LoRA factors");
  }

  static bool isWeightType(DType type) {
    return type == DType::f64 || type == DType::f32 || type == DType::bf16;
  }

  /// The types of gradients and moments.
  std::set<DType> storedTypes() const {
    if (plan.compute == DType::f64)
      return {DType::f64};
    return {DType::f32, DType::bf16};
  }

  std::set<DType> masterTypes() const {
    if (plan.compute == DType::bf16)
      return {DType::f32, DType::u16, DType::bf16};
    return {plan.compute};
  }

  Status regionRun(const Region& region) const {
    std::string who = "region " + quoted(region.name);
    if (!region.shardAxis.empty() && !hasExtent(plan.mesh, region.shardAxis))
      return damaged(who + " is split along " + quoted(region.shardAxis) +
                     ", which is no axis");
    int64_t shards = axisSize(plan.mesh, region.shardAxis);
    if (region.elements < 1 || region.elements % shards != 0)
      return damaged(who + " has " + std::to_string(region.elements) +
                     " elements over " + std::to_string(shards) + " ranks");
    RECIPERUN_TRY(holdsIf("the values of " + who, region.param, {plan.compute},
                          region.elements));
    RECIPERUN_TRY(holds("the rank's values of " + who, region.part,
                        {plan.compute}, region.elements / shards));
    RECIPERUN_TRY(holds("the master weights of " + who, region.master,
                        masterTypes(), region.elements / shards));
    for (int moment : {region.momentM, region.momentV})
      RECIPERUN_TRY(holdsIf("a moment of " + who, moment, storedTypes(),
                            region.elements / shards));
    if (region.starts.size() != region.parameters.size())
      return damaged(who + " has " + std::to_string(region.parameters.size()) +
                     " parameters and " + std::to_string(region.starts.size()) +
                     " places of some");
    for (size_t i = 0; i < region.parameters.size(); ++i)
      RECIPERUN_TRY(member(region, i));
    return Status::ok();
  }

  /// Checks that the region's offset and size of a parameter are right.
  Status member(const Region& region, size_t index) const {
    std::string who = "region " + quoted(region.name);
    int number = region.parameters[index];
    if (number < 0 || number >= int(plan.parameters.size()))
      return damaged(who + " names parameter " + std::to_string(number) +
                     " of " + std::to_string(plan.parameters.size()));
    auto holding = std::find_if(
        stage.holdings.begin(), stage.holdings.end(),
        [&](const Holding& each) { return each.parameter == number; });
    if (holding == stage.holdings.end())
      return damaged(who + " has parameter " + std::to_string(number) +
                     ", which its stage does not hold");
    const Parameter& parameter = plan.parameters[size_t(number)];
    int64_t start = region.starts[index];
    int64_t room = region.elements - blockElements(parameter, plan.mesh);
    bool hasPlace = start >= 0 && start <= room;
    if (hasPlace && region.param == -1)
      hasPlace = holding->value == -1;
    else if (hasPlace)
      hasPlace = holding->value >= 0 &&
                 placeOf(holding->value) ==
                     placeOf(region.param) + start * byteSize(plan.compute);
    return hasPlace ? Status::ok()
                    : damaged(who + " does not hold " + quoted(parameter.name));
  }

  int64_t placeOf(int buffer) const {
    return stage.buffers[size_t(buffer)].offset;
  }

  Status hostBuffers() const {
    const Inputs& in = stage.inputs;
    const Outputs& out = stage.outputs;
    int64_t rows = std::max<int64_t>(0, plan.train.microBatch);
    std::optional<int64_t> whole =
        product(rows, std::max<int64_t>(0, plan.data.sequence));
    if (!whole)
      return damaged("a micro-batch has more than 2^63 tokens");
    int64_t parts = axisSize(plan.mesh, "cp");
    if (parts > 1 && plan.data.sequence % (2 * parts) != 0)
      return damaged("a sequence of " + std::to_string(plan.data.sequence) +
                     " tokens does not divide into two pieces for each of " +
                     std::to_string(parts) + " ranks");
    int64_t places = *whole / parts;
    const std::set<DType> i32 = {DType::i32}, f32 = {DType::f32};
    RECIPERUN_TRY(holdsIf("input `tokens`", in.tokens, i32, places));
    RECIPERUN_TRY(holdsIf("input `labels`", in.labels, i32, places));
    RECIPERUN_TRY(holdsIf("input `weights`", in.weights, f32, places));
    RECIPERUN_TRY(
        holdsIf("input `further_labels`", in.furtherLabels, i32, places));
    RECIPERUN_TRY(
        holdsIf("input `further_weights`", in.furtherWeights, f32, places));
    if ((in.furtherWeights >= 0 || out.furtherLoss >= 0) &&
        !(in.furtherFactor > 0))
      return damaged("its factor of the loss of further tokens is " +
                     std::to_string(in.furtherFactor));
    RECIPERUN_TRY(holdsIf("input `positions`", in.positions, i32, places));
    RECIPERUN_TRY(holdsIf("input `segments`", in.segments, i32, places));
    RECIPERUN_TRY(holdsIf("input `places`", in.places, i32, places));
    RECIPERUN_TRY(holdsIf("input `samples`", in.samples, {DType::i64}, rows));
    RECIPERUN_TRY(holdsIf("input `loss_scale`", in.lossScale, f32, 1));
    RECIPERUN_TRY(holdsIf("input `learning_rate`", in.learningRate, f32, 1));
    RECIPERUN_TRY(holdsIf("input `step`", in.step, i32, 1));
    RECIPERUN_TRY(holdsIf("output `loss`", out.loss, {DType::f64}, 1));
    RECIPERUN_TRY(
        holdsIf("output `further_loss`", out.furtherLoss, {DType::f64}, 1));
    RECIPERUN_TRY(
        holdsIf("output `norm_squared`", out.normSquared, {DType::f64}, 1));
    RECIPERUN_TRY(holdsIf("output `dropped`", out.dropped, {DType::f64}, 2));
    RECIPERUN_TRY(holdsIf("output `overflow`", out.overflow, {DType::f64}, 2));
    return holdsIf("output `second_pass`", out.secondPass, {DType::f64}, 2);
  }

  /// Whether there is a schedule of this name that loads data.
  bool hasSchedule(const char* name) const {
    auto loads = [](const ScheduleStep& step) {
      return step.kind == ScheduleStep::Kind::load;
    };
    return std::any_of(stage.schedules.begin(), stage.schedules.end(),
                       [&](const Schedule& schedule) {
                         return schedule.name == name &&
                                std::any_of(schedule.steps.begin(),
                                            schedule.steps.end(), loads);
                       });
  }

  Status training() const {
    if (isServingTask(plan.task))
      return Status::ok();
    if (stage.outputs.loss < 0 || !hasSchedule("train"))
      return damaged("it trains and has no loss or no schedule `train`");
    if (plan.data.valid && !hasSchedule("evaluate"))
      return damaged("it has validation data and no schedule `evaluate`");
    return Status::ok();
  }

  static constexpr int64_t maxRanks = 1 << 24;
  static constexpr int maxChannels = 1 << 20;
  const Plan& plan;
  const Stage& stage;
};

} // namespace

std::string quoted(const std::string& name) {
  return "`" + name + "`";
}

Status damaged(const std::string& what) {
  return Status::error("the plan is damaged: " + what);
}

Status validate(const Plan& plan) {
  if (Status rows = checkTensorRows(plan.parameters); !rows.isOk())
    return damaged(rows.message());
  if (int64_t(plan.stages.size()) != axisSize(plan.mesh, "pp"))
    return damaged("it has " + std::to_string(plan.stages.size()) +
                   " stages for " + std::to_string(axisSize(plan.mesh, "pp")) +
                   " along `pp`");
  RECIPERUN_TRY(validateServingLimits(plan));
  for (const Stage& stage : plan.stages)
    RECIPERUN_TRY(Validation(plan, stage).run());
  RECIPERUN_TRY(validateTransfers(plan));
  RECIPERUN_TRY(validateConnections(plan));
  RECIPERUN_TRY(validateBuckets(plan));
  return validateSettings(plan);
}

} // namespace reciperun::plan
