// JSON text -> Plan.
//
// 1. ParseJson reads the text.
// 2. The version is checked first: another version may have other fields.
// 3. The reader walks the lists of PlanFields.h. It reports the first field
//    that is missing, of another type, or unknown, with its path in the
//    document.

#include "runtime/base/Hash.h"
#include "runtime/base/InputFile.h"
#include "runtime/base/ParseJson.h"
#include "runtime/ops/OpTable.h"
#include "runtime/plan/Paths.h"
#include "runtime/plan/PlanFields.h"
#include "runtime/plan/PlanJson.h"
#include "runtime/plan/Validate.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

namespace reciperun::plan {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t largestPlan = int64_t(4) << 30; // bytes

const char* typeName(const Json& json) {
  switch (json.type()) {
  case Json::value_t::null:
    return "null";
  case Json::value_t::boolean:
    return "a boolean";
  case Json::value_t::string:
    return "a string";
  case Json::value_t::array:
    return "a list";
  case Json::value_t::object:
    return "an object";
  case Json::value_t::number_float:
    return "a fraction";
  default:
    return "an integer";
  }
}

/// A node of the JSON document. It points to its parent node on the stack, so
/// that the path is only built for an error message.
struct Place {
  const Place* parent = nullptr;
  const char* key = nullptr; // for a member of an object
  size_t index = 0;          // for an element of a list

  std::string path() const {
    if (!parent)
      return "";
    if (!key)
      return parent->path() + "[" + std::to_string(index) + "]";
    std::string above = parent->path();
    return above.empty() ? key : above + "." + key;
  }
};

/// Reads one object. Keeps the first error in `failure`.
class Reader {
public:
  template <class T> using Ref = T&;

  Reader(const Json& object, const Place& place, Status& failure)
      : object(object), place(place), failure(failure) {}

  template <class T> void field(const char* name, T& value) {
    if (const Json* node = member(name))
      return read(*node, value, Place{&place, name});
    fail(place, "lacks `" + std::string(name) + "`");
  }
  template <class T>
  void optional(const char* name, T& value, const T& absent) {
    value = absent;
    if (const Json* node = member(name))
      read(*node, value, Place{&place, name});
  }
  template <class T>
  void optional(const char* name, std::optional<T>& value,
                const std::optional<T>&) {
    if (const Json* node = member(name))
      read(*node, value.emplace(), Place{&place, name});
  }
  void attributes(const char* name, ops::Attributes& list) {
    const Json* node = member(name);
    if (!node)
      return;
    Place here{&place, name};
    if (!node->is_object())
      return mismatch(here, "an object", *node);
    for (const auto& [key, value] : node->items())
      attribute(value, list[key], Place{&here, key.c_str()});
  }

  /// Marks a member as known without reading it; other code reads it.
  void leave(const char* name) { (void)member(name); }

  /// Reports a member that no field has read.
  void finish() {
    if (!failure.isOk() || used.size() == object.size())
      return;
    for (const auto& [key, value] : object.items())
      if (std::find(used.begin(), used.end(), key) == used.end())
        return fail(place, "has the unknown field `" + key + "`");
  }

private:
  const Json* member(const char* name) {
    auto found = object.find(name);
    if (found == object.end())
      return nullptr;
    used.push_back(name);
    return &*found;
  }

  void fail(const Place& at, const std::string& what) {
    if (!failure.isOk())
      return;
    std::string path = at.path();
    failure = Status::error((path.empty() ? "the plan" : "`" + path + "`") +
                            " " + what);
  }
  void mismatch(const Place& at, const char* wanted, const Json& found) {
    fail(at, std::string("should be ") + wanted + " and is " + typeName(found));
  }

  void read(const Json& node, bool& value, const Place& at) {
    if (!node.is_boolean())
      return mismatch(at, "a boolean", node);
    value = node.get<bool>();
  }
  void read(const Json& node, int64_t& value, const Place& at) {
    bool tooLarge = node.is_number_unsigned() &&
                    node.get<uint64_t>() > std::numeric_limits<int64_t>::max();
    if (!node.is_number_integer() || tooLarge)
      return mismatch(at, "an integer of 64 bits", node);
    value = node.get<int64_t>();
  }
  void read(const Json& node, int& value, const Place& at) {
    int64_t wide = 0;
    read(node, wide, at);
    value = static_cast<int>(wide);
    if (value != wide)
      fail(at, "is " + std::to_string(wide) + ", beyond 32 bits");
  }
  void read(const Json& node, double& value, const Place& at) {
    if (!node.is_number())
      return mismatch(at, "a number", node);
    value = node.get<double>();
  }
  void read(const Json& node, std::string& value, const Place& at) {
    if (!node.is_string())
      return mismatch(at, "a string", node);
    value = node.get_ref<const std::string&>();
  }
  void read(const Json& node, DType& value, const Place& at) {
    spelt(node, value, ops::findDType, at, "dtype");
  }
  void read(const Json& node, OpKind& value, const Place& at) {
    spelt(node, value, ops::findOp, at, "op");
  }
  void read(const Json& node, ScheduleStep::Kind& value, const Place& at) {
    spelt(node, value, ops::findStepKind, at, "kind of step");
  }
  void read(const Json& node, Transfer::Kind& value, const Place& at) {
    spelt(node, value, ops::findTransferKind, at, "kind of transfer");
  }
  void read(const Json& node, ServingPolicy& value, const Place& at) {
    spelt(node, value, ops::findServingPolicy, at, "policy of serving");
  }
  void read(const Json& node, Transport& value, const Place& at) {
    spelt(node, value, ops::findTransport, at, "transport");
  }
  void read(const Json& node, Traffic& value, const Place& at) {
    spelt(node, value, ops::findTraffic, at, "traffic");
  }

  template <class Enum>
  void spelt(const Json& node, Enum& value,
             std::optional<Enum> (*find)(std::string_view), const Place& at,
             const char* what) {
    std::string name;
    read(node, name, at);
    if (std::optional<Enum> found = find(name))
      value = *found;
    else
      fail(at, "is `" + name + "`, which is no " + what);
  }

  template <class T>
  void read(const Json& node, std::vector<T>& list, const Place& at) {
    if (!node.is_array())
      return mismatch(at, "a list", node);
    list.clear();
    list.reserve(node.size());
    for (size_t i = 0; i < node.size() && failure.isOk(); ++i)
      read(node[i], list.emplace_back(), Place{&at, nullptr, i});
  }
  template <class T>
  requires std::is_class_v<T>
  void read(const Json& node, T& record, const Place& at) {
    if (!failure.isOk())
      return;
    if (!node.is_object())
      return mismatch(at, "an object", node);
    Reader inner(node, at, failure);
    fields(inner, record);
    inner.finish();
  }

  void attribute(const Json& node, AttributeValue& value, const Place& at) {
    if (node.is_boolean())
      return read(node, value.emplace<bool>(), at);
    if (node.is_number_float())
      return read(node, value.emplace<double>(), at);
    if (node.is_number())
      return read(node, value.emplace<int64_t>(), at);
    if (node.is_string())
      return read(node, value.emplace<std::string>(), at);
    read(node, value.emplace<std::vector<std::string>>(), at);
  }

  const Json& object;
  const Place& place;
  Status& failure;
  std::vector<std::string_view> used;
};

constexpr const char* compilesAgain = "compile the recipe again";

Status unreadable(const std::string& cause) {
  return damaged(cause).withRemedy(compilesAgain);
}

Status checkVersion(const Json& json) {
  if (!json.is_object())
    return Status::error(std::string("a plan is a JSON object, this is ") +
                         typeName(json) +
                         "; `recipec plan FILE -o plan.json` writes one");
  auto major = json.find("major"), minor = json.find("minor");
  if (major == json.end() || minor == json.end() ||
      !major->is_number_integer() || !minor->is_number_integer())
    return Status::error("this is no plan: it has no version; `recipec plan "
                         "FILE -o plan.json` writes one");
  int64_t foundMajor = major->get<int64_t>(),
          foundMinor = minor->get<int64_t>();
  if (foundMajor == majorVersion && foundMinor >= 0 &&
      foundMinor <= minorVersion)
    return Status::ok();
  auto version = [](int64_t a, int64_t b) {
    return std::to_string(a) + "." + std::to_string(b);
  };
  return Status::error(
      "the plan has version " + version(foundMajor, foundMinor) +
      " and this program reads version " + version(majorVersion, minorVersion) +
      "; compile the recipe again with the `recipec` of "
      "this version");
}

/// Stores in each parameter which stages hold it.
Status noteStages(Plan& plan) {
  auto note = [&](const Stage& stage, int number) {
    for (const Holding& holding : stage.holdings) {
      if (holding.parameter < 0 ||
          size_t(holding.parameter) >= plan.parameters.size())
        return unreadable("a stage holds parameter " +
                          std::to_string(holding.parameter) + " of " +
                          std::to_string(plan.parameters.size()));
      plan.parameters[size_t(holding.parameter)].stages.push_back(number);
    }
    return Status::ok();
  };
  for (size_t i = 0; i < plan.stages.size(); ++i)
    RECIPERUN_TRY(note(plan.stages[i], int(i)));
  return Status::ok();
}

/// The hash is the last field. It covers all bytes before it.
Status checkHash(std::string_view text) {
  constexpr std::string_view key = ",\n\"hash\":";
  const size_t end = text.rfind(key);
  if (end == std::string_view::npos)
    return Status::error(
        "the plan has no hash of what `recipec` wrote; compile "
        "the recipe again");
  const std::string hash = '"' + hashOf(text.substr(0, end)).text() + "\"\n}\n";
  if (text.substr(end + key.size()) != hash)
    return Status::error(
        "the plan has been changed since `recipec` wrote it: its "
        "`hash` is that of another text; compile the recipe "
        "again, with `--set` for what should be different");
  return Status::ok();
}

} // namespace

Expected<Plan> fromJson(std::string_view text) {
  Expected<Json> json =
      parseOrderedJson(text, {.noun = "plan", .maxBytes = size_t(largestPlan)});
  if (!json)
    return unreadable(json.message());
  RECIPERUN_TRY(checkVersion(*json));
  Plan plan;
  Status failure;
  Place root;
  Reader reader(*json, root, failure);
  fields(reader, plan);
  reader.leave("hash");
  reader.finish();
  if (!failure.isOk())
    return unreadable(failure.message());
  RECIPERUN_TRY(noteStages(plan));
  return plan;
}

/// The error for a file that does not begin like a plan. The file that users
/// most often name by mistake is a recipe.
static Status noPlan(const std::string& path) {
  const std::string name = "`" + path + "`";
  for (const char* ending : {".recipe", ".yaml", ".yml"})
    if (path.ends_with(ending))
      return Status::error(name +
                           " is a recipe, and not a plan: run it with `recipec "
                           "run " +
                           path +
                           "`, or make a plan of it first, with `recipec "
                           "plan " +
                           path + " -o plan.json`");
  return Status::error(name + " is no plan: a plan is the JSON that `recipec "
                              "plan FILE -o plan.json` writes");
}

Expected<Plan> readPlan(const std::string& path, const std::string& folder) {
  const Expected<std::string> text = readTextFile(path, largestPlan);
  RECIPERUN_TRY(text);
  const size_t first = text->find_first_not_of(" \t\r\n");
  if (first != text->npos && (*text)[first] != '{')
    return noPlan(path);
  Expected<Plan> plan = fromJson(*text);
  if (!plan)
    return plan.status().withContext("`" + path + "`");
  RECIPERUN_TRY(
      validate(*plan).withContext("`" + path + "`").withRemedy(compilesAgain));
  RECIPERUN_TRY(checkHash(*text).withContext("`" + path + "`"));
  resolvePaths(*plan,
               folder.empty() ? startOfPaths(path, plan->folder) : folder);
  return plan;
}

} // namespace reciperun::plan
