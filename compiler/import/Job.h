// What a configuration of another program requests, in terms of a recipe.
//
// Each reader of a format makes Jobs, and Recipes.h writes them. Values are
// text in the recipe language, except where a later step computes with them.

#ifndef RECIPEC_IMPORT_JOB_H
#define RECIPEC_IMPORT_JOB_H

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace recipec::importer {

/// A field of a recipe, or of its model, with its value in the language:
/// `batch.global`, `32`.
struct Setting {
  std::string path;
  std::string value;
  std::string comment = {}; // behind the value; may be empty
};

/// A setting of the input that the recipe does not have, and the reason.
struct Omission {
  std::string what; // as the input spells it: `cuda_graphs = 1`
  std::string reason;
};

/// A model of the standard library with some of its fields changed.
struct Model {
  std::string module; // `llama` of std/models/llama.recipe
  std::string name;   // `llama3_8b`
  std::vector<Setting> fields = {};
};

/// Degrees of parallelism, by the names of a recipe.
struct Layout {
  int64_t ranks = 1;
  int64_t tp = 1;
  int64_t cp = 1;
  int64_t pp = 1;
  int64_t vp = 1;
  int64_t ep = 1;
  /// Megatron's default is `tp`.
  std::optional<int64_t> etp = {};
};

struct Job {
  std::string name;                      // of the recipe: `pretrain_llama3_8b`
  std::string summary;                   // a sentence for its `##` comment
  bool isMixin = false;                  // settings alone, for any recipe
  std::string task = "pretrain";         // of a recipe
  Model model = {};                      // its `module` may be empty
  std::string hardware = "h100";         // of std.hardware
  Layout layout = {};                    // written as `cluster` and `parallel`
  int64_t sequence = 0;                  // `data.sequence`; 0: not given
  std::vector<Setting> settings = {};    // all others, in any order
  std::vector<Omission> omissions = {};  // listed above the recipe
  std::vector<std::string> remarks = {}; // sentences, listed above the recipe

  void set(std::string path, std::string value, std::string comment = {}) {
    settings.push_back({std::move(path), std::move(value), std::move(comment)});
  }
  void omit(std::string what, std::string reason) {
    omissions.push_back({std::move(what), std::move(reason)});
  }
};

/// A job whose launcher chooses the number of ranks; the job shards over all
/// ranks that it is started with.
struct UnsizedJob {
  Job job;
  /// The number of ranks is a multiple of this; 0 if the job gives its ranks.
  int64_t multiple = 0;
  /// Sequences per step for each rank of `dp`; 0 if the job gives its batch.
  int64_t perRank = 0;
};

} // namespace recipec::importer

#endif // RECIPEC_IMPORT_JOB_H
