// See MetricsFile.h.

#include "runtime/train/metrics/MetricsFile.h"

#include "runtime/base/ParseJson.h"
#include "runtime/checkpoint/Files.h"
#include "runtime/train/metrics/JsonFields.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

namespace reciperun::train {
namespace {

void readPhases(const nlohmann::json& object, MetricsRow& row) {
  const auto seconds = object.find("seconds");
  if (seconds == object.end() || !seconds->is_object())
    return;
  for (size_t i = 0; i < phaseNames.size(); ++i)
    row.phases[i] = numberAt(*seconds, phaseNames[i]).value_or(0);
  row.saving = numberAt(*seconds, "saving").value_or(0);
}

} // namespace

std::optional<MetricsRow> parseMetricsRow(std::string_view line) {
  Expected<nlohmann::json> json = parseJson(line, {.noun = "line"});
  if (!json || !json->is_object())
    return std::nullopt;
  const auto samples = json->find("samples"), step = json->find("step");
  if (samples == json->end() || !samples->is_number_integer())
    return std::nullopt;
  MetricsRow row;
  row.samples = samples->get<int64_t>();
  if (step != json->end() && step->is_number_integer())
    row.step = step->get<int64_t>();
  row.time = numberAt(*json, "time");
  row.epoch = numberAt(*json, "epoch");
  row.loss = numberAt(*json, "loss");
  row.validLoss = numberAt(*json, "valid_loss");
  row.learningRate = numberAt(*json, "lr");
  row.gradNorm = numberAt(*json, "grad_norm");
  row.stepSeconds = numberAt(*json, "step_seconds");
  row.tokensPerSecond = numberAt(*json, "tokens_per_second");
  row.tflopsPerRank = numberAt(*json, "tflops_per_rank");
  row.mfu = numberAt(*json, "mfu");
  row.deviceBytes = numberAt(*json, "device_bytes");
  readPhases(*json, row);
  return row;
}

std::string damagedRowsText(const std::filesystem::path& path,
                            const std::vector<int64_t>& lines) {
  constexpr size_t told = 5;
  std::string numbers;
  for (size_t i = 0; i < lines.size() && i < told; ++i)
    numbers += (i ? ", " : "") + std::to_string(lines[i]);
  if (lines.empty())
    return {};
  if (lines.size() > told)
    numbers += " and " + std::to_string(lines.size() - told) + " more";
  const bool isOne = lines.size() == 1;
  return (isOne ? "line " : "lines ") + numbers + " of `" + path.string() +
         "` cannot be read as a step's metrics and " + (isOne ? "is" : "are") +
         " left out";
}

Expected<MetricsRows> readMetricsRows(const std::filesystem::path& path,
                                      std::optional<int64_t> samples) {
  std::error_code code;
  MetricsRows kept;
  if (std::filesystem::status(path, code).type() ==
      std::filesystem::file_type::not_found)
    return kept;
  std::ifstream file(path);
  int64_t number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    std::optional<MetricsRow> row = parseMetricsRow(line);
    if (!row && !file.eof())
      kept.damaged.push_back(number);
    if (!row || (samples && row->samples > *samples))
      continue;
    kept.rows.push_back(*row);
    kept.texts.push_back(std::move(line));
  }
  if (file.bad() || !file.eof())
    return Status::error("cannot read `" + path.string() +
                         "`: " + std::strerror(errno));
  return kept;
}

Expected<MetricsFile> MetricsFile::open(const std::filesystem::path& path,
                                        int64_t samples) {
  MetricsFile metrics;
  if (samples > 0) {
    Expected<MetricsRows> kept = readMetricsRows(path, samples);
    RECIPERUN_TRY(kept);
    std::string text;
    for (const std::string& line : kept->texts)
      text += line + "\n";
    RECIPERUN_TRY(checkpoint::writeTextFile(path, text));
    for (const MetricsRow& row : kept->rows) {
      if (row.loss)
        metrics.losses.push_back(*row.loss);
      metrics.seconds += row.stepSeconds.value_or(0);
    }
    metrics.complaint = damagedRowsText(path, kept->damaged);
  }
  auto lines = LineWriter::open(path, samples > 0 ? LineWriter::Mode::append
                                                  : LineWriter::Mode::truncate);
  RECIPERUN_TRY(lines);
  metrics.lines = *std::move(lines);
  return metrics;
}

Status MetricsFile::write(const StepRecord& record) {
  nlohmann::ordered_json object;
  object["step"] = record.step;
  object["epoch"] = record.epoch;
  object["loss"] = record.loss;
  if (record.furtherLoss)
    object["further_loss"] = *record.furtherLoss;
  object["lr"] = record.learningRate;
  object["grad_norm"] = record.gradNorm;
  object["step_seconds"] = record.times.step;
  if (record.hostSeconds)
    object["host_seconds"] = *record.hostSeconds;
  object["time"] = record.time;
  object["tokens_per_second"] = record.tokensPerSecond;
  object["samples"] = record.samples;
  if (!record.sourceSamples.empty())
    object["source_samples"] = record.sourceSamples;
  object["tflops_per_rank"] = record.tflopsPerRank;
  if (record.mfu)
    object["mfu"] = *record.mfu;
  object["device_bytes"] = record.deviceBytes;
  if (record.droppedShare)
    object["dropped_share"] = *record.droppedShare;
  if (record.overflowShare)
    object["overflow_share"] = *record.overflowShare;
  if (record.secondPassShare)
    object["second_pass_share"] = *record.secondPassShare;
  if (record.validLoss)
    object["valid_loss"] = *record.validLoss;
  nlohmann::ordered_json& seconds = object["seconds"];
  for (size_t i = 0; i < phaseNames.size(); ++i)
    seconds[phaseNames[i]] = record.times.phases[i];
  seconds["saving"] = record.times.saving;
  for (const auto& [group, norm] : record.gradNorms)
    object["grad_norms"][group] = norm;
  return lines->write(object.dump());
}

} // namespace reciperun::train
