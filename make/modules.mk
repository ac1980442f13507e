# Modules: each archive, and the folders whose sources it holds.
ARCHIVES       := lib engine mincost mcmf plainflow controller lists render cli agent task sim replay taskloop verify workload dataplane model
DIRS_lib       := lib lib/workload lib/port lib/sonic
DIRS_engine    := controller/engine $(addprefix controller/engine/,base share books watch policy turn users place commit network mode facts look dump)
DIRS_mincost   := lib/mincost
DIRS_mcmf      := controller/mcmf
DIRS_plainflow := tests/mincost
DIRS_controller := controller controller/agents controller/clients controller/frameworks controller/metrics controller/recording controller/store \
                   controller/switch
DIRS_lists     := controller/lists
DIRS_render    := controller/switch/render
DIRS_cli       := controller/cli
DIRS_agent     := hostagent hostagent/queues hostagent/marks hostagent/tasks hostagent/uplink hostagent/links hostagent/routes \
                   hostagent/frameworks hostagent/guests hostagent/devices hostagent/disk hostagent/switches hostagent/switches/ovs hostagent/switches/sonic
DIRS_task      := hostagent/task
DIRS_sim       := testbed/sim testbed/sim/network testbed/sim/coflows testbed/sim/cluster testbed/sim/whatif
DIRS_replay    := testbed/replay
DIRS_taskloop  := testbed/replay/task_loop
DIRS_verify    := testbed/verify
DIRS_workload  := testbed/workload
DIRS_dataplane := dataplane
# The literal model of the engine and its scripts; only unit tests link it.
DIRS_model     := tests/model
# A program's entry (main.c, *_main.c), kernel code (*.bpf.c) and what DPDK is needed for (*_dpdk.c) stay out of the archives.
sources = $(filter-out %/main.c %_main.c %.bpf.c %_dpdk.c,$(foreach d,$(DIRS_$(1)),$(wildcard $(d)/*.c)))
archive = $(BUILD)/lib$(1).a
