# `cmake --install build` and the packages of `cpack --config
# build/CPackConfig.cmake`: the programs, the standard library to read (they
# have it embedded), documents, examples, man pages and completions.

if(RECIPEC_SANITIZE)
  return() # a build for tests alone
endif()

include(GNUInstallDirs)
install(TARGETS recipec reciperun reciperun-server)

set(share ${CMAKE_INSTALL_DATADIR})
install(DIRECTORY stdlib/ DESTINATION ${share}/recipec/std
        FILES_MATCHING PATTERN "*.recipe")
install(FILES README.md LICENSE DESTINATION ${share}/doc/recipec)
install(DIRECTORY docs DESTINATION ${share}/doc/recipec)
install(DIRECTORY examples DESTINATION ${share}/doc/recipec
        PATTERN runs EXCLUDE PATTERN out EXCLUDE
        PATTERN launch EXCLUDE)

set(shell_files ${PROJECT_BINARY_DIR}/share)
set(needed_by_reciperun reciperun-server) # prints the help of `serve`
foreach(program recipec reciperun)
  add_custom_command(
    OUTPUT ${shell_files}/man/man1/${program}.1
    COMMAND ${PROJECT_SOURCE_DIR}/tools/shell-files $<TARGET_FILE:${program}>
            ${shell_files}
    DEPENDS ${program} ${needed_by_${program}}
            ${PROJECT_SOURCE_DIR}/tools/shell-files
    COMMENT "Writing the man page and completions of ${program}"
    VERBATIM)
  list(APPEND pages ${shell_files}/man/man1/${program}.1)
endforeach()
add_custom_target(shell-files ALL DEPENDS ${pages})
install(DIRECTORY ${shell_files}/ DESTINATION ${share})

set(CPACK_GENERATOR TGZ DEB)
set(CPACK_PACKAGE_VENDOR "the recipec maintainers")
set(CPACK_PACKAGE_CONTACT "the recipec maintainers")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY
    "compiler and runtime for training language models")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS openmpi-bin)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
include(CPack)
