// Names in a manifest, conversion of parameters from and to plans, and
// comparison with the checkpoint's files.

#include "runtime/checkpoint/Manifest.h"

#include "runtime/checkpoint/Files.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>

namespace reciperun::checkpoint {
namespace {

const char* prefixOf(StateKind kind) {
  switch (kind) {
  case StateKind::weight:
    return "weight/";
  case StateKind::momentM:
    return "moment_m/";
  case StateKind::momentV:
    return "moment_v/";
  case StateKind::history:
    return "history/";
  }
  return "";
}

/// A step without leading zeros.
std::string stepText(const std::string& digits) {
  const size_t first = digits.find_first_not_of('0');
  return first == std::string::npos ? "0" : digits.substr(first);
}

constexpr const char* runName = "run";
constexpr const char* stepName = "step";

/// Checks that a rank's file is of the manifest's save.
Status checkSave(const Manifest& manifest, const SafetensorsFile& file) {
  const Metadata wanted = manifest.saveId().metadata();
  auto textOf = [&](const char* name) {
    const auto found = file.metadata().find(name);
    return found == file.metadata().end() ? std::string() : found->second;
  };
  const std::string place = "`" + file.path().string() + "` is of another ";
  const std::string run = textOf(runName), step = textOf(stepName);
  if (run != manifest.run)
    return Status::error(place + "run than the manifest: `" + run +
                         "`, which is `" + manifest.run + "` there");
  if (step != wanted.at(stepName))
    return Status::error(place + "step than the manifest: " + stepText(step) +
                         ", which is " + stepText(wanted.at(stepName)) +
                         " there");
  return Status::ok();
}

/// Copies the fields that both types have.
template <class From, class To> void copyDescription(const From& from, To& to) {
  to.name = from.name;
  to.hfName = from.hfName;
  to.hfShape = from.hfShape;
  to.hfRows = from.hfRows;
  to.type = from.type;
  to.adapter = from.adapter;
  to.loraA = from.loraA;
  to.loraB = from.loraB;
  to.loraScale = from.loraScale;
}

} // namespace

std::string stateTensor(StateKind kind, const std::string& name) {
  return prefixOf(kind) + name;
}

std::string_view describe(StateKind kind) {
  switch (kind) {
  case StateKind::weight:
    return "weights";
  case StateKind::momentM:
    return "first moments";
  case StateKind::momentV:
    return "second moments";
  case StateKind::history:
    return "histories";
  }
  return "";
}

SavedParameter savedParameter(const plan::Parameter& parameter) {
  SavedParameter saved;
  copyDescription(parameter, saved);
  saved.shape = parameter.globalShape;
  return saved;
}

plan::Parameter parameterOf(const SavedParameter& saved) {
  plan::Parameter parameter;
  copyDescription(saved, parameter);
  parameter.globalShape = saved.shape;
  parameter.shardAxes.resize(saved.shape.size());
  return parameter;
}

bool Manifest::wasWrittenBy(const plan::Mesh& run) const {
  return std::ranges::equal(mesh, run.axes,
                            [](const plan::Axis& a, const plan::Axis& b) {
                              return a.name == b.name && a.size == b.size;
                            });
}

bool Manifest::hasMoments() const {
  return std::any_of(
      parameters.begin(), parameters.end(), [](const SavedParameter& each) {
        return std::any_of(
            each.pieces.begin(), each.pieces.end(),
            [](const Piece& piece) { return piece.kind != StateKind::weight; });
      });
}

Status checkFiles(const Manifest& manifest,
                  const std::filesystem::path& folder) {
  FileSizes sizes(folder);
  for (const SavedFile& file : manifest.files) {
    const std::filesystem::path path = folder / file.name;
    const auto bytes = sizes.of(file.name);
    RECIPERUN_TRY(bytes);
    if (!*bytes)
      return systemError("read", path, ENOENT);
    if (**bytes != file.bytes)
      return Status::error(
          "`" + path.string() + "` has " + std::to_string(**bytes) +
          " bytes, the manifest says " + std::to_string(file.bytes));
  }
  return Status::ok();
}

Metadata SaveId::metadata() const {
  char digits[32];
  std::snprintf(digits, sizeof digits, "%019lld", static_cast<long long>(step));
  return {{runName, run}, {stepName, digits}};
}

Status checkFile(const Manifest& manifest, const SavedFile& file,
                 const SafetensorsFile& opened) {
  if (file.header.empty() || opened.headerHash().text() == file.header)
    return Status::ok();
  RECIPERUN_TRY(checkSave(manifest, opened));
  return Status::error("`" + opened.path().string() +
                       "` is damaged: its header is not the one that was "
                       "written (checksum)");
}

Status sealFiles(Manifest& manifest, const std::filesystem::path& folder) {
  for (SavedFile& file : manifest.files) {
    Expected<SafetensorsFile> opened =
        SafetensorsFile::open(folder / file.name);
    RECIPERUN_TRY(opened);
    RECIPERUN_TRY(checkSave(manifest, *opened));
    file.header = opened->headerHash().text();
  }
  return Status::ok();
}

Expected<Manifest> readManifest(const std::filesystem::path& checkpoint) {
  std::filesystem::path path = checkpoint / manifestName;
  Expected<std::string> text = readTextFile(path, manifestLimit);
  RECIPERUN_TRY(text);
  Expected<Manifest> manifest = parseManifest(*text);
  RECIPERUN_TRY(manifest.status().withContext("`" + path.string() + "`"));
  RECIPERUN_TRY(checkFiles(*manifest, checkpoint));
  return manifest;
}

} // namespace reciperun::checkpoint
