// The contents of a checkpoint: its manifest.json.
//
// A checkpoint is a folder with safetensors files, one per writing rank, and
// this list of them. A parameter's weights and moments are pieces: runs of
// elements of a block of the whole tensor. The manifest is sufficient to locate
// any element, independent of the layout in which it was written. Amax
// histories (plan/AmaxHistories.h) are only useful to the rank that wrote them,
// in the same layout. They are in that rank's file, and the manifest does not
// list them.

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
/// The maximum size of a manifest in bytes.
inline constexpr int64_t manifestLimit = int64_t(2) << 30;

/// A run of elements in a file. Its tensor in the file is flat and named
/// `stateTensor(kind, parameter)`.
struct Piece {
  StateKind kind = StateKind::weight;
  ElementType type = ElementType::f32;
  int file = 0; // of Manifest::files
  std::vector<ShardLayout::Dim> block;
  int64_t first = 0; // index in the block
  int64_t count = 0;
};

/// The name of a state tensor: `weight/layers.0.q.weight`, `moment_m/...`,
/// `moment_v/...`; `history/` and the name of the buffer.
std::string stateTensor(StateKind kind, const std::string& name);
/// The kind in messages: `weights`, `first moments`, `second moments`.
std::string_view describe(StateKind kind);

/// A parameter: its name in plans, its shape, and its name and shape in Hugging
/// Face's layout (peft's for an adapter). A parameter from a Hugging Face
/// directory has the Hugging Face name for both.
struct SavedParameter {
  std::string name;
  std::vector<int64_t> shape;
  std::string hfName;
  std::vector<int64_t> hfShape;
  std::optional<plan::HfRows> hfRows; // as in plan::Parameter
  std::optional<plan::DType> type;    // when it is not SavedModel::compute
  bool adapter = false;
  int loraA = -1; // of Manifest::parameters
  int loraB = -1;
  double loraScale = 0;
  std::vector<Piece> pieces;
};

/// Converts a plan's parameter, without pieces; and back, unsharded on every
/// rank.
SavedParameter savedParameter(const plan::Parameter& parameter);
plan::Parameter parameterOf(const SavedParameter& saved);

/// The position of the run. All counts are since the beginning of the training.
struct Position {
  int64_t step = 0; // completed steps
  int64_t rows = 0; // rows of the data consumed before the next step
  int64_t globalBatch = 0;
  int64_t samples = 0; // `rows` without the empty ones of the last step
  double epoch = 0;
  int64_t dataSeed = 0;
  int64_t trainSeed = 0;
  int64_t epochRows = 0; // of the first epoch; -1 for endless data
};

/// The model without its tensors, as in plan::ModelExchange.
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
  std::string header; // hex text of its hash; empty in older checkpoints
};

/// A setting of the recipe that affects a run, and its value as text.
struct Setting {
  std::string name;
  std::string value;

  bool operator==(const Setting&) const = default;
};

/// The name of the setting with the hash of the tokenizer's file.
inline constexpr const char* tokenizerSetting = "tokenizer";

/// Identifies the files of one save: the job, by a random number that it draws
/// at its start, and the step.
struct SaveId {
  std::string run; // 16 hexadecimal digits; empty after a conversion
  int64_t step = 0;

  bool operator==(const SaveId&) const = default;
  /// The id as metadata of rank files; its size is the same for all steps.
  Metadata metadata() const;
};

struct Manifest {
  std::string recipe; // its name
  /// Numbers the checkpoints of a folder in the order in which they were saved.
  /// After a restart from an earlier one this differs from the order of steps.
  int64_t serial = 0;
  std::string run; // see SaveId; empty in older checkpoints
  Position position;
  std::optional<double> validLoss; // at this step
  std::vector<Setting> settings;   // of the run
  SavedModel model;
  std::vector<plan::Axis> mesh; // of the run; empty after a conversion
  std::vector<SavedFile> files;
  std::vector<SavedParameter> parameters;

  SaveId saveId() const { return {run, position.step}; }
  /// Whether a run with this mesh wrote it.
  bool wasWrittenBy(const plan::Mesh& run) const;
  /// Whether it has the moments from which an optimizer resumes.
  bool hasMoments() const;
};

std::string toJson(const Manifest& manifest);

/// Fails, with the cause, for text that is damaged or of another version: the
/// checksum does not match, numbers are out of range, blocks exceed their
/// tensors, pieces exceed their blocks, or names leave the folder.
Expected<Manifest> parseManifest(std::string_view json);

/// Whether a text that parseManifest refuses is a manifest of another version,
/// which another version of this program may read.
bool isOfAnotherVersion(std::string_view json);

/// Compares the sizes of the files in a folder with the manifest's.
Status checkFiles(const Manifest& manifest,
                  const std::filesystem::path& folder);

/// Checks that an open file is the one in the manifest: of this save, with this
/// header, which in turn has the checksums of its data.
Status checkFile(const Manifest& manifest, const SavedFile& file,
                 const SafetensorsFile& opened);

/// Adds the hashes of the headers of a folder's files to the manifest. Fails
/// when a file is of another save.
Status sealFiles(Manifest& manifest, const std::filesystem::path& folder);

/// Reads the manifest of a checkpoint and checks the sizes of its files. Errors
/// name the file.
Expected<Manifest> readManifest(const std::filesystem::path& checkpoint);

} // namespace reciperun::checkpoint

#endif // RECIPERUN_CHECKPOINT_MANIFEST_H
