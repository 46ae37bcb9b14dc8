// 1. Assign every op of each function to a chunk of the model by its layer. Ops
//    without a layer join their neighbours. When only empty chunks lie between
//    two chunks of one stage, the second runs as part of the first, because a
//    stage sends nothing to itself.
// 2. Write the ops in order into the functions of their chunks. Each chunk has
//    its own copy of the values that it uses: a parameter, an input or a state
//    belongs to the stage; a value that depends only on inputs is recomputed;
//    any other value is received, once per chunk, from the chunk that wrote it
//    last.
// 3. A value that an op writes in place stays one value in its chunk, whether
//    the chunk computed or received it.

#include "compiler/passes/schedule/Stages.h"

#include "compiler/passes/SavedValues.h"
#include "compiler/passes/ValueNames.h"
#include "compiler/passes/schedule/CheckChunks.h"

#include <algorithm>
#include <cassert>
#include <map>
#include <optional>
#include <unordered_map>

namespace recipec::passes {
namespace {

using ir::Op;
using ir::ParamId;
using ir::Transfer;
using ir::ValueId;
using ir::ValueKind;

/// Assigns the ops of a function to chunks by their layers.
class ChunkMap {
public:
  ChunkMap(const std::vector<int64_t>& layersOfChunks, int stages) {
    last = int(layersOfChunks.size()) - 1;
    int before = 0;
    for (int chunk = 0; chunk <= last; ++chunk) {
      const int64_t layers = layersOfChunks[size_t(chunk)];
      if (layers == 0 && chunk < last)
        continue;
      if (chunk % stages != before % stages)
        before = chunk;
      chunkOfLayer.insert(chunkOfLayer.end(), size_t(layers), before);
    }
    last = before;
  }

  /// Visits ops in the order of layers. An op without a layer belongs to the
  /// layer before it, or to chunk 0 before the first layer, or to the last
  /// chunk after the last layer.
  std::vector<int> ofForward(const std::vector<Op>& ops) const {
    std::vector<int> chunks(ops.size());
    size_t end = ops.size(); // of the ops that have a layer
    while (end > 0 && ops[end - 1].layer < 0)
      --end;
    int chunk = 0;
    for (size_t i = 0; i < ops.size(); ++i) {
      if (ops[i].layer >= 0)
        chunk = std::max(chunk, chunkOf(ops[i]));
      chunks[i] = i < end ? chunk : last;
    }
    return chunks;
  }

  std::vector<int> ofBackward(std::vector<Op> ops) const {
    std::reverse(ops.begin(), ops.end());
    std::vector<int> chunks = ofForward(ops);
    std::reverse(chunks.begin(), chunks.end());
    return chunks;
  }

private:
  int chunkOf(const Op& op) const {
    assert(size_t(op.layer) < chunkOfLayer.size() &&
           "the schema compares the list of layers with the model's");
    return chunkOfLayer[size_t(op.layer)];
  }

  std::vector<int> chunkOfLayer;
  int last = 0; // the last chunk that is not empty
};

class Splitter {
public:
  Splitter(const ir::Module& whole, const recipe::Recipe& recipe,
           diag::Engine& engine)
      : whole(whole), recipe(recipe), engine(engine),
        chunks(int(layersOfChunks(recipe).size())),
        pipeline(ir::findAxis(whole, "pp")), stageCount(whole[pipeline].size),
        chunkMap(layersOfChunks(recipe), stageCount),
        stages(size_t(stageCount)), ofStage(size_t(stageCount)),
        copies(size_t(chunks)), makers(whole.values.size(), nullptr) {}

  std::vector<ir::Module> run() {
    for (int stage = 0; stage < stageCount; ++stage)
      begin(stage);
    for (const ir::Function& function : whole.functions)
      split(function);
    for (int stage = 0; stage < stageCount; ++stage)
      finish(stage);
    reportIdle();
    shareParams();
    return std::move(stages);
  }

private:
  struct Stage {
    std::map<ValueId, ValueId> values; // of parameters, inputs, states
    std::map<ParamId, ParamId> params;
    std::optional<ValueNames> names;
  };

  int stageOf(int chunk) const { return chunk % stageCount; }

  ir::Module& moduleOf(int chunk) { return stages[size_t(stageOf(chunk))]; }

  /// Fills the parts of a module that all stages share.
  void begin(int stage) {
    ir::Module& module = stages[size_t(stage)];
    module.name = whole.name;
    module.isProgram = true;
    module.stage = stage;
    module.stages = stageCount;
    module.compute = whole.compute;
    module.axes = whole.axes;
    module.degrees = whole.degrees;
    module.dims = whole.dims;
    ofStage[size_t(stage)].names.emplace(module);
  }

  // ---- functions

  void split(const ir::Function& function) {
    for (const Op& op : function.ops)
      for (ValueId result : op.results)
        if (result != ValueId::none && !makers[size_t(result)])
          makers[size_t(result)] = &op;
    current = function.name;
    for (int chunk = 0; chunk < chunks; ++chunk)
      functionOf(chunk);
    std::vector<int> places = current == "backward"
                                  ? chunkMap.ofBackward(function.ops)
                                  : chunkMap.ofForward(function.ops);
    for (size_t i = 0; i < function.ops.size(); ++i)
      write(function.ops[i], places[i]);
  }

  ir::Function& functionOf(int chunk) {
    int own = chunk / stageCount;
    ir::Function& function = ir::obtainFunction(
        moduleOf(chunk), chunkFunction(current, own, chunks / stageCount));
    function.chunk = own;
    return function;
  }

  void write(const Op& op, int chunk) {
    Op copy = op;
    for (ValueId& operand : copy.operands)
      operand = read(operand, chunk);
    for (ValueId& result : copy.results)
      result = define(result, chunk);
    functionOf(chunk).ops.push_back(std::move(copy));
  }

  // ---- values

  bool isLocal(ValueId value) const {
    ValueKind kind = whole[value].kind;
    return kind == ValueKind::temporary || kind == ValueKind::saved;
  }

  ValueId read(ValueId value, int chunk) {
    if (value == ValueId::none)
      return value;
    if (!isLocal(value))
      return ownedBy(value, stageOf(chunk));
    auto known = copies[size_t(chunk)].find(value);
    if (known != copies[size_t(chunk)].end())
      return known->second;
    if (dependsOnInputs(value)) {
      write(*makers[size_t(value)], chunk);
      return copies[size_t(chunk)].at(value);
    }
    return receive(value, chunk);
  }

  ValueId define(ValueId value, int chunk) {
    if (value == ValueId::none || !isLocal(value))
      return read(value, chunk);
    auto known = copies[size_t(chunk)].find(value);
    bool isWrittenAgain = lastChunk.contains(value);
    ValueId copy = known != copies[size_t(chunk)].end() ? known->second
                   : isWrittenAgain && !dependsOnInputs(value)
                       ? receive(value, chunk)
                       : copies[size_t(chunk)][value] =
                             add(value, whole[value].kind, chunk);
    lastChunk[value] = chunk;
    return copy;
  }

  /// Whether the ops that compute a value read only inputs.
  bool dependsOnInputs(ValueId value) const {
    const Op* maker = makers[size_t(value)];
    return maker &&
           std::all_of(maker->operands.begin(), maker->operands.end(),
                       [&](ValueId operand) {
                         return operand == ValueId::none ||
                                whole[operand].kind == ValueKind::input ||
                                (isLocal(operand) && dependsOnInputs(operand));
                       });
  }

  ValueId add(ValueId value, ValueKind kind, int chunk) {
    ir::Value copy = whole[value];
    copy.kind = kind;
    copy.name = ofStage[size_t(stageOf(chunk))].names->make(copy.name);
    return ir::addValue(moduleOf(chunk), std::move(copy));
  }

  ValueId receive(ValueId value, int chunk) {
    int from = lastChunk.at(value);
    if (stageOf(from) == stageOf(chunk))
      reportStay(value, from, chunk);
    ir::Module& sender = moduleOf(from);
    ValueId sent = copies[size_t(from)].at(value);
    sender[sent].kind = sender[sent].kind == ValueKind::received
                            ? ValueKind::received
                            : ValueKind::saved;
    ValueId copy = add(value, ValueKind::received, chunk);
    auto name = [&](int of) {
      return chunkFunction(current, of / stageCount, chunks / stageCount);
    };
    sender.transfers.push_back(
        {Transfer::Kind::send, sent, stageOf(chunk), channels, name(from)});
    moduleOf(chunk).transfers.push_back(
        {Transfer::Kind::receive, copy, stageOf(from), channels, name(chunk)});
    ++channels;
    return copies[size_t(chunk)][value] = copy;
  }

  /// Reports a value that one chunk of a stage leaves for another chunk of the
  /// same stage: only values that are sent or received have slots.
  void reportStay(ValueId value, int from, int chunk) {
    if (engine.hasErrors())
      return; // later errors have the same cause
    int first = std::min(from, chunk), second = std::max(from, chunk);
    engine
        .report(diag::Kind::NotSupported, recipe.at("parallel.vp").origin.range,
                "this version does not support `vp` = " +
                    std::to_string(chunks / stageCount) +
                    " with a model whose chunk " + std::to_string(second) +
                    " reads what chunk " + std::to_string(first) +
                    " of the same stage makes")
        .note("that is made here", whole[value].range)
        .propose({"set ",
                  {{"`vp` to 1", {"parallel.vp=1"}},
                   {"`vp` to 1 and `schedule` and `layers` to `auto`",
                    {"parallel.vp=1", "parallel.schedule=auto",
                     "parallel.layers=auto"}}},
                  "",
                  1})
        .otherwise("set `vp` to 1");
  }

  /// The stage's copy of a value that lives between functions.
  ValueId ownedBy(ValueId value, int stage) {
    auto [place, isNew] =
        ofStage[size_t(stage)].values.emplace(value, ValueId::none);
    if (!isNew)
      return place->second;
    ir::Value copy = whole[value];
    ofStage[size_t(stage)].names->make(copy.name);
    return place->second = ir::addValue(stages[size_t(stage)], std::move(copy));
  }

  // ---- bindings and parameters

  void finish(int stage) {
    ir::Module& module = stages[size_t(stage)];
    for (const auto& [role, value] : whole.bindings) {
      if (isLocal(value)) {
        bindLocal(role, value, stage);
        continue;
      }
      bool isUsed = ofStage[size_t(stage)].values.contains(value);
      bool isSum = role == "loss" || role == "dropped" || role == "overflow" ||
                   role == "further_loss";
      if (!isUsed && !isSum)
        continue;
      module.bindings[role] = ownedBy(value, stage);
      if (!isSum)
        continue;
      // Every stage contributes to the sum, if only 0.
      ir::AxisSet& sums = module[module.bindings.at(role)].sharding.partial;
      sums = sums | ir::AxisSet(pipeline);
    }
    dropUnreadSaved(module);
    for (size_t i = 0; i < whole.params.size(); ++i)
      addParam(ParamId(i), stage);
    for (ir::Param& param : module.params)
      for (ParamId* factor : {&param.loraA, &param.loraB})
        if (*factor != ParamId::none)
          *factor = ofStage[size_t(stage)].params.at(*factor);
  }

  /// Binds a result of a function in the stage that writes it last.
  void bindLocal(const std::string& role, ValueId value, int stage) {
    const int chunk = lastChunk.at(value);
    if (stageOf(chunk) == stage)
      moduleOf(chunk).bindings[role] = copies[size_t(chunk)].at(value);
  }

  /// Adds a parameter to a stage that uses it. The first stage also gets the
  /// parameters that no stage uses.
  void addParam(ParamId id, int stage) {
    const ir::Param& param = whole[id];
    Stage& own = ofStage[size_t(stage)];
    bool isUsed = false;
    for (const Stage& each : ofStage)
      isUsed = isUsed || each.values.contains(param.value);
    bool isTrained =
        param.gradient != ValueId::none && own.values.contains(param.gradient);
    if (isTrained && !own.values.contains(param.value))
      reportAside(param);
    if (!own.values.contains(param.value) && (isUsed || stage > 0))
      return;
    ir::Param copy = param;
    copy.value = ownedBy(param.value, stage);
    if (param.gradient != ValueId::none)
      copy.gradient = ownedBy(param.gradient, stage);
    if (copy.quantization)
      for (ValueId* factors :
           {&copy.quantization->scale, &copy.quantization->inScale})
        if (*factors != ValueId::none)
          *factors = ownedBy(*factors, stage);
    own.params.emplace(id, ParamId(stages[size_t(stage)].params.size()));
    stages[size_t(stage)].params.push_back(std::move(copy));
  }

  /// Reports stages without ops.
  void reportIdle() {
    auto computes = [](const ir::Function& function) {
      return !function.name.starts_with("backward") && !function.ops.empty();
    };
    for (int stage = 0; stage < stageCount && !engine.hasErrors(); ++stage) {
      const std::vector<ir::Function>& all = stages[size_t(stage)].functions;
      if (std::any_of(all.begin(), all.end(), computes))
        continue;
      const recipe::Value& layers = recipe.at("parallel.layers");
      const bool isList = std::holds_alternative<recipe::List>(layers.data);
      const char* place = isList ? "parallel.layers" : "parallel.pp";
      engine
          .report(diag::Kind::InvalidValue, recipe.at(place).origin.range,
                  "stage " + std::to_string(stage) + " of `pp` = " +
                      std::to_string(stageCount) + " has nothing to compute" +
                      (isList ? ": `layers` gives none of its chunks any" : ""))
          .propose(otherChunks(recipe))
          .otherwise("give each stage a layer at least");
    }
  }

  /// Reports a parameter whose gradient is computed in a stage without the
  /// parameter. The backward pass is split only by layers.
  void reportAside(const ir::Param& param) {
    if (!engine.hasErrors())
      engine
          .report(diag::Kind::NotSupported,
                  recipe.at("parallel.pp").origin.range,
                  "this version does not support `pp` = " +
                      std::to_string(stageCount) +
                      " with a model that returns nothing that its layers make")
          .note("the parameter `" + param.name + "` is trained beside them",
                whole[param.value].range)
          .propose({"set ",
                    {{"`pp` to 1", {"parallel.pp=1"}},
                     {"`pp` and `vp` to 1 and `layers` to `auto`",
                      {"parallel.pp=1", "parallel.vp=1",
                       "parallel.schedule=auto", "parallel.layers=auto"}}},
                    "",
                    1})
          .otherwise("set `pp` to 1");
  }

  void shareParams() {
    for (size_t i = 0; i < whole.params.size(); ++i) {
      std::vector<int> sharers;
      for (int stage = 0; stage < stageCount; ++stage)
        if (ofStage[size_t(stage)].params.contains(ParamId(i)))
          sharers.push_back(stage);
      if (sharers.size() < 2)
        continue;
      for (int stage : sharers)
        stages[size_t(stage)][ofStage[size_t(stage)].params.at(ParamId(i))]
            .sharers = sharers;
    }
  }

  const ir::Module& whole;
  const recipe::Recipe& recipe;
  diag::Engine& engine;
  int chunks; // of the model
  ir::AxisId pipeline;
  int stageCount;
  ChunkMap chunkMap;
  std::vector<ir::Module> stages;
  std::vector<Stage> ofStage;
  std::vector<std::unordered_map<ValueId, ValueId>> copies; // by chunk
  std::unordered_map<ValueId, int> lastChunk; // last to write a value
  std::vector<const Op*> makers;              // first op to write a value
  std::string current;                        // the function being split
  int channels = 0;
};

} // namespace

std::string chunkFunction(const std::string& name, int chunk, int chunks) {
  return chunks == 1 ? name : name + "." + std::to_string(chunk);
}

std::vector<int64_t> layersOfChunks(const recipe::Recipe& recipe) {
  std::vector<int64_t> layers;
  for (const recipe::Value& count :
       std::get<recipe::List>(recipe.at("parallel.chunk_layers").data))
    layers.push_back(std::get<int64_t>(count.data));
  if (layers.size() > 1)
    return layers;
  layers = {0};
  for (const recipe::Call& call : recipe.model.calls)
    layers[0] = std::max<int64_t>(layers[0], call.layer + 1);
  return layers;
}

std::vector<ir::Module> splitStages(ir::Module whole,
                                    const recipe::Recipe& recipe,
                                    diag::Engine& engine) {
  std::vector<ir::Module> stages;
  if (recipe.integer("parallel.pp") == 1)
    stages.push_back(std::move(whole));
  else
    stages = Splitter(whole, recipe, engine).run();
  return stages;
}

} // namespace recipec::passes
