// Sets of safetensors files: found by their index and split by size.

#include "runtime/checkpoint/ModelFiles.h"

#include "TestFolder.h"

#include <gtest/gtest.h>

namespace reciperun::checkpoint {
namespace {

std::string oneTensor(const std::string& name, float value) {
  return safetensorsBytes("{\"" + name +
                              "\":{\"dtype\":\"F32\",\"shape\":[1],"
                              "\"data_offsets\":[0,4]}}",
                          bytesOf<float>({value}));
}

TEST(ModelFiles, FindsTensorsByTheIndex) {
  TestFolder folder;
  folder.write("first.safetensors", oneTensor("a", 1));
  folder.write("second.safetensors", oneTensor("b", 2));
  folder.write("model.safetensors.index.json",
               R"({"weight_map":{"a":"first.safetensors",)"
               R"("b":"second.safetensors"}})");
  auto model = ModelFiles::open(folder.path());
  ASSERT_TRUE(model) << model.message();
  EXPECT_EQ(model->names(), (std::vector<std::string>{"a", "b"}));
  auto place = model->find("b");
  ASSERT_TRUE(place);
  EXPECT_EQ(place->file->path().filename(), "second.safetensors");
}

TEST(ModelFiles, RefusesADamagedIndex) {
  TestFolder folder;
  folder.write("first.safetensors", oneTensor("a", 1));
  auto messageFor = [&](std::string_view index) {
    folder.write("model.safetensors.index.json", index);
    return ModelFiles::open(folder.path()).message();
  };
  EXPECT_NE(messageFor("{").find("the file ends inside a value"),
            std::string::npos);
  EXPECT_NE(messageFor("{}").find("`weight_map` is missing"),
            std::string::npos);
  EXPECT_NE(messageFor(R"({"weight_map":{"a":"../a.safetensors"}})")
                .find("is not a file name"),
            std::string::npos);
  EXPECT_NE(messageFor(R"({"weight_map":{"z":"first.safetensors"}})")
                .find("does not hold it"),
            std::string::npos);
  EXPECT_NE(messageFor(R"({"weight_map":{"a":"gone.safetensors"}})")
                .find("gone.safetensors"),
            std::string::npos);
}

/// If the index omits a tensor, the tensor would silently be missing. If two
/// files hold it, either one could be read.
TEST(ModelFiles, RefusesAnIndexThatLeavesATensorOut) {
  TestFolder folder;
  folder.write("first.safetensors", oneTensor("a", 1));
  folder.write("second.safetensors",
               safetensorsBytes(
                   R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                   R"("b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
                   bytesOf<float>({2, 3})));
  auto messageFor = [&](std::string_view index) {
    folder.write("model.safetensors.index.json", index);
    return ModelFiles::open(folder.path()).message();
  };
  EXPECT_NE(messageFor(R"({"weight_map":{"a":"first.safetensors",)"
                       R"("b":"second.safetensors"}})")
                .find("does not put tensor `a` into `second.safetensors`"),
            std::string::npos);
  EXPECT_EQ(messageFor(R"({"weight_map":{"a":"second.safetensors",)"
                       R"("b":"second.safetensors"}})"),
            "");
  EXPECT_NE(messageFor(R"({"weight_map":{"a":"first.safetensors",)"
                       R"("a":"second.safetensors"}})")
                .find("holds `a` twice"),
            std::string::npos);
}

TEST(ModelFiles, WritesNoTwoTensorsOfOneName) {
  TestFolder folder;
  // The size limit puts each of the two in its own file.
  auto writer = ModelWriter::create(folder.path(),
                                    {{"x", "F32", {2}}, {"x", "F32", {2}}}, 8);
  EXPECT_EQ(writer.message(), "two tensors are called `x`");
  EXPECT_TRUE(folder.names().empty());
}

TEST(ModelFiles, SaysWhatIsMissing) {
  TestFolder folder;
  EXPECT_NE(ModelFiles::open(folder / "none").message().find("there is no"),
            std::string::npos);
  folder.write("pytorch_model.bin", "");
  EXPECT_NE(ModelFiles::open(folder.path()).message().find("save_pretrained"),
            std::string::npos);
}

TEST(ModelFiles, SplitsByASizeAndReadsItself) {
  TestFolder folder;
  // Tensors of 8, 8 and 20 bytes with a limit of 16: two fit in one file, the
  // third gets its own.
  auto writer = ModelWriter::create(
      folder.path(), {{"x", "F32", {2}}, {"y", "F32", {2}}, {"z", "F32", {5}}},
      16);
  ASSERT_TRUE(writer) << writer.message();
  std::vector<float> values = {0, 1, 2, 3, 4, 5, 6, 7, 8};
  auto bytes = std::as_bytes(std::span(values));
  ASSERT_TRUE(writer->append(bytes.first(8)).isOk());
  ASSERT_TRUE(writer->append(bytes.subspan(8, 8)).isOk());
  ASSERT_TRUE(writer->append(bytes.subspan(16)).isOk());
  ASSERT_TRUE(writer->finish().isOk());
  EXPECT_EQ(folder.names(),
            (std::vector<std::string>{"model-00001-of-00002.safetensors",
                                      "model-00002-of-00002.safetensors",
                                      "model.safetensors.index.json"}));
  auto model = ModelFiles::open(folder.path());
  ASSERT_TRUE(model) << model.message();
  float z[5];
  auto place = model->find("z");
  ASSERT_TRUE(place);
  ASSERT_TRUE(
      place->file->read(*place->tensor, 0, std::as_writable_bytes(std::span(z)))
          .isOk());
  EXPECT_EQ(z[4], 8);
  EXPECT_NE(readBytes(folder / "model.safetensors.index.json")
                .find("\"total_size\": 36"),
            std::string::npos);
}

} // namespace
} // namespace reciperun::checkpoint
