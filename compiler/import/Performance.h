// The configurations of NeMo's performance scripts, as their tables of
// recommended configurations and their command lines give them.

#ifndef RECIPEC_IMPORT_PERFORMANCE_H
#define RECIPEC_IMPORT_PERFORMANCE_H

#include "compiler/diag/Diagnostic.h"
#include "compiler/import/Job.h"
#include "compiler/import/Table.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace recipec::importer {

/// A configuration by the columns of the tables.
struct PerformanceConfig {
  std::string origin; // `model_configs_h100.csv:15`
  std::string task;   // `pre_train`, `sft`, `lora`, `finetune`
  std::string model;  // `llama3`
  std::string size;   // `8b`
  std::string gpu;    // `h100`
  bool isFp8 = false;
  std::string fp8Recipe = "ds"; // `ds`, `cs`, `mxfp8`, `ss`
  Layout layout;
  int64_t sequence = 0; // 0: that of the script
  int64_t micro = 1;
  int64_t global = 0;
  int64_t steps = 50; // the scripts' `--max_steps`
  bool isFsdp = false;
  int64_t recomputeLayers = 0;
  int64_t offloadLayers = 0;
  std::vector<std::string> recomputeModules;
  std::vector<Omission> omissions;
};

/// A model that the scripts train.
struct PerformanceModel {
  std::string_view name;   // `llama3`
  std::string_view size;   // `8b`
  std::string_view module; // of the standard library; empty if it has none
  std::string_view value;  // the model in that module, or why there is none
  int64_t sequence;        // of the pretraining script
  bool hasExperts;         // whose rows the script limits
  bool isTextPart;         // the script also trains an encoder of images
};

/// The scripts' models; nullptr for another one.
const PerformanceModel* findModel(std::string_view name, std::string_view size);

/// "llama3 8b": the models that have a counterpart.
std::vector<std::string> performanceModelNames();

/// Whether the table has the columns that every configuration needs; otherwise
/// reports the first line.
bool checkColumns(const Table& table, diag::Engine& engine);

/// The configuration of a row. `gpu` is that of the table's name, or empty; a
/// row that names another one is reported to `doubts`. Returns nullopt, with
/// diagnostics at the cells, if it cannot be read.
std::optional<PerformanceConfig>
readRow(const Table& table, const Row& row, std::string_view tableName,
        std::string_view gpu, diag::Engine& engine, diag::Engine& doubts);

/// The job of a configuration with the settings that the scripts add. Returns
/// nullopt, with a diagnostic at `range`, if the library lacks the model.
std::optional<Job> jobOf(const PerformanceConfig& config, SourceRange range,
                         diag::Engine& engine);

/// Sentences about the settings of the scripts, for the head of the file.
std::vector<std::string> performanceHeader();

} // namespace recipec::importer

#endif // RECIPEC_IMPORT_PERFORMANCE_H
