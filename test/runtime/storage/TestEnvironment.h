// Variables and files of one test in place of those of the process.

#ifndef RECIPEC_TEST_RUNTIME_STORAGE_TESTENVIRONMENT_H
#define RECIPEC_TEST_RUNTIME_STORAGE_TESTENVIRONMENT_H

#include "runtime/storage/Profile.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <string>

namespace reciperun::storage {

/// An environment whose home is an empty folder.
class TestEnvironment {
public:
  TestEnvironment() {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    folder = std::filesystem::path(testing::TempDir()) /
             (std::string("storage-") + test->test_suite_name() + "-" +
              test->name());
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder / ".aws");
    variables["HOME"] = folder.string();
  }
  ~TestEnvironment() { std::filesystem::remove_all(folder); }

  std::string& operator[](const std::string& name) { return variables[name]; }
  /// Writes a file below the home folder and returns its path.
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(folder / name) << text;
    return (folder / name).string();
  }
  const std::filesystem::path& home() const { return folder; }

  Environment get() const {
    return [variables = variables](
               const std::string& name) -> std::optional<std::string> {
      const auto found = variables.find(name);
      if (found == variables.end() || found->second.empty())
        return std::nullopt;
      return found->second;
    };
  }

private:
  std::filesystem::path folder;
  std::map<std::string, std::string> variables;
};

} // namespace reciperun::storage

#endif // RECIPEC_TEST_RUNTIME_STORAGE_TESTENVIRONMENT_H
