// Checksums of chunks do not depend on how the bytes are split into calls.

#include "runtime/checkpoint/Checksums.h"

#include "runtime/base/Hash.h"
#include "runtime/checkpoint/Safetensors.h"

#include "TestFolder.h"

#include <gtest/gtest.h>

namespace reciperun::checkpoint {
namespace {

std::vector<std::byte> pattern(int64_t size) {
  std::vector<std::byte> bytes(static_cast<size_t>(size));
  for (int64_t i = 0; i < size; ++i)
    bytes[size_t(i)] = std::byte(i * i % 251);
  return bytes;
}

TEST(Checksums, AreThoseOfTheChunks) {
  const std::vector<std::byte> bytes = pattern(2 * chunkBytes + 77);
  const std::vector<uint64_t> expected = {
      checksumOf(std::span(bytes).first(chunkBytes)),
      checksumOf(std::span(bytes).subspan(chunkBytes, chunkBytes)),
      checksumOf(std::span(bytes).last(77))};
  ChecksumStream stream;
  for (size_t piece : {size_t(1), size_t(1000), size_t(chunkBytes - 1),
                       size_t(chunkBytes), bytes.size()}) {
    for (size_t at = 0; at < bytes.size(); at += piece)
      stream.add(
          std::span(bytes).subspan(at, std::min(piece, bytes.size() - at)));
    EXPECT_EQ(stream.finish(), expected) << piece;
  }
  EXPECT_TRUE(stream.finish().empty());
  EXPECT_EQ(parseChecksums(checksumText(expected), 3), expected);
  EXPECT_EQ(parseChecksums(checksumText(expected), 2), std::nullopt);
}

TEST(Checksums, FindTheChunkThatDiffers) {
  std::vector<std::byte> bytes = pattern(3 * chunkBytes);
  ChecksumStream stream;
  stream.add(bytes);
  const std::vector<uint64_t> sums = stream.finish();
  EXPECT_EQ(findDamage(bytes, sums, 0), std::nullopt);
  bytes[2 * chunkBytes] ^= std::byte(0x80);
  EXPECT_EQ(findDamage(bytes, sums, 0), 2);
  EXPECT_EQ(findDamage(std::span(bytes).subspan(chunkBytes), sums, 1), 2);
  EXPECT_EQ(findDamage(std::span(bytes).first(2 * chunkBytes), sums, 0),
            std::nullopt);
}

// One piece holds the data of several tensors; one empty tensor is in the
// middle and one at the end.
TEST(Checksums, AreInTheHeaderOfAFile) {
  TestFolder folder;
  const std::vector<TensorSpec> specs = {{"a", "U8", {chunkBytes + 5}},
                                         {"none", "U8", {0}},
                                         {"b", "U8", {9}},
                                         {"end", "U8", {0}}};
  const HeaderNotes notes = {{{"run", "x"}}, true};
  auto writer = SafetensorsWriter::create(folder / "x", specs, notes);
  ASSERT_TRUE(writer) << writer.message();
  const std::vector<std::byte> bytes = pattern(chunkBytes + 14);
  ASSERT_TRUE(writer->append(std::span(bytes).first(3)).isOk());
  ASSERT_TRUE(writer->append(std::span(bytes).subspan(3)).isOk());
  Status finished = writer->finish();
  ASSERT_TRUE(finished.isOk()) << finished.message();
  EXPECT_EQ(int64_t(readBytes(folder / "x").size()),
            safetensorsBytes(specs, notes));
  auto file = SafetensorsFile::open(folder / "x");
  ASSERT_TRUE(file) << file.message();
  EXPECT_EQ(file->metadata(), (Metadata{{"format", "pt"}, {"run", "x"}}));
  for (const char* name : {"a", "b", "none", "end"}) {
    const StoredTensor* tensor = file->find(name);
    ASSERT_NE(tensor, nullptr) << name;
    std::vector<std::byte> data(size_t(tensor->end - tensor->begin));
    ASSERT_TRUE(file->read(*tensor, 0, data).isOk());
    EXPECT_EQ(int64_t(tensor->checksums.size()),
              chunksOf(int64_t(data.size())));
    EXPECT_TRUE(file->check(*tensor, 0, data).isOk()) << name;
    if (data.empty())
      continue;
    data.back() ^= std::byte(1);
    EXPECT_FALSE(file->check(*tensor, 0, data).isOk()) << name;
  }
}

} // namespace
} // namespace reciperun::checkpoint
