add_custom_target(fuzzers)  # every fuzz target, and only the rooms that they need

# add_room(<name> DEPS <rooms it may include> [USES <third-party targets>] [FOLDERS <sub-folders that belong to it>])
#
# A room is one static library, muster_<name>, of the .cc files beside the caller's CMakeLists.txt and in FOLDERS.
# Its tests are the *_test.cc files there, in one binary, muster_<name>_test. tests/tidy holds every #include to DEPS.
function(add_room name)
  cmake_parse_arguments(ROOM "NO_UNITY" "" "DEPS;USES;FOLDERS;TEST_USES" ${ARGN})
  string(REPLACE "/" "_" id ${name})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  file(GLOB tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*_test.cc)
  foreach(folder IN LISTS ROOM_FOLDERS)
    file(GLOB more CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*.cc)
    file(GLOB more_tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*_test.cc)
    list(APPEND sources ${more})
    list(APPEND tests ${more_tests})
  endforeach()
  if(tests)
    list(REMOVE_ITEM sources ${tests})
  endif()

  set(scope PUBLIC)
  if(sources)
    add_library(muster_${id} STATIC ${sources})
    target_link_libraries(muster_${id} PRIVATE ${ROOM_USES})
    # Several files a compiler run: the headers are most of the work (a fifth of the time, measured on two cores).
    if(MUSTER_UNITY AND NOT ROOM_NO_UNITY)
      set_target_properties(muster_${id} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 12)
    endif()
  else()
    add_library(muster_${id} INTERFACE)
    set(scope INTERFACE)
    target_link_libraries(muster_${id} INTERFACE ${ROOM_USES})
  endif()
  target_link_libraries(muster_${id} ${scope} muster_flags fmt::fmt tl::expected Threads::Threads)
  foreach(dep IN LISTS ROOM_DEPS)
    string(REPLACE "/" "_" dep_id ${dep})
    target_link_libraries(muster_${id} ${scope} muster_${dep_id})
  endforeach()

  # Fuzz targets: fuzz/<name>_fuzz.cc beside the parser they feed.
  if(MUSTER_FUZZ)
    file(GLOB fuzzers CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/*_fuzz.cc)
    foreach(fuzzer IN LISTS fuzzers)
      get_filename_component(fuzz_name ${fuzzer} NAME_WE)
      add_executable(${id}_${fuzz_name} ${fuzzer})
      target_link_libraries(${id}_${fuzz_name} PRIVATE muster_${id} ${ROOM_USES})
      target_compile_options(${id}_${fuzz_name} PRIVATE -fsanitize=fuzzer)
      target_link_options(${id}_${fuzz_name} PRIVATE -fsanitize=fuzzer)
      add_dependencies(fuzzers ${id}_${fuzz_name})
    endforeach()
  endif()

  if(MUSTER_TESTS AND tests)
    add_executable(muster_${id}_test ${tests})
    target_link_libraries(muster_${id}_test PRIVATE muster_${id} ${ROOM_USES} ${ROOM_TEST_USES}
                                                    GTest::gmock GTest::gtest_main ${RAPIDCHECK_LIBRARY})
    # What a failed check names is a path within the checkout, the same in every clone: ccache knows the object then.
    target_compile_options(muster_${id}_test PRIVATE -fmacro-prefix-map=${CMAKE_SOURCE_DIR}/=)
    # Only for the tests that read files of the checkout: the others compile alike in every clone, so ccache knows them.
    foreach(test IN LISTS tests)
      file(STRINGS ${test} reads_files REGEX MUSTER_SOURCE_DIR LIMIT_COUNT 1)
      if(reads_files)
        set_source_files_properties(${test} PROPERTIES COMPILE_DEFINITIONS "MUSTER_SOURCE_DIR=\"${CMAKE_SOURCE_DIR}\"")
      endif()
    endforeach()
    # The tests of a room together as well, fewer in one: whoever edits one of them waits for its neighbours.
    if(MUSTER_UNITY AND NOT ROOM_NO_UNITY)
      set_target_properties(muster_${id}_test PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 6)
    endif()
    add_test(NAME ${id} COMMAND muster_${id}_test)
    set_property(GLOBAL APPEND PROPERTY MUSTER_TEST_BINARIES muster_${id}_test)
  endif()
endfunction()
