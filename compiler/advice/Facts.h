// What the rules of the advice read, and how they report: degrees of
// parallelism, memory forecasts, times of ops, and edits of settings.

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

/// Factors by which a change of the layout multiplies the memory of a rank.
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
  /// The number of ranks in an NVLink domain.
  int64_t linkRanks() const;
  /// A size of the model, `hidden`; nullopt where the model has no such field.
  std::optional<int64_t> sizeOfModel(std::string_view field) const;

  /// The growth of a rank's memory when `dp` becomes `factor` times as large,
  /// at the expense of `tp` (larger parts of parameters) or of `cp` (the same
  /// parameters). Sharded state does not grow.
  Growth growthFromTp(double factor) const;
  static Growth growthFromCp(double factor);
  /// Whether the global batch divides by a `dp` that is `factor` times as
  /// large.
  bool dividesBatch(int64_t factor) const;
  /// The bytes of the fullest rank after the growth; nullopt if they do not fit
  /// on the device.
  std::optional<int64_t> fittingTotal(const Growth& growth) const;
  /// "about 61.2 GiB of 79.1 GiB a rank".
  std::string memoryText(int64_t total) const;

  /// Returns a function that gives the seconds of an op by the roofline
  /// (cost/Roofline.h). It refers to these facts.
  std::function<double(const ir::Op&)> secondsIn(const ir::Module& stage) const;
  /// How often each function of a stage runs in a step.
  static std::map<std::string, int> runsOf(const ir::Module& stage);

  /// Whether a recipe or the command line gives the setting.
  bool isGiven(const std::string& path) const;
  /// The place in the user's text of the first of the paths that is given, or
  /// of the first path if none is.
  SourceRange placeOf(const std::vector<std::string>& paths) const;
  /// Adds a help that proposes settings of a section: the text `before`, the
  /// settings as "`tp = 4, pp = 2`", and the text `after`. Also adds the edits
  /// as a fix-it. A setting that the user's file does not give is inserted
  /// after another one of the section. If the file gives no setting of the
  /// section, there is no edit, and the help names the section.
  void propose(diag::Builder& builder, std::string_view section,
               const std::vector<Setting>& settings, const std::string& before,
               const std::string& after) const;

private:
  /// Whether a value is given in the user's file, as member `name` of a
  /// section.
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
/// Whether one of two spans of ranks divides the other, as the spans of experts
/// and those of the other degrees must.
bool nest(int64_t span, int64_t other);

} // namespace recipec::advice

#endif // RECIPEC_ADVICE_FACTS_H
