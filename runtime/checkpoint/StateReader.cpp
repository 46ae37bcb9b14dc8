// 1. The elements that are wanted are runs in the whole tensor. Each run is cut
//    where the saved pieces end: extents, contiguous in a file and in memory.
// 2. Extents are collected up to a window's bytes and sorted by their place.
// 3. Neighbours with at most a page between them are read at once (data
//    sieving, Thakur et al. 1999), then converted each to its place.

#include "runtime/checkpoint/StateReader.h"

#include "runtime/checkpoint/RankFile.h"

#include <algorithm>
#include <cassert>

namespace reciperun::checkpoint {
namespace {

constexpr int64_t windowBytes = int64_t(1) << 20;
/// What lies between two extents costs less than another system call.
constexpr int64_t gapBytes = 4096;
/// A checkpoint of many ranks has more files than a process may have open.
constexpr size_t openFiles = 64;

} // namespace

Expected<StateReader>
StateReader::open(const std::filesystem::path& checkpoint) {
  Expected<Manifest> manifest = readManifest(checkpoint);
  RECIPERUN_TRY(manifest);
  return StateReader(checkpoint, *std::move(manifest));
}

Status StateReader::read(int number, StateKind wanted, const ShardLayout& block,
                         int64_t first, int64_t count, plan::DType type,
                         std::span<std::byte> out) {
  select(number, wanted);
  std::vector<Extent> extents;
  int64_t bytes = 0;
  for (int64_t local = first; local < first + count;) {
    ShardLayout::Piece run = block.pieceAt(local);
    Expected<Extent> extent = find(run.global);
    RECIPERUN_TRY(extent);
    int64_t size = byteSize(extent->piece->type);
    extent->target = local - first;
    extent->count = std::min({extent->count, run.count, first + count - local,
                              (windowBytes - bytes) / size});
    local += extent->count;
    bytes += extent->count * size;
    extents.push_back(*extent);
    // The widest type has 8 bytes: below that there is no room for an element.
    if (windowBytes - bytes < 8 || local == first + count) {
      RECIPERUN_TRY(readExtents(extents, type, out));
      extents.clear();
      bytes = 0;
    }
  }
  return Status::ok();
}

/// Groups the pieces of one kind of a parameter by their blocks.
void StateReader::select(int number, StateKind wanted) {
  if (number == parameter && wanted == kind)
    return;
  parameter = number;
  kind = wanted;
  blocks.clear();
  lastBlock = 0;
  for (const Piece& piece : described.parameters[size_t(number)].pieces) {
    if (piece.kind != wanted)
      continue;
    auto found = std::find_if(blocks.begin(), blocks.end(),
                              [&](const SavedBlock& block) {
                                return block.pieces[0]->block == piece.block;
                              });
    if (found == blocks.end())
      found = blocks.insert(blocks.end(), {ShardLayout(piece.block), {}});
    found->pieces.push_back(&piece);
  }
  for (SavedBlock& block : blocks)
    std::sort(
        block.pieces.begin(), block.pieces.end(),
        [](const Piece* a, const Piece* b) { return a->first < b->first; });
}

/// Where an element of the whole tensor lies, and how many follow it there.
Expected<StateReader::Extent> StateReader::find(int64_t global) {
  for (size_t i = 0; i < blocks.size(); ++i) {
    size_t number = (lastBlock + i) % blocks.size();
    const SavedBlock& block = blocks[number];
    std::optional<ShardLayout::Piece> place = block.layout.find(global);
    if (!place)
      continue;
    lastBlock = number;
    auto behind = std::upper_bound(
        block.pieces.begin(), block.pieces.end(), place->local,
        [](int64_t local, const Piece* piece) { return local < piece->first; });
    if (behind == block.pieces.begin())
      return missing(global);
    const Piece& piece = **(behind - 1);
    int64_t within = place->local - piece.first;
    if (within >= piece.count)
      return missing(global);
    Expected<const SafetensorsFile*> file = fileOf(piece.file);
    RECIPERUN_TRY(file);
    const SavedParameter& saved = described.parameters[size_t(parameter)];
    const StoredTensor* tensor = (*file)->find(stateTensor(kind, saved.name));
    if (!tensor || findElementType(tensor->dtype) != piece.type ||
        tensor->end - tensor->begin != piece.count * byteSize(piece.type))
      return Status::error(
          "`" + (*file)->path().string() + "` " +
          (tensor ? "holds `" + tensor->name + "` as " + tensor->dtype + " " +
                        shapeText(tensor->shape)
                  : "lacks `" + stateTensor(kind, saved.name) + "`") +
          ", not as the manifest says");
    return Extent{&piece, tensor->begin + within * byteSize(piece.type),
                  std::min(place->count, piece.count - within), 0};
  }
  return missing(global);
}

Status StateReader::readHistory(int rank, const std::string& name,
                                std::span<std::byte> out) {
  const auto own =
      std::ranges::find(described.files, rankFileName(rank), &SavedFile::name);
  if (own == described.files.end())
    return Status::ok();
  Expected<const SafetensorsFile*> file =
      fileOf(int(own - described.files.begin()));
  RECIPERUN_TRY(file);
  const StoredTensor* tensor =
      (*file)->find(stateTensor(StateKind::history, name));
  const bool isAlike = tensor &&
                       findElementType(tensor->dtype) == ElementType::f32 &&
                       tensor->end - tensor->begin == int64_t(out.size());
  return isAlike ? (*file)->read(*tensor, 0, out) : Status::ok();
}

Status StateReader::missing(int64_t global) const {
  const SavedParameter& saved = described.parameters[size_t(parameter)];
  std::string what(describe(kind));
  if (blocks.empty())
    return Status::error("`" + folder.string() + "` holds no " + what +
                         " of `" + saved.name + "`");
  return Status::error("`" + folder.string() + "` lacks a piece of the " +
                       what + " of `" + saved.name +
                       "`: no file holds element " + std::to_string(global) +
                       " of " + shapeText(saved.shape));
}

Expected<const SafetensorsFile*> StateReader::fileOf(int number) {
  auto found =
      std::find_if(files.begin(), files.end(),
                   [&](const OpenFile& each) { return each.number == number; });
  if (found != files.end()) {
    files.splice(files.begin(), files, found);
    return &files.front().file;
  }
  Expected<SafetensorsFile> file =
      SafetensorsFile::open(folder / described.files[size_t(number)].name);
  RECIPERUN_TRY(file);
  if (files.size() == openFiles)
    files.pop_back();
  files.push_front({number, *std::move(file)});
  return &files.front().file;
}

Status StateReader::readExtents(std::vector<Extent>& extents, plan::DType type,
                                std::span<std::byte> out) {
  std::sort(
      extents.begin(), extents.end(), [](const Extent& a, const Extent& b) {
        return a.piece->file != b.piece->file ? a.piece->file < b.piece->file
                                              : a.offset < b.offset;
      });
  auto endOf = [](const Extent& extent) {
    return extent.offset + extent.count * byteSize(extent.piece->type);
  };
  for (size_t begin = 0; begin < extents.size();) {
    size_t end = begin + 1;
    while (end < extents.size() &&
           extents[end].piece->file == extents[begin].piece->file &&
           extents[end].offset - endOf(extents[end - 1]) <= gapBytes &&
           endOf(extents[end]) - extents[begin].offset <= 2 * windowBytes)
      ++end;
    RECIPERUN_TRY(
        readRun(std::span(extents).subspan(begin, end - begin), type, out));
    begin = end;
  }
  return Status::ok();
}

/// Reads extents of one file that lie close together.
Status StateReader::readRun(std::span<const Extent> extents, plan::DType type,
                            std::span<std::byte> out) {
  const Extent &front = extents.front(), &back = extents.back();
  int64_t end = back.offset + back.count * byteSize(back.piece->type);
  if (int64_t(window.size()) < end - front.offset)
    window.resize(size_t(end - front.offset));
  Expected<const SafetensorsFile*> file = fileOf(front.piece->file);
  RECIPERUN_TRY(file);
  RECIPERUN_TRY((*file)->readBytes(
      front.offset, std::span(window).first(size_t(end - front.offset))));
  for (const Extent& extent : extents) {
    const std::byte* in = window.data() + (extent.offset - front.offset);
    std::byte* to = out.data() + extent.target * plan::byteSize(type);
    if (kind == StateKind::weight && type == plan::DType::bf16)
      convertMasters(extent.piece->type, in, to, extent.count);
    else
      convertElements(extent.piece->type, in, type, to, extent.count);
  }
  return Status::ok();
}

} // namespace reciperun::checkpoint
