/*
 * The claim protocol, in small: replicas that claim one document, work on it
 * in ordered steps, and end their claims, over a network that loses, delays and
 * reorders, with processes that stop for any time and die at any point.
 *
 * The properties have the names that the simulator gives them
 * (pkg/engine/enginetest, Property). What the simulator tries at random in the
 * real code, the model tries in every order, in an abstraction of it:
 *
 *   - time is counted in ticks, of which a lock lasts LOCK and is trusted for
 *     WINDOW. A tick may come between any two actions, and so may any number of
 *     them: that is what a pause is. It comes alike for all: drift is the
 *     simulator's;
 *   - one document moves through DONE phases, of STEPS steps each. There are no
 *     intents, hints, errors or backoffs;
 *   - a write to the store and a call to the world outside are messages. One
 *     that its sender has given up may still arrive, at any time later.
 *
 * Each protection can be taken out by a definition, all of which begin with
 * NO_: see README.md, and check.sh, which expects to be told of the right
 * property.
 */

#ifndef N
#define N 2       /* replicas: 2 or 3 */
#endif
#ifndef LOCK
#define LOCK 4    /* ticks that a lock lasts */
#endif
#ifdef NO_MARGIN
#define WINDOW (LOCK + 1)
#else
#define WINDOW (LOCK - 1) /* ticks that it is trusted, from when it was asked for */
#endif
#ifndef STEPS
#define STEPS 2   /* of each phase */
#endif
#ifndef DONE
#define DONE 1    /* the phase that is settled; those before it are numbered from 0 */
#endif
#ifndef CLAIMS
#define CLAIMS 3  /* bounds the tokens */
#endif
#ifndef FAULTS
#define FAULTS 0  /* processes that die, and calls lost that would not be late, in all */
#endif
#ifndef WAITS
#define WAITS 1   /* claims that end in a wait, in all */
#endif
#ifndef OTHERS
#define OTHERS 0  /* writes to the phase by others than replicas, in all */
#endif

mtype = { Claim, Renew, Checkpoint, Move, Release };

/* The document. */
byte token;       /* raised by each claim */
byte lockedBy;    /* 0: nobody; else the replica's number plus one */
byte lockLeft;    /* ticks until the lock expires */
byte phase;
byte recorded;    /* steps of this phase that are recorded as done */

/* The world outside: one effect for each step of each phase. */
bool effect[DONE * STEPS];
byte fence;       /* the newest token that touched it */

/* What the replicas know. */
bool holds[N];    /* works under a claim ... */
byte mine[N];     /* ... with this token ... */
byte trust[N];    /* ... trusted for so many ticks ... */
byte sent[N];     /* ... and for so many if the call that is under way succeeds */

/* What is left of what may go wrong. */
byte faults = FAULTS;
byte waits = WAITS;
byte others = OTHERS;

/* What the checker knows: no part of the protocol. */
bool ended[CLAIMS + 1];

/* The properties. A violated one is named in the error. */
bool OneTrustedHolder = true;
bool NewestToken = true;
bool SettledOnce = true;
bool TokenGrows = true;
bool NoClaimUnderLock = true;
bool NoMoveUnderLock = true;
bool StepsInOrder = true;
bool NoStaleEffect = true;

/* check asserts a property under its name. */
inline check(property, holdsNow) {
	property = holdsNow;
	assert(property)
}

/* What a call carries: what it asks for, the claim's token, and the step that
 * it is about. An answer: whether it was accepted; and to a claim, the token
 * and the step that the document is at. */
chan net[N] = [1] of { mtype, byte, byte };  /* calls that are waited for */
chan late[N] = [1] of { mtype, byte, byte }; /* one that was given up, and arrives all the same */
chan ans[N] = [1] of { bool, byte, byte };
chan out[N] = [1] of { byte, byte };         /* to the world: token, effect */

#define Trusted(i) (holds[i] && trust[i] > 0)
#define Live (lockedBy != 0 && lockLeft > 0)

/* Whether a claim by a replica matches the document. */
#if defined(NO_LOCK)
#define Claimable(i) (phase != DONE)
#elif defined(NO_EXPIRY)
#define Claimable(i) (phase != DONE && lockedBy == 0)
#elif defined(NO_DATABASE_TIME)
#define Claimable(i) (phase != DONE && (lockedBy == 0 || lockLeft <= 2 * i)) /* one clock is ahead */
#else
#define Claimable(i) (phase != DONE && !Live)
#endif

/* Whether any other call of a claim does. */
#if defined(NO_TOKEN)
#define Held (lockedBy != 0)
#elif defined(NO_END)
#define Held (tk == token)
#else
#define Held (tk == token && lockedBy != 0)
#endif

/* drop takes messages off the network that would be refused for ever, and that
 * nobody waits for: it makes no difference but to the number of states. */
inline drop(k) {
	if
#if !defined(NO_TOKEN) && !defined(NO_END) && !defined(KEEP)
	:: late[k]?[Claim, _, _] && (phase == DONE || token == CLAIMS) -> late[k]?_, _, _
	:: late[k]?[_, _, _] && !late[k]?[Claim, _, _] && (!late[k]?[_, eval(token), _] || ended[token]) -> late[k]?_, _, _
#endif
	:: else
	fi
}

/* The store takes one call at a time, and answers it or does not. */
proctype Store() {
	byte i, tk, arg, k;
	mtype what;
	bool ok, waited;
end:	do
	:: atomic {
		if
		:: net[0]?what(tk, arg) -> waited = true
		:: net[1]?what(tk, arg) -> i = 1; waited = true
		:: late[0]?what(tk, arg) -> i = 0
		:: late[1]?what(tk, arg) -> i = 1
#if N > 2
		:: net[2]?what(tk, arg) -> i = 2; waited = true
		:: late[2]?what(tk, arg) -> i = 2
#endif
		fi;
		if
		:: faults > 0 && waited -> faults--; goto next /* lost on its way: for PROMPT, to which nothing is late */
		:: true
		fi;
		if
		:: what == Claim && Claimable(i) && token < CLAIMS ->
			check(NoClaimUnderLock, !Live);
			for (k : 0 .. N - 1) {
				check(OneTrustedHolder, !Trusted(k))
			}
			tk = token;
#ifndef NO_RAISE
			token++;
#endif
			check(TokenGrows, token == tk + 1);
			tk = token; lockedBy = i + 1; lockLeft = LOCK; ok = true
		:: what != Claim && Held && (what != Move || phase == arg / STEPS) ->
			check(NewestToken, tk == token);
			check(SettledOnce, !ended[tk]);
			ok = true;
			if
#ifdef NO_RENEWAL
			:: what == Renew
#else
			:: what == Renew -> lockLeft = LOCK
#endif
			:: what == Checkpoint ->
				if
				:: phase == arg / STEPS ->
					check(StepsInOrder, arg % STEPS == recorded && effect[arg]);
					recorded++
				:: else /* others have moved it since the lock expired */
				fi;
				lockLeft = LOCK
			:: what == Move ->
				check(NoMoveUnderLock, lockedBy == i + 1);
				check(StepsInOrder, effect[arg]);
				phase++; recorded = 0; lockedBy = 0; lockLeft = 0; ended[tk] = true
			:: what == Release -> lockedBy = 0; lockLeft = 0; ended[tk] = true
			fi
#ifdef NO_REFUSAL
		:: what == Renew && !Held -> check(NewestToken, tk == token); check(SettledOnce, !ended[tk]); ok = true
#endif
		:: else
		fi;
		if
		:: waited && faults > 0 -> faults-- /* the answer is lost */
		:: waited && what == Claim && ok -> ans[i]!true, token, phase * STEPS + recorded
		:: waited && !(what == Claim && ok) -> ans[i]!ok, 0, 0
		:: !waited
		fi;
		if
		:: ok -> drop(0); drop(1); drop(N - 1)
		:: else
		fi;
next:		what = 0; tk = 0; arg = 0; ok = false; k = 0; i = 0; waited = false
	   }
	od
}

/* The world outside refuses who is older than one that has touched it. */
proctype World() {
	byte tk, e, k;
end:	do
	:: atomic {
		if
		:: out[0]?tk, e
		:: out[1]?tk, e
#if N > 2
		:: out[2]?tk, e
#endif
		fi;
		if
#ifdef NO_FENCE
		:: true ->
#else
		:: tk >= fence ->
#endif
			check(NoStaleEffect, tk >= fence);
			check(StepsInOrder, e == 0 || effect[e - 1]);
			fence = tk; effect[e] = true;
#if !defined(NO_FENCE) && !defined(KEEP)
			for (k : 0 .. N - 1) { /* what would be refused for ever */
				if
				:: out[k]?<tk, e> ->
					if
					:: tk < fence -> out[k]?tk, e
					:: else
					fi
				:: empty(out[k])
				fi
			}
#endif
		:: else
		fi;
		tk = 0; e = 0; k = 0
	   }
	od
}

/* ask makes a call to the store. */
inline ask(what, about) {
	net[i]!what(mine[i], about); sent[i] = WINDOW
}

/* hangUp gives up the call that is under way: it may still arrive, but its
 * answer will not. One call of each replica can be late at a time. */
inline hangUp() {
	if
	:: net[i]?what(tk, arg) ->
		if
		:: nfull(late[i]) -> late[i]!what(tk, arg)
		:: true /* lost */
		fi;
		drop(i)
	:: ans[i]?_, _, _
	:: empty(net[i]) && empty(ans[i])
	fi;
	what = 0; tk = 0; arg = 0; ok = false; sent[i] = 0
}

/* rest ends the work under a claim. */
inline rest() {
	holds[i] = false; trust[i] = 0; s = 0; known = 0
}

/* A call that may be under way has been without an answer for too long. */
#define Unanswered (sent[i] == 0)

/* AWAIT waits for the answer to a call that ends a claim, or to a checkpoint. */
#define AWAIT(answered, refused, silent) \
	do \
	:: atomic { ans[i]?ok, _, _ -> \
		if \
		:: ok -> ok = false; goto answered \
		:: else -> goto refused \
		fi } \
	:: atomic { Unanswered -> hangUp(); goto silent } \
	:: atomic { holds[i] && trust[i] == 0 -> goto forget } \
	od

proctype Replica(byte i) {
	byte tk, arg, s, at, known;
	mtype what;
	bool ok, renewing;

	/* Nothing is known any more: the claim is over or lost, or the process has
	 * died and is back. What it has sent may arrive all the same. */
forget:	atomic {
		hangUp();
		rest(); mine[i] = 0; at = 0; renewing = false
	}
end:	atomic { Claimable(i) && token < CLAIMS -> ask(Claim, 0) } /* a read, and then a write that asks again */
	do
	:: atomic { ans[i]?ok, tk, arg ->
		if
		:: !ok || sent[i] == 0 -> ok = false; tk = 0; arg = 0; goto forget
		:: else
		fi;
		holds[i] = true; mine[i] = tk; trust[i] = sent[i];
		check(OneTrustedHolder, mine[i] == token);
		at = arg / STEPS; known = arg % STEPS;
		ok = false; tk = 0; arg = 0; sent[i] = 0;
		goto work
	   }
	:: atomic { Unanswered -> goto forget }
	od;

	/* Steps run from the first; what is done costs a look. */
work:	do
	:: atomic { trust[i] == 0 -> goto forget }
	:: atomic { faults > 0 -> faults--; goto forget } /* dies */

	/* The lock is renewed meanwhile. */
	:: atomic { Trusted(i) && trust[i] < WINDOW && !renewing -> ask(Renew, 0); renewing = true }
	:: atomic { renewing && nempty(ans[i]) -> ans[i]?ok, _, _; renewing = false;
		if
		:: ok && Trusted(i) && sent[i] > trust[i] -> trust[i] = sent[i]; check(OneTrustedHolder, mine[i] == token)
		:: ok && !(Trusted(i) && sent[i] > trust[i])
		:: !ok -> goto forget
		fi;
		ok = false; sent[i] = 0
	   }
	:: atomic { renewing && Unanswered -> hangUp(); renewing = false }

	:: atomic { Trusted(i) && s < STEPS && !effect[at * STEPS + s] && empty(out[i]) ->
		out[i]!mine[i], at * STEPS + s
#ifdef NO_LOOK
		; goto done
#endif
	   }
	:: atomic { Trusted(i) && s < STEPS && effect[at * STEPS + s] && !renewing -> goto done }
	:: atomic { Trusted(i) && s < STEPS && !renewing && waits > 0 -> waits--; goto wait }
	od;

done:	atomic {
		s++;
		if
		:: s == STEPS -> rest(); ask(Move, at * STEPS + STEPS - 1); goto move
		:: s < STEPS && s > known -> known = s; ask(Checkpoint, at * STEPS + s - 1)
		:: s < STEPS && s <= known -> goto work
		fi
	}
	AWAIT(noted, forget, wait);
noted:	atomic {
		if
		:: Trusted(i) && sent[i] > trust[i] -> trust[i] = sent[i]; check(OneTrustedHolder, mine[i] == token)
		:: else
		fi;
		sent[i] = 0; goto work
	}

	/* Work ends before the change that ends its claim is sent. That is sent
	 * again if no answer comes. */
wait:	atomic { rest(); ask(Release, 0) }
	AWAIT(forget, forget, waitAgain);
waitAgain: atomic { ask(Release, 0) }
	AWAIT(forget, forget, forget);

move:	AWAIT(forget, forget, moveAgain);
moveAgain: atomic { ask(Move, at * STEPS + STEPS - 1) }
	AWAIT(forget, forget, forget)
}

/* Others than replicas write to the phase, too: one write for many documents,
 * say. It asks for the lock as a claim does. */
proctype Others() {
end:	do
	:: atomic {
#ifdef NO_LOCK_ON_PHASES
		others > 0 && phase != DONE ->
#else
		others > 0 && phase != DONE && !Live ->
#endif
		check(NoMoveUnderLock, !Live);
		others--; phase = DONE; recorded = 0
	   }
	od
}

/* Time passes for all alike. */
inline tick() {
	if :: lockLeft > 0 -> lockLeft-- :: else fi;
	for (k : 0 .. N - 1) {
#ifndef NO_TRUST
		if :: trust[k] > 0 -> trust[k]-- :: else fi;
#endif
		if :: sent[k] > 0 -> sent[k]-- :: else fi
	}
	k = 0
}
#define Ticking (lockLeft > 0 || sent[0] > 0 || sent[1] > 0 || sent[N - 1] > 0 || \
	trust[0] > 0 || trust[1] > 0 || trust[N - 1] > 0)

proctype Clock() {
	byte k;
end:	do
#ifdef PROMPT
	/* Nobody is slow: time passes when nothing else can happen. */
	:: atomic { timeout && Ticking -> tick() }
#else
	:: atomic { Ticking -> tick() }
#endif
	od
}

init {
	atomic {
		run Store(); run World(); run Clock(); run Replica(0); run Replica(1);
#if N > 2
		run Replica(2);
#endif
		if
		:: OTHERS > 0 -> run Others()
		:: else
		fi
	}
}

#ifdef PROMPT
/* Once faults are over and nobody is slow, all comes to rest. */
ltl EverythingSettles { <> (phase == DONE) }
#endif
