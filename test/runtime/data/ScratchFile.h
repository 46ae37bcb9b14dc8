// A file that exists for the duration of a test.

#ifndef RECIPERUN_TEST_DATA_SCRATCHFILE_H
#define RECIPERUN_TEST_DATA_SCRATCHFILE_H

#include <filesystem>
#include <fstream>
#include <string>

#include <unistd.h>

namespace reciperun::data {

class ScratchFile {
public:
  explicit ScratchFile(const std::string& text) {
    static int count = 0;
    path_ = std::filesystem::temp_directory_path() /
            ("reciperun-data-" + std::to_string(getpid()) + "-" +
             std::to_string(count++) + ".jsonl");
    std::ofstream(path_, std::ios::binary) << text;
  }
  ~ScratchFile() { std::filesystem::remove(path_); }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  std::string path() const { return path_.string(); }

private:
  std::filesystem::path path_;
};

} // namespace reciperun::data

#endif // RECIPERUN_TEST_DATA_SCRATCHFILE_H
