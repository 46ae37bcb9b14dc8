// cuBLASLt opened at run time: the functions that Matmuls calls, the handle,
// and conversion of its errors to Status.

#ifndef RECIPERUN_DEVICE_CUDA_CUBLASLT_H
#define RECIPERUN_DEVICE_CUDA_CUBLASLT_H

#include "runtime/base/Status.h"
#include "runtime/device/cuda/SharedLibrary.h"

#include <string>

#include <cublasLt.h>

namespace reciperun::device {

class CublasLt {
public:
  CublasLt() = default;
  CublasLt(const CublasLt&) = delete;
  CublasLt& operator=(const CublasLt&) = delete;
  ~CublasLt();

  /// Finds the functions and creates the handle; call it once.
  Status open();
  /// Fails when `status` is an error; `what` names the refused call or
  /// argument.
  Status checked(cublasStatus_t status, const std::string& what) const;

  // All null until `open`.
  cublasLtHandle_t handle = nullptr;
  decltype(&cublasLtGetVersion) version = nullptr;
  decltype(&cublasLtMatmulDescCreate) descCreate = nullptr;
  decltype(&cublasLtMatmulDescDestroy) descDestroy = nullptr;
  decltype(&cublasLtMatmulDescSetAttribute) descSet = nullptr;
  decltype(&cublasLtMatrixLayoutCreate) layoutCreate = nullptr;
  decltype(&cublasLtMatrixLayoutDestroy) layoutDestroy = nullptr;
  decltype(&cublasLtMatmulPreferenceCreate) preferenceCreate = nullptr;
  decltype(&cublasLtMatmulPreferenceDestroy) preferenceDestroy = nullptr;
  decltype(&cublasLtMatmulPreferenceSetAttribute) preferenceSet = nullptr;
  decltype(&cublasLtMatmulAlgoGetHeuristic) heuristic = nullptr;
  decltype(&cublasLtMatmulAlgoCheck) check = nullptr;
  decltype(&cublasLtMatmulAlgoConfigSetAttribute) configure = nullptr;
  decltype(&cublasLtMatmul) matmul = nullptr;

private:
  Status load();

  SharedLibrary file;
  decltype(&cublasLtCreate) create = nullptr;
  decltype(&cublasLtDestroy) destroy = nullptr;
  decltype(&cublasLtGetStatusString) statusString = nullptr;
};

} // namespace reciperun::device

#endif // RECIPERUN_DEVICE_CUDA_CUBLASLT_H
