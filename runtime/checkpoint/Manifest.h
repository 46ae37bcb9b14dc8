// What a checkpoint holds and where: its manifest.json.
//
// A checkpoint is a folder with safetensors files, one a rank that wrote, and
// this list of them. A parameter's weights and moments are pieces: runs of
// elements of a block of the whole tensor. Whoever reads needs the manifest
// alone to know where any element lies, whatever layout it was written in.
// Histories (plan/Histories.h) serve nobody but the rank that wrote them, in
// the same layout: they are in its file, and the manifest does not list them.

#ifndef RECIPERUN_CHECKPOINT_MANIFEST_H
#define RECIPERUN_CHECKPOINT_MANIFEST_H

#include "runtime/base/Status.h"
#include "runtime/checkpoint/Elements.h"
#include "runtime/checkpoint/Safetensors.h"
#include "runtime/checkpoint/ShardLayout.h"
#include "runtime/checkpoint/StateShards.h"
#include "runtime/plan/Plan.h"

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace reciperun::checkpoint {

/// A manifest of another version is refused.
inline constexpr int manifestVersion = 1;
inline constexpr const char* manifestName = "manifest.json";
/// No manifest has more bytes.
inline constexpr int64_t manifestLimit = int64_t(2) << 30;

/// A run of elements in a file. Its tensor there is flat and bears the name
/// `stateTensor(kind, parameter)`.
struct Piece {
  StateKind kind = StateKind::weight;
  ElementType type = ElementType::f32;
  int file = 0; // of Manifest::files
  std::vector<ShardLayout::Dim> block;
  int64_t first = 0; // of the block's elements
  int64_t count = 0;
};

/// `weight/layers.0.q.weight`, `moment_m/...`, `moment_v/...`; `history/` and
/// the name of the buffer.
std::string stateTensor(StateKind kind, const std::string& name);
/// `weights`, `first moments`, `second moments`.
std::string_view describe(StateKind kind);

/// The name under which plans know a parameter, its shape, and the name and
/// shape that Hugging Face (peft for an adapter) knows it by. One that came
/// from a Hugging Face directory has the latter's name for both.
struct SavedParameter {
  std::string name;
  std::vector<int64_t> shape;
  std::string hfName;
  std::vector<int64_t> hfShape;
  std::optional<plan::HfRows> hfRows; // as plan::Parameter has them
  std::optional<plan::DType> type;    // where it is not SavedModel::compute
  bool adapter = false;
  int loraA = -1; // of Manifest::parameters
  int loraB = -1;
  double loraScale = 0;
  std::vector<Piece> pieces;
};

/// A plan's parameter, as yet without pieces; and back, whole on every rank.
SavedParameter savedParameter(const plan::Parameter& parameter);
plan::Parameter parameterOf(const SavedParameter& saved);

/// Where the run stood. All counts are from the beginning of the training.
struct Position {
  int64_t step = 0; // steps that are over
  int64_t rows = 0; // of the data's stream: where the next step begins
  int64_t globalBatch = 0;
  int64_t samples = 0; // rows without the empty ones of the last step
  double epoch = 0;
  int64_t dataSeed = 0;
  int64_t trainSeed = 0;
  int64_t epochRows = 0; // of the first epoch; -1 where the data has no end
};

/// The model apart from its tensors, as plan::ModelExchange has it.
struct SavedModel {
  plan::DType compute = plan::DType::f32;
  std::string config;
  std::string generationConfig;
  std::string adapterConfig;
  std::string generation; // plan::Plan::generation
  int64_t bosToken = -1;
  int64_t eosToken = -1;
};

struct SavedFile {
  std::string name;
  int64_t bytes = 0;
  std::string header; // the text of its hash; empty in older checkpoints
};

/// A setting of the recipe that a run goes by, and its value as text.
struct Setting {
  std::string name;
  std::string value;

  bool operator==(const Setting&) const = default;
};

/// The setting that is the hash of the tokenizer's file.
inline constexpr const char* tokenizerSetting = "tokenizer";

/// What tells the files of one save from those of any other: the job, by a
/// number that each job draws at random, and the step.
struct SaveId {
  std::string run; // 16 hexadecimal digits; empty behind a conversion
  int64_t step = 0;

  bool operator==(const SaveId&) const = default;
  /// As rank files have it in their metadata; of one size for all steps.
  Metadata metadata() const;
};

struct Manifest {
  std::string recipe; // its name
  /// Counts the checkpoints of a folder in the order in which they were saved,
  /// which after a start from an earlier one is not that of their steps.
  int64_t serial = 0;
  std::string run; // see SaveId; empty in older checkpoints
  Position position;
  std::optional<double> validLoss; // at this very step
  std::vector<Setting> settings;   // of the run
  SavedModel model;
  std::vector<plan::Axis> mesh; // of the run; empty behind a conversion
  std::vector<SavedFile> files;
  std::vector<SavedParameter> parameters;

  SaveId saveId() const { return {run, position.step}; }
  /// Whether the run that wrote it was of this mesh.
  bool wasWrittenBy(const plan::Mesh& run) const;
  /// Whether it holds what an optimizer goes on from.
  bool hasMoments() const;
};

std::string toJson(const Manifest& manifest);

/// Fails, with what is wrong, for text that is damaged or of another version:
/// another checksum than it states, numbers out of range, blocks outside of
/// their tensors, pieces outside of their blocks, names that leave the folder.
Expected<Manifest> parseManifest(std::string_view json);

/// Whether a text that parseManifest refuses is a manifest of another version,
/// which another program may read.
bool isOfAnotherVersion(std::string_view json);

/// Compares the sizes of the files in a folder with the manifest's.
Status checkFiles(const Manifest& manifest,
                  const std::filesystem::path& folder);

/// Whether an open file is the one that the manifest lists: of this save, with
/// this header, which in turn has the checksums of its data.
Status checkFile(const Manifest& manifest, const SavedFile& file,
                 const SafetensorsFile& opened);

/// Takes the hashes of the headers of a folder's files into the manifest, when
/// all are of its save.
Status sealFiles(Manifest& manifest, const std::filesystem::path& folder);

/// Reads the manifest of a checkpoint and compares the sizes of its files.
/// Errors name the file.
Expected<Manifest> readManifest(const std::filesystem::path& checkpoint);

} // namespace reciperun::checkpoint

#endif // RECIPERUN_CHECKPOINT_MANIFEST_H
