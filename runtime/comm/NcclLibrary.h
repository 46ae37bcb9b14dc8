// NCCL, loaded when a plan has several GPUs. A program that runs on CPU ranks
// does not need it installed.

#ifndef RECIPERUN_COMM_NCCLLIBRARY_H
#define RECIPERUN_COMM_NCCLLIBRARY_H

#include "runtime/base/Status.h"
#include "runtime/device/Environment.h"

#include <memory>
#include <vector>

#include <nccl.h>

namespace reciperun::comm {

/// The NCCL functions in use, by name without the `nccl`.
struct NcclLibrary {
  /// The environment variables that NCCL reads when it is loaded.
  static std::vector<device::Variable> environment();

  /// Loads `libnccl.so.2`. Fails when it is missing or too old. It stays loaded
  /// until the process ends.
  static Expected<NcclLibrary> open();

  /// Ok, or "`ncclCall` failed: NCCL's text". `comm` may be null.
  Status check(ncclResult_t code, const char* call,
               ncclComm_t comm = nullptr) const;

  decltype(&ncclGetVersion) GetVersion = nullptr;
  decltype(&ncclGetErrorString) GetErrorString = nullptr;
  decltype(&ncclGetLastError) GetLastError = nullptr;
  decltype(&ncclGetUniqueId) GetUniqueId = nullptr;
  decltype(&ncclCommInitRankConfig) CommInitRankConfig = nullptr;
  decltype(&ncclCommSplit) CommSplit = nullptr;
  decltype(&ncclCommDestroy) CommDestroy = nullptr;
  decltype(&ncclCommGetAsyncError) CommGetAsyncError = nullptr;
  decltype(&ncclGroupStart) GroupStart = nullptr;
  decltype(&ncclGroupEnd) GroupEnd = nullptr;
  decltype(&ncclAllReduce) AllReduce = nullptr;
  decltype(&ncclAllGather) AllGather = nullptr;
  decltype(&ncclReduceScatter) ReduceScatter = nullptr;
  decltype(&ncclBroadcast) Broadcast = nullptr;
  decltype(&ncclReduce) Reduce = nullptr;
  decltype(&ncclSend) Send = nullptr;
  decltype(&ncclRecv) Recv = nullptr;
};

} // namespace reciperun::comm

#endif // RECIPERUN_COMM_NCCLLIBRARY_H
