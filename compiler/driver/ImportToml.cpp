// 1. Read the entries of the file, apply torchtitan's rules, and make the job.
// 2. Complete it with the sizes of its model.
// 3. Choose the number of ranks, which torchtitan leaves to the launcher.

#include "compiler/driver/ImportToml.h"

#include "compiler/driver/ImportTrials.h"
#include "compiler/driver/LibraryModel.h"
#include "compiler/import/FitJob.h"
#include "compiler/import/Recipes.h"
#include "compiler/import/Toml.h"
#include "compiler/import/Torchtitan.h"

#include <filesystem>
#include <numeric>
#include <string>

namespace recipec::driver {
namespace {

constexpr int64_t ranksOfNode = 8;
constexpr int64_t mostTried = 1024;

/// The job on a number of ranks.
importer::Job onRanks(const importer::TorchtitanJob& made, int64_t ranks) {
  importer::Job job = made.job;
  job.layout.ranks = ranks;
  const int64_t parts = job.layout.tp * job.layout.cp * job.layout.pp;
  if (made.perRank > 0)
    job.set("batch.global", std::to_string(made.perRank * (ranks / parts)));
  return job;
}

/// Takes the fewest nodes that the job fits on.
importer::Job chooseRanks(const importer::TorchtitanJob& made,
                          const FileLoader& library) {
  if (made.multiple == 0)
    return made.job;
  const int64_t fewest = std::lcm(ranksOfNode, made.multiple);
  int64_t ranks = fewest;
  while (ranks < mostTried && !fits(library, onRanks(made, ranks)))
    ranks *= 2;
  if (ranks >= mostTried)
    ranks = fewest; // `check` says why
  importer::Job job = onRanks(made, ranks);
  job.remarks.push_back("torchtitan shards over all ranks that it is started "
                        "with: the recipe takes the fewest nodes it fits on.");
  return job;
}

} // namespace

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
  return chooseRanks(*made, session.loader);
}

} // namespace recipec::driver
