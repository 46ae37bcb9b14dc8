// Look-up in the embedded files; Embed.cmake generates their list.

#include "stdlib/Files.h"

#include <algorithm>

namespace recipec::stdlib {

const File* find(std::string_view path) {
  const std::vector<File>& all = files();
  auto found = std::lower_bound(all.begin(), all.end(), path,
                                [](const File& file, std::string_view wanted) {
                                  return file.path < wanted;
                                });
  return found != all.end() && found->path == path ? &*found : nullptr;
}

} // namespace recipec::stdlib
