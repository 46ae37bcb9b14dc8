// See MlflowRun.h.

#include "runtime/train/metrics/MlflowRun.h"

#include "runtime/base/Hash.h"
#include "runtime/checkpoint/Files.h"
#include "runtime/train/metrics/Scalars.h"

#include <pwd.h>
#include <unistd.h>

#include <array>
#include <cctype>
#include <charconv>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>

namespace reciperun::train {
namespace {

namespace fs = std::filesystem;

// RunStatus of mlflow/protos/service.proto.
constexpr int running = 1, finished = 3, failed = 4, killed = 5;

std::string milliseconds(double time) {
  return std::to_string(int64_t(time * 1000 + 0.5));
}

/// The shortest decimal number that is read as `value`.
std::string shortest(double value) {
  std::array<char, 32> text;
  auto [end, error] =
      std::to_chars(text.data(), text.data() + text.size(), value);
  return {text.data(), end};
}

/// A string in quotes of YAML.
std::string yamlText(std::string_view text) {
  std::string result = "'";
  for (char c : text)
    result += c == '\'' ? std::string("''") : std::string(1, c);
  return result + "'";
}

/// The `file:` address of an absolute path.
std::string addressOf(const fs::path& path) {
  constexpr std::string_view kept = "/-._~";
  std::ostringstream address;
  address << "file://" << std::hex << std::uppercase;
  for (const unsigned char c : path.string())
    if (std::isalnum(c) || kept.find(char(c)) != kept.npos)
      address << c;
    else
      address << '%' << (c >> 4) << (c & 15);
  return address.str();
}

std::string userName() {
  const passwd* user = getpwuid(geteuid());
  return user ? user->pw_name : std::to_string(geteuid());
}

Status makeFolder(const fs::path& path) {
  std::error_code failure;
  fs::create_directories(path, failure);
  if (failure)
    return Status::error("cannot make `" + path.string() +
                         "`: " + failure.message());
  return Status::ok();
}

/// Without it MLflow shows no run of the folder.
Status writeExperiment(const fs::path& folder, double time) {
  const fs::path meta = folder / "meta.yaml";
  if (fs::exists(meta))
    return Status::ok();
  return checkpoint::writeTextFile(
      meta,
      "artifact_location: " + yamlText(addressOf(folder)) +
          "\ncreation_time: " + milliseconds(time) +
          "\nexperiment_id: '0'\nlast_update_time: " + milliseconds(time) +
          "\nlifecycle_stage: active\nname: Default\n");
}

/// A name that MLflow allows: of letters, digits and `_-. /`.
std::string allowed(std::string_view name) {
  constexpr std::string_view others = "_-. /";
  std::string result;
  for (const char c : name)
    if (c == '[')
      result += '.';
    else if (std::isalnum(static_cast<unsigned char>(c)) ||
             others.find(c) != others.npos)
      result += c;
  return result;
}

int64_t stepOf(std::string_view line) {
  int64_t step = 0;
  const char* begin = line.data() + line.rfind(' ') + 1;
  std::from_chars(begin, line.data() + line.size(), step);
  return step;
}

/// Keeps the lines of the first steps, without an incomplete last line.
Status keepSteps(const fs::path& path, int64_t steps) {
  auto text = checkpoint::readTextFile(path);
  RECIPERUN_TRY(text);
  std::string kept;
  for (size_t begin = 0, end = 0;
       (end = text->find('\n', begin)) != std::string::npos; begin = end + 1) {
    const std::string_view line(text->data() + begin, end - begin);
    if (stepOf(line) <= steps)
      kept += std::string(line) + '\n';
  }
  if (kept.empty()) { // MLflow reads no empty file
    fs::remove(path);
    return Status::ok();
  }
  return checkpoint::writeTextFile(path, kept);
}

Status keepMetrics(const fs::path& folder, int64_t steps) {
  std::vector<fs::path> paths;
  for (const auto& each : fs::recursive_directory_iterator(folder))
    if (each.is_regular_file())
      paths.push_back(each.path());
  for (const fs::path& path : paths)
    RECIPERUN_TRY(keepSteps(path, steps));
  return Status::ok();
}

} // namespace

Expected<MlflowRun> MlflowRun::begin(const MlflowBegin& begin) {
  const fs::path root = fs::absolute(begin.root).lexically_normal(),
                 directory =
                     (fs::absolute(begin.directory) / "").lexically_normal();
  MlflowRun run;
  run.id = hashOf(directory.string()).text();
  run.name = directory.parent_path().filename().string();
  run.folder = root / "0" / run.id;
  run.start = begin.time;
  run.files = std::make_unique<FileAppender>();
  for (const char* each : {"artifacts", "metrics", "params", "tags"})
    RECIPERUN_TRY(makeFolder(run.folder / each));
  RECIPERUN_TRY(makeFolder(root / ".trash"));
  RECIPERUN_TRY(writeExperiment(root / "0", begin.time));
  RECIPERUN_TRY(keepMetrics(run.folder / "metrics", begin.steps));
  for (const auto& [name, value] : begin.parameters)
    RECIPERUN_TRY(checkpoint::writeTextFile(
        run.folder / "params" / allowed(name), value));
  for (const auto& [name, value] :
       {std::pair("mlflow.runName", run.name),
        std::pair("mlflow.user", userName()),
        std::pair("mlflow.source.name", directory.string())})
    RECIPERUN_TRY(checkpoint::writeTextFile(run.folder / "tags" / name, value));
  RECIPERUN_TRY(run.writeMeta(running, "null"));
  return run;
}

Status MlflowRun::writeMeta(int status, const std::string& end) const {
  return checkpoint::writeTextFile(
      folder / "meta.yaml",
      "artifact_uri: " + yamlText(addressOf(folder / "artifacts")) +
          "\ndeleted_time: null\nend_time: " + end +
          "\nentry_point_name: ''\nexperiment_id: '0'\n"
          "lifecycle_stage: active\nrun_id: " +
          yamlText(id) + "\nrun_name: " + yamlText(name) +
          "\nrun_uuid: " + yamlText(id) +
          "\nsource_name: ''\nsource_type: 4\nsource_version: ''\n"
          "start_time: " +
          milliseconds(start) + "\nstatus: " + std::to_string(status) +
          "\ntags: []\nuser_id: " + yamlText(userName()) + "\n");
}

Status MlflowRun::write(const StepRecord& record) {
  for (const Scalar& each : scalarsOf(record))
    RECIPERUN_TRY(files->append(folder / "metrics" / each.name,
                                milliseconds(record.time) + ' ' +
                                    shortest(each.value) + ' ' +
                                    std::to_string(record.step) + '\n'));
  return Status::ok();
}

Status MlflowRun::end(double time, const std::string& reason) {
  RECIPERUN_TRY(files->wait());
  return writeMeta(reason == "complete" ? finished
                   : reason == "signal" ? killed
                                        : failed,
                   milliseconds(time));
}

} // namespace reciperun::train
