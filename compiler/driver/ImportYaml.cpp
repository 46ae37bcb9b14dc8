// 1. Parse the file into entries. Files embedded in a ConfigMap as texts are
//    parsed as well, and their entries replace the text.
// 2. Apply the rules for NeMo's keys, and make the job from the values.
// 3. Complete the job with the sizes of its model, and choose the hardware.

#include "compiler/driver/ImportYaml.h"

#include "compiler/driver/ImportTrials.h"
#include "compiler/driver/LibraryModel.h"
#include "compiler/import/FoundJob.h"
#include "compiler/import/NemoYaml.h"
#include "compiler/import/Recipes.h"
#include "compiler/parse/Data.h"

#include <filesystem>

namespace recipec::driver {
namespace {

using Entries = std::vector<importer::Entry>;

/// Whether an entry is an embedded YAML file, `data.checkpoint.yaml: |`.
bool isFile(const importer::Entry& entry) {
  const bool isNamed =
      entry.key.ends_with(".yaml") || entry.key.ends_with(".yml");
  return isNamed && entry.values.size() == 1 &&
         entry.values[0].find('\n') != std::string::npos;
}

/// The entries of a source, including those of embedded files.
Entries readEntries(Session& session, SourceId source) {
  const ast::File data =
      parse::parseData(session.sources, source, session.engine);
  Entries entries;
  for (const importer::Entry& entry :
       importer::entriesOf(data, session.sources)) {
    if (!isFile(entry)) {
      entries.push_back(entry);
      continue;
    }
    const std::string name =
        std::string(session.sources.name(source)) + ":" + entry.key;
    const SourceId inner =
        session.sources.add(name, entry.values[0], SourceKind::data);
    const Entries carried = readEntries(session, inner);
    entries.insert(entries.end(), carried.begin(), carried.end());
  }
  return entries;
}

/// Chooses the first kind of GPU that the job fits on, because the
/// configuration does not name one.
void chooseHardware(importer::Job& job, const FileLoader& library) {
  for (const char* hardware : {"h100", "h200", "b200"}) {
    job.hardware = hardware;
    if (fits(library, job))
      break;
  }
  job.remarks.push_back("The configuration names no kind of GPU: the recipe "
                        "takes `" +
                        job.hardware + "`.");
}

} // namespace

std::optional<importer::Job>
nemoJob(Session& session, const std::string& name,
        const std::vector<importer::Entry>& entries, SourceRange place) {
  const int errors = session.engine.errors();
  importer::Found found =
      importer::applyRules(entries, importer::nemoRules(), session.engine);
  if (session.engine.errors() > errors)
    return std::nullopt;
  auto job = importer::jobOf(std::move(found), libraryModels(session.loader),
                             place, session.engine);
  if (!job)
    return std::nullopt;
  job->name = name;
  if (job->isMixin)
    return job;
  importer::fitJob(*job, factsOf(session.loader, job->model));
  chooseHardware(*job, session.loader);
  return job;
}

std::optional<importer::Job> importYaml(Session& session,
                                        const std::string& path) {
  sema::Loaded::State state;
  const SourceId source = session.loader.addSource(path, state);
  if (source == SourceId::none)
    return std::nullopt;
  const Entries entries = readEntries(session, source);
  if (session.engine.hasErrors())
    return std::nullopt;
  const std::filesystem::path file(path);
  auto job = nemoJob(session, importer::identifierOf(file.stem().string()),
                     entries, {source, 0, 0});
  if (job)
    job->summary = "The configuration of " + file.filename().string() + ".";
  return job;
}

} // namespace recipec::driver
