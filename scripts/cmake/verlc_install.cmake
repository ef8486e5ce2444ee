# cmake --install BUILD --prefix DIR: the layout that the program expects around itself.
#   bin/verlc, lib/verlc/engines/*.so, lib/verlc/comm/*.so, lib/verlc/plugins/ (the drop-in folder), include/verlc/
install(TARGETS verlc RUNTIME DESTINATION bin)
foreach(engine fsdp_so rollout_so)
  install(TARGETS ${engine} LIBRARY DESTINATION lib/verlc/engines)
endforeach()
if(TARGET verlc_comm_openmpi)
  install(TARGETS verlc_comm_openmpi LIBRARY DESTINATION lib/verlc/comm)
endif()
install(FILES ${CMAKE_SOURCE_DIR}/plugins/README.md DESTINATION lib/verlc/plugins)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/engines/include/verlc DESTINATION include)
