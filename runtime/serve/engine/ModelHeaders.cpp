// 1. Make a folder of temporary files; 2. copy the files of JSON but the
//    tokenizer and plans; 3. of each file of weights copy the header, and set
//    the size.

#include "runtime/serve/engine/ModelHeaders.h"

#include "runtime/checkpoint/Files.h"
#include "runtime/checkpoint/Safetensors.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace reciperun::serve {
namespace {

namespace fs = std::filesystem;

Status copyHeader(const fs::path& from, const fs::path& to) {
  const auto file = checkpoint::SafetensorsFile::open(from);
  RECIPERUN_TRY(file);
  uint64_t length = 0; // of the header's JSON
  RECIPERUN_TRY(
      file->readBytes(0, std::as_writable_bytes(std::span(&length, 1))));
  std::string header(sizeof length + size_t(length), '\0');
  RECIPERUN_TRY(file->readBytes(0, std::as_writable_bytes(std::span(header))));
  RECIPERUN_TRY(checkpoint::writeTextFile(to, header));
  int64_t bytes = int64_t(header.size());
  for (const checkpoint::StoredTensor& tensor : file->tensors())
    bytes = std::max(bytes, tensor.end);
  std::error_code code;
  fs::resize_file(to, uintmax_t(bytes), code);
  return code ? checkpoint::systemError("write", to, code.value())
              : Status::ok();
}

Status copyEntry(const fs::path& from, const fs::path& to) {
  const std::string name = from.filename().string();
  if (name.ends_with(".safetensors"))
    return copyHeader(from, to);
  const bool isConfiguration = name.ends_with(".json") &&
                               !name.ends_with(".plan.json") &&
                               name != "tokenizer.json";
  if (!isConfiguration)
    return Status::ok();
  const Expected<std::string> text = readTextFile(from);
  RECIPERUN_TRY(text);
  return checkpoint::writeTextFile(to, *text);
}

} // namespace

Expected<ModelHeaders> ModelHeaders::copyFrom(const fs::path& address) {
  const auto entries = checkpoint::entriesOf(address);
  RECIPERUN_TRY(entries);
  std::error_code code;
  std::string made =
      (fs::temp_directory_path(code) / "reciperun-model-XXXXXX").string();
  if (mkdtemp(made.data()) == nullptr)
    return checkpoint::systemError("make", made, errno);
  ModelHeaders headers;
  headers.folder = made;
  for (const fs::path& entry : *entries)
    RECIPERUN_TRY(copyEntry(entry, headers.folder / entry.filename()));
  return headers;
}

ModelHeaders::ModelHeaders(ModelHeaders&& other) noexcept
    : folder(std::exchange(other.folder, {})) {}

ModelHeaders::~ModelHeaders() {
  std::error_code code;
  if (!folder.empty())
    fs::remove_all(folder, code);
}

} // namespace reciperun::serve
