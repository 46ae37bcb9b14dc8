// Classifies the paths that commands and recipes name: a run, its folder of
// checkpoints, a checkpoint, an exported model, an adapter. Users easily
// confuse these, so every message about a wrong path says what it is and which
// path to use instead.

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

/// Describes a path, including the last checkpoint in a folder: "`runs/a` is
/// the folder of a run, whose last checkpoint is
/// `runs/a/checkpoints/step-00000002`".
std::string describe(const std::filesystem::path& path, const Folder& folder);

/// Which folder to use instead of an adapter without its model: the model that
/// an export wrote to the parent folder, or the result of merging with peft.
/// `verb` is what the user does with the folder: "name", "convert".
std::string instead(const std::filesystem::path& adapter,
                    const std::string& verb);

/// How to get a checkpoint from a run that has none, for messages: "wait for
/// ...".
std::string howToSave();

} // namespace reciperun::checkpoint

#endif // RECIPERUN_CHECKPOINT_FOLDERKIND_H
