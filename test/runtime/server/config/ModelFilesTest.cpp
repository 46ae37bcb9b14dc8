// Files and version folders of a model.

#include "runtime/server/config/ModelConfig.h"

#include "runtime/server/config/model_config.pb.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

namespace reciperun::server {
namespace {

namespace fs = std::filesystem;

/// A repository with the folder of a model, `m`, and of another one.
class ModelFiles : public testing::Test {
protected:
  void SetUp() override {
    std::string name = fs::path(testing::TempDir()) / "models-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    root = name;
    folder = root / "m";
    fs::create_directories(folder / "configs");
    fs::create_directory(root / "other");
    write(root / "other/secret", "secret");
  }
  void TearDown() override { fs::remove_all(root); }

  static void write(const fs::path& path, const std::string& text) {
    std::ofstream(path, std::ios::binary) << text;
  }

  /// Why a configuration or file cannot be read; no path of the machine is in
  /// it.
  std::string checked(const std::string& message) const {
    EXPECT_EQ(message.find(root.string()), std::string::npos) << message;
    EXPECT_EQ(message.find("secret"), std::string::npos) << message;
    return message;
  }
  std::string failure(const std::string& configName = "") const {
    return checked(readModelConfig(folder, "m", configName).message());
  }

  fs::path root, folder;
};

TEST_F(ModelFiles, TheConfigurationIsAFileOfTheFolder) {
  EXPECT_EQ(failure(),
            "`config.pbtxt` cannot be read: No such file or directory");
  fs::create_directory(folder / "config.pbtxt");
  EXPECT_EQ(failure(), "`config.pbtxt` is not a regular file");
  fs::remove(folder / "config.pbtxt");
  fs::create_symlink("../other/secret", folder / "config.pbtxt");
  EXPECT_EQ(failure(), "`config.pbtxt` is outside of the model's folder");
  fs::remove(folder / "config.pbtxt");
  write(folder / "real", "backend: \"b\"");
  fs::create_symlink("real", folder / "config.pbtxt");
  EXPECT_EQ(failure(), "");
  fs::resize_file(folder / "real", (uintmax_t(4) << 20) + 1);
  EXPECT_EQ(failure(), "`config.pbtxt` is larger than 4194304 bytes");
}

TEST_F(ModelFiles, ANamedConfigurationTakesItsPlace) {
  write(folder / "config.pbtxt", "backend: \"a\"");
  write(folder / "configs/h100.pbtxt", "backend: \"b\"");
  const auto backend = [&](const std::string& configName) {
    const auto read = readModelConfig(folder, "m", configName);
    return read ? read->config->backend() : read.message();
  };
  EXPECT_EQ(backend(""), "a");
  EXPECT_EQ(backend("h100"), "b");
  EXPECT_EQ(backend("l40"), "a");
  EXPECT_EQ(backend("../../other/x"), "a");
  write(folder / "configs/bad.pbtxt", "backnd: \"b\"");
  EXPECT_EQ(failure("bad"),
            "configs/bad.pbtxt:1:1: unknown field `backnd` of `ModelConfig`; "
            "did you mean `backend`?");
}

TEST_F(ModelFiles, OtherFilesStayInTheFolderToo) {
  write(folder / "labels.txt", "cat\ndog\n");
  const auto read = [&](const std::string& file) {
    const auto text = readModelFile(folder, file, 8);
    return text ? *text : checked(text.message());
  };
  EXPECT_EQ(read("labels.txt"), "cat\ndog\n");
  EXPECT_EQ(readModelFile(folder, "labels.txt", 7).message(),
            "`labels.txt` is larger than 7 bytes");
  EXPECT_EQ(read("configs"), "`configs` is not a regular file");
  EXPECT_EQ(read("/etc/passwd"),
            "`/etc/passwd` must be a path in the model's folder");
  EXPECT_EQ(read(""), "`` must be a path in the model's folder");
  write(root / "other/labels", "");
  EXPECT_EQ(read("../other/labels"),
            "`../other/labels` is outside of the model's folder");
}

TEST_F(ModelFiles, AFileMayHaveToBeInAFolderOfTheModel) {
  write(folder / "labels.txt", "secret");
  const auto read = [&](const std::string& file) {
    const auto text = readModelFile(folder, file, 8, "warmup");
    return text ? *text : checked(text.message());
  };
  EXPECT_EQ(read("ids"), "`ids` cannot be read: No such file or directory");
  write(root / "other/ids", "3");
  fs::create_directory_symlink("../other", folder / "warmup");
  EXPECT_EQ(read("ids"), "`ids` is outside of the model's folder `warmup`");
  fs::remove(folder / "warmup");
  fs::create_directory(folder / "warmup");
  write(folder / "warmup/ids", "1 2");
  fs::create_symlink("ids", folder / "warmup/same");
  fs::create_symlink("../labels.txt", folder / "warmup/labels");
  EXPECT_EQ(read("ids"), "1 2");
  EXPECT_EQ(read("same"), "1 2");
  for (const char* file : {"labels", "../labels.txt", "../../other/ids"})
    EXPECT_EQ(read(file), "`" + std::string(file) +
                              "` is outside of the model's folder `warmup`");
  EXPECT_EQ(read("/etc/passwd"),
            "`/etc/passwd` must be a path in the model's folder `warmup`");
}

TEST_F(ModelFiles, VersionFoldersAreIntegersWithoutLeadingZeros) {
  for (const char* name : {"1", "3", "20", "0", "007", "-1", "+2", "2a", "a2",
                           "1.5", "99999999999999999999"})
    fs::create_directory(folder / name);
  write(folder / "4", "a file");
  EXPECT_EQ(versionFolders(folder), (std::vector<int64_t>{1, 3, 20}));
  EXPECT_TRUE(versionFolders(root / "none").empty());
}

TEST_F(ModelFiles, TheVersionPolicySelects) {
  for (const char* name : {"1", "2", "10"})
    fs::create_directory(folder / name);
  const auto selected = [&](const std::string& policy) {
    const auto read =
        parseModelConfig("backend: \"b\" " + policy, "m", "config.pbtxt");
    EXPECT_TRUE(read) << read.message();
    return versionsOf(folder, *read->config);
  };
  using Versions = std::vector<int64_t>;
  EXPECT_EQ(selected(""), Versions{10});
  EXPECT_EQ(selected("version_policy { latest {} }"), Versions{10});
  EXPECT_EQ(selected("version_policy { latest { num_versions: 2 } }"),
            (Versions{2, 10}));
  EXPECT_EQ(selected("version_policy { latest { num_versions: 4294967295 } }"),
            (Versions{1, 2, 10}));
  EXPECT_EQ(selected("version_policy { all {} }"), (Versions{1, 2, 10}));
  EXPECT_EQ(selected("version_policy { specific { versions: [2, 3] } }"),
            Versions{2});
}

} // namespace
} // namespace reciperun::server
