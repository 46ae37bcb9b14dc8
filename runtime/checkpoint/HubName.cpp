// See HubName.h.

#include "runtime/checkpoint/HubName.h"

#include "runtime/base/RemoteFiles.h"

#include <algorithm>
#include <cctype>
#include <system_error>

namespace reciperun::checkpoint {
namespace {

namespace fs = std::filesystem;

bool hasNameBytes(const std::string& name) {
  return !name.empty() && std::ranges::all_of(name, [](unsigned char c) {
    return std::isalnum(c) || c == '-' || c == '_' || c == '.' || c == '/';
  });
}

} // namespace

bool isHubName(const std::string& written, const fs::path& resolved) {
  if (!hasNameBytes(written) || written.starts_with("."))
    return false;
  const size_t slash = written.find('/');
  if (slash == written.npos)
    return written.find('.') == written.npos;
  std::error_code code;
  const bool hasTwoParts = slash > 0 && slash + 1 < written.size() &&
                           written.find('/', slash + 1) == written.npos;
  return hasTwoParts && !written.ends_with(".json") &&
         !fs::exists(resolved.parent_path(), code);
}

std::string downloadCommand(const std::string& name, const std::string& folder,
                            const std::string& file) {
  return "huggingface-cli download " + name + (file.empty() ? "" : " " + file) +
         " --local-dir " + folder;
}

std::string describeMissingModel(const fs::path& path) {
  const std::string name = path.string();
  std::string message = "there is no `" + name + "`";
  if (isAddress(path))
    return message;
  std::error_code code;
  const fs::path current = fs::current_path(code);
  if (path.is_relative() && !code)
    message += " in `" + current.string() + "`";
  if (name.starts_with("~"))
    message += "; the shell replaces `~` only where it is not quoted";
  if (isHubName(name, path))
    message += "; a model is a folder on this machine, and nothing is "
               "downloaded: get a model of the Hugging Face Hub by `" +
               downloadCommand(name, name) + "`";
  return message;
}

} // namespace reciperun::checkpoint
