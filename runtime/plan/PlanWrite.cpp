// Plan -> JSON text.
//
// Walks the lists of PlanFields.h. Objects keep the order of the fields and
// omit fields with their default value. Each element of a list of structs has
// its own line, so that two plans can be compared with diff. Numbers are
// printed in the shortest form that reads back as the same double. The last
// field is a hash of all bytes before it.

#include "runtime/base/Hash.h"
#include "runtime/ops/OpTable.h"
#include "runtime/plan/PlanFields.h"
#include "runtime/plan/PlanJson.h"

#include <nlohmann/json.hpp>

namespace reciperun::plan {
namespace {

class Writer {
public:
  template <class T> using Ref = const T&;

  template <class T> void field(const char* name, const T& value) {
    key(name);
    write(value);
  }
  template <class T>
  void optional(const char* name, const T& value, const T& absent) {
    if (value != absent)
      field(name, value);
  }
  template <class T>
  void optional(const char* name, const std::optional<T>& value,
                const std::optional<T>&) {
    if (value)
      field(name, *value);
  }
  void attributes(const char* name, const ops::Attributes& list) {
    if (list.empty())
      return;
    key(name);
    open('{');
    for (const auto& [attribute, value] : list) {
      key(attribute);
      std::visit([this](const auto& held) { write(held); }, value);
    }
    close('}');
  }

  /// The whole plan, with each of its own fields on a line of its own.
  std::string plan(const Plan& plan) {
    open('{');
    fields(*this, plan);
    field("hash", hashOf(text).text());
    close('}');
    text += '\n';
    return std::move(text);
  }

private:
  void open(char bracket) {
    text += bracket;
    first = true;
    ++depth;
  }
  void close(char bracket) {
    --depth;
    if (depth == 0)
      text += '\n';
    text += bracket;
    first = false;
  }
  void key(const std::string& name) {
    separate(depth == 1);
    write(name);
    text += ':';
  }
  void separate(bool ownLine) {
    if (!first)
      text += ',';
    if (ownLine)
      text += '\n';
    first = false;
  }

  void write(bool value) { text += value ? "true" : "false"; }
  void write(int value) { text += std::to_string(value); }
  void write(int64_t value) { text += std::to_string(value); }
  void write(double value) { text += nlohmann::json(value).dump(); }
  /// Bytes that are not UTF-8 become U+FFFD: a reader would reject them.
  void write(const std::string& value) {
    text += nlohmann::json(value).dump(
        -1, ' ', false, nlohmann::json::error_handler_t::replace);
  }
  void write(DType value) { write(std::string(ops::dtypeName(value))); }
  void write(OpKind value) { write(std::string(ops::opName(value))); }
  void write(ScheduleStep::Kind value) {
    write(std::string(ops::nameOf(value)));
  }
  void write(Transfer::Kind value) { write(std::string(ops::nameOf(value))); }
  void write(ServingPolicy value) { write(std::string(ops::nameOf(value))); }
  void write(Transport value) { write(std::string(ops::nameOf(value))); }
  void write(Traffic value) { write(std::string(ops::nameOf(value))); }

  template <class T> void write(const std::vector<T>& list) {
    open('[');
    for (const T& element : list) {
      separate(std::is_class_v<T> && !std::is_same_v<T, std::string>);
      write(element);
    }
    close(']');
  }
  template <class T>
  requires std::is_class_v<T>
  void write(const T& record) {
    open('{');
    fields(*this, record);
    close('}');
  }

  std::string text;
  bool first = true; // in the innermost open bracket
  int depth = 0;
};

} // namespace

std::string toJson(const Plan& plan) {
  return Writer().plan(plan);
}

} // namespace reciperun::plan
