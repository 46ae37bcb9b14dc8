// Opens cuBLASLt: finds the file and each function in it, then checks that its
// major version is the one that this program was compiled for.

#include "runtime/device/cuda/CublasLt.h"

namespace reciperun::device {

CublasLt::~CublasLt() {
  if (handle)
    destroy(handle);
}

Status CublasLt::open() {
  if (handle)
    return Status::ok();
  RECIPERUN_TRY(file.open("libcublasLt.so.13", "cuBLAS of CUDA 13"));
  RECIPERUN_TRY(load());
  RECIPERUN_TRY(checkMajorVersion("cuBLASLt", version(), CUBLAS_VERSION));
  return checked(create(&handle), "cublasLtCreate");
}

Status CublasLt::checked(cublasStatus_t status, const std::string& what) const {
  if (status == CUBLAS_STATUS_SUCCESS)
    return Status::ok();
  return Status::error("cuBLASLt refused " + what + ": " +
                       statusString(status));
}

Status CublasLt::load() {
  RECIPERUN_TRY(file.find("cublasLtCreate", create));
  RECIPERUN_TRY(file.find("cublasLtDestroy", destroy));
  RECIPERUN_TRY(file.find("cublasLtGetVersion", version));
  RECIPERUN_TRY(file.find("cublasLtGetStatusString", statusString));
  RECIPERUN_TRY(file.find("cublasLtMatmulDescCreate", descCreate));
  RECIPERUN_TRY(file.find("cublasLtMatmulDescDestroy", descDestroy));
  RECIPERUN_TRY(file.find("cublasLtMatmulDescSetAttribute", descSet));
  RECIPERUN_TRY(file.find("cublasLtMatrixLayoutCreate", layoutCreate));
  RECIPERUN_TRY(file.find("cublasLtMatrixLayoutDestroy", layoutDestroy));
  RECIPERUN_TRY(file.find("cublasLtMatmulPreferenceCreate", preferenceCreate));
  RECIPERUN_TRY(
      file.find("cublasLtMatmulPreferenceDestroy", preferenceDestroy));
  RECIPERUN_TRY(
      file.find("cublasLtMatmulPreferenceSetAttribute", preferenceSet));
  RECIPERUN_TRY(file.find("cublasLtMatmulAlgoGetHeuristic", heuristic));
  RECIPERUN_TRY(file.find("cublasLtMatmulAlgoCheck", check));
  RECIPERUN_TRY(file.find("cublasLtMatmulAlgoConfigSetAttribute", configure));
  return file.find("cublasLtMatmul", matmul);
}

} // namespace reciperun::device
