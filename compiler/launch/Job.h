// A compiled recipe, as the writers of scripts and manifests see it.

#ifndef RECIPEC_LAUNCH_JOB_H
#define RECIPEC_LAUNCH_JOB_H

#include "compiler/launch/Settings.h"
#include "compiler/recipe/Recipe.h"
#include "runtime/plan/Plan.h"

#include <cstdint>
#include <string>
#include <vector>

namespace recipec::launch {

/// A recipe, a point of its sweep, or a layout of one of these.
struct Job {
  std::string name;   // `support_bot`, `tuned@optimizer.lr=1e-4`
  std::string family; // the recipe's, without the point of a sweep
  std::string run;    // the name without the layout of an elastic run
  std::string label;  // the same as a DNS-1035 label
  std::string task;
  int64_t ranks = 1, nodes = 1, ranksPerNode = 1;
  bool hasGpus = false;
  int64_t hostBytes = 0; // of a node: `launch.host_memory`, or the plan's
  bool savesCheckpoints = false;
  std::string folder;      // absolute; relative paths of the recipe start here
  std::string planFile;    // absolute; where the driver writes the plan
  std::string planText;    // the plan as JSON
  std::string model;       // the folder that a server serves; as written
  std::string podFolder;   // in pods, relative paths of the recipe start here
  int64_t maxBatch = 1;    // `serve.max_batch`
  int64_t metricsPort = 0; // `train.metrics_port`; 0: none
  bool exports = false;    // `export.hf` is set
  /// The settings that name files or folders, and these as written.
  Pairs paths;
  Settings settings;

  bool serves() const { return task == "serve" || task == "generate"; }
};

/// `sft on 16 ranks, 8 a node`.
std::string summaryOf(const Job& job);

/// Whether the jobs are layouts of one run, and not the points of a sweep.
bool areLayouts(const std::vector<Job>& jobs);

/// `plan` gives the memory, `recipe` all the rest but the files.
Job jobOf(const recipe::Recipe& recipe, const reciperun::plan::Plan& plan);

/// A file to write, by its name in the output folder.
struct File {
  std::string name, text;
  bool isProgram = false; // written with the permission to execute it
};
using Files = std::vector<File>;

} // namespace recipec::launch

#endif // RECIPEC_LAUNCH_JOB_H
