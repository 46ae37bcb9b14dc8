// See Place.h.

#include "compiler/files/Place.h"
#include "runtime/base/Shell.h"

#include "runtime/checkpoint/FolderKind.h"
#include "runtime/checkpoint/HubName.h"
#include "runtime/plan/Paths.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <vector>

namespace recipec::files {
namespace {

/// The maximum number of names that a help lists.
constexpr size_t mostListed = 6;

namespace fs = std::filesystem;

/// The maximum number of a folder's names that are compared with a misspelt
/// one.
constexpr size_t mostNames = 4096;

constexpr const char* tokenizerName = "tokenizer.json";

std::vector<std::string> namesIn(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code code;
  for (fs::directory_iterator at(folder, code), end;
       !code && at != end && names.size() < mostNames; at.increment(code))
    names.push_back(at->path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

/// The first part of a path that does not exist, and its folder.
struct Gap {
  fs::path above;   // the existing part
  std::string name; // the missing part
  fs::path below;   // the rest of the path
};

Gap gapOf(const fs::path& path) {
  Gap gap;
  std::error_code code;
  for (auto part = path.begin(); part != path.end(); ++part) {
    if (!gap.name.empty())
      gap.below /= *part;
    else if (fs::exists(gap.above / *part, code))
      gap.above /= *part;
    else
      gap.name = part->string();
  }
  if (gap.above.empty())
    gap.above = ".";
  return gap;
}

/// The extensions of the files that a setting takes.
std::vector<std::string_view> endingsOf(const std::string& setting) {
  if (setting.starts_with("data."))
    return {".bin", ".npy", ".jsonl", ".txt"};
  if (setting == "tokenizer")
    return {".json"};
  return {};
}

/// The existing files that a path with a missing or wrong extension may mean:
/// `corpus.bin` and `corpus_document.bin` for `corpus`.
std::vector<std::string> withOtherEnding(const Place& place) {
  const fs::path resolved = place.resolved;
  const std::string stem = resolved.stem().string();
  std::vector<std::string> found;
  std::error_code code;
  if (isPattern(place.resolved) || stem.empty() ||
      !fs::is_directory(resolved.parent_path().empty() ? fs::path(".")
                                                       : resolved.parent_path(),
                        code))
    return found;
  // `train.json` may mean `train.jsonl`, but not `train.bin`.
  const std::string own = resolved.extension().string();
  auto isNearEnding = [&](std::string_view ending) {
    return own.empty() || ending.starts_with(own) ||
           own.starts_with(std::string(ending));
  };
  const std::vector<std::string> names = namesIn(
      resolved.parent_path().empty() ? fs::path(".") : resolved.parent_path());
  for (const std::string_view ending : endingsOf(place.setting))
    for (const std::string& name : names)
      if (name.ends_with(ending) && isNearEnding(ending) &&
          name != resolved.filename() &&
          (name == stem + std::string(ending) ||
           (resolved.extension().empty() && name.starts_with(stem + "_"))))
        found.push_back(
            (fs::path(place.written).parent_path() / name).string());
  return found;
}

/// Finds the string `text` in a value, its list elements, and the fields of a
/// source or blend.
const recipe::Value* find(const recipe::Value& value, const std::string& text) {
  if (const auto* string = std::get_if<std::string>(&value.data))
    return *string == text ? &value : nullptr;
  if (const auto* list = std::get_if<recipe::List>(&value.data))
    for (const recipe::Value& each : *list)
      if (const recipe::Value* found = find(each, text))
        return found;
  if (const auto* record = std::get_if<recipe::Record>(&value.data))
    for (const char* field :
         {"path", "sources", "messages", "prompt", "completion", "separator"})
      if (const recipe::Value* inner = record->find(field))
        if (const recipe::Value* found = find(*inner, text))
          return found;
  return nullptr;
}

std::string absolute(const std::string& folder) {
  std::error_code code;
  fs::path found = fs::weakly_canonical(fs::absolute(folder, code), code);
  return code ? folder : found.string();
}

/// Adds a help that lists the folder that was searched, or the path's own
/// contents if it is a folder.
void tellFolder(diag::Builder& builder, const Place& place) {
  Gap gap = gapOf(place.resolved);
  std::error_code code;
  if (gap.name.empty() && !fs::is_directory(gap.above, code))
    return;
  std::string above = absolute(gap.above.string());
  std::vector<std::string> names = namesIn(gap.above);
  std::erase_if(names,
                [](const std::string& name) { return name.starts_with("."); });
  if (names.empty())
    builder.help("the folder `" + above + "` is empty");
  else
    builder.help("the folder `" + above + "` holds " +
                 diag::quotedList(names, mostListed));
}

/// Whether the path begins with `~`, as in `~/data` or `~name/data`.
bool isOfHome(const std::string& path) {
  return path.starts_with("~");
}

void tellHome(diag::Builder& builder, const Place& place) {
  const char* home = std::getenv("HOME");
  bool isOwn = place.written == "~" || place.written.starts_with("~/");
  std::string text = "`~` is not expanded in a recipe: write the whole path";
  if (!home || !isOwn) {
    builder.help(text);
    return;
  }
  std::string whole = home + place.written.substr(1);
  std::error_code code;
  builder.help(text + ", `" + whole + "`" +
               (fs::exists(whole, code) ? "" : ", which does not exist yet"));
}

/// Whether the path looks like a name on the Hugging Face Hub. Only models have
/// names of a single word there.
bool isHubName(const Place& place) {
  const bool isModel =
      place.setting == "tokenizer" || place.setting == "weights";
  return (isModel || place.written.find('/') != std::string::npos) &&
         reciperun::checkpoint::isHubName(place.written, place.resolved);
}

/// Adds a help with a download command to the path in the recipe, so that the
/// recipe need not change.
void tellHub(diag::Builder& builder, const Place& place) {
  bool isTokenizer = place.setting == "tokenizer";
  std::string get = reciperun::checkpoint::downloadCommand(
      place.written, absolute(place.resolved),
      isTokenizer ? tokenizerName : "");
  builder.help("`" + place.setting + "` is a " +
               (isTokenizer ? "file `tokenizer.json`" : "folder") +
               " on this machine, and nothing is downloaded: get a model of "
               "the Hugging Face Hub by `" +
               get + "`" +
               (isTokenizer ? " and write `tokenizer = \"" + place.written +
                                  "/tokenizer.json\"`"
                            : ""));
}

/// Whether the tokenizer is named like an encoding of tiktoken. `gpt2` is not
/// in the list because it is also a model on the Hub.
bool isTiktoken(const Place& place) {
  constexpr std::string_view encodings[] = {"cl100k_base",   "o200k_base",
                                            "o200k_harmony", "p50k_base",
                                            "p50k_edit",     "r50k_base"};
  return place.setting == "tokenizer" &&
         std::find(std::begin(encodings), std::end(encodings), place.written) !=
             std::end(encodings);
}

/// Whether the path of a data set looks like its name on the Hugging Face Hub.
bool isHubDataSet(const Place& place) {
  return place.setting.starts_with("data.") &&
         fs::path(place.written).extension().empty() && isHubName(place);
}

void tellHubDataSet(diag::Builder& builder, const Place& place) {
  builder.help(
      "`" + place.setting +
      "` is a file on this machine, and nothing is downloaded: get a "
      "data set of the Hugging Face Hub by `huggingface-cli download " +
      place.written + " --repo-type dataset --local-dir " +
      absolute(place.resolved) +
      "`, write its rows as one JSON object a line, and name that "
      "file");
}

/// Whether the path is a folder that holds `tokenizer.json`.
bool isTokenizerFolder(const Place& place) {
  std::error_code code;
  return place.setting == "tokenizer" &&
         fs::is_regular_file(fs::path(place.resolved) / tokenizerName, code);
}

/// Whether the path of a tokenizer is a folder with other tokenizer or model
/// files.
bool isModelFolder(const Place& place) {
  constexpr const char* names[] = {"tokenizer.model", "vocab.json", "vocab.txt",
                                   "tokenizer_config.json", "config.json"};
  return place.setting == "tokenizer" &&
         std::any_of(std::begin(names), std::end(names), [&](const char* name) {
           std::error_code code;
           return fs::exists(fs::path(place.resolved) / name, code);
         });
}

/// Helps with a file in place of a folder of weights or of a checkpoint.
bool tellFolderOfFile(diag::Builder& builder, const Place& place) {
  using reciperun::checkpoint::FolderKind;
  std::error_code code;
  const bool isFolderDue =
      place.setting == "weights" || place.setting == "checkpoint.resume";
  const fs::path file = place.resolved;
  if (!isFolderDue || !fs::is_regular_file(file, code))
    return false;
  const std::string key = place.setting.substr(place.setting.rfind('.') + 1);
  const FolderKind kind =
      reciperun::checkpoint::lookAt(file.has_parent_path() ? file.parent_path()
                                                           : fs::path("."))
          .kind;
  const std::string parent = fs::path(place.written).parent_path().string();
  if (kind == FolderKind::model || kind == FolderKind::checkpoint)
    builder.help("name the folder that holds it: write `" + key + " = \"" +
                 (parent.empty() ? "." : parent) + "\"`");
  else if (file.extension() == ".gguf")
    builder.help("GGUF is not read: name the folder of the Hugging Face model "
                 "that it was made from, with `config.json` and safetensors");
  else if (place.setting == "weights")
    builder.help("name a folder with `config.json` and `model.safetensors`, as "
                 "transformers' `save_pretrained` writes it");
  else
    builder.help("name the folder of a checkpoint, `resume = "
                 "\"DIR/step-00000100\"`, or write `resume = \"auto\"`");
  return true;
}

/// Whether the file's extension is that of samples, text or token ids.
bool isDataFile(const std::string& name) {
  return name.ends_with(".jsonl") || name.ends_with(".json") ||
         name.ends_with(".txt") || name.ends_with(".bin") ||
         name.ends_with(".npy");
}

/// Helps with a folder in place of a data file: lists the data files in it, or
/// shows how to convert a data set of Hugging Face's `datasets` to JSON lines.
bool tellFolderOfData(diag::Builder& builder, const Place& place) {
  std::error_code code;
  if (!place.setting.starts_with("data.") ||
      !fs::is_directory(place.resolved, code))
    return false;
  std::vector<std::string> files;
  for (const std::string& name : namesIn(place.resolved))
    if (isDataFile(name) && name != "dataset_info.json" && name != "state.json")
      files.push_back((fs::path(place.written) / name).string());
  if (fs::exists(fs::path(place.resolved) / "dataset_info.json", code) ||
      fs::exists(fs::path(place.resolved) / "dataset_dict.json", code)) {
    const std::string made =
        fs::path(place.written).lexically_normal().string() + ".jsonl";
    builder.help("write its rows as lines of JSON by `python3 -c 'import "
                 "datasets, sys; "
                 "datasets.load_from_disk(sys.argv[1]).to_json(sys.argv[2])' " +
                 reciperun::shellWord(place.resolved) + " " +
                 reciperun::shellWord(made) + "`, and name that file");
    return true;
  }
  if (files.empty())
    return false;
  builder.help("name one of its files: " + diag::quotedList(files, mostListed));
  return true;
}

/// Lists the files with the pattern's extension in the folder of the pattern,
/// or in the nearest folder that exists.
void tellPattern(diag::Builder& builder, const Place& place) {
  const std::string& path = place.resolved;
  const size_t slash = path.rfind('/', path.find_first_of("*?["));
  const fs::path folder = slash == path.npos ? "." : path.substr(0, slash);
  const Gap gap = gapOf(folder);
  const std::string kind = fs::path(path).extension().string();
  std::vector<std::string> names, others;
  for (const std::string& name : namesIn(gap.above))
    if (!kind.empty() && name.ends_with(kind))
      names.push_back(name);
    else if (!name.starts_with("."))
      others.push_back(name);
  const std::string above = absolute(gap.above.string());
  builder.help((gap.name.empty()
                    ? ""
                    : "the folder `" +
                          (gap.above / gap.name).lexically_normal().string() +
                          "` does not exist; ") +
               "`" + above + "` holds " +
               (!names.empty()   ? diag::quotedList(names, mostListed)
                : others.empty() ? "no file"
                                 : "no file of this kind, but " +
                                       diag::quotedList(others, mostListed)));
}

} // namespace

std::string writesTokenizer(const std::string& folder) {
  const std::string name = "\"" + (folder.empty() ? "." : folder) + "\"";
  return "transformers writes one, `AutoTokenizer.from_pretrained(" + name +
         ").save_pretrained(" + name + ")`";
}

std::string helpWithAddress(const Place& place) {
  constexpr std::string_view hub = "https://huggingface.co/";
  constexpr std::string_view dataSets = "datasets/";
  const std::string& address = place.written;
  if (address.starts_with(hub) || address.starts_with("hf://")) {
    std::string name =
        address.substr(address.starts_with(hub) ? hub.size() : 5);
    const bool isDataSet = name.starts_with(dataSets);
    if (isDataSet)
      name.erase(0, dataSets.size());
    const size_t slash = name.find('/', name.find('/') + 1);
    name = name.substr(0, slash);
    const bool isWhole =
        name.find('/') != name.npos && (slash == name.npos || !isDataSet);
    if (isWhole || address.starts_with("hf://"))
      return "get it by `" +
             reciperun::checkpoint::downloadCommand(
                 name + (isDataSet ? " --repo-type dataset" : ""), name) +
             (place.setting == "weights"
                  ? "`, and write `" + name + "`"
                  : "`, and write a path in `" + name + "`");
  }
  std::string file = address.substr(0, address.find_first_of("?#"));
  file.erase(0, file.rfind('/') + 1);
  return "download it" + (file.empty() ? ", and write the path here"
                                       : ", `curl -L -o " + file + " " +
                                             reciperun::shellWord(address) +
                                             "`, and write `" + file + "`");
}

bool isPattern(const std::string& path) {
  return path.find_first_of("*?[") != std::string::npos;
}

SourceRange rangeOf(const recipe::Recipe& recipe, const std::string& setting,
                    const std::string& written) {
  const recipe::Value* value = recipe.find(setting);
  if (!value)
    return {};
  const recipe::Value* path = find(*value, written);
  return (path ? path : value)->origin.range;
}

std::string folderOfFile(const Place& place, const SourceMap& sources) {
  if (!place.range.isValid() || place.written.starts_with("/") ||
      sources.kind(place.range.source) != SourceKind::file)
    return {};
  const fs::path file(std::string(sources.name(place.range.source)));
  const std::string folder =
      file.has_parent_path() ? file.parent_path().string() : ".";
  std::error_code code;
  const bool isOther =
      !fs::equivalent(folder, place.folder.empty() ? "." : place.folder, code);
  return isOther && !code && fs::exists(fs::path(folder) / place.written, code)
             ? folder
             : "";
}

std::string nearestPath(const Place& place) {
  Gap gap = gapOf(place.resolved);
  if (gap.name.empty() || isPattern(place.resolved))
    return {};
  std::optional<std::string> near =
      diag::didYouMean(gap.name, namesIn(gap.above));
  if (!near)
    return {};
  // A file cannot have a path below it.
  fs::path there = gap.above / *near;
  std::error_code code;
  if (!fs::exists(gap.below.empty() ? there : there / gap.below, code))
    return {};
  // The written path has the same parts after the missing one.
  fs::path written = place.written;
  size_t behind = size_t(std::distance(gap.below.begin(), gap.below.end()));
  size_t parts = size_t(std::distance(written.begin(), written.end()));
  if (parts <= behind)
    return {};
  fs::path meant;
  size_t index = 0;
  for (const fs::path& part : written)
    meant /= index++ == parts - behind - 1 ? fs::path(*near) : part;
  return meant.string();
}

void reportMissing(diag::Engine& engine, const Place& place,
                   const std::string& cause) {
  auto builder =
      engine.report(diag::Kind::FileNotReadable, place.range,
                    "`" + place.setting + "` names `" + place.written +
                        "`, which cannot be read: " + cause);
  if (isOfHome(place.written))
    return tellHome(builder, place);
  bool isRelative = !place.written.starts_with("/");
  if (isRelative)
    builder.note("relative paths start in `" + absolute(place.folder) + "`");
  std::string near = nearestPath(place);
  const std::vector<std::string> endings = withOtherEnding(place);
  if (!endings.empty() && endings.size() <= mostListed) {
    std::string all;
    for (size_t i = 0; i < endings.size(); ++i)
      all += (i == 0                    ? "`"
              : i + 1 == endings.size() ? " or `"
                                        : ", `") +
             endings[i] + "`";
    builder.help("a file is named with its ending: did you mean " + all + "?");
  } else if (!near.empty())
    builder.help("did you mean `" + near + "`?");
  else if (tellFolderOfFile(builder, place) || tellFolderOfData(builder, place))
    return;
  else if (isTiktoken(place))
    builder.help("`" + place.written +
                 "` is an encoding of tiktoken, which is no file: write the "
                 "path of the `tokenizer.json` of a model, `tokenizer = "
                 "\"DIR/tokenizer.json\"`");
  else if (isTokenizerFolder(place))
    builder.help("name the file in it: write `tokenizer = \"" +
                 (fs::path(place.written) / tokenizerName).string() + "\"`");
  else if (isModelFolder(place))
    builder.help("it holds no `tokenizer.json`: " +
                 writesTokenizer(place.written));
  else if ((place.setting == "weights" || place.setting == "tokenizer") &&
           isHubName(place))
    tellHub(builder, place);
  else if (isHubDataSet(place))
    tellHubDataSet(builder, place);
  else if (place.setting == "checkpoint.resume" &&
           place.written.find('/') == std::string::npos)
    builder.help("write `resume = \"auto\"` to go on from the last checkpoint "
                 "of this run, or the path of one");
  else if (isPattern(place.resolved))
    tellPattern(builder, place);
  else
    tellFolder(builder, place);
}

} // namespace recipec::files
