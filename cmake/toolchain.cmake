# Language level, warnings, sanitizers, and the third-party packages (Debian names in docs/building.md).
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

option(MUSTER_TESTS "build the tests" ON)
option(MUSTER_UNITY "compile several files of a room together" ON)
option(MUSTER_BENCH "build the benchmarks" OFF)
option(MUSTER_FUZZ "build the fuzzers (clang only)" OFF)
option(MUSTER_WERROR "warnings are errors" OFF)
set(MUSTER_SANITIZE "" CACHE STRING "address,undefined or thread")

add_library(muster_flags INTERFACE)
target_compile_options(muster_flags INTERFACE -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion
                                              -Wnon-virtual-dtor -Woverloaded-virtual
                                              -Wno-subobject-linkage)  # a unity file is not a header
if(MUSTER_WERROR)
  target_compile_options(muster_flags INTERFACE -Werror)
endif()
target_include_directories(muster_flags INTERFACE ${CMAKE_SOURCE_DIR}/src)
target_compile_definitions(muster_flags INTERFACE MUSTER_VERSION="${PROJECT_VERSION}")

if(MUSTER_SANITIZE)
  add_compile_options(-fsanitize=${MUSTER_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${MUSTER_SANITIZE})
endif()

if(MUSTER_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)  # the rooms too: a fuzzer finds its way by what they do with an input
endif()

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
endif()
find_program(MOLD mold)
if(MOLD)
  add_link_options(-fuse-ld=mold)
endif()

find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(tl-expected REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(CURL REQUIRED)
find_package(PkgConfig REQUIRED)
# cpp-httplib is a split library on Debian: without its own flags the class layouts differ and it crashes at run time.
pkg_check_modules(HTTPLIB REQUIRED IMPORTED_TARGET cpp-httplib)
pkg_check_modules(PUGIXML REQUIRED IMPORTED_TARGET pugixml)
pkg_check_modules(ARCHIVE REQUIRED IMPORTED_TARGET libarchive)
find_library(GLOO_LIBRARY gloo REQUIRED)
if(MUSTER_TESTS)
  find_package(GTest REQUIRED)
  find_library(RAPIDCHECK_LIBRARY rapidcheck REQUIRED)
endif()
