// Status and Expected: how the runtime reports failures of its environment.
//
// A Status is ok or a message with a code; an Expected<T> is a T or the Status
// of a failure. Neither throws. Messages follow the house style (lower case, no
// period, names in backticks) and callers add context: "`a.json`: line 3: ...".

#ifndef RECIPERUN_BASE_STATUS_H
#define RECIPERUN_BASE_STATUS_H

#include <cassert>
#include <string>
#include <utility>
#include <variant>

namespace reciperun {

/// The kind of a failure, as KServe's and gRPC's protocols distinguish them.
/// Only servers look at it.
enum class StatusCode {
  internal,
  invalidArgument,
  notFound,
  alreadyExists,
  unavailable,
  unsupported,
  cancelled,
  unknown
};

/// The outcome of an operation that may fail.
class [[nodiscard]] Status {
public:
  /// Success: `return {}` and `return Status::ok()` are equivalent.
  Status() = default;
  static Status ok() { return Status(); }
  /// A failure. An empty message is replaced, so that it remains a failure.
  static Status error(std::string message,
                      StatusCode code = StatusCode::internal) {
    Status status;
    status.text = message.empty() ? "unknown error" : std::move(message);
    status.kind = code;
    return status;
  }

  bool isOk() const { return text.empty(); }
  /// Empty when ok.
  const std::string& message() const { return text; }
  /// The code of a failure.
  StatusCode code() const { return kind; }
  /// The same failure with context: "`context`: message". Ok stays ok.
  Status withContext(const std::string& context) const {
    return isOk() ? *this : error(context + ": " + text, kind);
  }
  /// The same failure with a remedy: "message; remedy". Ok stays ok.
  Status withRemedy(const std::string& remedy) const {
    return isOk() ? *this : error(text + "; " + remedy, kind);
  }

private:
  std::string text;
  StatusCode kind = StatusCode::internal;
};

/// A value, or the Status that says why it is missing.
template <class T> class [[nodiscard]] Expected {
public:
  Expected(T value) : held(std::in_place_index<0>, std::move(value)) {}
  Expected(Status failure) : held(std::in_place_index<1>, std::move(failure)) {
    assert(!std::get<1>(held).isOk() && "an Expected needs a value or a cause");
  }

  explicit operator bool() const { return held.index() == 0; }
  T& operator*() & { return std::get<0>(held); }
  const T& operator*() const& { return std::get<0>(held); }
  T&& operator*() && { return std::get<0>(std::move(held)); }
  T* operator->() { return &std::get<0>(held); }
  const T* operator->() const { return &std::get<0>(held); }

  /// Ok when there is a value.
  Status status() const { return *this ? Status::ok() : std::get<1>(held); }
  const std::string& message() const {
    static const std::string none;
    return *this ? none : std::get<1>(held).message();
  }

private:
  std::variant<T, Status> held;
};

/// The Status of a Status or Expected, so that RECIPERUN_TRY takes both.
inline Status statusOf(const Status& status) {
  return status;
}
template <class T> Status statusOf(const Expected<T>& value) {
  return value.status();
}

} // namespace reciperun

/// Returns the failure of a Status or Expected from the enclosing function.
#define RECIPERUN_TRY(expr)                                                    \
  do {                                                                         \
    if (::reciperun::Status tried = ::reciperun::statusOf(expr);               \
        !tried.isOk())                                                         \
      return tried;                                                            \
  } while (false)

#endif // RECIPERUN_BASE_STATUS_H
