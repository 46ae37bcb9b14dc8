// See InputPaths.h.

#include "runtime/train/InputPaths.h"

#include "runtime/data/FileHead.h"
#include "runtime/plan/Paths.h"

#include <filesystem>
#include <system_error>

namespace reciperun::train {
namespace {

namespace fs = std::filesystem;

/// Returns why the path cannot be read; empty when it can. Also empty when
/// `isMany` and the path is a pattern or a folder, which the data sources
/// resolve.
std::string whyUnreadable(const std::string& path, bool isMany) {
  if (isMany &&
      (path.find_first_of("*?[") != std::string::npos || isFolder(path)))
    return {};
  return data::whyNoFile(path);
}

} // namespace

std::string startOfRelative(const plan::Plan& plan,
                            const std::string& setting) {
  std::string text;
  size_t number = 0;
  plan::eachPath(plan, [&](const std::string&, const char* each) {
    const size_t index = number++;
    if (each != setting || index >= plan.writtenPaths.size())
      return;
    const std::string& written = plan.writtenPaths[index];
    if (written.starts_with("/") || isAddress(written))
      return;
    std::error_code code;
    fs::path start = fs::weakly_canonical(plan.folder, code);
    text = "; relative paths of the plan start in `" +
           (code ? plan.folder : start.string()) + "`";
    // A plan that was moved without its data.
    const bool isHere = fs::exists(written, code);
    text += isHere ? ", and the working folder has `" + written +
                         "`: start them there with `--folder=.`"
                   : ": `--folder=DIR` starts them elsewhere";
  });
  return text;
}

Status checkInputPaths(const plan::Plan& plan, bool trains) {
  Status failure;
  plan::eachPath(plan, [&](const std::string& path, const char* name) {
    const std::string setting = name;
    const bool isTokenizer = setting == "tokenizer";
    const bool isData =
        (trains && setting == "data.train") || setting == "data.valid";
    if (!failure.isOk() ||
        !(isData || (isTokenizer && plan::readsText(plan.data))))
      return;
    const auto& source =
        setting == "data.valid" ? plan.data.valid : plan.data.train;
    const std::string cause = whyUnreadable(
        path, isData && (source->kind == "blend" || !source->paths.empty()));
    if (!cause.empty())
      failure = Status::error("`" + setting + "`: cannot read `" + path +
                              "`: " + cause + startOfRelative(plan, setting));
  });
  return failure;
}

} // namespace reciperun::train
