// 1. CUPTI passes full buffers of records to callbacks without a user argument,
//    so the buffers are in a global.
// 2. A kernel's record has the correlation id of the call that launched it, and
//    another record ties that id to the range of the call.

#include "runtime/device/cuda/CudaProfile.h"

#include "runtime/device/cuda/SharedLibrary.h"

#if __has_include(<cupti.h>)
#include <cupti.h>
#define RECIPERUN_CUPTI
#endif

#include <cstdlib>
#include <cxxabi.h>
#include <map>
#include <mutex>
#include <utility>

namespace reciperun::device {

#ifdef RECIPERUN_CUPTI

/// The CUPTI functions in use, named without the `cupti` prefix.
struct CuptiLibrary {
  SharedLibrary library;
  decltype(&cuptiGetResultString) GetResultString = nullptr;
  decltype(&cuptiGetTimestamp) GetTimestamp = nullptr;
  decltype(&cuptiActivityRegisterCallbacks) ActivityRegisterCallbacks = nullptr;
  decltype(&cuptiActivityEnable) ActivityEnable = nullptr;
  decltype(&cuptiActivityDisable) ActivityDisable = nullptr;
  decltype(&cuptiActivityFlushAll) ActivityFlushAll = nullptr;
  decltype(&cuptiActivityGetNextRecord) ActivityGetNextRecord = nullptr;
  decltype(&cuptiActivityPushExternalCorrelationId)
      ActivityPushExternalCorrelationId = nullptr;
  decltype(&cuptiActivityPopExternalCorrelationId)
      ActivityPopExternalCorrelationId = nullptr;

  Status open();
  Status check(CUptiResult code, const char* call) const;
};

namespace {

/// Calls a function of CUPTI and returns its failure.
#define CUPTI_TRY(library, name, ...)                                          \
  RECIPERUN_TRY((library).check((library).name(__VA_ARGS__), "cupti" #name))

/// Kernels, copies and memsets; the API calls that launch them; and the ranges
/// of those calls.
constexpr CUpti_ActivityKind kinds[] = {
    CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
    CUPTI_ACTIVITY_KIND_MEMCPY,
    CUPTI_ACTIVITY_KIND_MEMSET,
    CUPTI_ACTIVITY_KIND_RUNTIME,
    CUPTI_ACTIVITY_KIND_DRIVER,
    CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION,
};

struct Buffer {
  uint8_t* data;
  size_t bytes;
};
struct Buffers {
  std::mutex mutex;
  std::vector<Buffer> full;

  ~Buffers() { clear(); }
  void clear() {
    for (const Buffer& buffer : full)
      std::free(buffer.data);
    full.clear();
  }
};
Buffers& buffers() {
  static Buffers all;
  return all;
}

void CUPTIAPI bufferRequested(uint8_t** data, size_t* bytes, size_t* records) {
  constexpr size_t bufferBytes = size_t(8) << 20;
  *data = static_cast<uint8_t*>(std::aligned_alloc(64, bufferBytes));
  *bytes = *data ? bufferBytes : 0;
  *records = 0; // as many as there is room for
}

void CUPTIAPI bufferCompleted(CUcontext, uint32_t, uint8_t* data, size_t,
                              size_t valid) {
  Buffers& all = buffers();
  const std::lock_guard lock(all.mutex);
  all.full.push_back({data, valid});
}

/// The function's name in a mangled name, without parameters:
/// `reciperun::kernels::add<float, 4>`.
std::string readable(const char* mangled) {
  if (!mangled)
    return "kernel";
  int status = 0;
  char* const made = abi::__cxa_demangle(mangled, nullptr, nullptr, &status);
  std::string name = status == 0 ? made : mangled;
  std::free(made);
  if (name.starts_with("void "))
    name = name.substr(5);
  const std::string unnamed = "(anonymous namespace)::";
  for (size_t at; (at = name.find(unnamed)) != name.npos;)
    name.erase(at, unnamed.size());
  int depth = 0;
  for (size_t i = 0; i < name.size(); ++i) {
    depth += (name[i] == '<') - (name[i] == '>');
    if (depth == 0 && name[i] == '(')
      return name.substr(0, i);
  }
  return name;
}

/// The activities of one profile, built record by record.
class Records {
public:
  explicit Records(uint64_t begun) : begun(begun) {}

  void take(const CUpti_Activity& record) {
    switch (record.kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
      const auto& kernel =
          reinterpret_cast<const CUpti_ActivityKernel10&>(record);
      return add(kernel, readable(kernel.name));
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      return add(reinterpret_cast<const CUpti_ActivityMemcpy6&>(record),
                 "copy");
    case CUPTI_ACTIVITY_KIND_MEMSET:
      return add(reinterpret_cast<const CUpti_ActivityMemset4&>(record),
                 "clear");
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION: {
      const auto& tie =
          reinterpret_cast<const CUpti_ActivityExternalCorrelation&>(record);
      rangeOfCall[tie.correlationId] = tie.externalId;
      return;
    }
    default:
      return;
    }
  }

  std::vector<Activity> result(const std::vector<std::string>& ranges) {
    for (size_t i = 0; i < activities.size(); ++i)
      if (auto tie = rangeOfCall.find(calls[i]); tie != rangeOfCall.end())
        if (tie->second >= 1 && tie->second <= ranges.size())
          activities[i].range = ranges[tie->second - 1];
    return std::move(activities);
  }

private:
  template <class Record> void add(const Record& record, std::string name) {
    activities.push_back({std::move(name),
                          {},
                          int(record.streamId),
                          secondsOf(record.start),
                          secondsOf(record.end)});
    calls.push_back(record.correlationId);
  }

  double secondsOf(uint64_t time) const {
    return double(int64_t(time - begun)) / 1e9;
  }

  uint64_t begun;
  std::vector<Activity> activities;
  std::vector<uint32_t> calls; // correlation id of each activity
  std::map<uint32_t, uint64_t> rangeOfCall;
};

Status readAll(const CuptiLibrary& library, Records& records) {
  Buffers& all = buffers();
  const std::lock_guard lock(all.mutex);
  for (const Buffer& buffer : all.full)
    for (CUpti_Activity* record = nullptr;;) {
      const CUptiResult code =
          library.ActivityGetNextRecord(buffer.data, buffer.bytes, &record);
      if (code == CUPTI_ERROR_MAX_LIMIT_REACHED)
        break;
      RECIPERUN_TRY(library.check(code, "cuptiActivityGetNextRecord"));
      records.take(*record);
    }
  all.clear();
  return Status::ok();
}

} // namespace

Status CuptiLibrary::open() {
  const std::string file =
      "libcupti.so." + std::to_string(CUDART_VERSION / 1000);
  const std::string source = "CUDA's CUPTI";
  if (!library.open(file, source).isOk())
    RECIPERUN_TRY(
        library.open("/usr/local/cuda/extras/CUPTI/lib64/" + file, source));
  RECIPERUN_TRY(library.find("cuptiGetResultString", GetResultString));
  RECIPERUN_TRY(library.find("cuptiGetTimestamp", GetTimestamp));
  RECIPERUN_TRY(library.find("cuptiActivityRegisterCallbacks",
                             ActivityRegisterCallbacks));
  RECIPERUN_TRY(library.find("cuptiActivityEnable", ActivityEnable));
  RECIPERUN_TRY(library.find("cuptiActivityDisable", ActivityDisable));
  RECIPERUN_TRY(library.find("cuptiActivityFlushAll", ActivityFlushAll));
  RECIPERUN_TRY(
      library.find("cuptiActivityGetNextRecord", ActivityGetNextRecord));
  RECIPERUN_TRY(library.find("cuptiActivityPushExternalCorrelationId",
                             ActivityPushExternalCorrelationId));
  return library.find("cuptiActivityPopExternalCorrelationId",
                      ActivityPopExternalCorrelationId);
}

Status CuptiLibrary::check(CUptiResult code, const char* call) const {
  if (code == CUPTI_SUCCESS)
    return Status::ok();
  const char* text = nullptr;
  GetResultString(code, &text);
  return Status::error("`" + std::string(call) +
                       "` failed: " + (text ? text : "no cause given"));
}

CudaProfile::CudaProfile() : library(std::make_unique<CuptiLibrary>()) {}

Expected<std::unique_ptr<CudaProfile>> CudaProfile::begin() {
  std::unique_ptr<CudaProfile> profile(new CudaProfile);
  CuptiLibrary& cupti = *profile->library;
  RECIPERUN_TRY(cupti.open());
  CUPTI_TRY(cupti, ActivityRegisterCallbacks, bufferRequested, bufferCompleted);
  profile->isNoting = true;
  for (CUpti_ActivityKind kind : kinds)
    CUPTI_TRY(cupti, ActivityEnable, kind);
  CUPTI_TRY(cupti, GetTimestamp, &profile->begun);
  return profile;
}

CudaProfile::~CudaProfile() {
  if (isNoting)
    for (CUpti_ActivityKind kind : kinds)
      library->ActivityDisable(kind);
}

void CudaProfile::push(const std::string& range) {
  ranges.push_back(range);
  library->ActivityPushExternalCorrelationId(
      CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, ranges.size());
}

void CudaProfile::pop() {
  uint64_t last = 0;
  library->ActivityPopExternalCorrelationId(
      CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, &last);
}

Expected<std::vector<Activity>> CudaProfile::end() {
  isNoting = false;
  for (CUpti_ActivityKind kind : kinds)
    CUPTI_TRY(*library, ActivityDisable, kind);
  CUPTI_TRY(*library, ActivityFlushAll, CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  Records records(begun);
  RECIPERUN_TRY(readAll(*library, records));
  return records.result(ranges);
}

#else

struct CuptiLibrary {};

CudaProfile::CudaProfile() = default;
CudaProfile::~CudaProfile() = default;

Expected<std::unique_ptr<CudaProfile>> CudaProfile::begin() {
  return Status::error("this program was built without CUPTI");
}

void CudaProfile::push(const std::string&) {}
void CudaProfile::pop() {}
Expected<std::vector<Activity>> CudaProfile::end() {
  return std::vector<Activity>();
}

#endif

} // namespace reciperun::device
