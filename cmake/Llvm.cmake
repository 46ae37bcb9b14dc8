# LLVM's Support and ADT as the target `llvm.support`, for recipec alone. Linked
# statically: recipec needs none of LLVM's shared libraries. llvm-config is
# asked rather than CMake's package of LLVM, which looks for the libraries of
# all its components.

find_program(LLVM_CONFIG llvm-config-19 REQUIRED)
execute_process(COMMAND ${LLVM_CONFIG} --includedir
                OUTPUT_VARIABLE llvm_include OUTPUT_STRIP_TRAILING_WHITESPACE
                COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${LLVM_CONFIG} --libdir
                OUTPUT_VARIABLE llvm_libraries OUTPUT_STRIP_TRAILING_WHITESPACE
                COMMAND_ERROR_IS_FATAL ANY)

add_library(llvm.support INTERFACE)
target_include_directories(llvm.support SYSTEM INTERFACE ${llvm_include})
# What is used of them needs none of the libraries that llvm-config names.
target_link_libraries(llvm.support
                      INTERFACE ${llvm_libraries}/libLLVMSupport.a
                                ${llvm_libraries}/libLLVMDemangle.a)
