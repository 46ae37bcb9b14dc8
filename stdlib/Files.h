// The standard library as recipec carries it: the text of every file of
// stdlib/, put into the binary when it is built.

#ifndef RECIPEC_STDLIB_FILES_H
#define RECIPEC_STDLIB_FILES_H

#include <string_view>
#include <vector>

namespace recipec::stdlib {

struct File {
  std::string_view path; // `std/models/llama.recipe`
  std::string_view text;
};

/// All files, ordered by path.
const std::vector<File>& files();

/// The file at a path, or none.
const File* find(std::string_view path);

} // namespace recipec::stdlib

#endif // RECIPEC_STDLIB_FILES_H
