// Loading:
// 1. Each parameter's value in the compute type, the rank's whole block or its
//    run of it.
// 2. Its shards of the master weights, if they are wider.
// 3. Its shards of the moments. Shards are read in pieces of bounded size.
// 4. Histories, if the layout is the same; otherwise they start empty, as in a
//    new run.

#include "runtime/checkpoint/StateLoader.h"

#include "runtime/checkpoint/HuggingFaceCheck.h"
#include "runtime/checkpoint/ModelConfig.h"
#include "runtime/checkpoint/ParameterTensors.h"
#include "runtime/device/MasterHalves.h"
#include "runtime/plan/Mesh.h"
#include "runtime/plan/TensorRows.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <tuple>

namespace reciperun::checkpoint {
namespace {

constexpr int64_t pieceElements = int64_t(1) << 18;
/// Large pieces make few requests to an object store.
constexpr int64_t remotePieceElements = int64_t(1) << 23;

/// Indexes the manifest's parameters by both of their names.
class Names {
public:
  explicit Names(const Manifest& manifest) {
    for (size_t i = 0; i < manifest.parameters.size(); ++i) {
      const SavedParameter& saved = manifest.parameters[i];
      byName.emplace(saved.name, int(i));
      byTensor.emplace(rowsOf(saved), int(i));
    }
  }

  /// -1 when the checkpoint does not have the plan's name.
  int find(const plan::Parameter& parameter) const {
    return find(byName, parameter.name);
  }
  /// Finds a parameter by its Hugging Face name, which a converted checkpoint
  /// uses.
  int findTensor(const std::string& hfName) const {
    return hfName.empty() ? -1 : find(byTensor, {hfName, 0, 0});
  }
  /// Finds the same rows of the same tensor under another name; also -1 when
  /// the parameter is a whole tensor.
  int findRows(const plan::Parameter& parameter) const {
    return parameter.hfRows ? find(byTensor, rowsOf(parameter)) : -1;
  }

private:
  /// The tensor, the first row and the tensor's rows; 0 for a whole tensor.
  using Rows = std::tuple<std::string, int64_t, int64_t>;
  template <class P> static Rows rowsOf(const P& parameter) {
    plan::HfRows rows = parameter.hfRows.value_or(plan::HfRows());
    return {parameter.hfName, rows.first, rows.of};
  }

  template <class Key>
  static int find(const std::map<Key, int>& numbers, const Key& key) {
    auto found = numbers.find(key);
    return found == numbers.end() ? -1 : found->second;
  }

  std::map<std::string, int> byName;
  std::map<Rows, int> byTensor;
};

Status differs(const SavedParameter& saved, const std::vector<int64_t>& there,
               const std::vector<int64_t>& wanted, const std::string& place) {
  return Status::error(place + " is of another model: `" + saved.name +
                       "` has shape " + shapeText(there) + " there, and " +
                       shapeText(wanted) + " in the recipe's model");
}

/// Checks that a parameter stored under its Hugging Face name has the elements
/// of the model's tensor with that name, whose Hugging Face shape is `shape`.
Status checkTensor(const SavedParameter& saved,
                   const std::vector<int64_t>& shape,
                   const std::string& place) {
  bool isSame = saved.hfShape == shape &&
                plan::elementCount(saved.shape) == plan::elementCount(shape);
  return isSame ? Status::ok() : differs(saved, saved.hfShape, shape, place);
}

/// Whether `finer` has the dimensions of `coarser`, some of them as several:
/// the elements then have the same order.
bool splitsDimensions(const std::vector<int64_t>& finer,
                      const std::vector<int64_t>& coarser) {
  size_t next = 0;
  for (int64_t size : coarser) {
    int64_t elements = 1;
    while (elements < size && next < finer.size())
      elements *= finer[next++];
    if (elements != size)
      return false;
  }
  return next == finer.size();
}

/// Whether a parameter stored under its name has the dimensions of the model's.
/// A version of the library may name two dimensions where another names their
/// product; the shape at Hugging Face is then the same.
bool hasDimensionsOf(const SavedParameter& saved,
                     const plan::Parameter& parameter) {
  return saved.shape == parameter.globalShape ||
         (saved.hfShape == parameter.hfShape &&
          (splitsDimensions(saved.shape, parameter.globalShape) ||
           splitsDimensions(parameter.globalShape, saved.shape)));
}

/// Checks a parameter and adds its manifest entries to `used`; adds nothing
/// when it is missing.
Status checkParameter(const plan::Parameter& parameter,
                      const Manifest& manifest, const Names& names,
                      const std::string& place, std::set<int>& used) {
  if (int number = names.find(parameter); number >= 0) {
    used.insert(number);
    const SavedParameter& saved = manifest.parameters[size_t(number)];
    return hasDimensionsOf(saved, parameter)
               ? Status::ok()
               : differs(saved, saved.shape, parameter.globalShape, place);
  }
  if (int number = names.findRows(parameter); number >= 0) {
    used.insert(number);
    return checkTensor(manifest.parameters[size_t(number)], parameter.hfShape,
                       place);
  }
  for (const std::string& name : tensorNames(parameter)) {
    int number = names.findTensor(name);
    if (number < 0)
      return Status::error(place + " is of another model: it lacks `" +
                           parameter.name + "` of the recipe's model");
    RECIPERUN_TRY(checkTensor(manifest.parameters[size_t(number)],
                              plan::tensorShape(parameter), place));
    used.insert(number);
  }
  return Status::ok();
}

/// Fails for parameters of the checkpoint that are not in the plan.
Status checkUnused(const plan::Plan& plan, const Manifest& manifest,
                   const std::set<int>& used, const std::string& place) {
  for (size_t i = 0; i < manifest.parameters.size(); ++i) {
    const SavedParameter& saved = manifest.parameters[i];
    if (used.contains(int(i)) ||
        isIgnorableTensor(saved.name, plan.exchange.config) ||
        isOfFurtherTokens(saved.name, plan.exchange.config))
      continue;
    if (saved.adapter)
      return Status::error(
          place + " holds an adapter, `" + saved.name +
          "`, and the recipe has none; merge it into the weights with "
          "`reciperun convert`, and start from what that writes");
    return Status::error(place + " is of another model: it holds `" +
                         saved.name +
                         "`, which the recipe's model has no place for");
  }
  return Status::ok();
}

/// Reads into buffers through a staging buffer.
class Loader {
public:
  Loader(const plan::Plan& plan, int rank, StateReader& reader,
         BufferAccess& buffers)
      : plan(plan), stage(plan::stageOf(plan, rank)), rank(rank),
        reader(reader), buffers(buffers), names(reader.manifest()) {}

  Status load(const StateShard& part) {
    if (part.count == 0)
      return Status::ok();
    const plan::Parameter& parameter = plan.parameters[size_t(part.parameter)];
    int whole = names.find(parameter);
    if (whole < 0)
      whole = names.findRows(parameter);
    if (whole >= 0)
      return loadFrom(whole, ShardLayout(parameter, plan.mesh, rank), 0, part);
    for (const TensorShard& each : tensorParts(parameter, plan.mesh, rank)) {
      int saved = names.findTensor(each.name);
      if (saved < 0) // an adapter that keeps its initial values: see checkModel
        continue;
      RECIPERUN_TRY(loadFrom(saved, each.block, each.begin, part));
    }
    return Status::ok();
  }

private:
  /// Loads the overlap of a shard with a tensor; `before` elements of the
  /// parameter's block precede the tensor's block.
  Status loadFrom(int saved, const ShardLayout& block, int64_t before,
                  const StateShard& part) {
    bool isHalved = part.upper >= 0;
    plan::DType type =
        isHalved ? plan::DType::f32 : stage.buffers[size_t(part.buffer)].dtype;
    int64_t size = plan::byteSize(type);
    int64_t end = std::min(part.first + part.count, before + block.elements());
    const int64_t most =
        isAddress(reader.path()) ? remotePieceElements : pieceElements;
    piece.resize(
        std::max(piece.size(), size_t(std::min(most, part.count) * size)));
    for (int64_t at = std::max(part.first, before); at < end;) {
      int64_t count = std::min(most, end - at);
      auto out = std::span(piece).first(size_t(count * size));
      RECIPERUN_TRY(
          reader.read(saved, part.kind, block, at - before, count, type, out));
      if (isHalved)
        RECIPERUN_TRY(writeHalves(part, at - part.first, out));
      else
        RECIPERUN_TRY(buffers.write(
            part.buffer, (part.element + at - part.first) * size, out));
      at += count;
    }
    return Status::ok();
  }

  /// Splits masters and writes both halves to their buffers.
  Status writeHalves(const StateShard& part, int64_t first,
                     std::span<const std::byte> masters) {
    std::vector<uint16_t> upper, lower;
    for (; !masters.empty(); masters = masters.subspan(sizeof(float))) {
      float master = 0;
      std::memcpy(&master, masters.data(), sizeof master);
      device::MasterHalves halves = device::splitMaster(master);
      upper.push_back(halves.parameter);
      lower.push_back(halves.remainder);
    }
    RECIPERUN_TRY(buffers.write(part.upper, 2 * (part.element + first),
                                std::as_bytes(std::span(upper))));
    return buffers.write(part.buffer, 2 * (part.element + first),
                         std::as_bytes(std::span(lower)));
  }

  const plan::Plan& plan;
  const plan::Stage& stage;
  int rank;
  StateReader& reader;
  BufferAccess& buffers;
  Names names;
  std::vector<std::byte> piece;
};

Status loadAmaxHistories(const plan::Plan& plan, int rank, StateReader& reader,
                         BufferAccess& buffers) {
  const plan::Stage& stage = plan::stageOf(plan, rank);
  for (const StateShard& part : amaxHistoryShards(plan, rank)) {
    std::vector<float> maxima(size_t(part.count)); // 0: no maximum yet
    const auto bytes = std::as_writable_bytes(std::span(maxima));
    RECIPERUN_TRY(reader.readAmaxHistory(
        rank, stage.buffers[size_t(part.buffer)].name, bytes));
    RECIPERUN_TRY(buffers.write(part.buffer, 0, bytes));
  }
  return Status::ok();
}

} // namespace

Status checkModel(const plan::Plan& plan, const StateReader& reader,
                  Take take) {
  const Manifest& manifest = reader.manifest();
  std::string place = "`" + reader.path().string() + "`";
  Names names(manifest);
  std::set<int> used;
  for (const plan::Parameter& parameter : plan.parameters) {
    Status found = checkParameter(parameter, manifest, names, place, used);
    bool isAbsent =
        names.find(parameter) < 0 && names.findTensor(parameter.hfName) < 0;
    if (!found.isOk() &&
        !(take == Take::weights && parameter.adapter && isAbsent))
      return found;
  }
  RECIPERUN_TRY(checkUnused(plan, manifest, used, place));
  if (manifest.model.config.empty() || plan.exchange.config.empty())
    return Status::ok();
  return checkpoint::checkModelConfig(place, manifest.model.config,
                                      plan.exchange.config);
}

Status loadState(const plan::Plan& plan, int rank, StateReader& reader,
                 Take take, BufferAccess& buffers) {
  const plan::Stage& stage = plan::stageOf(plan, rank);
  Loader loader(plan, rank, reader, buffers);
  for (const StateShard& part : valueParts(plan, rank))
    RECIPERUN_TRY(loader.load(part));
  for (const StateShard& part : stateParts(plan, rank)) {
    bool isMoment = part.kind != StateKind::weight;
    // When the types agree, the values are the masters.
    bool isMaster =
        !isMoment && stage.buffers[size_t(part.buffer)].dtype != plan.compute;
    if (isMaster || (isMoment && take == Take::all))
      RECIPERUN_TRY(loader.load(part));
  }
  return take == Take::all && reader.manifest().wasWrittenBy(plan.mesh)
             ? loadAmaxHistories(plan, rank, reader, buffers)
             : Status::ok();
}

} // namespace reciperun::checkpoint
