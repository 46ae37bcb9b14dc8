// Import: 1. check the directory against the plan (HuggingFaceCheck.h); 2. read
// each shard run by run through one window of the file, convert and store it.
// A quantized tensor is copied if the parameter is quantized in the same way,
// and otherwise dequantized row by row.
//
// Several threads load parameters, each with its own buffers: checking,
// converting and quantizing weights takes longer than reading them from the
// page cache. Only the copies into the arena wait for each other.

#include "runtime/checkpoint/HuggingFaceImport.h"

#include "runtime/checkpoint/Elements.h"
#include "runtime/checkpoint/FiniteCheck.h"
#include "runtime/checkpoint/HuggingFaceCheck.h"
#include "runtime/checkpoint/ParameterTensors.h"
#include "runtime/checkpoint/StateShards.h"
#include "runtime/checkpoint/quantized/QuantizingAccess.h"
#include "runtime/checkpoint/quantized/StoredCodes.h"
#include "runtime/checkpoint/quantized/StoredWeights.h"
#include "runtime/plan/Mesh.h"
#include "runtime/plan/TensorRows.h"

#include <algorithm>
#include <atomic>
#include <thread>

namespace reciperun::checkpoint {
namespace {

/// How a file is read. Runs of at least `directRun` bytes are read separately.
/// Shorter ones share a window with the bytes between them, which costs less
/// than a system call or a request for each.
struct Reading {
  int64_t window = 0;
  int64_t directRun = 0;
};
constexpr Reading fromDisk = {int64_t(1) << 20, int64_t(64) << 10};
constexpr Reading fromStore = {int64_t(16) << 20, int64_t(4) << 20};
/// More threads would wait for memory.
constexpr size_t mostThreads = 16;

/// Reads one shard. `source` and `converted` are reused between tensors.
class ShardReader {
public:
  /// Codes are written to `stored`, other values to `access`, which quantizes
  /// them.
  ShardReader(const plan::Plan& plan, int rank, const Reading& reading,
              ParameterAccess& access, ParameterAccess& stored)
      : plan(plan), rank(rank), reading(reading), access(access),
        stored(stored), values(valueParts(plan, rank)),
        source(size_t(reading.window)), converted(size_t(reading.window)) {}

  /// Reads the rank's slice of one tensor.
  Status load(int number, const TensorShard& part,
              const ModelFiles::Place& place);
  Status load(int number, const TensorShard& part, const StoredWeight& weight);
  /// Writes the factors of the parameter's inputs, if it has any: those of a
  /// quantized tensor, or ones.
  Status loadInputScales(int number, const TensorShard& part,
                         const StoredWeight* weight);

private:
  plan::Holding holdingOf(int number) const {
    return plan::holdingOf(plan::stageOf(plan, rank), number);
  }
  std::optional<MatrixBlock> blockOf(int number, const TensorShard& part,
                                     int64_t tensorColumns) const;
  Status dequantize(int number, const TensorShard& part,
                    const StoredWeight& weight);
  int64_t fillWindow(const ShardLayout& layout, int64_t local, int64_t end,
                     int64_t limit);
  Status storeWindow(int number, ElementType from, const ShardLayout& layout,
                     int64_t begin, int64_t local, int64_t taken);
  std::span<const std::byte> run(const ShardLayout::Piece& piece, int64_t count,
                                 ElementType type) const;

  FiniteCheck finite; // of the tensor that is being read
  const plan::Plan& plan;
  int rank;
  const Reading& reading;
  ParameterAccess& access;
  ParameterAccess& stored;
  std::vector<StateShard> values;   // by parameter
  std::vector<std::byte> source;    // file contents from `windowStart` on
  std::vector<std::byte> converted; // in the parameter's type
  int64_t windowStart = 0;          // elements from the tensor's start
  int64_t windowElements = 0;
};

/// Chooses the window for the block's elements from `local` to `end`; returns
/// how many of them it covers. `limit` is the window's size in elements.
int64_t ShardReader::fillWindow(const ShardLayout& layout, int64_t local,
                                int64_t end, int64_t limit) {
  ShardLayout::Piece piece = layout.pieceAt(local);
  windowStart = piece.global;
  int64_t taken = 0;
  do {
    int64_t room = windowStart + limit - piece.global;
    int64_t used = std::min({piece.count, room, end - local - taken});
    if (used <= 0)
      break;
    taken += used;
    windowElements = piece.global + used - windowStart;
    if (used < piece.count ||
        layout.runLength() * 4 >=
            reading.directRun) // 4: bytes of a typical element
      break;
    if (local + taken == end)
      break;
    piece = layout.pieceAt(local + taken);
  } while (true);
  return taken;
}

/// The bytes of the piece's first `count` elements in the window.
std::span<const std::byte> ShardReader::run(const ShardLayout::Piece& piece,
                                            int64_t count,
                                            ElementType type) const {
  return std::span(source).subspan(
      size_t((piece.global - windowStart) * byteSize(type)),
      size_t(count * byteSize(type)));
}

Status ShardReader::storeWindow(int number, ElementType from,
                                const ShardLayout& layout, int64_t begin,
                                int64_t local, int64_t taken) {
  plan::DType to = writtenType(plan, plan.parameters[size_t(number)]);
  int64_t toSize = plan::byteSize(to);
  for (int64_t done = 0; done < taken;) {
    ShardLayout::Piece piece = layout.pieceAt(local + done);
    int64_t count = std::min(piece.count, taken - done);
    std::span<const std::byte> in = run(piece, count, from);
    finite.look(from, in, piece.global);
    convertElements(from, in.data(), to, converted.data() + done * toSize,
                    count);
    done += count;
  }
  return access.write(number, Content::value, (begin + local) * toSize,
                      std::span(converted).first(size_t(taken * toSize)));
}

Status ShardReader::load(int number, const TensorShard& part,
                         const ModelFiles::Place& place) {
  const ShardLayout& layout = part.block;
  finite = {};
  ElementType from = *findElementType(place.tensor->dtype);
  // Both buffers must hold a window, whichever type is wider.
  plan::DType to = writtenType(plan, plan.parameters[size_t(number)]);
  int64_t limit = reading.window / std::max(byteSize(from), plan::byteSize(to));
  const StateShard& kept = values[size_t(number)];
  int64_t end =
      std::min(layout.elements(), kept.first + kept.count - part.begin);
  for (int64_t local = std::max<int64_t>(0, kept.first - part.begin);
       local < end;) {
    int64_t taken = fillWindow(layout, local, end, limit);
    RECIPERUN_TRY(place.file->read(
        *place.tensor, windowStart * byteSize(from),
        std::span(source).first(size_t(windowElements * byteSize(from)))));
    RECIPERUN_TRY(storeWindow(number, from, layout, part.begin, local, taken));
    local += taken;
  }
  return finite.outcome(part.name, place.tensor->shape)
      .withContext("`" + place.file->path().string() + "`");
}

/// The block of rows and columns of a tensor that a quantized parameter's shard
/// covers; nullopt when the parameter is not quantized or the shard is not such
/// a block.
std::optional<MatrixBlock> ShardReader::blockOf(int number,
                                                const TensorShard& part,
                                                int64_t tensorColumns) const {
  const plan::Parameter& parameter = plan.parameters[size_t(number)];
  const int value = holdingOf(number).value;
  if (!parameter.quantization || value < 0 || part.begin != 0)
    return std::nullopt;
  const int64_t rows =
      plan::stageOf(plan, rank).buffers[size_t(value)].shape[0];
  return matrixBlockOf(part.block, rows, part.block.elements() / rows,
                       tensorColumns);
}

Status ShardReader::load(int number, const TensorShard& part,
                         const StoredWeight& weight) {
  const auto block = blockOf(number, part, weight.columns);
  if (!block)
    return dequantize(number, part, weight);
  const plan::WeightQuantization& kept =
      *plan.parameters[size_t(number)].quantization;
  const quantize::Scheme scheme = quantize::schemeOf(kept.format, kept.scales);
  const bool isFolded = weight.inputScale && holdingOf(number).inScale < 0;
  return !isFolded && holdsCodes(scheme, *block, weight)
             ? copyCodes(scheme, *block, weight, number, stored)
             : dequantize(number, part, weight);
}

Status ShardReader::loadInputScales(int number, const TensorShard& part,
                                    const StoredWeight* weight) {
  const plan::Holding holding = holdingOf(number);
  if (holding.inScale < 0)
    return Status::ok();
  const plan::Parameter& parameter = plan.parameters[size_t(number)];
  Expected<std::vector<float>> factors =
      weight ? readInputScales(*weight)
             : std::vector<float>(size_t(plan::tensorShape(parameter).back()),
                                  1.0f);
  RECIPERUN_TRY(factors);
  const int64_t rows =
      plan::stageOf(plan, rank).buffers[size_t(holding.value)].shape[0];
  return writeInputScales(part.block, part.block.elements() / rows, *factors,
                          number, stored);
}

/// Dequantizes the tensor in chunks of rows, and stores the elements of each
/// chunk that are in the shard.
Status ShardReader::dequantize(int number, const TensorShard& part,
                               const StoredWeight& weight) {
  constexpr int64_t chunkElements = int64_t(1) << 20;
  const ShardLayout& layout = part.block;
  const plan::DType to = writtenType(plan, plan.parameters[size_t(number)]);
  const int64_t toSize = plan::byteSize(to), columns = weight.columns;
  const int64_t chunkRows = std::max<int64_t>(1, chunkElements / columns);
  using InputScales = StoredWeightReader::InputScales;
  Expected<StoredWeightReader> reader = StoredWeightReader::open(
      weight,
      holdingOf(number).inScale < 0 ? InputScales::folded : InputScales::apart);
  RECIPERUN_TRY(reader);
  finite = {};
  std::vector<float> chunk;
  std::vector<std::byte> pieces;
  int64_t chunkBegin = 0, chunkEnd = 0; // elements of the tensor
  const StateShard& kept = values[size_t(number)];
  const int64_t end =
      std::min(layout.elements(), kept.first + kept.count - part.begin);
  for (int64_t local = std::max<int64_t>(0, kept.first - part.begin);
       local < end;) {
    const ShardLayout::Piece piece = layout.pieceAt(local);
    if (piece.global >= chunkEnd) {
      const int64_t row = piece.global / columns / chunkRows * chunkRows;
      const int64_t rows = std::min(chunkRows, weight.rows - row);
      chunkBegin = row * columns;
      chunkEnd = (row + rows) * columns;
      chunk.resize(size_t(rows * columns));
      RECIPERUN_TRY(reader->readRows(row, rows, chunk));
    }
    const int64_t count =
        std::min({piece.count, chunkEnd - piece.global, end - local});
    const std::span<const std::byte> in =
        std::as_bytes(std::span(chunk).subspan(
            size_t(piece.global - chunkBegin), size_t(count)));
    finite.look(ElementType::f32, in, piece.global);
    pieces.resize(size_t(count * toSize));
    convertElements(ElementType::f32, in.data(), to, pieces.data(), count);
    RECIPERUN_TRY(access.write(number, Content::value,
                               (part.begin + local) * toSize, pieces));
    local += count;
  }
  return finite.outcome(part.name, {weight.rows, weight.columns})
      .withContext("`" + weight.data.file->path().string() + "`");
}

/// Loads all parameters of a rank.
class Import {
public:
  Import(const plan::Plan& plan, int rank, const ModelFiles& model,
         const StoredWeights& stored, ParameterAccess& access)
      : plan(plan), rank(rank), model(model), stored(stored), access(access),
        outcomes(plan.parameters.size(), Status::ok()) {}

  /// Returns the failure of the first parameter that has one.
  Status run() {
    const size_t threads =
        std::min({std::max<size_t>(1, std::thread::hardware_concurrency()),
                  plan.parameters.size(), mostThreads});
    std::vector<std::thread> others;
    for (size_t i = 1; i < threads; ++i)
      others.emplace_back([this] { loadInTurn(); });
    loadInTurn();
    for (std::thread& other : others)
      other.join();
    for (Status& outcome : outcomes)
      RECIPERUN_TRY(std::move(outcome));
    return Status::ok();
  }

private:
  /// Loads parameters in order until none is left or one has failed. All
  /// parameters before a failed one have been taken by some thread and are
  /// still loaded, so that the first failure does not depend on timing.
  void loadInTurn() {
    QuantizingAccess quantizing(plan, rank, access, /*threads=*/1);
    ShardReader reader(plan, rank,
                       isAddress(model.directory()) ? fromStore : fromDisk,
                       quantizing, access);
    while (!hasFailed) {
      const size_t number = next++;
      if (number >= plan.parameters.size())
        return;
      outcomes[number] = load(int(number), reader);
      if (!outcomes[number].isOk())
        hasFailed = true;
    }
  }

  Status load(int number, ShardReader& reader) const {
    const plan::Parameter& parameter = plan.parameters[size_t(number)];
    if (parameter.adapter)
      return Status::ok();
    for (const TensorShard& part : tensorParts(parameter, plan.mesh, rank)) {
      const StoredWeight* quantized = stored.find(part.name);
      RECIPERUN_TRY(quantized
                        ? reader.load(number, part, *quantized)
                        : reader.load(number, part, *model.find(part.name)));
      RECIPERUN_TRY(reader.loadInputScales(number, part, quantized));
    }
    return Status::ok();
  }

  const plan::Plan& plan;
  int rank;
  const ModelFiles& model;
  const StoredWeights& stored;
  LockedAccess access;
  std::atomic<size_t> next = 0; // parameter
  std::atomic<bool> hasFailed = false;
  std::vector<Status> outcomes; // by parameter
};

} // namespace

Status loadHuggingFace(const plan::Plan& plan, int rank,
                       const std::filesystem::path& directory,
                       ParameterAccess& access) {
  Expected<ModelFiles> model = openHuggingFace(plan, directory);
  RECIPERUN_TRY(model);
  Expected<StoredWeights> stored = StoredWeights::open(*model);
  RECIPERUN_TRY(stored);
  return Import(plan, rank, *model, *stored, access).run();
}

} // namespace reciperun::checkpoint
