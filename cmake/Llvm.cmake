# LLVM's Support and ADT as the target `llvm.support`, for recipec alone. Linked
# statically: recipec needs none of LLVM's shared libraries. llvm-config is
# asked rather than CMake's package of LLVM, which looks for the libraries of
# all its components.

find_program(LLVM_CONFIG NAMES llvm-config-19 llvm-config REQUIRED)
function(ask_llvm option variable)
  execute_process(COMMAND ${LLVM_CONFIG} ${option}
                  OUTPUT_VARIABLE answer OUTPUT_STRIP_TRAILING_WHITESPACE
                  COMMAND_ERROR_IS_FATAL ANY)
  set(${variable} ${answer} PARENT_SCOPE)
endfunction()

ask_llvm(--version version)
if(NOT version MATCHES "^19\\.")
  message(FATAL_ERROR "`${LLVM_CONFIG}` is of LLVM ${version}, not of LLVM 19")
endif()
ask_llvm(--includedir include)
ask_llvm(--libdir libraries)

add_library(llvm.support INTERFACE)
target_include_directories(llvm.support SYSTEM INTERFACE ${include})
# What is used of them needs none of the libraries that llvm-config names.
target_link_libraries(llvm.support INTERFACE ${libraries}/libLLVMSupport.a
                                             ${libraries}/libLLVMDemangle.a)
