// 1. Read the table and the configuration of each row.
// 2. Make the jobs, complete them and give them different names.
// 3. Select one by its line or name, or all.
// 4. Bound the rows of experts of jobs that do not fit otherwise.

#include "compiler/driver/ImportTable.h"

#include "compiler/driver/ImportTrials.h"
#include "compiler/import/PerformanceScript.h"
#include "compiler/import/Recipes.h"

#include <algorithm>
#include <filesystem>
#include <map>

namespace recipec::driver {
namespace {

/// `h100` of `model_configs_h100.csv`; empty for a table of another name.
std::string gpuOfTable(const std::string& name) {
  constexpr std::string_view prefix = "model_configs_", suffix = ".csv";
  const bool isNamed = name.find(prefix) != name.npos && name.ends_with(suffix);
  if (!isNamed)
    return "";
  const size_t begin = name.find(prefix) + prefix.size();
  return name.substr(begin, name.size() - suffix.size() - begin);
}

/// Completes jobs; evaluates each model once.
class JobFitter {
public:
  explicit JobFitter(const FileLoader& library) : library(library) {}

  void fit(importer::Job& job) {
    const auto [entry, isNew] = facts.try_emplace(job.model.name);
    if (isNew)
      entry->second = factsOf(library, job.model);
    importer::fitJob(job, entry->second);
  }

private:
  const FileLoader& library;
  std::map<std::string, importer::ModelFacts> facts;
};

bool hasSetting(const std::vector<importer::Setting>& settings,
                std::string_view path) {
  return std::ranges::any_of(settings, [&](const importer::Setting& each) {
    return each.path == path;
  });
}

/// NeMo counts the capacity of experts over the tokens of a rank, `capacity`
/// over a sequence. Each of the ranks that share a sequence may then send an
/// expert the rows of the whole sequence, and the places for them are several
/// times what can arrive in all. If a job does not fit with these places and
/// fits with its even share of them, it gets the even share.
void boundExpertRows(const FileLoader& library, importer::Job& job) {
  const bool sharesSequences = job.layout.tp * job.layout.cp > 1;
  if (!sharesSequences || !hasSetting(job.model.fields, "capacity") ||
      hasSetting(job.settings, "memory.expert_rows") || fits(library, job))
    return;
  importer::Job bounded = job;
  bounded.set("memory.expert_rows", "1.0", "NeMo counts the capacity by rank");
  if (fits(library, bounded))
    job = std::move(bounded);
}

/// A job of a row, and what has been reported about the row.
struct ImportedRow {
  std::string line;
  std::optional<importer::Job> job;
  diag::Engine engine;
  diag::Engine doubts;
};

std::vector<ImportedRow> importRows(const importer::Table& table,
                                    const std::string& tableName,
                                    const FileLoader& library) {
  JobFitter fitter(library);
  std::vector<ImportedRow> rows;
  for (const importer::Row& each : table.rows) {
    ImportedRow row{std::to_string(each.line), {}, {}, {}};
    const auto config = importer::readRow(
        table, each, tableName, gpuOfTable(tableName), row.engine, row.doubts);
    if (config)
      row.job = importer::jobOf(*config, each.range, row.engine);
    if (row.job)
      fitter.fit(*row.job);
    rows.push_back(std::move(row));
  }
  return rows;
}

/// Gives the jobs of the rows different names.
void distinguishNames(std::vector<ImportedRow>& rows) {
  std::vector<importer::Job> jobs;
  for (const ImportedRow& row : rows)
    if (row.job)
      jobs.push_back(*row.job);
  importer::distinguishNames(jobs);
  auto named = jobs.begin();
  for (ImportedRow& row : rows)
    if (row.job)
      row.job = *named++;
}

void reportUnknownRow(Session& session, SourceId source,
                      const std::string& wanted,
                      const std::vector<ImportedRow>& rows) {
  std::vector<std::string> names;
  for (const ImportedRow& row : rows)
    if (row.job)
      names.push_back(row.job->name);
  const auto meant = diag::didYouMean(wanted, names);
  session.engine
      .report(diag::Kind::RecipeNotFound, {source, 0, 0},
              "this table has no row `" + wanted + "`")
      .help(meant ? "did you mean `" + *meant + "`?"
                  : "select a row by its line, as `FILE:15`, or by the name of "
                    "its recipe, as `FILE:" +
                        (names.empty() ? "NAME" : names[0]) + "`");
}

/// The configurations of all rows that can be read.
std::vector<importer::PerformanceConfig> configsOf(Session& session,
                                                   const std::string& path) {
  sema::Loaded::State state;
  const SourceId source = session.loader.addSource(path, state);
  std::vector<importer::PerformanceConfig> configs;
  const auto table =
      source == SourceId::none
          ? std::nullopt
          : importer::readTable(session.sources, source, session.engine);
  if (!table || !importer::checkColumns(*table, session.engine))
    return configs;
  const std::string name = std::filesystem::path(path).filename().string();
  diag::Engine silent;
  for (const importer::Row& row : table->rows)
    if (auto config = importer::readRow(*table, row, name, gpuOfTable(name),
                                        silent, silent))
      configs.push_back(std::move(*config));
  return configs;
}

} // namespace

std::vector<importer::Job>
importScript(Session& session, const std::vector<importer::Word>& command,
             const std::string& table) {
  const SourceRange whole = cover(command.front().range, command.back().range);
  std::vector<importer::PerformanceConfig> defaults;
  if (!table.empty())
    defaults = configsOf(session, table);
  const auto config = importer::readScript(importer::readArguments(command),
                                           whole, defaults, session.engine);
  auto job =
      config ? importer::jobOf(*config, whole, session.engine) : std::nullopt;
  if (!job)
    return {};
  JobFitter(session.loader).fit(*job);
  boundExpertRows(session.loader, *job);
  return {*job};
}

std::vector<importer::Job> importTable(Session& session,
                                       const std::string& path,
                                       const std::string& wanted) {
  sema::Loaded::State state;
  const SourceId source = session.loader.addSource(path, state);
  if (source == SourceId::none)
    return {};
  const auto table =
      importer::readTable(session.sources, source, session.engine);
  if (!table || !importer::checkColumns(*table, session.engine))
    return {};
  const std::string name = std::filesystem::path(path).filename().string();
  std::vector<ImportedRow> rows = importRows(*table, name, session.loader);
  distinguishNames(rows);
  std::vector<importer::Job> jobs;
  bool isFound = wanted.empty();
  for (const ImportedRow& row : rows) {
    const bool isNamed =
        row.line == wanted || (row.job && row.job->name == wanted);
    if (!wanted.empty() && !isNamed)
      continue;
    isFound = true;
    session.engine.append(row.engine);
    session.doubts.append(row.doubts);
    if (row.job)
      boundExpertRows(session.loader, jobs.emplace_back(*row.job));
  }
  if (!isFound)
    reportUnknownRow(session, source, wanted, rows);
  return jobs;
}

} // namespace recipec::driver
