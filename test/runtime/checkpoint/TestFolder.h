// A temporary folder of one test, and files in it.

#ifndef RECIPEC_TEST_RUNTIME_CHECKPOINT_TESTFOLDER_H
#define RECIPEC_TEST_RUNTIME_CHECKPOINT_TESTFOLDER_H

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace reciperun::checkpoint {

/// A folder that is empty at construction and removed at destruction.
class TestFolder {
public:
  TestFolder();
  ~TestFolder();
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  const std::filesystem::path& path() const { return folder; }
  std::filesystem::path operator/(std::string_view name) const {
    return folder / name;
  }
  /// Writes a file and creates its parent folders.
  std::filesystem::path write(std::string_view name,
                              std::string_view bytes) const;
  /// The names in the folder, sorted.
  std::vector<std::string> names() const;

private:
  std::filesystem::path folder;
};

std::string readBytes(const std::filesystem::path& path);

/// A safetensors file as another program would lay it out: the length of the
/// header, the header's text as given, the data.
std::string safetensorsBytes(std::string_view header, std::string_view data);

/// The bytes of the numbers in memory order.
template <class T> std::string bytesOf(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()),
          values.size() * sizeof(T)};
}

} // namespace reciperun::checkpoint

#endif // RECIPEC_TEST_RUNTIME_CHECKPOINT_TESTFOLDER_H
