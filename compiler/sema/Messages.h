// What evaluation reports.
//
// One mistake makes one message: of a kind and a cause at a place the first is
// reported. A place in the standard library is moved to the user's value that
// led there.

#ifndef RECIPEC_SEMA_MESSAGES_H
#define RECIPEC_SEMA_MESSAGES_H

#include "compiler/ast/Ast.h"
#include "compiler/diag/Diagnostic.h"

#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace recipec::sema {

class Evaluator;
struct Object;
struct Slot;

/// One name of a circle of names.
struct CycleLink {
  std::string name;
  SourceRange range;
};

class Messages {
public:
  Messages(Evaluator& evaluator, diag::Engine& engine)
      : evaluator(evaluator), engine(engine) {}

  diag::Builder report(diag::Kind kind, SourceRange range, std::string message);
  /// Each of `links` needs the next, and the last one the first.
  diag::Builder reportRecursion(std::vector<CycleLink> links);

  /// Whether so much has been reported that nothing more needs evaluation.
  bool isFull() const { return engine.isFull(); }
  int errors() const { return engine.errors(); }
  bool isMuted() const { return muted; }

  /// While it lives nothing is reported: values are tried out.
  class Muted {
  public:
    explicit Muted(Messages& messages)
        : messages(messages), outer(std::exchange(messages.muted, true)) {}
    ~Muted() { messages.muted = outer; }
    Muted(const Muted&) = delete;
    Muted& operator=(const Muted&) = delete;

  private:
    Messages& messages;
    bool outer;
  };

  /// While it lives a default or condition of a schema is evaluated, whose
  /// operands a message in the library is about.
  class Derivation {
  public:
    /// `slot`: of a default.
    Derivation(Messages& messages, Object& object, const Slot* slot,
               ast::ExprId expr)
        : messages(messages) {
      messages.derivations.push_back({&object, slot, expr});
    }
    ~Derivation() { messages.derivations.pop_back(); }
    Derivation(const Derivation&) = delete;
    Derivation& operator=(const Derivation&) = delete;

  private:
    Messages& messages;
  };

private:
  struct Derived {
    Object* object;
    const Slot* slot;
    ast::ExprId expr;
  };

  Evaluator& evaluator;
  diag::Engine& engine;
  std::set<std::tuple<SourceId, uint32_t, std::string>> reported;
  std::vector<Derived> derivations;
  diag::Diagnostic discarded; // what is not reported is written to
  bool muted = false;
};

} // namespace recipec::sema

#endif // RECIPEC_SEMA_MESSAGES_H
