// A Hugging Face directory as a checkpoint of one file: 1. list its tensors
// without those that can be ignored; 2. stream each as a piece in its stored
// type; 3. put config.json into the manifest.

#include "runtime/checkpoint/Convert.h"

#include "runtime/base/SamePlace.h"
#include "runtime/checkpoint/ExportDirectory.h"
#include "runtime/checkpoint/Files.h"
#include "runtime/checkpoint/FiniteCheck.h"
#include "runtime/checkpoint/FolderKind.h"
#include "runtime/checkpoint/HubName.h"
#include "runtime/checkpoint/HuggingFaceCheck.h"
#include "runtime/checkpoint/Manifest.h"
#include "runtime/checkpoint/ModelConfig.h"
#include "runtime/checkpoint/ModelFiles.h"
#include "runtime/checkpoint/TokenizerFiles.h"
#include "runtime/plan/Mesh.h"
#include "runtime/plan/PlanJson.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>

namespace reciperun::checkpoint {
namespace {

namespace fs = std::filesystem;

constexpr int64_t localPiece = int64_t(1) << 20;   // bytes
constexpr int64_t remotePiece = int64_t(16) << 20; // each is a request
constexpr const char* fileName = "rank-00000.safetensors";

/// The contents of an optional file, empty when it is absent. A dangling link
/// is an unreadable file.
Expected<std::string> textIfThere(const fs::path& path) {
  if (isAbsent(path))
    return std::string();
  Expected<std::string> text = readTextFile(path);
  if (text && text->empty())
    return Status::error("`" + path.string() +
                         "` is empty; copy or download it again");
  return text;
}

Status isConfig(std::string_view text) {
  return checkpoint::parseModelConfig(text).status();
}

Status isPlan(std::string_view text) {
  return plan::fromJson(text).status();
}

/// The narrowest compute type that represents a tensor exactly.
plan::DType computeType(ElementType type) {
  return type == ElementType::bf16  ? plan::DType::bf16
         : type == ElementType::f64 ? plan::DType::f64
                                    : plan::DType::f32;
}

/// The compute type of a model is that of most of its elements; tensors of
/// another type keep theirs.
void setTypes(Manifest& manifest) {
  std::map<plan::DType, int64_t> elements;
  auto typeOf = [](const SavedParameter& saved) {
    return computeType(saved.pieces[0].type);
  };
  for (const SavedParameter& saved : manifest.parameters)
    elements[typeOf(saved)] += plan::elementCount(saved.shape);
  auto most = std::max_element(
      elements.begin(), elements.end(),
      [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most != elements.end())
    manifest.model.compute = most->first;
  for (SavedParameter& saved : manifest.parameters)
    if (typeOf(saved) != manifest.model.compute)
      saved.type = typeOf(saved);
}

class Conversion {
public:
  Conversion(ModelFiles model, const ConvertOptions& options)
      : model(std::move(model)), options(options) {}

  Status describe();
  Status write(const fs::path& folder);

private:
  std::vector<ModelFiles::Place> tensors() const;
  Status describeTensor(const ModelFiles::Place& place);
  Status stream(SafetensorsWriter& writer, const ModelFiles::Place& place);

  ModelFiles model;
  const ConvertOptions& options;
  Manifest manifest;
  std::vector<TensorSpec> specs;
  HeaderNotes notes;
  std::vector<ModelFiles::Place> places; // of the specs
};

/// The tensors in the order of their data, which the output keeps.
std::vector<ModelFiles::Place> Conversion::tensors() const {
  std::vector<ModelFiles::Place> found;
  for (const std::string& name : model.names())
    found.push_back(*model.find(name));
  std::sort(found.begin(), found.end(),
            [](const ModelFiles::Place& a, const ModelFiles::Place& b) {
              return a.file != b.file ? a.file->path() < b.file->path()
                                      : a.tensor->begin < b.tensor->begin;
            });
  return found;
}

Status Conversion::describeTensor(const ModelFiles::Place& place) {
  const std::string& name = place.tensor->name;
  std::optional<ElementType> type = findElementType(place.tensor->dtype);
  if (!type)
    return Status::error("`" + place.file->path().string() + "`: tensor `" +
                         name + "` has dtype `" + place.tensor->dtype +
                         "`, expected `F32`, `BF16`, `F16` or `F64`");
  SavedParameter saved;
  saved.name = saved.hfName = name;
  saved.shape = saved.hfShape = place.tensor->shape;
  int64_t elements = plan::elementCount(saved.shape);
  if (elements == 0)
    return Status::error("`" + place.file->path().string() + "`: tensor `" +
                         name + "` of shape " + shapeText(saved.shape) +
                         " is empty");
  Piece piece;
  piece.type = *type;
  for (int64_t size : saved.shape)
    piece.block.push_back({size, size, 0});
  piece.count = elements;
  saved.pieces.push_back(std::move(piece));
  manifest.parameters.push_back(std::move(saved));
  specs.push_back(
      {stateTensor(StateKind::weight, name), place.tensor->dtype, {elements}});
  places.push_back(place);
  return Status::ok();
}

Status Conversion::describe() {
  const fs::path& directory = model.directory();
  SavedModel& saved = manifest.model;
  struct Text {
    const char* file;
    std::string& text;
    Status (*check)(std::string_view text);
  };
  for (const Text& each :
       {Text{"config.json", saved.config, isConfig},
        Text{"generation_config.json", saved.generationConfig, isConfig},
        Text{"generate.plan.json", saved.generation, isPlan}}) {
    const fs::path path = directory / each.file;
    Expected<std::string> text = textIfThere(path);
    RECIPERUN_TRY(text);
    if (!text->empty())
      RECIPERUN_TRY(each.check(*text).withContext("`" + path.string() + "`"));
    each.text = *std::move(text);
  }
  if (saved.config.empty())
    return Status::error("`" + directory.string() +
                         "` has no config.json; copy that of the model there");
  for (const ModelFiles::Place& place : tensors()) {
    if (isIgnorableTensor(place.tensor->name, saved.config))
      continue;
    RECIPERUN_TRY(describeTensor(place));
  }
  RECIPERUN_TRY(checkSpecs(specs).withContext("`" + directory.string() + "`"));
  setTypes(manifest);
  manifest.recipe = directory.filename().string();
  manifest.serial = 1;
  notes = {manifest.saveId().metadata(), /*hasChecksums=*/true};
  manifest.files.push_back({fileName, safetensorsBytes(specs, notes), {}});
  return Status::ok();
}

Status Conversion::stream(SafetensorsWriter& writer,
                          const ModelFiles::Place& place) {
  const int64_t pieceBytes = place.file->isRemote() ? remotePiece : localPiece;
  std::vector<std::byte> piece(static_cast<size_t>(pieceBytes));
  const ElementType type = *findElementType(place.tensor->dtype);
  FiniteCheck finite;
  int64_t bytes = place.tensor->end - place.tensor->begin;
  for (int64_t done = 0; done < bytes; done += pieceBytes) {
    auto next =
        std::span(piece).first(size_t(std::min(pieceBytes, bytes - done)));
    RECIPERUN_TRY(options.goesOn ? options.goesOn() : Status::ok());
    RECIPERUN_TRY(place.file->read(*place.tensor, done, next));
    finite.look(type, next, done / byteSize(type));
    RECIPERUN_TRY(writer.append(next));
  }
  return finite.outcome(place.tensor->name, place.tensor->shape)
      .withContext("`" + place.file->path().string() + "`");
}

Status Conversion::write(const fs::path& folder) {
  auto writer = SafetensorsWriter::create(folder / fileName, specs, notes);
  RECIPERUN_TRY(writer);
  for (const ModelFiles::Place& place : places)
    RECIPERUN_TRY(stream(*writer, place));
  RECIPERUN_TRY(writer->finish());
  RECIPERUN_TRY(sealFiles(manifest, folder));
  plan::Data data;
  if (fs::path tokenizer = model.directory() / "tokenizer.json";
      !isAbsent(tokenizer))
    data.tokenizer = tokenizer.string();
  RECIPERUN_TRY(writeTokenizerFiles(data, folder));
  return writeTextFile(folder / manifestName, toJson(manifest));
}

/// Whether a path, with links resolved, lies in a folder. The path need not
/// exist.
bool isBelow(const fs::path& path, const fs::path& folder) {
  if (isAddress(path) != isAddress(folder))
    return false;
  if (isAddress(path))
    return path.string().starts_with((folder / "").string());
  std::error_code code;
  fs::path above = fs::weakly_canonical(fs::absolute(path, code), code);
  while (above.has_relative_path()) {
    above = above.parent_path();
    if (fs::equivalent(above, folder, code))
      return true;
  }
  return false;
}

} // namespace

Expected<Form> formOf(const fs::path& path) {
  RECIPERUN_TRY(checkListable(path));
  if (isThere(path / manifestName))
    return Form::checkpoint;
  for (const char* name : {"model.safetensors", "model.safetensors.index.json"})
    if (isThere(path / name))
      return Form::huggingFace;
  const Folder folder = lookAt(path);
  if (folder.kind == FolderKind::missing)
    return Status::error(describeMissingModel(path));
  std::string message = describe(path, folder);
  if (folder.kind == FolderKind::adapter)
    message += ": " + instead(path, "convert");
  else if (folder.kind == FolderKind::model)
    message += ", which has no `model.safetensors` and no index of such files";
  else if (!folder.newest.empty())
    message += ": convert that";
  else if (folder.kind == FolderKind::run)
    message += ": " + howToSave();
  else
    message += ": name a checkpoint, which has a `manifest.json`, or a Hugging "
               "Face directory, which has a `model.safetensors` or its index";
  return Status::error(message);
}

Status checkApart(const fs::path& source, const fs::path& target) {
  const std::string to = "`" + target.string() + "`",
                    from = "`" + source.string() + "`";
  const std::string remedy = "; name another folder to write to";
  if (isSamePlace(source, target))
    return Status::error("the target " + to + " is the source itself" + remedy);
  if (isBelow(target, source))
    return Status::error("the target " + to + " lies in the source " + from +
                         remedy);
  if (isBelow(source, target))
    return Status::error("the source " + from + " lies in the target " + to +
                         remedy);
  Expected<std::vector<fs::path>> entries = entriesOf(source);
  RECIPERUN_TRY(entries);
  for (const fs::path& entry : *entries)
    if (isBelow(entry, target))
      return Status::error("`" + entry.string() +
                           "` of the source is a link into the target " + to +
                           remedy);
  return Status::ok();
}

Status huggingFaceToCheckpoint(const fs::path& directory,
                               const fs::path& checkpoint,
                               const ConvertOptions& options) {
  Expected<ModelFiles> model = ModelFiles::open(directory);
  RECIPERUN_TRY(model);
  Conversion conversion(*std::move(model), options);
  RECIPERUN_TRY(conversion.describe());
  Expected<ExportDirectory> output = ExportDirectory::create(
      checkpoint, Contents::checkpoint, options.existing);
  RECIPERUN_TRY(output);
  RECIPERUN_TRY(conversion.write(output->path()));
  return output->commit();
}

} // namespace reciperun::checkpoint
