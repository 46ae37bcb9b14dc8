// 1. The requested elements are runs in the whole tensor. Each run is split at
//    the ends of the saved pieces into extents, contiguous in a file and in
//    memory.
// 2. Extents are collected up to a window's bytes and sorted by offset.
// 3. Extents with at most a page between them are a run, which is read at once
//    (data sieving, Thakur et al. 1999); then each is converted to its
//    destination. From an object store, windows and gaps are larger, and the
//    runs of a window are read at the same time.

#include "runtime/checkpoint/StateReader.h"

#include "runtime/checkpoint/RankFile.h"

#include <algorithm>
#include <cassert>

namespace reciperun::checkpoint {
namespace {

/// How a file is read: up to `window` bytes of requested elements at once, and
/// gaps of up to `gap` bytes between them, which cost less than another call.
struct Sieving {
  int64_t window = 0;
  int64_t gap = 0;
};
constexpr Sieving sieveDisk = {int64_t(1) << 20, 4096};
/// A request to an object store takes as long as this many bytes.
constexpr Sieving sieveStore = {int64_t(64) << 20, int64_t(256) << 10};
/// A checkpoint of many ranks has more files than a process may have open.
constexpr size_t openFiles = 64;

} // namespace

int64_t StateReader::Extent::begin() const {
  return isChecked ? offset - (offset - tensor) % chunkBytes : offset;
}

int64_t StateReader::Extent::end() const {
  const int64_t size = byteSize(piece->type), last = offset + count * size;
  if (!isChecked)
    return last;
  return std::min(tensor + chunksOf(last - tensor) * chunkBytes,
                  tensor + piece->count * size);
}

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
  const int64_t windowBytes =
      (isAddress(folder) ? sieveStore : sieveDisk).window;
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
    // The widest type has 8 bytes: below that no element fits.
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

/// The location of an element of the whole tensor, and the number of contiguous
/// elements from it on.
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
    Extent extent;
    extent.piece = &piece;
    extent.offset = tensor->begin + within * byteSize(piece.type);
    extent.tensor = tensor->begin;
    extent.isChecked = !tensor->checksums.empty();
    extent.count = std::min(place->count, piece.count - within);
    return extent;
  }
  return missing(global);
}

Status StateReader::readAmaxHistory(int rank, const std::string& name,
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
  if (!isAlike)
    return Status::ok();
  RECIPERUN_TRY((*file)->read(*tensor, 0, out));
  return (*file)->check(*tensor, 0, out);
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
  last = number;
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
  RECIPERUN_TRY(checkFile(described, described.files[size_t(number)], *file));
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
  const Sieving sieving = isAddress(folder) ? sieveStore : sieveDisk;
  std::vector<Run> runs;
  for (size_t begin = 0; begin < extents.size();) {
    size_t end = begin + 1;
    while (end < extents.size() &&
           extents[end].piece->file == extents[begin].piece->file &&
           extents[end].begin() - extents[end - 1].end() <= sieving.gap &&
           extents[end].end() - extents[begin].begin() <= 2 * sieving.window)
      ++end;
    runs.push_back(std::span(extents).subspan(begin, end - begin));
    begin = end;
  }
  if (isAddress(folder))
    return readAtOnce(runs, type, out);
  for (const Run& run : runs)
    RECIPERUN_TRY(readAtOnce(std::span(&run, 1), type, out));
  return Status::ok();
}

Status StateReader::checkRun(const SafetensorsFile& file, int64_t offset,
                             std::span<const std::byte> chunks) const {
  const std::string& name = described.parameters[size_t(parameter)].name;
  return file.check(*file.find(stateTensor(kind, name)), offset, chunks);
}

/// Reads runs, all those of one file by one call, and converts their elements.
Status StateReader::readAtOnce(std::span<const Run> runs, plan::DType type,
                               std::span<std::byte> out) {
  size_t bytes = 0;
  for (const Run& run : runs)
    bytes += size_t(run.back().end() - run.front().begin());
  window.resize(std::max(window.size(), bytes));
  std::vector<FileRange> ranges;
  auto free = std::span(window);
  for (const Run& run : runs) {
    const int64_t begin = run.front().begin(), end = run.back().end();
    ranges.push_back({begin, free.first(size_t(end - begin))});
    free = free.subspan(size_t(end - begin));
  }
  for (size_t first = 0; first < runs.size();) {
    const int number = runs[first].front().piece->file;
    size_t last = first;
    while (last < runs.size() && runs[last].front().piece->file == number)
      ++last;
    Expected<const SafetensorsFile*> file = fileOf(number);
    RECIPERUN_TRY(file);
    RECIPERUN_TRY(
        (*file)->readRanges(std::span(ranges).subspan(first, last - first)));
    for (; first < last; ++first)
      RECIPERUN_TRY(takeRun(**file, runs[first], ranges[first].out, type, out));
  }
  return Status::ok();
}

/// Checks and converts the bytes of a run.
Status StateReader::takeRun(const SafetensorsFile& file, const Run& run,
                            std::span<const std::byte> bytes, plan::DType type,
                            std::span<std::byte> out) const {
  const Extent& front = run.front();
  const int64_t begin = front.begin();
  if (front.isChecked)
    RECIPERUN_TRY(checkRun(file, begin - front.tensor, bytes));
  for (const Extent& extent : run) {
    const std::byte* in = bytes.data() + (extent.offset - begin);
    std::byte* to = out.data() + extent.target * plan::byteSize(type);
    if (kind == StateKind::weight && type == plan::DType::bf16)
      convertMasters(extent.piece->type, in, to, extent.count);
    else
      convertElements(extent.piece->type, in, type, to, extent.count);
  }
  return Status::ok();
}

} // namespace reciperun::checkpoint
