// Temporary folders by mkdtemp, and the framing of a safetensors file.

#include "TestFolder.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>

namespace reciperun::checkpoint {

TestFolder::TestFolder() {
  std::string name =
      (std::filesystem::temp_directory_path() / "recipec-test-XXXXXX").string();
  folder = mkdtemp(name.data());
}

TestFolder::~TestFolder() {
  std::error_code code;
  std::filesystem::remove_all(folder, code);
}

std::filesystem::path TestFolder::write(std::string_view name,
                                        std::string_view bytes) const {
  std::filesystem::path path = folder / name;
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary)
      .write(bytes.data(), std::streamsize(bytes.size()));
  return path;
}

std::vector<std::string> TestFolder::names() const {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

std::string readBytes(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string safetensorsBytes(std::string_view header, std::string_view data) {
  std::string bytes;
  for (int i = 0; i < 8; ++i)
    bytes += static_cast<char>(uint64_t(header.size()) >> (8 * i) & 0xff);
  return bytes.append(header).append(data);
}

} // namespace reciperun::checkpoint
