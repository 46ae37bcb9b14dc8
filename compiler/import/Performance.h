// The configurations of NeMo's performance scripts, read from tables of
// recommended configurations and from command lines.

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
  int64_t sequence = 0; // 0: the script's default
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
  int64_t sequence;        // default of the pretraining script
  bool hasExperts;         // the script limits the rows of its experts
  bool isTextPart;         // the script also trains an encoder of images
};

/// The model that the scripts call by this name and size; nullptr if there is
/// none.
const PerformanceModel* findModel(std::string_view name, std::string_view size);

/// "llama3 8b": the names of the models that have a counterpart here.
std::vector<std::string> performanceModelNames();

/// Whether the table has the columns that every configuration needs; otherwise
/// reports the first line.
bool checkColumns(const Table& table, diag::Engine& engine);

/// Reads the configuration of a row. `gpu` is the GPU in the table's name, or
/// empty; a row that names another GPU is reported to `doubts`. Returns
/// nullopt, with diagnostics at the cells, if the row cannot be read.
std::optional<PerformanceConfig>
readRow(const Table& table, const Row& row, std::string_view tableName,
        std::string_view gpu, diag::Engine& engine, diag::Engine& doubts);

/// The job of a configuration with the settings that the scripts add. Returns
/// nullopt, with a diagnostic at `range`, if the library lacks the model.
std::optional<Job> jobOf(const PerformanceConfig& config, SourceRange range,
                         diag::Engine& engine);

/// Sentences about the scripts' settings, for the comment at the top of the
/// file.
std::vector<std::string> performanceHeader();

} // namespace recipec::importer

#endif // RECIPEC_IMPORT_PERFORMANCE_H
