// See LineWriter.h.

#include "runtime/train/metrics/LineWriter.h"

namespace reciperun::train {

Expected<std::unique_ptr<LineWriter>>
LineWriter::open(const std::filesystem::path& path, Mode mode) {
  std::unique_ptr<LineWriter> made(new LineWriter(path));
  RECIPERUN_TRY(made->files.open(path, mode));
  return made;
}

} // namespace reciperun::train
