// 1. Read the entries of the file, apply torchtitan's rules, and make the job.
// 2. Complete it with the sizes of its model.
// 3. Choose the number of ranks if the file does not give it.

#include "compiler/driver/ImportToml.h"

#include "compiler/driver/ImportTrials.h"
#include "compiler/driver/LibraryModel.h"
#include "compiler/import/FitJob.h"
#include "compiler/import/Recipes.h"
#include "compiler/import/Toml.h"
#include "compiler/import/Torchtitan.h"

#include <filesystem>
#include <string>

namespace recipec::driver {

std::optional<importer::Job> importToml(Session& session,
                                        const std::string& path) {
  sema::Loaded::State state;
  const SourceId source = session.loader.addSource(path, state);
  if (source == SourceId::none)
    return std::nullopt;
  const auto entries =
      importer::readToml(session.sources, source, session.engine);
  if (session.engine.hasErrors())
    return std::nullopt;
  importer::Found found = importer::applyRules(
      entries, importer::torchtitanRules(), session.engine);
  if (session.engine.hasErrors())
    return std::nullopt;
  auto made =
      importer::torchtitanJob(std::move(found), libraryModels(session.loader),
                              {source, 0, 0}, session.engine);
  if (!made)
    return std::nullopt;
  const std::filesystem::path file(path);
  made->job.name = importer::identifierOf(file.stem().string());
  if (made->job.summary.empty())
    made->job.summary =
        "The configuration of " + file.filename().string() + ".";
  made->job.remarks.push_back("The configuration names no kind of GPU: the "
                              "recipe takes `" +
                              made->job.hardware + "`.");
  importer::fitJob(made->job, factsOf(session.loader, made->job.model));
  return onFewestNodes(session.loader, *made);
}

} // namespace recipec::driver
