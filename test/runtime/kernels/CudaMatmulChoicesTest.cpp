// Choices of matmul algorithms are measured once, stored in a file and found
// there again; files of others are left alone.

#include "runtime/device/cuda/MatmulChoices.h"
#include "test/runtime/kernels/CudaMatrixCalls.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

#include <gtest/gtest.h>

namespace reciperun::kernels {
namespace {

using CudaMatmuls = OnGpu;

TEST_F(CudaMatmuls, AreChosenOnceAndKept) {
  const auto file = std::filesystem::temp_directory_path() /
                    ("reciperun-products-" + std::to_string(getpid()));
  device::CudaContext& gpu = *testGpu();
  DeviceBytes a(1 << 20), b(1 << 20), c(1 << 20);
  const device::Matmuls::Shape shape{256, 512, 128, false, true};
  auto prepared = [&] {
    device::Matmuls products;
    products.setPlace({gpu.stream(), gpu.scratch<void>(),
                       size_t(device::cudaScratchBytes),
                       gpu.properties().name});
    products.setFile(file);
    Status status = products.prepare(shape, {a.data(), b.data(), c.data()});
    EXPECT_TRUE(status.isOk()) << status.message();
    status = products.save();
    EXPECT_TRUE(status.isOk()) << status.message();
    EXPECT_EQ(products.notice(), "");
    // The measurement of another rank's share waits for that rank.
    products.takeShare({0, 1 << 30});
    status = products.prepare({64, 512, 128, false, true},
                              {a.data(), b.data(), c.data()});
    EXPECT_TRUE(status.isOk()) << status.message();
    std::ifstream in(file);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  const std::string first = prepared();
  std::printf("%s", first.c_str());
  EXPECT_NE(first.find("256 512 128 nt bf16 bf16 set"), std::string::npos);
  EXPECT_EQ(prepared(), first);
  std::filesystem::remove(file);
}

TEST(MatmulChoices, IgnoresAFileThatIsNotItsOwn) {
  const auto file = std::filesystem::temp_directory_path() /
                    ("reciperun-foreign-" + std::to_string(getpid()));
  std::ofstream(file) << "a letter to a friend\n";
  device::MatmulChoices choices;
  EXPECT_FALSE(choices.load(file).isOk());
  choices.keep("key", {1, 2, 3});
  EXPECT_TRUE(choices.save().isOk()); // no file
  std::string line;
  std::ifstream in(file);
  std::getline(in, line);
  EXPECT_EQ(line, "a letter to a friend");
  std::filesystem::remove(file);
}

TEST(MatmulChoices, AreSavedInTurn) {
  const auto folder = std::filesystem::temp_directory_path() /
                      ("reciperun-turns-" + std::to_string(getpid()));
  const auto file = folder / "products";
  constexpr int savers = 4, each = 25;
  std::vector<std::thread> threads;
  for (int saver = 0; saver < savers; ++saver)
    threads.emplace_back([&, saver] {
      for (int i = 0; i < each; ++i) {
        device::MatmulChoices choices;
        EXPECT_TRUE(choices.load(file).isOk());
        choices.keep(std::to_string(saver) + " " + std::to_string(i), {1});
        EXPECT_TRUE(choices.save().isOk());
      }
    });
  for (std::thread& thread : threads)
    thread.join();
  device::MatmulChoices all;
  EXPECT_TRUE(all.load(file).isOk());
  for (int saver = 0; saver < savers; ++saver)
    for (int i = 0; i < each; ++i)
      EXPECT_TRUE(all.find(std::to_string(saver) + " " + std::to_string(i)))
          << saver << " " << i;
  std::filesystem::remove_all(folder);
}

TEST(MatmulChoices, KeepsWhatOthersHaveWritten) {
  const auto folder = std::filesystem::temp_directory_path() /
                      ("reciperun-choices-" + std::to_string(getpid()));
  const auto file = folder / "products";
  device::MatmulChoices one, two, all;
  EXPECT_TRUE(one.load(file).isOk());
  EXPECT_TRUE(two.load(file).isOk());
  one.keep("a b", {1});
  two.keep("a b", {2});
  two.keep("c", {~uint64_t(0), 5, 6, 7, 8, 9, 10, 11});
  EXPECT_TRUE(one.save().isOk());
  EXPECT_TRUE(two.save().isOk());
  std::ofstream(file, std::ios::app) << "torn = 0012";
  EXPECT_TRUE(all.load(file).isOk());
  ASSERT_TRUE(all.find("a b"));
  EXPECT_EQ((*all.find("a b"))[0], 1u); // the first writer
  ASSERT_TRUE(all.find("c"));
  EXPECT_EQ((*all.find("c"))[0], ~uint64_t(0));
  EXPECT_EQ((*all.find("c"))[7], 11u);
  EXPECT_FALSE(all.find("torn"));
  std::filesystem::remove_all(folder);
}

TEST(MatmulChoices, ReplacesWhatDoesNotServe) {
  const auto folder = std::filesystem::temp_directory_path() /
                      ("reciperun-refused-" + std::to_string(getpid()));
  const auto file = folder / "products";
  device::MatmulChoices old, one, two, all;
  EXPECT_TRUE(old.load(file).isOk());
  old.keep("a", {1});
  EXPECT_TRUE(old.save().isOk());
  EXPECT_TRUE(one.load(file).isOk());
  EXPECT_TRUE(two.load(file).isOk());
  one.keep("a", {2});
  two.keep("a", {3});
  EXPECT_TRUE(one.save().isOk());
  EXPECT_TRUE(two.save().isOk());
  EXPECT_TRUE(all.load(file).isOk());
  ASSERT_TRUE(all.find("a"));
  EXPECT_EQ((*all.find("a"))[0], 2u); // the first to replace it
  std::filesystem::remove_all(folder);
}

} // namespace
} // namespace reciperun::kernels
