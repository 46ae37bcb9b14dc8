// Opens NCCL and finds its functions.

#include "runtime/comm/NcclLibrary.h"

#include "runtime/device/cuda/SharedLibrary.h"

#include <string>

namespace reciperun::comm {
namespace {

constexpr const char* file = "libnccl.so.2";
constexpr int oldest = NCCL_VERSION(2, 18, 0); // the first with ncclCommSplit

} // namespace

std::vector<device::Variable> NcclLibrary::environment() {
  // NVLink multicast is a resource of the whole host. A program that crashes
  // may leave it unusable for all others.
  return {{"NCCL_NVLS_ENABLE", "0", device::Variable::Wins::program}};
}

Expected<NcclLibrary> NcclLibrary::open() {
  device::SharedLibrary library;
  RECIPERUN_TRY(library.open(
      file, "NCCL 2.18 or later, which a plan of several GPUs needs"));
  NcclLibrary nccl;
#define FIND(name) RECIPERUN_TRY(library.find("nccl" #name, nccl.name))
  FIND(GetErrorString);
  FIND(GetLastError);
  FIND(GetVersion);
  int version = 0;
  RECIPERUN_TRY(nccl.check(nccl.GetVersion(&version), "ncclGetVersion"));
  RECIPERUN_TRY(device::checkMajorVersion("NCCL", size_t(version),
                                          size_t(NCCL_VERSION_CODE)));
  if (version < oldest)
    return Status::error(
        "the NCCL that was found is " + device::versionText(size_t(version)) +
        ", and " + device::versionText(oldest) +
        " or later is needed: install one, or name its folder first in "
        "LD_LIBRARY_PATH");
  FIND(GetUniqueId);
  FIND(CommInitRankConfig);
  FIND(CommSplit);
  FIND(CommDestroy);
  FIND(CommGetAsyncError);
  FIND(GroupStart);
  FIND(GroupEnd);
  FIND(AllReduce);
  FIND(AllGather);
  FIND(ReduceScatter);
  FIND(Broadcast);
  FIND(Reduce);
  FIND(Send);
  FIND(Recv);
#undef FIND
  return nccl;
}

Status NcclLibrary::check(ncclResult_t code, const char* call,
                          ncclComm_t comm) const {
  if (code == ncclSuccess || code == ncclInProgress)
    return Status::ok();
  std::string text = "`" + std::string(call) + "` failed: ";
  text += GetErrorString(code);
  const char* details = GetLastError(comm);
  if (details && *details)
    text.append(": ").append(details);
  return Status::error(text);
}

} // namespace reciperun::comm
