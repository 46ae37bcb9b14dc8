// What the rules of the advice read and how they report: degrees of
// parallelism, forecasts of memory, times of ops, and edits of settings.

#ifndef RECIPEC_ADVICE_FACTS_H
#define RECIPEC_ADVICE_FACTS_H

#include "compiler/advice/Advice.h"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace recipec::advice {

/// The factors by which a change scales what a rank keeps.
struct Growth {
  double parameters = 1;
  double gradients = 1;
  double optimizer = 1;
  double activations = 1; // and workspace
};

/// A setting of one section, as a help proposes it.
struct Setting {
  std::string name;  // `tp`
  std::string value; // as the language writes it
};

class Facts {
public:
  explicit Facts(const Subject& subject) : subject(subject) {}

  const recipe::Recipe& recipe() const { return subject.recipe; }
  const std::vector<ir::Module>& stages() const { return subject.stages; }
  const cost::Estimate& estimate() const { return subject.estimate; }

  /// A degree of parallelism, `tp`.
  int64_t degree(std::string_view name) const;
  int64_t ranks() const;
  /// The ranks that the links connect.
  int64_t linkRanks() const;
  /// A size of the model, `hidden`; nullopt where the model has no such field.
  std::optional<int64_t> sizeOfModel(std::string_view field) const;

  /// The growth of a rank when `factor` times as many ranks of `dp` take the
  /// place of ranks of `tp` (parameters in larger parts) or of `cp` (the same
  /// parameters). Sharded state does not grow.
  Growth growthFromTp(double factor) const;
  static Growth growthFromCp(double factor);
  /// Whether `factor` times as many ranks of `dp` divide the global batch.
  bool dividesBatch(int64_t factor) const;
  /// The bytes of the rank that then takes most. Nullopt if it does not fit.
  std::optional<int64_t> fittingTotal(const Growth& growth) const;
  /// "about 61.2 GiB of 79.1 GiB a rank".
  std::string memoryText(int64_t total) const;

  /// Seconds of an op by the roofline (cost/Roofline.h). Refers to these facts.
  std::function<double(const ir::Op&)> secondsIn(const ir::Module& stage) const;
  /// How often each function of a stage runs in a step.
  static std::map<std::string, int> runsOf(const ir::Module& stage);

  /// Whether a recipe or the command line gives the setting.
  bool isGiven(const std::string& path) const;
  /// Where the user gave a setting: the first of the paths that is written, or
  /// the first path.
  SourceRange placeOf(const std::vector<std::string>& paths) const;
  /// Adds the help that proposes settings of a section, "`tp = 4, pp = 2`"
  /// between the texts. Also adds the edits: a setting that the user's file
  /// does not give follows another one of the section. Without one there is no
  /// edit, and the help names the section.
  void propose(diag::Builder& builder, std::string_view section,
               const std::vector<Setting>& settings, const std::string& before,
               const std::string& after) const;

private:
  /// Whether the user's file gives the member `name` of a section here.
  bool isMember(const recipe::Value& value, std::string_view name) const;

  const Subject& subject;
};

/// `12.5`: one decimal.
std::string decimal(double number);
/// "12.5 %" of a fraction.
std::string percent(double fraction);
/// Gigabytes per second, "50.0 GB/s".
std::string rateText(double bytesPerSecond);
/// The largest divisor of `number` that is at most `most`.
int64_t largestDivisor(int64_t number, int64_t most);
/// Whether groups of one span of ranks hold whole groups of the other, as the
/// spans of experts and those of the other degrees must.
bool nest(int64_t span, int64_t other);

} // namespace recipec::advice

#endif // RECIPEC_ADVICE_FACTS_H
