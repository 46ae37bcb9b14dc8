# CUDA as a language that may be missing: a machine without nvcc builds all the
# rest. Sets RECIPEC_HAS_CUDA, and defines recipec_cuda_library.

set(RECIPEC_HAS_CUDA FALSE)
if(RECIPEC_CUDA)
  find_package(CUDAToolkit 12.9 QUIET) # of cuBLASLt: scales of blocks
  if(CUDAToolkit_NVCC_EXECUTABLE AND NOT DEFINED ENV{CUDACXX})
    set(ENV{CUDACXX} ${CUDAToolkit_NVCC_EXECUTABLE}) # it may not be on the PATH
  endif()
  if(NOT CMAKE_CUDA_HOST_COMPILER)
    set(CMAKE_CUDA_HOST_COMPILER ${CMAKE_CXX_COMPILER})
  endif()
  # Hopper with the instructions of it alone: wgmma, setmaxnreg. Code for it does
  # not run on other GPUs; each other architecture takes as long to compile.
  set(CMAKE_CUDA_ARCHITECTURES 90a-real CACHE STRING
      "GPUs that kernels are compiled for; 100a-real are B200 and GB200")
  if(CUDAToolkit_FOUND)
    include(CheckLanguage)
    check_language(CUDA)
  endif()
endif()

if(RECIPEC_CUDA AND CMAKE_CUDA_COMPILER)
  enable_language(CUDA)
  set(RECIPEC_HAS_CUDA TRUE)
  message(STATUS "CUDA ${CUDAToolkit_VERSION}: building the kernels of GPUs")
  # CMake 3.25 does not know which option of this compiler means C++20.
  if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
    set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
  endif()
  set(CMAKE_CUDA_STANDARD 20)
  set(CMAKE_CUDA_STANDARD_REQUIRED ON)
  set(CMAKE_CUDA_EXTENSIONS OFF)
  set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
  set(CMAKE_CUDA_FLAGS_RELEASE "-O3")
  if(CCACHE)
    set(CMAKE_CUDA_COMPILER_LAUNCHER ${CCACHE_LAUNCHER})
  endif()
else()
  message(STATUS "no CUDA compiler: building for the CPU alone")
endif()

# recipec_cuda_library(FOLDER SOURCES a.cu b.cpp ... [BATCHES "c.cu d.cu" ...]
#                      [LINKS folders or targets])
#
# A folder's part for GPUs: `runtime/kernels` becomes the target
# `runtime.kernels.cuda`, which LINKS name as `runtime/kernels/cuda`. Sources in
# C++ see the CUDA runtime's headers, too. What links it is compiled with
# RECIPERUN_CUDA defined. Nothing, where CUDA is not built.
#
# A unity build compiles the sources of a batch together: most of the time of a
# small one goes into headers. Names in their unnamed namespaces must differ.
function(recipec_cuda_library folder)
  if(NOT RECIPEC_HAS_CUDA)
    return()
  endif()
  cmake_parse_arguments(arg "" "" "SOURCES;BATCHES;LINKS" ${ARGN})
  string(REPLACE "/" "." target ${folder}.cuda)
  set(sources ${arg_SOURCES})
  set(joined)
  foreach(batch IN LISTS arg_BATCHES)
    separate_arguments(batch UNIX_COMMAND "${batch}")
    if(NOT CMAKE_UNITY_BUILD)
      list(APPEND sources ${batch})
      continue()
    endif()
    list(TRANSFORM batch REPLACE "(.+)" "#include \"${folder}/\\1\"\n"
         OUTPUT_VARIABLE includes)
    string(JOIN "" includes ${includes})
    list(LENGTH joined number)
    set(path ${CMAKE_CURRENT_BINARY_DIR}/Unity/cuda_${number}.cu)
    file(CONFIGURE OUTPUT ${path} CONTENT "${includes}" @ONLY)
    list(APPEND joined ${path})
  endforeach()
  set(paths ${sources})
  list(TRANSFORM paths PREPEND ${PROJECT_SOURCE_DIR}/${folder}/)
  list(APPEND paths ${joined})
  string(REPLACE "/" "." links "${arg_LINKS}")
  add_library(${target} STATIC ${paths})
  target_include_directories(${target} PUBLIC ${PROJECT_SOURCE_DIR})
  target_compile_definitions(${target} PUBLIC RECIPERUN_CUDA)
  target_compile_options(
    ${target}
    PRIVATE
      "$<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr;-lineinfo;-Xcompiler=-Wall,-Wextra,-Werror=return-type,-Wno-unknown-pragmas>"
  )
  target_link_libraries(${target} PUBLIC ${links} CUDA::cudart_static)
  # cuDNN's and cuBLAS's headers share names that sources cannot be joined with.
  set_target_properties(${target} PROPERTIES UNITY_BUILD OFF)
endfunction()
