// See RunEvents.h.

#include "runtime/train/metrics/RunEvents.h"

#include "runtime/base/ParseJson.h"
#include "runtime/checkpoint/Files.h"
#include "runtime/train/metrics/JsonFields.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

namespace reciperun::train {
std::optional<RunEvent> parseRunEvent(std::string_view line) {
  Expected<nlohmann::json> json = parseJson(line, {.noun = "line"});
  if (!json || !json->is_object())
    return std::nullopt;
  RunEvent event;
  event.kind = stringAt(*json, "event");
  const std::optional<double> time = numberAt(*json, "time");
  const auto step = json->find("step");
  if (event.kind.empty() || !time || step == json->end() ||
      !step->is_number_integer())
    return std::nullopt;
  event.time = *time;
  event.step = step->get<int64_t>();
  event.checkpoint = stringAt(*json, "checkpoint");
  event.seconds = numberAt(*json, "seconds");
  event.loss = numberAt(*json, "loss");
  event.usual = numberAt(*json, "usual");
  if (const auto rank = json->find("rank");
      rank != json->end() && rank->is_number_integer())
    event.rank = rank->get<int64_t>();
  event.host = stringAt(*json, "host");
  event.ratio = numberAt(*json, "ratio");
  event.reason = stringAt(*json, "reason");
  event.message = stringAt(*json, "message");
  return event;
}

std::string textOf(const RunEvent& event) {
  nlohmann::ordered_json object;
  object["event"] = event.kind;
  object["time"] = event.time;
  object["step"] = event.step;
  if (!event.checkpoint.empty())
    object["checkpoint"] = event.checkpoint;
  if (event.seconds)
    object["seconds"] = *event.seconds;
  if (event.loss)
    object["loss"] = *event.loss;
  if (event.usual)
    object["usual"] = *event.usual;
  if (event.rank)
    object["rank"] = *event.rank;
  if (!event.host.empty())
    object["host"] = event.host;
  if (event.ratio)
    object["ratio"] = *event.ratio;
  if (!event.reason.empty())
    object["reason"] = event.reason;
  if (!event.message.empty())
    object["message"] = event.message;
  // A path or message may have bytes that are no UTF-8.
  return object.dump(-1, ' ', false,
                     nlohmann::ordered_json::error_handler_t::replace);
}

Expected<std::vector<RunEvent>>
readRunEvents(const std::filesystem::path& path) {
  std::vector<RunEvent> events;
  std::error_code code;
  if (std::filesystem::status(path, code).type() ==
      std::filesystem::file_type::not_found)
    return events;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);)
    if (std::optional<RunEvent> event = parseRunEvent(line))
      events.push_back(*std::move(event));
  if (file.bad() || !file.eof())
    return Status::error("cannot read `" + path.string() +
                         "`: " + std::strerror(errno));
  return events;
}

Expected<RunEventsFile> RunEventsFile::open(const std::filesystem::path& path,
                                            LineWriter::Mode mode) {
  RunEventsFile file;
  if (mode == LineWriter::Mode::append) {
    Expected<std::vector<RunEvent>> read = readRunEvents(path);
    RECIPERUN_TRY(read);
    file.before = *std::move(read);
    // Without an incomplete last line, to which the next one would be added.
    std::string text;
    for (const RunEvent& event : file.before)
      text += textOf(event) + "\n";
    RECIPERUN_TRY(checkpoint::writeTextFile(path, text));
  }
  Expected<std::unique_ptr<LineWriter>> lines = LineWriter::open(path, mode);
  RECIPERUN_TRY(lines);
  file.lines = *std::move(lines);
  return file;
}

} // namespace reciperun::train
