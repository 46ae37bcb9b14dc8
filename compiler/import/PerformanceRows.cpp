// Converts a row of a table of recommended configurations to a
// PerformanceConfig.
//
// 1. Read the required columns.
// 2. Read the columns that have a default.
// 3. List the settings that have no counterpart, and those of unknown columns.

#include "compiler/import/Performance.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace recipec::importer {
namespace {

/// A column whose setting has no counterpart when it is not 0.
struct OmittedColumn {
  std::string_view name;
  std::string_view reason;
};
constexpr OmittedColumn omittedColumns[] = {
    {"cuda_graphs", "the runtime decides what it launches as CUDA graphs"},
    {"keep_fsdp_fp8_transpose_cache",
     "the plan decides which copies of fp8 weights a rank keeps"},
    {"use_user_buffer_registration", "a setting of NCCL, not of a recipe"},
    {"use_sharp", "a setting of NCCL, not of a recipe"},
};

constexpr std::string_view neededColumns[] = {
    "task", "model", "size", "dtype", "num_gpus", "seq_len", "mbs", "gbs"};

constexpr std::string_view readColumns[] = {"task",
                                            "model",
                                            "size",
                                            "system",
                                            "dtype",
                                            "num_gpus",
                                            "seq_len",
                                            "tp_size",
                                            "pp_size",
                                            "cp_size",
                                            "ep_size",
                                            "vp_size",
                                            "mbs",
                                            "gbs",
                                            "etp_size",
                                            "use_mcore_fsdp",
                                            "recompute_layers",
                                            "activation_offload_layers",
                                            "recompute_modules"};

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const size_t end = std::min(text.find(separator), text.size());
    parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

/// Reads the cells of a row. `isGood` is false if one could not be read.
class RowReader {
public:
  RowReader(const Table& table, const Row& row, diag::Engine& engine)
      : table(table), row(row), engine(engine) {}

  const Cell* find(std::string_view column) const {
    return table.find(row, column);
  }

  std::string text(std::string_view column) {
    const Cell* cell = find(column);
    return cell ? cell->text : missing(column);
  }

  /// Whether `dtype` is fp8; it is bf16 otherwise.
  bool isFp8() {
    const std::string type = text("dtype");
    const Cell* cell = find("dtype");
    if (!cell || type == "fp8" || type == "bf16")
      return type == "fp8";
    isGood = false;
    engine
        .report(diag::Kind::InvalidData, cell->range,
                "there is no `dtype` `" + type + "`")
        .help("the tables have `bf16` and `fp8`");
    return false;
  }

  /// The whole number of a cell: pandas writes `8` as `8.0` in a column that
  /// has empty cells.
  int64_t number(std::string_view column, std::optional<int64_t> usual = {}) {
    const Cell* cell = find(column);
    if (!cell && !usual)
      missing(column);
    if (!cell)
      return usual.value_or(0);
    double value = 0;
    const char* end = cell->text.data() + cell->text.size();
    const auto [last, error] = std::from_chars(cell->text.data(), end, value);
    const bool isCount = error == std::errc() && last == end && value >= 0 &&
                         value < 1e15 && value == std::floor(value);
    if (isCount)
      return int64_t(value);
    isGood = false;
    engine
        .report(diag::Kind::InvalidData, cell->range,
                "`" + std::string(column) + "` = `" + cell->text +
                    "` is no whole number")
        .help("write a number of at least 0, or leave the cell empty");
    return 0;
  }

  std::vector<std::string> list(std::string_view column) const {
    const Cell* cell = find(column);
    return cell ? split(cell->text, '/') : std::vector<std::string>();
  }

  bool isGood = true;

private:
  std::string missing(std::string_view column) {
    isGood = false;
    engine
        .report(diag::Kind::InvalidData, row.range,
                "this row has no `" + std::string(column) + "`")
        .help("fill the column `" + std::string(column) +
              "`, as NVIDIA's model_configs_h100.csv does");
    return "";
  }

  const Table& table;
  const Row& row;
  diag::Engine& engine;
};

/// The GPU in the table's name. The scripts also choose a table by its name,
/// and do not read the column `system`.
std::string gpuOf(RowReader& reader, std::string_view tableGpu,
                  diag::Engine& doubts) {
  const Cell* cell = reader.find("system");
  if (tableGpu.empty())
    return reader.text("system");
  if (cell && cell->text != tableGpu)
    doubts
        .report(diag::Kind::UnlikelySetting, cell->range,
                "this row is of a table for `" + std::string(tableGpu) +
                    "`, and its `system` is `" + cell->text + "`")
        .note("NeMo's scripts choose the table by its name and do not read "
              "`system`")
        .help("the recipe takes `" + std::string(tableGpu) +
              "`; for the other one use `--set cluster.hardware=" + cell->text +
              "`");
  return std::string(tableGpu);
}

void readSizes(PerformanceConfig& config, RowReader& reader) {
  Layout& layout = config.layout;
  layout.ranks = reader.number("num_gpus");
  layout.tp = reader.number("tp_size", 1);
  layout.cp = reader.number("cp_size", 1);
  layout.pp = reader.number("pp_size", 1);
  layout.vp = reader.number("vp_size", 1);
  layout.ep = reader.number("ep_size", 1);
  if (reader.find("etp_size"))
    layout.etp = reader.number("etp_size");
  config.sequence = reader.number("seq_len");
  config.micro = reader.number("mbs");
  config.global = reader.number("gbs");
  config.isFsdp = reader.number("use_mcore_fsdp", 0) != 0;
  config.recomputeLayers = reader.number("recompute_layers", 0);
  config.offloadLayers = reader.number("activation_offload_layers", 0);
  config.recomputeModules = reader.list("recompute_modules");
}

void listOmissions(PerformanceConfig& config, const Table& table,
                   RowReader& reader) {
  for (const OmittedColumn& column : omittedColumns)
    if (reader.find(column.name) && reader.number(column.name, 0) != 0)
      config.omissions.push_back(
          {std::string(column.name), std::string(column.reason)});
  for (const Cell& column : table.columns) {
    const Cell* cell = reader.find(column.text);
    const bool isKnown =
        std::ranges::find(readColumns, column.text) != std::end(readColumns) ||
        std::ranges::any_of(omittedColumns, [&](const OmittedColumn& each) {
          return each.name == column.text;
        });
    if (cell && !isKnown)
      config.omissions.push_back({column.text + " = " + cell->text,
                                  "a column that this command does not know"});
  }
}

} // namespace

bool checkColumns(const Table& table, diag::Engine& engine) {
  std::vector<std::string> missing;
  for (const std::string_view name : neededColumns)
    if (!std::ranges::any_of(table.columns, [&](const Cell& column) {
          return column.text == name;
        }))
      missing.emplace_back(name);
  if (missing.empty())
    return true;
  engine
      .report(diag::Kind::InvalidData,
              cover(table.columns.front().range, table.columns.back().range),
              "the first line names no column " +
                  diag::quotedList(missing, missing.size()))
      .help("name a table of NeMo's recommended configurations, or name its "
            "columns as model_configs_h100.csv does");
  return false;
}

std::optional<PerformanceConfig>
readRow(const Table& table, const Row& row, std::string_view tableName,
        std::string_view gpu, diag::Engine& engine, diag::Engine& doubts) {
  RowReader reader(table, row, engine);
  PerformanceConfig config;
  config.origin = std::string(tableName) + ":" + std::to_string(row.line);
  config.task = reader.text("task");
  config.model = reader.text("model");
  config.size = reader.text("size");
  config.gpu = gpuOf(reader, gpu, doubts);
  config.isFp8 = reader.isFp8();
  readSizes(config, reader);
  listOmissions(config, table, reader);
  if (!reader.isGood)
    return std::nullopt;
  return config;
}

} // namespace recipec::importer
