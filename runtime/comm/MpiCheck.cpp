// MPI's return codes as Status.

#include "runtime/comm/MpiCheck.h"

#include <mpi.h>

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

} // namespace reciperun::comm
