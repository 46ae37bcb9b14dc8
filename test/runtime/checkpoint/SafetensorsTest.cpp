// One safetensors file: files written by hand from the format's description,
// every kind of damage, and the writer's bytes.

#include "runtime/checkpoint/Safetensors.h"
#include "runtime/memory/Arena.h"

#include "TestFolder.h"

#include <gtest/gtest.h>

#include <functional>

namespace reciperun::checkpoint {
namespace {

/// Spacing, key order and metadata as other writers emit them. `b` precedes `a`
/// in the data, and `e` has no elements.
constexpr std::string_view foreignHeader =
    R"({ "__metadata__": {"made by": "hand"}, )"
    R"("a": {"shape": [2, 3], "data_offsets": [4, 28], "dtype": "F32"}, )"
    R"("e": {"dtype":"I64","shape":[0, 7],"data_offsets":[28,28]}, )"
    R"("b": {"dtype":"BF16","shape":[2],"data_offsets":[0,4]}}   )";

std::string foreignFile() {
  return safetensorsBytes(foreignHeader,
                          bytesOf<uint16_t>({0x3f80, 0xc000}) +
                              bytesOf<float>({1, 2, 3, 4, 5, 6}));
}

TEST(Safetensors, ReadsAForeignFile) {
  TestFolder folder;
  auto file =
      SafetensorsFile::open(folder.write("x.safetensors", foreignFile()));
  ASSERT_TRUE(file) << file.message();
  ASSERT_EQ(file->tensors().size(), 3u);
  const StoredTensor* a = file->find("a");
  ASSERT_TRUE(a);
  EXPECT_EQ(a->dtype, "F32");
  EXPECT_EQ(a->shape, (std::vector<int64_t>{2, 3}));
  float values[2];
  ASSERT_TRUE(
      file->read(*a, 12, std::as_writable_bytes(std::span(values))).isOk());
  EXPECT_EQ(values[0], 4);
  EXPECT_EQ(values[1], 5);
  uint16_t brain[2];
  ASSERT_TRUE(
      file->read(*file->find("b"), 0, std::as_writable_bytes(std::span(brain)))
          .isOk());
  EXPECT_EQ(brain[1], 0xc000);
  EXPECT_FALSE(file->find("c"));
}

TEST(Safetensors, RefusesEveryTruncation) {
  TestFolder folder;
  std::string whole = foreignFile();
  for (size_t length = 0; length < whole.size(); ++length) {
    auto file = SafetensorsFile::open(
        folder.write("cut.safetensors", whole.substr(0, length)));
    ASSERT_FALSE(file) << "cut to " << length << " bytes";
    EXPECT_NE(file.message().find("truncated"), std::string::npos)
        << length << ": " << file.message();
    EXPECT_NE(file.message().find("cut.safetensors"), std::string::npos);
  }
}

struct Damage {
  const char* what;
  const char* header;
  const char* message; // a substring
};

class DamagedHeader : public testing::TestWithParam<Damage> {};

TEST_P(DamagedHeader, IsRefused) {
  auto tensors = parseSafetensorsHeader(GetParam().header, 0, 8);
  ASSERT_FALSE(tensors);
  EXPECT_NE(tensors.message().find(GetParam().message), std::string::npos)
      << tensors.message();
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, DamagedHeader,
    testing::Values(
        Damage{"NotJson", "{\"a\":", "the header ends inside a value"},
        Damage{"NotAnObject", "[1]", "not a JSON object"},
        Damage{"Empty", "", "the header is empty"},
        Damage{"RepeatedName",
               R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
               R"("a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
               "holds `a` twice"},
        Damage{"RepeatedField",
               R"({"a":{"dtype":"F32","dtype":"I64","shape":[1],)"
               R"("data_offsets":[0,8]}})",
               "holds `dtype` twice"},
        Damage{"FieldMissing", R"({"a":{"dtype":"F32","shape":[2]}})",
               "needs `dtype`, `shape` and `data_offsets`"},
        Damage{"UnknownDtype",
               R"({"a":{"dtype":"F33","shape":[2],"data_offsets":[0,8]}})",
               "unknown dtype `F33`"},
        Damage{"NegativeShape",
               R"({"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})",
               "`shape` is not a list of sizes"},
        Damage{"FractionalShape",
               R"({"a":{"dtype":"F32","shape":[2.0],"data_offsets":[0,8]}})",
               "`shape` is not a list of sizes"},
        Damage{"HugeShape",
               R"({"a":{"dtype":"F32","shape":[4294967296,4294967296],)"
               R"("data_offsets":[0,8]}})",
               "takes more than 2^63 bytes"},
        Damage{"HugeOffset",
               R"({"a":{"dtype":"F32","shape":[2],)"
               R"("data_offsets":[0,18446744073709551615]}})",
               "`data_offsets` is not a pair of sizes"},
        Damage{"ThreeOffsets",
               R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4,8]}})",
               "`data_offsets` is not a pair of sizes"},
        Damage{"Backwards",
               R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})",
               "runs backwards, from byte 8 to 0"},
        Damage{"SizeOfAnotherShape",
               R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})",
               "shape [3] of `F32` takes 12 bytes"},
        Damage{"Overlap",
               R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
               R"("b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
               "`a` and `b` overlap at byte 4"},
        Damage{"Hole",
               R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
               "bytes 0 to 4 of the data belong to no tensor"},
        Damage{"BytesLeftOver",
               R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
               "end at byte 4 of the data, the file has 8"}),
    [](const auto& info) { return info.param.what; });

TEST(Safetensors, RefusesAnAbsurdHeaderLength) {
  TestFolder folder;
  auto file = SafetensorsFile::open(
      folder.write("x.safetensors", std::string(8, '\xff') + "{}"));
  ASSERT_FALSE(file);
  EXPECT_NE(file.message().find("is no safetensors file"), std::string::npos);
}

TEST(Safetensors, RefusesAFolderAndAMissingFile) {
  TestFolder folder;
  EXPECT_NE(
      SafetensorsFile::open(folder.path()).message().find("not a regular file"),
      std::string::npos);
  EXPECT_NE(
      SafetensorsFile::open(folder / "none").message().find("No such file"),
      std::string::npos);
}

TEST(Safetensors, WritesTheFormat) {
  TestFolder folder;
  auto writer = SafetensorsWriter::create(
      folder / "x.safetensors", {{"w", "BF16", {2, 1}}, {"s", "F32", {}}});
  ASSERT_TRUE(writer) << writer.message();
  std::string data = bytesOf<uint16_t>({0x3f80, 0x7fc1}) + bytesOf<float>({2});
  // Uneven pieces, like those of shards.
  ASSERT_TRUE(writer->append(std::as_bytes(std::span(data).first(3))).isOk());
  ASSERT_TRUE(writer->append(std::as_bytes(std::span(data).subspan(3))).isOk());
  ASSERT_TRUE(writer->finish().isOk());
  std::string header =
      R"({"__metadata__":{"format":"pt"},)"
      R"("w":{"dtype":"BF16","shape":[2,1],"data_offsets":[0,4]},)"
      R"("s":{"dtype":"F32","shape":[],"data_offsets":[4,8]}})";
  header.append(OutputFile::unitBytes - 8 - header.size(), ' ');
  EXPECT_EQ(readBytes(folder / "x.safetensors"),
            safetensorsBytes(header, data));
  EXPECT_EQ(folder.names(), std::vector<std::string>{"x.safetensors"});
}

/// The specs may be damaged; the writer then creates no file.
TEST(Safetensors, WritesNoFileThatItCouldNotRead) {
  TestFolder folder;
  auto message = [&](std::vector<TensorSpec> specs) {
    return SafetensorsWriter::create(folder / "x.safetensors", specs).message();
  };
  EXPECT_NE(message({{"w", "F32", {2}}, {"v", "F32", {1}}, {"w", "F32", {1}}})
                .find("two tensors are called `w`"),
            std::string::npos);
  EXPECT_NE(message({{"__metadata__", "F32", {2}}})
                .find("a tensor is called `__metadata__`"),
            std::string::npos);
  const std::string data = bytesOf<float>({1, 2});
  const auto bytes = std::as_bytes(std::span(data));
  for (int64_t elements : {1, 3}) {
    auto writer = SafetensorsWriter::create(folder / "x.safetensors",
                                            {{"w", "F32", {elements}}});
    ASSERT_TRUE(writer);
    Status appended = writer->append(bytes);
    Status finished = appended.isOk() ? writer->finish() : appended;
    EXPECT_NE(
        finished.message().find(elements == 1 ? "more data" : "less data"),
        std::string::npos)
        << finished.message();
  }
  EXPECT_TRUE(folder.names().empty());
}

// Of three pieces, the second can bypass the page cache; the others are
// misaligned in memory or in the file.
TEST(Safetensors, WritesPiecesOfAnyAlignment) {
  constexpr size_t unit = OutputFile::unitBytes;
  constexpr int64_t pieces[] = {unit, 3 * unit + 100, 5 * unit};
  TestFolder folder;
  auto writer = SafetensorsWriter::create(folder / "x.safetensors",
                                          {{"w", "U8", {9 * unit + 100}}});
  ASSERT_TRUE(writer) << writer.message();
  auto arena = memory::Arena::allocate(8 * unit);
  ASSERT_TRUE(arena) << arena.message();
  std::string expected;
  for (int piece = 0; piece < 3; ++piece) {
    std::byte* data = arena->base() + (piece == 1 ? 0 : 64);
    for (int64_t i = 0; i < pieces[piece]; ++i)
      data[i] = std::byte((i * 7 + piece) % 251);
    expected.append(reinterpret_cast<const char*>(data), pieces[piece]);
    ASSERT_TRUE(writer->append({data, size_t(pieces[piece])}).isOk());
  }
  ASSERT_TRUE(writer->finish().isOk());
  EXPECT_EQ(readBytes(folder / "x.safetensors").substr(unit), expected);
}

TEST(Safetensors, AnAbandonedFileLeavesNothing) {
  TestFolder folder;
  {
    auto writer = SafetensorsWriter::create(folder / "x.safetensors",
                                            {{"w", "F32", {2}}});
    ASSERT_TRUE(writer);
    EXPECT_EQ(folder.names().size(), 1u);
  }
  EXPECT_TRUE(folder.names().empty());
}

} // namespace
} // namespace reciperun::checkpoint
