// The section `launch` of a recipe as plain data.

#ifndef RECIPEC_LAUNCH_SETTINGS_H
#define RECIPEC_LAUNCH_SETTINGS_H

#include "compiler/recipe/Recipe.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace recipec::launch {

/// A key of a Kubernetes Secret.
struct Secret {
  std::string name, key;
};

/// An environment variable of the ranks. The value is `text`, or that of
/// `secret`.
struct Variable {
  std::string name, text;
  std::optional<Secret> secret = {};
};

/// Storage that is mounted at `path`: a claim, or a folder `host` of the nodes.
struct Volume {
  std::string path, claim, host;
  int64_t size = 0; // bytes of a claim that is created; 0: it exists
  std::string storageClass;
  bool readOnly = false;
};

/// A taint that pods tolerate. Empty: any value, any effect.
struct Toleration {
  std::string key, value, effect;
};

using Pairs = std::vector<std::pair<std::string, std::string>>;

/// The fields of stdlib/schema/launch.recipe. An empty text stands for `none`
/// and for `auto`; 0 for a number that is not set.
struct Settings {
  std::string name, image, program, queue, account, priority;
  int64_t seconds = 0; // `time`
  int64_t restarts = 0;
  int64_t grace = 0;                    // seconds
  int64_t cpus = 1;                     // of a rank
  int64_t memory = 0, sharedMemory = 0; // bytes
  std::string bind;
  bool exclusive = false;
  bool usesMpirun = false; // `mpi`
  std::vector<Variable> variables;
  std::vector<Volume> volumes;
  std::string folder;
  std::vector<std::string> setup, options;
  int64_t concurrent = 0;
  std::string space; // `namespace`
  std::string serviceAccount;
  std::vector<std::string> pullSecrets;
  std::string gpuResource;
  std::vector<std::pair<std::string, int64_t>> resources;
  Pairs nodeSelector;
  std::vector<Toleration> tolerations;
  std::string sshSecret, trainer;
  std::optional<Pairs> monitor; // labels of the monitor; nullopt: there is none
  int64_t replicas = 1, maxReplicas = 1, load = 80, port = 8000;
};

Settings settingsOf(const recipe::Recipe& recipe);

} // namespace recipec::launch

#endif // RECIPEC_LAUNCH_SETTINGS_H
