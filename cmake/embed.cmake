# embed_files(<target> <generated .cc> <root> <function> <files...>): compiles the files into the target, as text. The generated
# source defines `std::span<const muster::EmbeddedFile> muster::<function>()`, names relative to <root>, sorted.
# The same file is the script that writes the source (cmake -P), so that only changed texts are compiled again.
if(CMAKE_SCRIPT_MODE_FILE)
  separate_arguments(FILES)
  set(code "// Generated from ${ROOT}; edit the files there.\n#include \"catalogue/embedded.h\"\n\nnamespace muster {\nnamespace {\n")
  string(APPEND code "const EmbeddedFile kFiles[] = {\n")
  foreach(file IN LISTS FILES)
    file(RELATIVE_PATH name ${ROOT} ${file})
    file(READ ${file} text)
    string(FIND "${text}" ")muster_text\"" clash)
    if(NOT clash EQUAL -1)
      message(FATAL_ERROR "${file} contains the end mark of its own literal")
    endif()
    string(APPEND code "    {\"${name}\", R\"muster_text(${text})muster_text\"},\n")
  endforeach()
  string(APPEND code "};\n}  // namespace\n\nstd::span<const EmbeddedFile> ${FUNCTION}() { return kFiles; }\n\n}  // namespace muster\n")
  file(WRITE ${OUT} "${code}")
  return()
endif()

set(MUSTER_EMBED_SCRIPT ${CMAKE_CURRENT_LIST_FILE})
function(embed_files target out root function)
  set(files ${ARGN})
  list(SORT files)
  string(REPLACE ";" " " joined "${files}")
  add_custom_command(
    OUTPUT ${out}
    COMMAND ${CMAKE_COMMAND} -DOUT=${out} -DROOT=${root} -DFUNCTION=${function} "-DFILES=${joined}" -P ${MUSTER_EMBED_SCRIPT}
    DEPENDS ${files} ${MUSTER_EMBED_SCRIPT}
    VERBATIM COMMENT "Embedding ${root}")
  target_sources(${target} PRIVATE ${out})
endfunction()

# embed_trees(<target> <generated .cc> <root> <function> <files...>): the same for YAML that is read at every start, as trees
# (src/yaml/tree_text.h) instead of as text.
function(embed_trees target out root function)
  add_custom_command(
    OUTPUT ${out}
    COMMAND muster_embed_trees ${out} ${root} ${function} ${ARGN}
    DEPENDS muster_embed_trees ${ARGN}
    VERBATIM COMMENT "Embedding trees of ${root}")
  target_sources(${target} PRIVATE ${out})
endfunction()
