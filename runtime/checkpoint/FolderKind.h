// Tells what a path is, among the folders that commands and recipes name: a
// run, its folder of checkpoints, a checkpoint, an exported model, an adapter.
// A user easily names one of them for another, so that every message about a
// wrong one says what it is and which path is meant.

#ifndef RECIPERUN_CHECKPOINT_FOLDERKIND_H
#define RECIPERUN_CHECKPOINT_FOLDERKIND_H

#include <filesystem>
#include <string>

namespace reciperun::checkpoint {

enum class FolderKind {
  missing,
  file,
  checkpoint,  // has a manifest.json
  checkpoints, // has folders `step-...` that are checkpoints
  run,         // has such a folder `checkpoints`, or a plan and metrics
  adapter,     // peft's adapter_config.json
  model,       // what an export or Hugging Face writes
  other
};

struct Folder {
  FolderKind kind = FolderKind::missing;
  /// The most recently saved checkpoint of a run or a folder of checkpoints;
  /// empty when there is none. It begins with the path that was looked at.
  std::filesystem::path newest;
};

Folder lookAt(const std::filesystem::path& path);

/// Says what the path is, with the checkpoint that a folder holds: "`runs/a`
/// is the folder of a run, whose last checkpoint is
/// `runs/a/checkpoints/step-00000002`".
std::string describe(const std::filesystem::path& path, const Folder& folder);

/// Which folder to use in place of an adapter without its model: the model
/// that an export wrote above it, or one that peft merges. `verb` is what is
/// done with the folder: "name", "convert".
std::string instead(const std::filesystem::path& adapter,
                    const std::string& verb);

/// How a run comes to have a checkpoint, for the message about one that has
/// none: "wait for ...".
std::string howToSave();

} // namespace reciperun::checkpoint

#endif // RECIPERUN_CHECKPOINT_FOLDERKIND_H
