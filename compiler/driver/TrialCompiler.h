// Compiles a session's input with a change, to learn which errors remain.

#ifndef RECIPEC_DRIVER_TRIALCOMPILER_H
#define RECIPEC_DRIVER_TRIALCOMPILER_H

#include "compiler/driver/Session.h"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace recipec::driver {

/// A change to the input of a session.
struct Change {
  std::vector<const diag::FixIt*> edits;
  std::vector<std::string> settings;
};

using Messages = std::map<std::pair<diag::Kind, std::string>, int>;

/// The errors of a trial, and the positions of its edits in its texts.
struct Findings {
  std::vector<diag::Diagnostic> diagnostics;
  Messages messages;
  std::map<const diag::FixIt*, SourceRange> places;
};

/// How many diagnostics have the kind and the message of this one.
int countOf(const Messages& messages, const diag::Diagnostic& diagnostic);

/// A trial compiles to the Graph, where most rules are checked; small models
/// compile to the Program. The number of trials and the ops of their models are
/// limited, which bounds the time.
class TrialCompiler {
public:
  explicit TrialCompiler(Session& session) : session(session) {}

  /// Compiles the recipe or point of `subject`, the files alone where it is
  /// null. Returns nullopt when the limits are reached.
  std::optional<Findings> compile(const Change& change,
                                  const sema::Selection* subject);

private:
  /// The edited texts, by their source in the session.
  using Texts = std::vector<std::pair<SourceId, std::string>>;

  SourceId sourceOfFile() const;
  void edit(const Change& change, Session& trial,
            std::vector<std::string>& sets, Texts& texts,
            Findings& findings) const;
  void rename(const Session& trial, const Texts& texts,
              Findings& findings) const;
  void compileOpened(Session& trial, const sema::Selection* subject,
                     const std::vector<std::string>& settings);
  void compileSelected(Session& trial,
                       const std::vector<std::string>& settings);

  Session& session;
  int trials = 0;
  size_t ops = 0;
  size_t bytes = 0;
};

} // namespace recipec::driver

#endif // RECIPEC_DRIVER_TRIALCOMPILER_H
