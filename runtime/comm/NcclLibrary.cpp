// Opens NCCL and finds its functions.

#include "runtime/comm/NcclLibrary.h"

#include "runtime/device/cuda/SharedLibrary.h"

#include <cstdlib>
#include <string>

namespace reciperun::comm {
namespace {

constexpr const char* file = "libnccl.so.2";
constexpr int oldest = NCCL_VERSION(2, 18, 0); // the first with ncclCommSplit

std::string versionText(int version) {
  return std::to_string(version / 10000) + "." +
         std::to_string(version % 10000 / 100) + "." +
         std::to_string(version % 100);
}

} // namespace

Expected<NcclLibrary> NcclLibrary::open() {
  // NVLink's multicast is a resource of the whole host that a program which
  // ends badly may leave in disorder for all others.
  setenv("NCCL_NVLS_ENABLE", "0", /*overwrite=*/1);
  device::SharedLibrary library;
  RECIPERUN_TRY(library.open(
      file, "NCCL 2.18 or later, which a plan of several GPUs needs"));
  NcclLibrary nccl;
#define FIND(name) RECIPERUN_TRY(library.find("nccl" #name, nccl.name))
  FIND(GetVersion);
  int version = 0;
  if (nccl.GetVersion(&version) != ncclSuccess || version < oldest)
    return Status::error("`" + std::string(file) + "` is NCCL " +
                         versionText(version) + ", and " + versionText(oldest) +
                         " or later is needed");
  FIND(GetErrorString);
  FIND(GetLastError);
  FIND(GetUniqueId);
  FIND(CommInitRank);
  FIND(CommSplit);
  FIND(CommDestroy);
  FIND(CommGetAsyncError);
  FIND(GroupStart);
  FIND(GroupEnd);
  FIND(AllReduce);
  FIND(AllGather);
  FIND(ReduceScatter);
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
