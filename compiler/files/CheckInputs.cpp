// 1. Check the paths of the data. `jsonl` takes one file; `text` and token
//    files take files, folders and patterns.
// 2. Check the beginnings of the files: see Heads.h.
// 3. Check the tokenizer if the run tokenizes: the runtime must support it, and
//    it must have the control tokens of a chat.
// 4. Check the weights: a checkpoint, or a Hugging Face directory with all
//    shards. Check the checkpoint that `checkpoint.resume` names.

#include "compiler/files/CheckInputs.h"

#include "compiler/files/Chat.h"
#include "compiler/files/Heads.h"
#include "compiler/files/Place.h"
#include "compiler/files/Weights.h"
#include "runtime/base/RemoteFiles.h"
#include "runtime/data/FileHead.h"
#include "runtime/data/SourceFiles.h"
#include "runtime/data/Tokenizer.h"
#include "runtime/plan/Paths.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

namespace recipec::files {
namespace {

namespace data = reciperun::data;
namespace plan = reciperun::plan;

/// Proposes vocabulary sizes that hold `tokens` tokens: the exact size, and
/// multiples for layouts that shard the vocabulary.
std::vector<diag::WayOut> vocabWays(int64_t tokens) {
  std::vector<diag::WayOut> ways;
  for (int64_t multiple : {1, 8, 64, 128}) {
    std::string size =
        std::to_string((tokens + multiple - 1) / multiple * multiple);
    if (ways.empty() || ways.back().text != size)
      ways.push_back({size, {"model.vocab=" + size}});
  }
  return ways;
}

bool isEmptyFile(const std::string& path) {
  std::error_code code;
  return std::filesystem::is_regular_file(path, code) &&
         std::filesystem::file_size(path, code) == 0 && !code;
}

/// Whether a path is an address that a run cannot read. Those of object stores
/// are not looked at: only the machines of a job may have access.
bool isForeignAddress(const std::string& path) {
  return reciperun::isAddress(path) && !path.starts_with("s3://");
}

bool isInternet(const std::string& address) {
  constexpr std::string_view schemes[] = {"http://", "https://", "hf://",
                                          "ftp://"};
  return std::ranges::any_of(schemes, [&](std::string_view each) {
    return address.starts_with(each);
  });
}

class Inputs {
public:
  Inputs(const recipe::Recipe& recipe, const plan::Plan& plan,
         const std::string& folder, const SourceMap& sources, Findings& found)
      : recipe(recipe), plan(plan), folder(folder), found(found),
        sources(sources) {}

  void check();

private:
  Place place(const std::string& setting, const std::string& path) const;
  void missing(const Place& where, const std::string& cause);
  void reportAddress(const Place& where);
  void reportBeside();
  void source(const std::string& setting, const plan::DataSource& source);
  void doubt(const std::string& setting, const plan::DataSource& source,
             const std::vector<std::string>& files);
  std::string longerSequence(int64_t longest) const;
  bool filesOf(const std::string& setting, const plan::DataSource& source,
               std::vector<std::string>& files);
  void reportEmpty(const Place& where, const std::string& kind);
  void reportPattern(const Place& where, const plan::DataSource& source);
  void reportVocab(const std::string& setting, SourceRange range,
                   const std::string& use);
  void tokenizer();
  bool reportSentencePiece(const Place& where);
  bool reportCompanion(const Place& where);
  void reportNoTokenizer(const Place& where);
  void doubtToken(const std::string& field, int64_t id);
  std::string tokenizerSetting() const;

  const recipe::Recipe& recipe;
  const plan::Plan& plan;
  const std::string& folder;
  Findings& found;
  const SourceMap& sources;
  std::optional<data::Tokenizer> words; // empty if not needed or not readable
  /// Missing files that exist beside the recipe file that names them.
  std::vector<Place> beside;
  bool isVocabTold = false;
  bool isLengthTold = false;
};

Place Inputs::place(const std::string& setting, const std::string& path) const {
  return {setting, path, plan::resolvePath(folder, path), folder,
          rangeOf(recipe, setting, path)};
}

/// Reports a path that cannot be read. Paths that exist beside an imported
/// recipe are collected for a single report at the end.
void Inputs::missing(const Place& where, const std::string& cause) {
  if (folderOfFile(where, sources).empty())
    reportMissing(found.faults, where, cause);
  else
    beside.push_back(where);
}

void Inputs::reportAddress(const Place& where) {
  const bool isOfInternet = isInternet(where.written);
  found.faults
      .report(diag::Kind::FileNotReadable, where.range,
              "`" + where.setting + "` names `" + where.written + "`, and " +
                  (isOfInternet ? "nothing is downloaded"
                                : "`s3://` alone is read of object stores"))
      .help(isOfInternet
                ? helpWithAddress(where)
                : "write the folder that it is mounted at, or copy it to "
                  "`s3://BUCKET/KEY`");
}

void Inputs::reportBeside() {
  if (beside.empty())
    return;
  namespace fs = std::filesystem;
  const Place& first = beside.front();
  const fs::path own = folderOfFile(first, sources);
  std::error_code code;
  const fs::path start = fs::canonical(folder.empty() ? "." : folder, code);
  auto builder = found.faults.report(
      diag::Kind::FileNotReadable, first.range,
      "`" + first.setting + "` names `" + first.written +
          "`, which is beside `" +
          std::string(sources.name(first.range.source)) +
          "`, and relative paths start in `" + start.string() + "`");
  for (size_t i = 1; i < beside.size(); ++i)
    builder.label(beside[i].range, "`" + beside[i].setting + "` is there, too");
  const fs::path from = fs::relative(own, start, code);
  builder.help("let relative paths start there, `--folder=" + own.string() +
               "`, or give the recipe that is run its own paths, such as `" +
               ((code ? own : from) / first.written).string() + "`");
}

/// A recipe without `tokenizer` takes the tokenizer from `weights`.
std::string Inputs::tokenizerSetting() const {
  return recipe.at("tokenizer").isNone() ? "weights" : "tokenizer";
}

void Inputs::tokenizer() {
  const std::string& path = plan.data.tokenizer;
  if (isForeignAddress(path) && tokenizerSetting() == "tokenizer")
    return reportAddress(place("tokenizer", path));
  if (path.empty() || reciperun::isAddress(path) ||
      (!plan::readsText(plan.data) && plan.train.prompts.empty()))
    return;
  std::string setting = tokenizerSetting();
  Place where = place(setting, path);
  if (setting == "weights") {
    where.range = rangeOf(recipe, setting, plan.exchange.weights);
    // If the folder of the weights is missing, the check of `weights` reports
    // it.
    if (!data::whyNoFolder(plan::resolvePath(folder, plan.exchange.weights))
             .empty())
      return;
  }
  std::string cause = data::whyNoFile(where.resolved);
  if (!cause.empty() && setting == "weights")
    return reportNoTokenizer(where);
  if (!cause.empty())
    return missing(where, cause);
  auto read = data::Tokenizer::read(where.resolved);
  if (read)
    words = *std::move(read);
  else if (!reportSentencePiece(where) && !reportCompanion(where))
    found.faults.report(diag::Kind::InvalidData, where.range,
                        "`" + setting + "`: " + read.message());
}

/// Reports a file that usually accompanies a `tokenizer.json`, given in its
/// place.
bool Inputs::reportCompanion(const Place& where) {
  constexpr std::string_view companions[] = {
      "tokenizer_config.json",   "vocab.json",   "merges.txt",
      "special_tokens_map.json", "vocab.txt",    "added_tokens.json",
      "generation_config.json",  "config.json",  "chat_template.jinja",
      "chat_template.json",      "encoder.json", "vocab.bpe"};
  const std::filesystem::path written(where.written);
  if (std::find(std::begin(companions), std::end(companions),
                written.filename().string()) == std::end(companions))
    return false;
  const std::filesystem::path own = written.parent_path() / "tokenizer.json";
  const auto beside =
      data::Tokenizer::read(plan::resolvePath(folder, own.string()));
  found.faults
      .report(diag::Kind::InvalidData, where.range,
              "`" + where.setting + "`: `" + where.written +
                  "` is no `tokenizer.json`, the file that holds a whole "
                  "tokenizer")
      .help(beside ? "write `tokenizer = \"" + own.string() +
                         "\"`, the file beside it"
                   : "there is no such file beside it that can be used: " +
                         writesTokenizer(written.parent_path().string()));
  return true;
}

/// Reports weights without a tokenizer in a recipe without `tokenizer`. A
/// folder without model files is left to the check of `weights`.
void Inputs::reportNoTokenizer(const Place& where) {
  const std::string& written = plan.exchange.weights;
  const std::string weights = plan::resolvePath(folder, written);
  std::error_code ignored;
  auto has = [&](const char* name) {
    return std::filesystem::exists(weights + "/" + name, ignored);
  };
  if (!has("model.safetensors") && !has("model.safetensors.index.json") &&
      !has("manifest.json"))
    return;
  const bool hasSentencePiece = has("tokenizer.model");
  found.faults
      .report(diag::Kind::InvalidData, where.range,
              "`weights`: `" + written +
                  "` holds no `tokenizer.json`, and the recipe names no "
                  "`tokenizer`")
      .help(hasSentencePiece
                ? "its `tokenizer.model` is a model of SentencePiece: " +
                      writesTokenizer(written)
                : "copy the `tokenizer.json` of the model there, or write "
                  "`tokenizer = \"DIR/tokenizer.json\"`");
}

/// Reports a SentencePiece file, `tokenizer.model`, recognised by its extension
/// and first byte.
bool Inputs::reportSentencePiece(const Place& where) {
  auto head = data::readHead(where.resolved, 1);
  if (!where.written.ends_with(".model") || !head || *head != "\n")
    return false;
  const std::filesystem::path own =
      std::filesystem::path(where.written).parent_path() / "tokenizer.json";
  std::error_code ignored;
  const bool isBeside = std::filesystem::is_regular_file(
      plan::resolvePath(folder, own.string()), ignored);
  found.faults
      .report(diag::Kind::InvalidData, where.range,
              "`" + where.setting + "`: `" + where.written +
                  "` is a model of SentencePiece, and no `tokenizer.json`")
      .help(isBeside ? "write `tokenizer = \"" + own.string() +
                           "\"`, the file beside it"
                     : writesTokenizer(own.parent_path().string()));
  return true;
}

/// Warns of a model's special token, such as the end of a document, that is an
/// ordinary token of the tokenizer and thus occurs in texts.
void Inputs::doubtToken(const std::string& field, int64_t id) {
  const recipe::Value* value = recipe.find("model." + field);
  if (!words || !value || id < 0 || id >= words->size() ||
      words->isAdded(int32_t(id)) || words->addedTokens().empty())
    return;
  const bool isUsers =
      value->origin.range.isValid() &&
      sources.kind(value->origin.range.source) != SourceKind::standardLibrary;
  auto builder = found.doubts.report(
      diag::Kind::UnlikelySetting,
      isUsers ? value->origin.range
              : rangeOf(recipe, tokenizerSetting(), plan.data.tokenizer),
      "the model's `" + field + "` = " + std::to_string(id) +
          " is the ordinary token `" + words->bytesOf(int32_t(id)) +
          "` of the tokenizer, which texts have, too");
  constexpr size_t most = 4;
  std::string there;
  size_t count = 0;
  for (const data::AddedToken& each : words->addedTokens())
    if (each.special && count++ < most)
      there += (there.empty() ? "`" : ", `") + each.content +
               "` = " + std::to_string(each.id);
  if (!there.empty())
    builder.help("its control tokens are " + there);
}

/// Reports an empty data file.
void Inputs::reportEmpty(const Place& where, const std::string& kind) {
  auto builder = found.faults.report(diag::Kind::FileNotReadable, where.range,
                                     "`" + where.setting + "`: the file `" +
                                         where.written + "` is empty");
  if (kind == "jsonl")
    builder.help("write samples into it, one JSON object a line");
  else if (kind == "text")
    builder.help("write text into it, in UTF-8");
  else
    builder.help("write token ids into it");
}

/// Reports a pattern given to `jsonl`, which takes one file.
void Inputs::reportPattern(const Place& where, const plan::DataSource& source) {
  constexpr size_t most = 4; // number of files that the help lists
  auto builder =
      found.faults.report(diag::Kind::InvalidData, where.range,
                          "`" + where.setting + "` names `" + where.written +
                              "`, and `jsonl` takes one file, not a pattern");
  auto matched = data::filesOf({where.resolved});
  if (!matched) {
    builder.note("relative paths start in `" + folder + "`");
    builder.help("no file matches the pattern; name one file");
    return;
  }
  std::string fields = source.messages.empty()
                           ? ", prompt = \"" + source.prompt +
                                 "\", completion = \"" + source.completion +
                                 "\")"
                           : ", messages = \"" + source.messages + "\")";
  std::vector<std::string> calls;
  for (const std::string& file : *matched) {
    // Write the path like the pattern: relative to the recipe, or absolute.
    bool isRelative = !where.written.starts_with("/");
    std::string path =
        isRelative ? std::filesystem::path(file)
                         .lexically_relative(folder.empty() ? "." : folder)
                         .string()
                   : file;
    calls.push_back("jsonl(\"" + path + "\"" + fields);
  }
  if (calls.size() == 1) {
    builder.help("one file matches: write `" + calls[0] + "`");
    return;
  }
  std::string list;
  for (size_t i = 0; i < std::min(calls.size(), most); ++i)
    list += (i ? ", " : "") + calls[i];
  if (calls.size() > most)
    list += ", ...";
  builder.help(std::to_string(calls.size()) + " files match: write `blend([" +
               list + "])`, or join them into one file");
}

/// Collects the files of a source. Returns false if one of its paths matches no
/// file.
bool Inputs::filesOf(const std::string& setting, const plan::DataSource& source,
                     std::vector<std::string>& files) {
  std::vector<std::string> paths = source.paths;
  if (!source.path.empty())
    paths.push_back(source.path);
  bool areThere = true;
  for (const std::string& path : paths) {
    Place where = place(setting, path);
    if (isForeignAddress(path))
      reportAddress(where);
    if (reciperun::isAddress(path))
      continue;
    std::error_code code;
    bool isMany = !source.paths.empty() &&
                  (isPattern(path) ||
                   std::filesystem::is_directory(where.resolved, code));
    std::string cause = isMany ? "" : data::whyNoFile(where.resolved);
    if (!cause.empty() && source.kind == "jsonl" && isPattern(path)) {
      reportPattern(where, source);
      return false;
    }
    if (cause.empty() && isMany) {
      // Megatron's index files are next to the token files.
      auto matched = data::filesOf({where.resolved},
                                   source.kind == "token_file" ? ".idx" : "");
      if (matched)
        files.insert(files.end(), matched->begin(), matched->end());
      else
        cause = matched.message();
    } else if (cause.empty()) {
      files.push_back(where.resolved);
    }
    if (!cause.empty() && isEmptyFile(where.resolved))
      reportEmpty(where, source.kind);
    else if (!cause.empty())
      missing(where, cause);
    areThere &= cause.empty();
  }
  return areThere;
}

void Inputs::source(const std::string& setting,
                    const plan::DataSource& source) {
  for (const plan::DataSource& blended : source.sources)
    this->source(setting, blended);
  std::vector<std::string> files;
  if (!filesOf(setting, source, files) || files.empty())
    return;
  Fault fault = lookInto(source, plan.data, files, words ? &*words : nullptr);
  if (fault.what.empty())
    return doubt(setting, source, files);
  const std::string& path =
      source.paths.empty() ? source.path : source.paths[0];
  SourceRange range = rangeOf(
      recipe, setting, fault.missingField.empty() ? path : fault.missingField);
  if (fault.isAboveVocab)
    return reportVocab(setting, range, fault.what);
  auto builder = found.faults.report(diag::Kind::InvalidData, range,
                                     "`" + setting + "`: " + fault.what);
  if (!fault.help.empty())
    builder.help(fault.help);
  else if (!fault.missingField.empty())
    builder.help("name a field of the objects, or rename one in the file");
}

void Inputs::doubt(const std::string& setting, const plan::DataSource& source,
                   const std::vector<std::string>& files) {
  const Doubt doubt =
      doubtAbout(source, plan.data, files, words ? &*words : nullptr);
  if (doubt.kind == Doubt::Kind::none)
    return;
  const bool isLength = doubt.kind == Doubt::Kind::length;
  if (isLength && std::exchange(isLengthTold, true))
    return;
  const std::string& written = doubt.kind == Doubt::Kind::separator
                                   ? source.separator
                               : source.paths.empty() ? source.path
                                                      : source.paths[0];
  auto builder = (doubt.isFatal ? found.faults : found.doubts)
                     .report(doubt.isFatal ? diag::Kind::InvalidData
                                           : diag::Kind::UnlikelySetting,
                             isLength ? recipe.at("data.sequence").origin.range
                                      : rangeOf(recipe, setting, written),
                             "`" + setting + "`: " + doubt.what);
  if (isLength)
    builder.help(longerSequence(doubt.longest));
  else if (!doubt.help.empty())
    builder.help(doubt.help);
}

/// Help for samples that exceed the sequence length: the next power of two of
/// at least `longest` tokens, limited by the model's maximum.
std::string Inputs::longerSequence(int64_t longest) const {
  int64_t enough = 1;
  while (enough < longest)
    enough *= 2;
  const recipe::Value* limit = recipe.find("model.max_positions");
  const int64_t* most = limit ? std::get_if<int64_t>(&limit->data) : nullptr;
  if (most && *most < enough)
    enough = *most;
  if (enough < longest)
    return "the model's `max_positions` = " + std::to_string(enough) +
           " is the most that `data.sequence` may be: shorten the samples";
  return "`data.sequence` = " + std::to_string(enough) + " takes them whole";
}

/// Reports one error for all sources, because its cause is the model or the
/// tokenizer.
void Inputs::reportVocab(const std::string& setting, SourceRange range,
                         const std::string& use) {
  if (std::exchange(isVocabTold, true))
    return;
  const recipe::Value* vocab = recipe.find("model.vocab");
  bool isUsers =
      vocab && vocab->origin.range.isValid() &&
      sources.kind(vocab->origin.range.source) != SourceKind::standardLibrary;
  std::string size = std::to_string(words->size());
  const std::string& path = plan.data.tokenizer;
  auto builder = found.faults.report(
      diag::Kind::InvalidData,
      isUsers ? vocab->origin.range : rangeOf(recipe, tokenizerSetting(), path),
      "the model's `vocab` = " + std::to_string(plan.data.vocab) +
          " is below the " + size + " tokens of the tokenizer `" + path + "`");
  builder.note("in `" + setting + "`, " + use, range);
  std::string most =
      "of at most " + std::to_string(plan.data.vocab) + " tokens";
  // The size of the vocabulary is fixed by the weights.
  if (isUsers && plan.exchange.weights.empty())
    builder.propose({"change `vocab` to ", vocabWays(words->size()),
                     ", or name a tokenizer " + most, 1});
  else
    builder.help("name the tokenizer that the model was made with, " + most);
}

void Inputs::check() {
  tokenizer();
  if (plan.data.train)
    source("data.train", *plan.data.train);
  if (plan.data.valid)
    source("data.valid", *plan.data.valid);
  if (words)
    checkChat(recipe, plan.data, *words, found.doubts);
  doubtToken("bos_token", plan.data.bosToken);
  doubtToken("eos_token", plan.data.eosToken);
  const std::string& weights = plan.exchange.weights;
  if (isForeignAddress(weights))
    reportAddress(place("weights", weights));
  else if (!weights.empty() && !reciperun::isAddress(weights))
    checkWeights(place("weights", weights), recipe, plan, sources, found);
  const plan::Checkpoint& checkpoint = plan.checkpoint;
  if (isForeignAddress(checkpoint.resume))
    reportAddress(place("checkpoint.resume", checkpoint.resume));
  else if (checkpoint.resumesFromPath() &&
           !reciperun::isAddress(checkpoint.resume))
    checkCheckpoint(place("checkpoint.resume", checkpoint.resume), recipe, plan,
                    sources, found);
  reportBeside();
}

} // namespace

Findings checkInputs(const recipe::Recipe& recipe, const plan::Plan& plan,
                     const std::string& folder, const SourceMap& sources) {
  Findings found;
  // A serving plan is not checked: it reads a folder given on its command line.
  if (!plan.serving)
    Inputs(recipe, plan, folder, sources, found).check();
  return found;
}

} // namespace recipec::files
