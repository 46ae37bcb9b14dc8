// See MpiCheck.h.

#include "runtime/comm/MpiCheck.h"

#include "runtime/comm/GroupName.h"
#include "runtime/comm/MpiWait.h"

#include <cstdint>
#include <string>

namespace reciperun::comm {

Status checkMpi(int code, const char* call, int rank) {
  if (code == MPI_SUCCESS)
    return Status::ok();
  char reason[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, reason, &length);
  std::string text = "`";
  text.append(call).append("` failed on rank ").append(std::to_string(rank));
  return Status::error(text.append(": ").append(reason));
}

Status agreeOnWorld(const Status& mine, int rank, int ranks, Watch* watch) {
  const std::string all = nameOfAll(ranks);
  const Watch::Wait wait(
      watch, {"an agreement on how it goes", {}, all, mine.message()});
  int first = mine.isOk() ? ranks : rank, lowest = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  RECIPERUN_TRY(finishMpi(MPI_Iallreduce(&first, &lowest, 1, MPI_INT, MPI_MIN,
                                         MPI_COMM_WORLD, &request),
                          request, "MPI_Iallreduce", rank));
  if (lowest == ranks)
    return Status::ok();
  std::string text = rank == lowest ? mine.message() : "";
  uint64_t length = text.size();
  RECIPERUN_TRY(broadcast(std::as_writable_bytes(std::span(&length, 1)), lowest,
                          MPI_COMM_WORLD, rank));
  text.resize(length);
  RECIPERUN_TRY(broadcast(std::as_writable_bytes(std::span(text)), lowest,
                          MPI_COMM_WORLD, rank));
  if (lowest == 0)
    return Status::error(text);
  return Status::error(text).withContext("on rank " + std::to_string(lowest));
}

Status broadcast(std::span<std::byte> bytes, int root, MPI_Comm ranks,
                 int rank) {
  MPI_Request request = MPI_REQUEST_NULL;
  return finishMpi(MPI_Ibcast(bytes.data(), int(bytes.size()), MPI_BYTE, root,
                              ranks, &request),
                   request, "MPI_Ibcast", rank);
}

Expected<MPI_Comm> splitHost(int rank) {
  MPI_Comm host = MPI_COMM_NULL;
  RECIPERUN_TRY(meetOn(MPI_COMM_WORLD, rank));
  RECIPERUN_TRY(
      checkMpi(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank,
                                   MPI_INFO_NULL, &host),
               "MPI_Comm_split_type", rank));
  return host;
}

} // namespace reciperun::comm
