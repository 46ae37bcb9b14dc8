// Maps shards to tensors in memory, in a file and in the manifest.

#include "runtime/checkpoint/RankFile.h"

#include "runtime/checkpoint/Elements.h"
#include "runtime/device/MasterHalves.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstdio>
#include <cstring>
#include <iterator>

namespace reciperun::checkpoint {
namespace {

/// The bytes copied at a time when nothing is staged.
constexpr int64_t pieceBytes = int64_t(1) << 20;

ElementType elementType(plan::DType type) {
  std::optional<ElementType> found = findElementType(safetensorsName(type));
  assert(found && "state is of a floating-point type");
  return *found;
}

HeaderNotes notesOf(const SaveId& save) {
  return {save.metadata(), /*hasChecksums=*/true};
}

/// Joins masters from their halves.
Status readHalves(const BufferAccess& buffers, const StateShard& part,
                  int64_t first, std::span<std::byte> out) {
  constexpr int64_t most = 4096;
  std::array<uint16_t, most> upper, lower;
  int64_t end = first + int64_t(out.size() / sizeof(float));
  for (; first < end; first += most) {
    size_t count = size_t(std::min(most, end - first));
    RECIPERUN_TRY(
        buffers.read(part.upper, 2 * (part.element + first),
                     std::as_writable_bytes(std::span(upper).first(count))));
    RECIPERUN_TRY(
        buffers.read(part.buffer, 2 * (part.element + first),
                     std::as_writable_bytes(std::span(lower).first(count))));
    for (size_t i = 0; i < count; ++i) {
      float master = device::joinMaster({upper[i], lower[i]});
      std::memcpy(out.data(), &master, sizeof master);
      out = out.subspan(sizeof master);
    }
  }
  return Status::ok();
}

} // namespace

RankFile::RankFile(const plan::Plan& plan, int rank)
    : plan(plan), stage(plan::stageOf(plan, rank)), rank(rank),
      parts(writtenShards(plan, rank)) {
  std::ranges::copy(amaxHistoryShards(plan, rank), std::back_inserter(parts));
}

std::string rankFileName(int rank) {
  char name[48];
  std::snprintf(name, sizeof name, "rank-%05d.safetensors", rank);
  return name;
}

std::string RankFile::nameOf(const StateShard& part) const {
  return stateTensor(part.kind,
                     part.kind == StateKind::history
                         ? stage.buffers[size_t(part.buffer)].name
                         : plan.parameters[size_t(part.parameter)].name);
}

/// Masters that are stored as halves are joined in the file.
plan::DType RankFile::typeOf(const StateShard& part) const {
  return part.upper >= 0 ? plan::DType::f32
                         : stage.buffers[size_t(part.buffer)].dtype;
}

int64_t RankFile::bytesOf(const StateShard& part) const {
  return part.count * plan::byteSize(typeOf(part));
}

int64_t RankFile::dataBytes() const {
  int64_t bytes = 0;
  for (const StateShard& part : parts)
    bytes += bytesOf(part);
  return bytes;
}

int64_t RankFile::fileBytes(const SaveId& save) const {
  return safetensorsBytes(specs(), notesOf(save));
}

std::vector<TensorSpec> RankFile::specs() const {
  std::vector<TensorSpec> specs;
  for (const StateShard& part : parts)
    specs.push_back({nameOf(part),
                     std::string(safetensorsName(typeOf(part))),
                     {part.count}});
  return specs;
}

Status RankFile::copy(const BufferAccess& buffers,
                      std::span<std::byte> out) const {
  assert(int64_t(out.size()) == dataBytes() && "room for all parts");
  for (const StateShard& part : parts) {
    std::span<std::byte> own = out.first(size_t(bytesOf(part)));
    RECIPERUN_TRY(read(buffers, part, 0, own));
    out = out.subspan(own.size());
  }
  return Status::ok();
}

Status RankFile::read(const BufferAccess& buffers, const StateShard& part,
                      int64_t first, std::span<std::byte> out) const {
  int64_t size = plan::byteSize(typeOf(part));
  if (part.upper < 0)
    return buffers.read(part.buffer, (part.element + first) * size, out);
  return readHalves(buffers, part, first, out);
}

Status RankFile::write(const std::filesystem::path& folder, const SaveId& save,
                       std::span<const std::byte> data) const {
  auto writer =
      SafetensorsWriter::create(folder / name(), specs(), notesOf(save));
  RECIPERUN_TRY(writer);
  RECIPERUN_TRY(writer->append(data));
  return writer->finish();
}

Status RankFile::write(const std::filesystem::path& folder, const SaveId& save,
                       const BufferAccess& buffers) const {
  auto writer =
      SafetensorsWriter::create(folder / name(), specs(), notesOf(save));
  RECIPERUN_TRY(writer);
  std::vector<std::byte> piece(pieceBytes);
  for (const StateShard& part : parts) {
    int64_t size = plan::byteSize(typeOf(part));
    for (int64_t done = 0; done < bytesOf(part);) {
      auto next = std::span(piece).first(
          size_t(std::min(pieceBytes, bytesOf(part) - done)));
      RECIPERUN_TRY(read(buffers, part, done / size, next));
      RECIPERUN_TRY(writer->append(next));
      done += int64_t(next.size());
    }
  }
  return writer->finish();
}

void RankFile::describe(Manifest& manifest) const {
  if (isEmpty())
    return;
  int file = int(manifest.files.size());
  manifest.files.push_back({name(), fileBytes(manifest.saveId()), {}});
  for (const StateShard& part : parts) {
    if (part.kind == StateKind::history)
      continue;
    const plan::Parameter& parameter = plan.parameters[size_t(part.parameter)];
    Piece piece;
    piece.kind = part.kind;
    piece.type = elementType(typeOf(part));
    piece.file = file;
    piece.block = ShardLayout(parameter, plan.mesh, rank).dimensions();
    if (parameter.globalShape.empty())
      piece.block.clear();
    piece.first = part.first;
    piece.count = part.count;
    manifest.parameters[size_t(part.parameter)].pieces.push_back(
        std::move(piece));
  }
}

Manifest describeRun(const plan::Plan& plan, const std::string& run) {
  Manifest manifest;
  manifest.run = run;
  manifest.recipe = plan.name;
  manifest.model = {plan.compute,
                    plan.exchange.config,
                    plan.exchange.generationConfig,
                    plan.exchange.adapterConfig,
                    plan.generation,
                    plan.data.bosToken,
                    plan.data.eosToken};
  manifest.mesh = plan.mesh.axes;
  for (const plan::Parameter& parameter : plan.parameters)
    manifest.parameters.push_back(savedParameter(parameter));
  for (int rank = 0; rank < plan.mesh.ranks; ++rank)
    RankFile(plan, rank).describe(manifest);
  return manifest;
}

} // namespace reciperun::checkpoint
