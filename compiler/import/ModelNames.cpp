// Names are compared by their letters and digits only, without the folder or
// package and without words that say nothing about the size: `Llama-2-7b-hf`
// and `llama2_7b` both become `llama27b`.

#include "compiler/import/ModelNames.h"

#include <cctype>
#include <string>

namespace recipec::importer {
namespace {

constexpr std::string_view emptyWords[] = {
    ".nemo", "instruct", "config", "base", "chat", "meta-", "-hf"};

std::string comparable(std::string_view name) {
  std::string text;
  for (const unsigned char character : name)
    text += char(std::tolower(character));
  for (const std::string_view word : emptyWords)
    if (const size_t at = text.find(word); at != text.npos)
      text.erase(at, word.size());
  std::erase_if(text, [](unsigned char each) { return !std::isalnum(each); });
  return text;
}

/// The name behind the last `/`, or behind the last `.` of a Python class.
std::string_view lastPart(std::string_view name) {
  if (const size_t slash = name.rfind('/'); slash != name.npos)
    return name.substr(slash + 1);
  const size_t dot = name.rfind('.');
  const bool isClass = dot != name.npos && dot + 1 < name.size() &&
                       std::isupper(static_cast<unsigned char>(name[dot + 1]));
  return isClass ? name.substr(dot + 1) : name;
}

} // namespace

std::optional<Model> modelCalled(std::string_view name,
                                 const std::vector<Model>& library) {
  const std::string wanted = comparable(lastPart(name));
  for (const Model& model : library)
    if (comparable(model.name) == wanted)
      return model;
  return std::nullopt;
}

std::optional<Model> requireModel(const std::string& name,
                                  const std::vector<Model>& library,
                                  SourceRange range, diag::Engine& engine) {
  auto model = modelCalled(name, library);
  if (!model)
    engine
        .report(diag::Kind::NotSupported, range,
                "the standard library has no model `" + name + "`")
        .help("`recipec doc models` lists its models; import the config.json "
              "of a model that has other sizes");
  return model;
}

} // namespace recipec::importer
