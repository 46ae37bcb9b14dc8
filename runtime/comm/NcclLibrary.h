// NCCL, opened when a plan has several GPUs: a program that runs on CPU ranks
// needs it on no machine.

#ifndef RECIPERUN_COMM_NCCLLIBRARY_H
#define RECIPERUN_COMM_NCCLLIBRARY_H

#include "runtime/base/Status.h"
#include "runtime/device/Environment.h"

#include <memory>
#include <vector>

#include <nccl.h>

namespace reciperun::comm {

/// The functions of NCCL that are used, by their names without the `nccl`.
struct NcclLibrary {
  /// What NCCL reads when it is opened.
  static std::vector<device::Variable> environment();

  /// Opens `libnccl.so.2`. Fails where there is none, or one too old. It stays
  /// open until the process ends.
  static Expected<NcclLibrary> open();

  /// Ok, or "`ncclCall` failed: what NCCL says of it". `comm` may be null.
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
  decltype(&ncclSend) Send = nullptr;
  decltype(&ncclRecv) Recv = nullptr;
};

} // namespace reciperun::comm

#endif // RECIPERUN_COMM_NCCLLIBRARY_H
