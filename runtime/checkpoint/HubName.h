// Detects names of models on the Hugging Face Hub that users give in place of a
// folder. Nothing is downloaded; messages say how to download the model.

#ifndef RECIPERUN_CHECKPOINT_HUBNAME_H
#define RECIPERUN_CHECKPOINT_HUBNAME_H

#include <filesystem>
#include <string>

namespace reciperun::checkpoint {

/// Whether `written`, a path that does not exist, looks like a name on the
/// Hub: `organisation/model`, where the working folder has no `organisation`,
/// or the single word of the oldest models, such as `gpt2`. `resolved` is the
/// same path from the working folder.
bool isHubName(const std::string& written,
               const std::filesystem::path& resolved);

/// The command that downloads a model of the Hub, or with `file` one file of
/// it, to a folder.
std::string downloadCommand(const std::string& name, const std::string& folder,
                            const std::string& file = {});

/// The error for a model's folder that does not exist. It says in which folder
/// the path was searched, and how to download a model of this name.
std::string describeMissingModel(const std::filesystem::path& path);

} // namespace reciperun::checkpoint

#endif // RECIPERUN_CHECKPOINT_HUBNAME_H
