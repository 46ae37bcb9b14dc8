// 1. Determine the layout: from an index next to the file, the file's name, its
//    first bytes, or the recipe.
// 2. Check the type that the recipe names and the size that the layout implies.
// 3. Read: widen ids piece by piece and check them.

#include "runtime/data/TokenFile.h"

#include "runtime/base/StopSignal.h"
#include "runtime/data/Conversion.h"
#include "runtime/data/FileHead.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <utility>
#include <vector>

namespace reciperun::data {

namespace {

static_assert(std::endian::native == std::endian::little,
              "files are read as they are");

constexpr std::string_view indexMagic{"MMIDIDX\0\0", 9};
constexpr std::string_view numpyMagic = "\x93NUMPY";
constexpr int64_t headerWords = 256; // of llm.c
constexpr int64_t narrowIds = 1 << 16;

template <class T> T numberAt(const std::byte* bytes) {
  T number;
  std::memcpy(&number, bytes, sizeof number);
  return number;
}

uint32_t idAt(const std::byte* bytes, int64_t width) {
  return width == 2 ? numberAt<uint16_t>(bytes) : numberAt<uint32_t>(bytes);
}

std::string_view textOf(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string typeName(int64_t width) {
  return width == 2 ? "uint16" : "uint32";
}

/// The type of an id below `vocab`.
std::string typeFor(int64_t vocab) {
  return typeName(vocab > narrowIds ? 4 : 2);
}

constexpr const char* isIncomplete = "; copy or write the file again";
constexpr const char* writesMegatron =
    "; write both files again with Megatron's `preprocess_data.py`";

/// A type of Megatron's index by its number, from `DType` of
/// megatron/core/datasets/indexed_dataset.py.
std::string typeOfMegatron(int number) {
  constexpr const char* names[] = {"uint8", "int8",    "int16",   "int32",
                                   "int64", "float64", "float32", "uint16"};
  const bool isKnown = number >= 1 && number <= int(std::size(names));
  return std::to_string(number) +
         (isKnown ? std::string(" (") + names[number - 1] + ")" : "");
}

/// Help with a Python command that flattens a NumPy array of ids and converts
/// it to the type for the model's ids.
std::string conversionOfArray(const std::string& path, int64_t vocab) {
  const std::string made =
      std::filesystem::path(path).replace_extension().string() + ".ids.npy";
  return "convert it by `python3 -c 'import numpy, sys; "
         "numpy.save(sys.argv[2], numpy.load(sys.argv[1]).reshape(-1)."
         "astype(\"" +
         typeFor(vocab) + "\"))' " + shellWord(path) + " " + shellWord(made) +
         "`, and name the new file";
}

/// The text after `key` and a colon in NumPy's header, a Python dict.
std::string_view fieldOf(std::string_view header, std::string_view key) {
  size_t at = header.find(key);
  if (at == header.npos)
    return {};
  at = header.find_first_not_of("': ", at + key.size());
  return at == header.npos ? std::string_view() : header.substr(at);
}

} // namespace

Expected<TokenFile> TokenFile::open(const std::string& path,
                                    const std::string& type, int64_t vocab) {
  Expected<InputFile> opened = InputFile::openNearby(path);
  RECIPERUN_TRY(opened);
  TokenFile file(std::move(*opened), vocab);
  if (file.file.size() == 0)
    return Status::error("the token file `" + path +
                         "` is empty; write token ids into it");
  RECIPERUN_TRY(file.readLayout(type));
  RECIPERUN_TRY(file.checkType(type));
  RECIPERUN_TRY(file.checkSize());
  return file;
}

Status TokenFile::readLayout(const std::string& type) {
  std::filesystem::path index = path();
  index.replace_extension(".idx");
  if (typeOf(index) != std::filesystem::file_type::not_found)
    return readIndex(index.string());
  if (path().ends_with(".npy"))
    return readNumpy();
  RECIPERUN_TRY(readHeader());
  if (!format.empty())
    return {};
  RECIPERUN_TRY(checkRaw());
  width = (type.empty() ? vocab > narrowIds : type == "uint32") ? 4 : 2;
  count = file.size() / width;
  return {};
}

/// Reads Megatron's index: the sum of the lengths is the number of ids.
Status TokenFile::readIndex(const std::string& path) {
  format = "Megatron's index `" + path + "`";
  const Expected<InputFile> index = InputFile::openNearby(path);
  RECIPERUN_TRY(index);
  std::array<std::byte, 34> head;
  RECIPERUN_TRY(index->read(0, head));
  if (textOf(head).substr(0, indexMagic.size()) != indexMagic ||
      numberAt<uint64_t>(&head[9]) != 1)
    return Status::error("`" + path +
                         "` is no index of version 1 as Megatron "
                         "writes it" +
                         writesMegatron);
  const auto type = std::to_integer<int>(head[17]);
  if (type != 4 && type != 8)
    return Status::error(format + " names the type " + typeOfMegatron(type) +
                         ", and ids are of type 4 (int32) or 8 (uint16)" +
                         writesMegatron);
  width = type == 8 ? 2 : 4;
  const auto sequences = numberAt<int64_t>(&head[18]);
  constexpr int64_t piece = 1 << 14;
  std::vector<int32_t> lengths;
  for (int64_t at = 0; at < sequences; at += piece) {
    RECIPERUN_TRY(checkStopSignal());
    lengths.resize(size_t(std::min(piece, sequences - at)));
    RECIPERUN_TRY(index->read(int64_t(head.size()) + at * 4,
                              std::as_writable_bytes(std::span(lengths))));
    for (int32_t length : lengths)
      count += length;
  }
  return {};
}

Status TokenFile::readNumpy() {
  format = "NumPy's header";
  std::array<std::byte, 12> head;
  RECIPERUN_TRY(file.read(0, head));
  if (!textOf(head).starts_with(numpyMagic))
    return Status::error("`" + path() +
                         "` does not begin as a NumPy file; a file of ids "
                         "alone is called `.bin`");
  const bool isFirstVersion = head[6] == std::byte{1};
  start = isFirstVersion ? 10 : 12;
  const int64_t length = isFirstVersion ? numberAt<uint16_t>(&head[8])
                                        : numberAt<uint32_t>(&head[8]);
  std::vector<std::byte> bytes(
      size_t(std::clamp<int64_t>(length, 0, file.size())));
  RECIPERUN_TRY(file.read(start, bytes));
  start += length;
  const std::string_view type = fieldOf(textOf(bytes), "descr").substr(0, 3);
  const bool isWhole = type.size() == 3 && (type[1] == 'u' || type[1] == 'i');
  if (type != "<u2" && type != "<u4" && type != "<i4")
    return Status::error(
        "`" + path() + "` is of NumPy's type `" + std::string(type) +
        "`, and ids are of type `<u2`, `<u4` or `<i4`; " +
        (isWhole ? conversionOfArray(path(), vocab)
                 : "token ids are whole numbers: write those of a tokenizer"));
  width = type == "<u2" ? 2 : 4;
  const std::string_view shape = fieldOf(textOf(bytes), "shape");
  const char* end = shape.data() + shape.size();
  const auto [behind, code] =
      std::from_chars(shape.data() + !shape.empty(), end, count);
  if (!shape.starts_with("(") || code != std::errc() ||
      !std::string_view(behind, end).starts_with(",)"))
    return Status::error("`" + path() +
                         "` has not one dimension, but the shape " +
                         std::string(shape.substr(0, shape.find(')') + 1)) +
                         "; " + conversionOfArray(path(), vocab));
  return {};
}

/// Reads llm.c's header; leaves `format` empty when there is none.
Status TokenFile::readHeader() {
  std::array<std::byte, 12> head;
  if (file.size() < headerWords * 4)
    return {};
  RECIPERUN_TRY(file.read(0, head));
  const auto magic = numberAt<int32_t>(&head[0]);
  const auto version = numberAt<int32_t>(&head[4]);
  const bool isNarrow = magic == 20240520 && version == 1;
  if (!isNarrow && !(magic == 20240801 && version == 7))
    return {};
  format = "llm.c's header";
  width = isNarrow ? 2 : 4;
  start = headerWords * 4;
  count = numberAt<int32_t>(&head[8]);
  return {};
}

/// Refuses text and files of other programs, which would silently be read as
/// ids.
Status TokenFile::checkRaw() const {
  std::string head(size_t(std::min<int64_t>(file.size(), 4096)), '\0');
  RECIPERUN_TRY(file.read(0, std::as_writable_bytes(std::span(head))));
  const std::string place = "`" + path() + "` holds no token ids: ";
  if (isText(head))
    return Status::error(
        place + "it begins with text, `" +
        head.substr(0, std::min<size_t>(head.find_first_of("\r\n"), 24)) +
        "`; have it tokenized, by " +
        (head.starts_with("{") ? "`jsonl(\"" + path() + "\", ...)`"
                               : "`text(\"" + path() + "\")`"));
  const std::string_view other = otherFormat(head);
  if (other == "NumPy")
    return Status::error(place + "it is an array of NumPy; call it `.npy`");
  if (!other.empty())
    return Status::error(place + "it is a file of " + std::string(other) +
                         "; write the ids alone, as NumPy's `tofile` does, or "
                         "name the file that has them");
  return {};
}

Status TokenFile::checkHead(int64_t most) const {
  std::vector<int32_t> ids(size_t(std::min(most, count)));
  return read(0, ids);
}

Status TokenFile::checkType(const std::string& wanted) const {
  if (wanted.empty() || wanted == typeName(width))
    return {};
  return Status::error("`" + path() + "` has ids of " + std::to_string(width) +
                       " bytes, as " + format + " says, and `type` is \"" +
                       wanted + "\"; leave `type` out");
}

Status TokenFile::checkSize() const {
  if (count < 0 || count > file.size())
    return Status::error("the token file `" + path() + "` has " +
                         std::to_string(file.size()) + " bytes, and " + format +
                         " speaks of " + std::to_string(count) + " ids" +
                         isIncomplete);
  const int64_t expected = start + count * width;
  if (file.size() == expected)
    return {};
  if (format.empty())
    return Status::error("the token file `" + path() + "` has " +
                         std::to_string(file.size()) +
                         " bytes, which is no whole number of ids of type " +
                         typeName(width) + isIncomplete);
  return Status::error(
      "the token file `" + path() + "` has " + std::to_string(file.size()) +
      " bytes, and " + std::to_string(expected) + " are due for the " +
      std::to_string(count) + " ids of " + format + isIncomplete);
}

/// The share of the file's first ids that are below `vocab`, where an id has
/// `bytes` bytes.
double TokenFile::shareBelow(int64_t bytes) const {
  const std::vector<std::byte> head = readHead(bytes);
  int64_t below = 0;
  for (size_t at = 0; at < head.size(); at += size_t(bytes))
    below += idAt(&head[at], bytes) < vocab ? 1 : 0;
  return head.empty() ? 0 : double(below) * double(bytes) / double(head.size());
}

/// Reads the first ids, of `bytes` bytes each, as raw bytes; empty when they
/// cannot be read.
std::vector<std::byte> TokenFile::readHead(int64_t bytes) const {
  constexpr int64_t most = 1 << 12; // ids
  const int64_t ids = std::min(most, (file.size() - start) / bytes);
  std::vector<std::byte> head(size_t(ids * bytes));
  return file.read(start, head).isOk() ? head : std::vector<std::byte>();
}

std::string TokenFile::helpWithLargeId() const {
  const int64_t other = width == 2 ? 4 : 2;
  const bool isOther =
      format.empty() && shareBelow(width) < 0.5 && shareBelow(other) == 1;
  if (!isOther)
    return "use the tokens of the model's own tokenizer or a larger `vocab`";
  const std::string type = typeName(other);
  return "its ids are of type `" + type + "`: " +
         (type == typeFor(vocab) ? "leave `type` out"
                                 : "write `type = \"" + type + "\"`");
}

int64_t TokenFile::bytesByZeros() const {
  constexpr int64_t least = 16; // ids that are not 0
  const std::vector<std::byte> head = readHead(width);
  for (int64_t bytes = 8; format.empty() && bytes > width; bytes /= 2) {
    int64_t found = 0, wrong = 0;
    for (size_t at = 0; at < head.size(); at += size_t(width)) {
      const bool isZero = idAt(&head[at], width) == 0;
      const bool isFirst = at % size_t(bytes) == 0;
      found += isFirst && !isZero ? 1 : 0;
      wrong += isFirst || isZero ? 0 : 1;
    }
    if (found >= least && wrong == 0)
      return bytes;
  }
  return width;
}

std::string TokenFile::helpWithBytes(int64_t bytes) const {
  if (bytes < 8)
    return "write `type = \"" + typeName(bytes) + "\"`";
  const std::string made =
      std::filesystem::path(path()).replace_extension().string() + ".ids.bin";
  return "convert it by `python3 -c 'import numpy, sys; "
         "numpy.fromfile(sys.argv[1], \"int64\").astype(\"" +
         typeFor(vocab) + "\").tofile(sys.argv[2])' " + shellWord(path()) +
         " " + shellWord(made) + "`, and name the new file";
}

Status TokenFile::read(int64_t first, std::span<int32_t> ids) const {
  std::vector<std::byte> bytes(ids.size() * size_t(width));
  RECIPERUN_TRY(file.read(start + first * width, bytes));
  for (size_t i = 0; i < ids.size(); ++i) {
    const std::byte* at = &bytes[i * size_t(width)];
    const uint32_t id = idAt(at, width);
    if (id >= vocab)
      return Status::error("token " + std::to_string(first + int64_t(i)) +
                           " of `" + path() + "` is " + std::to_string(id) +
                           ", but the model's `vocab` is " +
                           std::to_string(vocab) + "; " + helpWithLargeId());
    ids[i] = static_cast<int32_t>(id);
  }
  return {};
}

} // namespace reciperun::data
