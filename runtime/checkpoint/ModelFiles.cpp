// The safetensors of a model as a set: located by the index, split by size.

#include "runtime/checkpoint/ModelFiles.h"

#include "runtime/base/ParseJson.h"
#include "runtime/checkpoint/FolderKind.h"
#include "runtime/checkpoint/HubName.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>

namespace reciperun::checkpoint {
namespace {

using Json = nlohmann::json;

constexpr const char* writesAnew =
    "write the index anew, or the model by `save_pretrained`";
constexpr const char* singleName = "model.safetensors";
constexpr const char* indexName = "model.safetensors.index.json";

/// Whether a file name in an index stays in the index's folder.
bool isPlainName(const std::string& name) {
  return !name.empty() && name != "." && name != ".." &&
         name.find('/') == std::string::npos;
}

/// Tensor names by file, from the text of an index.
Expected<std::map<std::string, std::vector<std::string>>>
parseIndex(const std::string& text) {
  Expected<Json> json = parseJson(text);
  RECIPERUN_TRY(json);
  if (!json->is_object() || !json->contains("weight_map") ||
      !(*json)["weight_map"].is_object())
    return Status::error(std::string("`weight_map` is missing; ") + writesAnew);
  std::map<std::string, std::vector<std::string>> byFile;
  for (const auto& [tensor, file] : (*json)["weight_map"].items()) {
    if (!file.is_string() || !isPlainName(file.get<std::string>()))
      return Status::error("the file of tensor `" + tensor +
                           "` is not a file name; " + writesAnew);
    byFile[file.get<std::string>()].push_back(tensor);
  }
  return byFile;
}

/// Checks that the index lists exactly the tensors of the file, so that no
/// tensor of the model is in two files or silently omitted.
Status checkIndexed(const SafetensorsFile& file,
                    const std::vector<std::string>& tensors) {
  const std::string name = "`" + file.path().filename().string() + "`";
  for (const std::string& tensor : tensors)
    if (!file.find(tensor))
      return Status::error("it puts tensor `" + tensor + "` into " + name +
                           ", which does not hold it; " + writesAnew);
  const std::set<std::string_view> listed(tensors.begin(), tensors.end());
  for (const StoredTensor& tensor : file.tensors())
    if (!listed.contains(tensor.name))
      return Status::error("it does not put tensor `" + tensor.name +
                           "` into " + name + ", which holds it; " +
                           writesAnew);
  return Status::ok();
}

Status noSafetensors(const std::filesystem::path& directory) {
  const Folder folder = lookAt(directory);
  if (folder.kind == FolderKind::missing)
    return Status::error(describeMissingModel(directory));
  if (folder.kind != FolderKind::model && folder.kind != FolderKind::other)
    return Status::error(describe(directory, folder));
  std::string message = "`" + directory.string() + "` holds neither `" +
                        singleName + "` nor `" + indexName + "`";
  if (isThere(directory / "pytorch_model.bin") ||
      isThere(directory / "pytorch_model.bin.index.json"))
    message += "; its `pytorch_model.bin` becomes one by transformers' "
               "`save_pretrained`";
  else
    message += "; name a folder that transformers' `save_pretrained` has "
               "written";
  return Status::error(message);
}

} // namespace

// ---- ModelFiles

Expected<ModelFiles> ModelFiles::open(const std::filesystem::path& directory) {
  ModelFiles model;
  model.folder = directory;
  if (isThere(directory / singleName)) {
    Expected<SafetensorsFile> file =
        SafetensorsFile::open(directory / singleName);
    RECIPERUN_TRY(file);
    model.files.push_back(*std::move(file));
    return model;
  }
  if (!isThere(directory / indexName))
    return noSafetensors(directory);
  RECIPERUN_TRY(model.openIndex(directory / indexName));
  return model;
}

Status ModelFiles::openIndex(const std::filesystem::path& index) {
  Expected<std::string> text = readTextFile(index);
  RECIPERUN_TRY(text);
  auto byFile = parseIndex(*text);
  RECIPERUN_TRY(byFile.status().withContext("`" + index.string() + "`"));
  for (const auto& [name, tensors] : *byFile) {
    Expected<SafetensorsFile> file = SafetensorsFile::open(folder / name);
    RECIPERUN_TRY(file);
    RECIPERUN_TRY(
        checkIndexed(*file, tensors).withContext("`" + index.string() + "`"));
    files.push_back(*std::move(file));
  }
  return Status::ok();
}

std::optional<ModelFiles::Place> ModelFiles::find(std::string_view name) const {
  for (const SafetensorsFile& file : files)
    if (const StoredTensor* tensor = file.find(name))
      return Place{&file, tensor};
  return std::nullopt;
}

std::vector<std::string> ModelFiles::names() const {
  std::vector<std::string> names;
  for (const SafetensorsFile& file : files)
    for (const StoredTensor& tensor : file.tensors())
      names.push_back(tensor.name);
  std::sort(names.begin(), names.end());
  return names;
}

// ---- ModelWriter

Expected<ModelWriter>
ModelWriter::create(const std::filesystem::path& directory,
                    std::vector<TensorSpec> specs, int64_t maxFileBytes) {
  ModelWriter writer;
  writer.folder = directory;
  RECIPERUN_TRY(checkSpecs(specs));
  // Greedy, like transformers: a part ends before the tensor that would exceed
  // the limit; a larger tensor gets a part of its own.
  int64_t bytes = 0;
  for (TensorSpec& spec : specs) {
    if (writer.parts.empty() ||
        (bytes > 0 && bytes + spec.bytes() > maxFileBytes)) {
      writer.parts.emplace_back();
      bytes = 0;
    }
    bytes += spec.bytes();
    writer.parts.back().specs.push_back(std::move(spec));
  }
  for (size_t i = 0; i < writer.parts.size(); ++i) {
    char name[64];
    std::snprintf(name, sizeof name, "model-%05zu-of-%05zu.safetensors", i + 1,
                  writer.parts.size());
    writer.parts[i].file = writer.parts.size() == 1 ? singleName : name;
  }
  if (!writer.parts.empty())
    RECIPERUN_TRY(writer.openPart());
  return writer;
}

Status ModelWriter::openPart() {
  const Part& part = parts[current];
  Expected<SafetensorsWriter> opened =
      SafetensorsWriter::create(folder / part.file, part.specs);
  RECIPERUN_TRY(opened);
  writer.emplace(*std::move(opened));
  remaining = 0;
  for (const TensorSpec& spec : part.specs)
    remaining += spec.bytes();
  return Status::ok();
}

Status ModelWriter::append(std::span<const std::byte> data) {
  if (data.empty())
    return Status::ok();
  if (remaining == 0 && current + 1 < parts.size()) {
    RECIPERUN_TRY(writer->finish());
    writer.reset();
    ++current;
    RECIPERUN_TRY(openPart());
  }
  if (!writer)
    return Status::error("there is data for no tensor");
  remaining -= static_cast<int64_t>(data.size());
  return writer->append(data);
}

Status ModelWriter::finish() {
  if (writer)
    RECIPERUN_TRY(writer->finish());
  writer.reset();
  return parts.size() > 1 ? writeIndex() : Status::ok();
}

Status ModelWriter::writeIndex() const {
  int64_t total = 0;
  Json map = Json::object();
  for (const Part& part : parts)
    for (const TensorSpec& spec : part.specs) {
      total += spec.bytes();
      map[spec.name] = part.file;
    }
  Json json = {{"metadata", {{"total_size", total}}}, {"weight_map", map}};
  return writeTextFile(folder / indexName, json.dump(2) + "\n");
}

} // namespace reciperun::checkpoint
