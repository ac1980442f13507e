/* Who may order an agent: epochs, leases and two controllers, as a model for spin. tests/epochs/run checks it, and that each guard
 * is needed: with one left out (-DWITHOUT_…) an assertion must fail.
 *
 * Two controllers share one folder for their epoch (controller/epoch.h) and know nothing else of each other; each may die at any
 * time, start again, or be slow for as long as it likes while the other works. The network is worse than ours: what was sent once
 * may arrive at any later time, in any order, any number of times, or never. The agent may die at any time; what its kernel holds
 * stays (hostagent/uplink/uplink_zmq.c, lib/wire.c: wire_session_accept).
 *
 * Claimed:
 * - an epoch is never used by two starts of a controller: no attempt number is given twice;
 * - once an agent has met an epoch, no mark, start or lease of an older one takes effect there, also after the agent died;
 * - marks are in force for at most a controller's lease and a mark's lease after the last lease that the agent took.
 *
 * Sizes: STARTS starts of controllers in all, and one agent: no guard looks at a second one. Time is in units of the mark's lease, and
 * what is renewed counts until the end of the unit that it would end in. */

#define STARTS            3 /* epochs 1 to STARTS */
#define MARK_LEASE        1
#define CONTROLLER_LEASE  2
#define LEASES            (CONTROLLER_LEASE + MARK_LEASE)

#ifdef WITHOUT_LOCK
#define LOCKED            /* two may read the same number */
#else
#define LOCKED            atomic
#endif

#define WELCOME 0
#define MARK    1
#define START   2
#define LEASE   3
#define KINDS   4

/* What is or was on the wire. */
typedef epochs { bool under[STARTS + 1] };
epochs sent[KINDS];
bool hello[STARTS + 1];

/* Controllers: their disk, and which epochs were ever used. */
byte folder;
byte starts;
bool used[STARTS + 1];

/* The agent: in its memory, on its disk; what it has met, which nobody but this model keeps. */
byte agent_epoch, agent_disk, met;
bool up, session;
byte lease;

/* The kernel's: what is in force, and for how long. */
byte mark_epoch, start_epoch, mark_lease;
byte since_lease = LEASES;

proctype controller()
{
    byte mine, e;
    bool greeted;
    do
    :: atomic { mine == 0 && starts < STARTS -> starts++ }
        LOCKED {
            mine = folder + 1;
#ifdef WITHOUT_SYNC
            if
            :: folder = mine
            :: skip /* the machine dies before it is on the disk */
            fi
#else
            folder = mine
#endif
        }
        atomic {
            assert(!used[mine]);
            used[mine] = true;
            greeted = false
        }
    :: mine != 0 -> mine = 0 /* it dies */
    :: mine != 0 && !sent[WELCOME].under[mine] ->
        atomic {
            e = 0;
            do
            :: e <= mine && hello[e] -> sent[WELCOME].under[mine] = true; break
            :: e < mine -> e++
            :: e == mine -> break
            od
        }
    :: mine != 0 && sent[WELCOME].under[mine] && !greeted ->
        greeted = true;
        sent[LEASE].under[mine] = true;
        sent[MARK].under[mine] = true;
        sent[START].under[mine] = true
    :: starts == STARTS && mine == 0 -> break
    od
}

/* A kind and an epoch of what is on the wire: any. */
inline deliver(kind, e)
{
    select(kind : WELCOME .. LEASE);
    select(e : 1 .. STARTS);
}

inline take_lease()
{
    assert(e >= met);
    lease = CONTROLLER_LEASE;
    since_lease = 0
}

inline take_welcome()
{
    if
#ifdef WITHOUT_WELCOME_GUARD
    :: !session ->
#else
    :: !session && e >= agent_epoch ->
#endif
        agent_epoch = e;
#ifndef WITHOUT_KEEPING
        agent_disk = e;
#endif
        session = true;
        take_lease();
        met = e
    :: else -> skip
    fi
}

inline take_order()
{
    if
#ifdef WITHOUT_ORDER_GUARD
    :: session ->
#else
    :: session && e == agent_epoch ->
#endif
        if
        :: kind == MARK  -> assert(e >= met && e >= mark_epoch); mark_epoch = e
        :: kind == START -> assert(e >= met && e >= start_epoch); start_epoch = e
        :: kind == LEASE -> take_lease()
        fi
    :: else -> skip
    fi
}

proctype agent()
{
    byte kind, e;
    do
    :: atomic { !up -> up = true; agent_epoch = agent_disk; session = false; lease = 0; hello[agent_epoch] = true }
    :: atomic { up -> up = false; agent_epoch = 0; session = false; lease = 0 } /* it dies */
    :: atomic { up && session -> session = false; hello[agent_epoch] = true } /* silence, or a broken connection */
    :: atomic {
        up -> deliver(kind, e);
        if
        :: !sent[kind].under[e] -> skip
        :: sent[kind].under[e] && kind == WELCOME -> take_welcome()
        :: sent[kind].under[e] && kind != WELCOME -> take_order()
        fi;
        kind = 0; e = 0
       }
#ifdef WITHOUT_LEASE
    :: atomic { up && mark_epoch -> mark_lease = MARK_LEASE + 1 }
#else
    :: atomic { up && lease && mark_epoch -> mark_lease = MARK_LEASE + 1 }
#endif
    od
}

proctype clock()
{
    do
    :: d_step {
        assert(!mark_lease || since_lease < LEASES);
        if :: lease -> lease-- :: else -> skip fi;
        if :: mark_lease -> mark_lease-- :: else -> skip fi;
        if :: since_lease < LEASES -> since_lease++ :: else -> skip fi
       }
    od
}

init { atomic { run controller(); run controller(); run agent(); run clock() } }
