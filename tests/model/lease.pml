/* The protocol of locks, leases and intents (docs/design/engine.md), for spin: two runs on one node, engines
 * that crash at any point and are restarted, requests that are lost or late, a person who takes the node.
 * Held to: an act lands at most once; it lands only under the lock and the lease of its run; no node comes back
 * without a proof after an act; no lock is taken on a node that another run still isolates; at the end no
 * cordon is left behind. Each -D takes one rule out, and then something must break (tests/model/run.sh).
 *   UNLOCK_FIRST  the lock goes before the cordon (as a known reboot daemon does)
 *   NO_GRACE      after a crash, not waiting until a request can no longer be under way
 *   NO_PROBE      after a crash, the order is given again without looking
 *   NO_FENCE      the target takes orders of an older engine
 *   NO_INTENT     the act before its intent is written
 *   NO_LEASE      a cordon without a name on it
 */
#ifndef CRASHES
#define CRASHES 2
#endif
#define RUNS 2

mtype = { CORDON, ACT, RETURN };
chan wire = [3] of { mtype, byte, byte };  /* what, me, fence */

byte owner = 0;                /* of the lock: a run, or nobody */
byte last_fence = 0;
byte seen_fence = 0;           /* by the target */
byte lease = 0;                /* on the target: a run, or nobody */
bool cordoned = false;
bool person = false;           /* somebody took the node by hand */
byte landed[RUNS + 1];         /* acts that took place */
bool proven[RUNS + 1];
byte journal[RUNS + 1];        /* durable: 0 new, 1 started, 2 cordon?, 3 held, 4 act?, 5 acted, 6 proven,
                                  7 return?, 8 returned, 9 over */
byte flying[RUNS + 1];         /* requests on the wire */
byte crashes = 0;

inline send(what) {
  atomic { flying[me]++; wire!what, me, fence; sent = true }
}

active proctype Target() {
  mtype what; byte me; byte fence;
  end: do
  :: atomic { wire?what, me, fence ->
      flying[me]--;
      if
      :: true ->                                   /* the request arrives */
        if
#ifndef NO_FENCE
        :: fence < seen_fence -> skip              /* an engine that slept is shut out */
#endif
        :: else ->
          if :: fence > seen_fence -> seen_fence = fence :: else fi;
          if
          :: what == CORDON && !cordoned ->
            cordoned = true;
#ifndef NO_LEASE
            lease = me
#endif
          :: what == ACT && lease == me ->
            landed[me]++;
            proven[me] = false;
            assert(landed[me] <= 1);
            assert(owner == me)
          :: what == RETURN && lease == me ->
            assert(landed[me] == 0 || proven[me]);
            cordoned = false; lease = 0
          :: else -> skip
          fi
        fi
      :: true -> skip                              /* it is lost */
      fi;
      what = CORDON; me = 0; fence = 0
    }
  od
}

active proctype Person() {
  end: atomic { lease != 0 && !person -> person = true; lease = 0; cordoned = false }
}

proctype Engine(byte me) {
  byte fence = 0;
  bool sent = false;       /* by this life of the engine */
  bool looked = false;
  do
  :: atomic { crashes < CRASHES && journal[me] < 9 -> crashes++; fence = 0; sent = false; looked = false }
  :: atomic { journal[me] < 9 && fence == 0 && (owner == 0 || owner == me) ->
      owner = me;
      /* whoever takes the lock finds no other run's isolation */
      assert(lease == 0 || lease == me);
      last_fence++; fence = last_fence;
      if :: journal[me] == 0 -> journal[me] = 1 :: else fi }
  :: atomic { journal[me] == 1 && fence > 0 -> journal[me] = 2; sent = false; looked = true }
  :: journal[me] == 2 && fence > 0 ->
    if
#ifndef NO_GRACE
    :: !looked && flying[me] > 0 -> skip
#endif
    :: atomic { (sent || !looked) && lease == me -> journal[me] = 3; sent = false; looked = true }
    :: atomic { (sent || !looked) && flying[me] == 0 && lease != me ->
        /* lost, refused, or a person was quicker: nothing is held */
        if :: sent -> journal[me] = 8 :: else -> looked = true fi }
    :: atomic { looked && !sent -> send(CORDON) }
    fi
#ifdef NO_INTENT
  :: atomic { journal[me] == 3 && fence > 0 && lease == me && !sent -> send(ACT) }
  :: atomic { journal[me] == 3 && fence > 0 && sent -> journal[me] = 4; looked = true }
#else
  :: atomic { journal[me] == 3 && fence > 0 && lease == me -> journal[me] = 4; sent = false; looked = true }
#endif
  :: atomic { journal[me] == 3 && fence > 0 && lease != me -> journal[me] = 8 }   /* a person's now */
  :: journal[me] == 4 && fence > 0 ->
    if
#ifndef NO_GRACE
    :: !looked && flying[me] > 0 -> skip
#endif
#ifdef NO_PROBE
    :: atomic { !looked -> looked = true }
#else
    :: atomic { (sent || !looked) && landed[me] > 0 -> journal[me] = 5 }
#ifdef NO_GRACE
    :: atomic { !looked && landed[me] == 0 -> looked = true }
#else
    :: atomic { !looked && flying[me] == 0 && landed[me] == 0 -> looked = true }
#endif
#endif
    :: atomic { sent && flying[me] == 0 && landed[me] > 0 -> journal[me] = 5 }
    :: atomic { sent && flying[me] == 0 && landed[me] == 0 -> journal[me] = 7; sent = false; looked = true }
    :: atomic { looked && !sent && lease == me -> send(ACT) }
    :: atomic { looked && !sent && lease != me && flying[me] == 0 -> journal[me] = 8 }
    fi
  :: atomic { journal[me] == 5 && fence > 0 -> proven[me] = true; journal[me] = 6 }
  :: atomic { journal[me] == 6 && fence > 0 ->
#ifdef UNLOCK_FIRST
      owner = 0;
#endif
      journal[me] = 7; sent = false; looked = true }
  :: journal[me] == 7 && fence > 0 ->
    if
    :: atomic { lease != me && flying[me] == 0 -> journal[me] = 8 }
    :: atomic { !sent && flying[me] == 0 && lease == me -> send(RETURN) }
    :: atomic { sent && flying[me] == 0 && lease == me -> sent = false }   /* lost: given again */
    fi
  :: atomic { journal[me] == 8 && fence > 0 && flying[me] == 0 ->
      if :: owner == me -> owner = 0 :: else fi;
      journal[me] = 9 }
  :: atomic { journal[me] == 9 -> break }
  od;
  /* the last to end finds nothing left behind */
  atomic {
    (journal[1] == 9 && journal[2] == 9 && flying[1] == 0 && flying[2] == 0) ->
    assert(!cordoned && lease == 0)
  }
}

init { atomic { run Engine(1); run Engine(2) } }
