# The testbed of this machine: its demo, and what is left standing.
# `exec`: make itself is then the parent that the testbed watches. -B: no files beside the sources.
PYTHON := exec /usr/bin/python3 -B
export BUILD

.PHONY: demo
demo: deps $(patsubst %,deps-%,$(filter mininet spark,$(NET))) ## replays a workload under four policies here (root): TRACE JOBS SPEED CAP SCALE LINK HOSTS SLOTS CLUSTER DISKS SEED COMPUTE POLICIES USERS SWITCH NET TOPO RACKS SPINES OVERSUB; V=1 prints all that is known
	@$(MAKE) -s --no-print-directory programs $(if $(filter spark,$(NET)),spark-plugin)
	@$(PYTHON) -m testbed.demo.demo

.PHONY: demo-preempt
demo-preempt: deps ## a late job of a high priority is given slots of a running one, whose tasks run again elsewhere (root, half a minute)
	@$(MAKE) -s --no-print-directory programs
	@$(PYTHON) -m testbed.demo.preempting

.PHONY: up
up: deps ## leaves a testbed standing, with its daemons, under a repeating load (root): as make demo takes, POLICIES one; SLOW=w3: with a fault to be found, a link of that host that carries a tenth
	@$(MAKE) -s --no-print-directory programs
	@$(PYTHON) -m testbed.demo.standing up

.PHONY: flow-picture
flow-picture: programs ## draws the graph of docs/explain/flow.md anew, by duopolyctl graph of a real controller
	/usr/bin/python3 -B tests/net/flow_picture.py docs/explain/flow-graph.svg

.PHONY: down
down: ## ends what make up left standing
	@$(PYTHON) -m testbed.demo.standing down

.PHONY: soak-live
soak-live: deps ## the load of make up for MINUTES (60) with a random kill every KILL_EVERY (20) s under SEED, then whether all ended well (root)
	@$(MAKE) -s --no-print-directory programs
	@$(PYTHON) -m testbed.demo.soak
