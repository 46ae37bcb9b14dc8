// For each piece of rows: 1. each owner reads its part of the rows, a
// contiguous range of its block or of the run of it that it stores; 2. it sends
// the range to rank 0; 3. rank 0 copies the runs to their offsets in the piece.

#include "runtime/checkpoint/ShardGather.h"

#include "runtime/checkpoint/StateShards.h"
#include "runtime/plan/Mesh.h"
#include "runtime/plan/RegionShards.h"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace reciperun::checkpoint {
namespace {

int64_t rowsOf(const plan::Parameter& parameter) {
  return parameter.globalShape.empty() ? 1 : parameter.globalShape[0];
}

} // namespace

int64_t ShardGather::elementBytes(int number, Content content) const {
  if (content == Content::value)
    return plan::byteSize(plan::typeOf(plan, plan.parameters[size_t(number)]));
  const plan::Stage& stage = plan::stageOf(plan, communicator.rank());
  const int gradient = plan::holdingOf(stage, number).gradient;
  assert(gradient >= 0 && "the parameter has no gradient here");
  return plan::byteSize(stage.buffers[size_t(gradient)].dtype);
}

Status ShardGather::stream(int number, Content content, const Sink& sink) {
  const plan::Parameter& parameter = plan.parameters[size_t(number)];
  int64_t rows = rowsOf(parameter);
  int64_t rowBytes = plan::elementCount(parameter.globalShape) / rows *
                     elementBytes(number, content);
  int64_t step = std::max<int64_t>(1, pieceBytes / rowBytes);
  std::vector<Share> owners = shares(number, content);
  Status sunk;
  for (int64_t row = 0; row < rows; row += step) {
    Rows range = {row, std::min(row + step, rows)};
    if (communicator.rank() == 0)
      piece.resize(size_t((range.end - range.begin) * rowBytes));
    for (const Share& share : owners)
      RECIPERUN_TRY(takeShare(number, content, range, share));
    if (communicator.rank() == 0 && sunk.isOk())
      sunk = sink(piece);
  }
  return sunk;
}

Expected<std::vector<std::byte>> ShardGather::whole(int parameter,
                                                    Content content) {
  std::vector<std::byte> bytes;
  RECIPERUN_TRY(
      stream(parameter, content, [&](std::span<const std::byte> next) {
        bytes.insert(bytes.end(), next.begin(), next.end());
        return Status::ok();
      }));
  return bytes;
}

std::vector<ShardGather::Share> ShardGather::shares(int number,
                                                    Content content) const {
  const plan::Parameter& parameter = plan.parameters[size_t(number)];
  const plan::Stage& stage = plan.stages[size_t(parameter.stages.front())];
  ParametersRegion found;
  if (content == Content::value)
    found = regionInParts(stage, number);
  std::string shardAxis = found.region ? found.region->shardAxis : "";
  plan::Run run{0, plan::blockElements(parameter, plan.mesh), 0};
  std::vector<Share> result;
  for (int owner : shardOwners(parameter, plan.mesh, shardAxis)) {
    if (found.region)
      run = plan::runInShard(*found.region, found.member, plan.parameters,
                             plan.mesh, owner);
    result.push_back({owner, run.first, run.count});
  }
  return result;
}

Status ShardGather::takeShare(int number, Content content, Rows rows,
                              const Share& share) {
  int rank = communicator.rank(), owner = share.owner;
  if (rank != owner && rank != 0)
    return Status::ok();
  const plan::Parameter& parameter = plan.parameters[size_t(number)];
  ShardLayout layout(parameter, plan.mesh, owner);
  int64_t localRow = layout.elements() / layout.rows();
  int64_t begin =
      std::max((rows.begin - layout.firstRow()) * localRow, share.first);
  int64_t end = std::min((rows.end - layout.firstRow()) * localRow,
                         share.first + share.count);
  if (begin >= end)
    return Status::ok();
  int64_t size = elementBytes(number, content);
  part.resize(size_t((end - begin) * size));
  if (rank == owner)
    RECIPERUN_TRY(access.read(number, content, begin * size, part));
  if (owner != 0)
    RECIPERUN_TRY(rank == 0 ? communicator.receive(owner, part)
                            : communicator.send(0, part));
  if (rank != 0)
    return Status::ok();
  int64_t pieceStart = rows.begin * (plan::elementCount(parameter.globalShape) /
                                     rowsOf(parameter));
  for (int64_t local = begin; local < end;) {
    ShardLayout::Piece run = layout.pieceAt(local);
    int64_t count = std::min(run.count, end - local);
    std::memcpy(piece.data() + (run.global - pieceStart) * size,
                part.data() + (local - begin) * size, size_t(count * size));
    local += count;
  }
  return Status::ok();
}

} // namespace reciperun::checkpoint
