#!/bin/bash
# Checks the model of the claim protocol (claim.pml) with spin, in every order in which things can happen:
#
#   docs/model/check.sh [short]
#
# First all properties must hold, in bounds that differ in what they leave room for. Then each protection is taken out, and
# the property that it is for must break. Prints a line for each check; a search that could not be completed is a failure.
# The short form searches the smaller bounds only, in less than a minute.
set -euo pipefail
cd "$(dirname "$0")"
../../scripts/need spin gcc='gcc libc6-dev'

model=$PWD/claim.pml
short=${1:-}
memory=5000  # MB, for one search
longest=1800 # seconds, likewise
depth=5000000
failures=0
level=-O2 # what pays for compiling longer
[ "$short" != short ] || level=-O0

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 130' INT TERM
cd "$dir" # spin and pan write where they stand

# search builds the checker of the model with the given definitions and runs it. It leaves what was found in $found ("" is
# nothing), and what was explored in $states.
search() { # DEFINITIONS COMPILER-OPTIONS OPTIONS
	local log=$dir/log
	rm -f "$dir"/pan* "$dir"/*.trail
	# The definitions and options are words.
	# shellcheck disable=SC2086
	{
		spin -a $1 "$model" >"$log" || { cat "$log" >&2 && exit 1; }
		gcc -w -DCOLLAPSE -DMEMLIM=$memory $2 -o pan pan.c
		timeout $longest ./pan -n -w24 -m$depth $3 >"$log" 2>&1 || true
	}
	states=$(sed -n 's/^ *\([0-9.e+]*\) states, stored.*/\1/p' "$log")
	found=$(sed -n -e 's/^pan:[0-9]*: assertion violated \(.*\) (at depth.*/\1/p' \
		-e 's/^pan:[0-9]*: acceptance cycle.*/EverythingSettles/p' \
		-e 's/^pan:[0-9]*: \(invalid end state\).*/\1/p' "$log" | head -1)
	if grep -q 'max search depth too small' "$log" || ! grep -q 'errors: [0-9]' "$log" ||
		{ [ -z "$found" ] && grep -q -e 'Search not completed' -e 'errors: [1-9]' "$log"; }; then
		cat "$log" >&2
		echo "check: this search was not completed: $1" >&2
		exit 1
	fi
}

safety() { search "$1" "-DSAFETY -DNOFAIR ${2:-$level}" ''; }

# Weak fairness: whoever can always go on does so in the end.
liveness() { search "-DPROMPT $1" "$level -DNOREDUCE -DNFAIR=3" '-a -f'; }

# verdict says what came of a check.
verdict() { # WHAT DEFINITIONS EXPECTED
	local say
	case $found in
	"$3") say="ok: ${3:+breaks }${3:-holds}" ;;
	'') say="FAILED: nothing breaks, though $3 should" ;;
	*) say="FAILED: breaks $found" ;;
	esac
	printf '%-37s %-53s %9s states  %s\n' "$1" "$2" "$states" "$say"
	[ "$found" != "$3" ] || return 0
	failures=$((failures + 1))
	if [ -z "$3" ]; then # the way there
		# shellcheck disable=SC2086
		spin -t -p -k ./*.trail $2 "$model" | tail -80 >&2
	fi
}

holds() { safety "$1" && verdict 'all safety properties' "$1" ''; }
settles() { liveness "$1" && verdict 'EverythingSettles' "-DPROMPT $1" ''; }

without() { # PROTECTION DEFINITION PROPERTY: see README.md
	local bounds="-D$2 -DLOCK=3 -DCLAIMS=2 -DOTHERS=1"
	safety "$bounds" -O0 && verdict "without $1" "$bounds" "$3"
}

holds '-DLOCK=3 -DCLAIMS=2 -DOTHERS=1'
settles '-DLOCK=3 -DCLAIMS=4 -DFAULTS=1'
if [ "$short" != short ]; then
	holds '-DLOCK=3 -DCLAIMS=2 -DFAULTS=1 -DOTHERS=1'
	holds '-DLOCK=3 -DCLAIMS=2 -DWAITS=0 -DKEEP'
	holds '-DLOCK=3 -DCLAIMS=2 -DWAITS=0 -DN=3'
	holds '-DLOCK=3 -DCLAIMS=3 -DDONE=2'
	holds '-DLOCK=4 -DCLAIMS=3'
	settles '-DLOCK=3 -DCLAIMS=6 -DFAULTS=2 -DWAITS=2'
	settles '-DLOCK=4 -DCLAIMS=6 -DFAULTS=2 -DWAITS=2 -DDONE=2'
fi

without 'fencing token' NO_TOKEN NewestToken
without 'end of the claim' NO_END SettledOnce
without 'token raised by each claim' NO_RAISE TokenGrows
without 'trust window' NO_TRUST OneTrustedHolder
without 'margin of the trust window' NO_MARGIN OneTrustedHolder
without 'renewals' NO_RENEWAL OneTrustedHolder
without 'refusal of late renewals' NO_REFUSAL NewestToken
without 'database time' NO_DATABASE_TIME NoClaimUnderLock
without "lock in the claim's predicate" NO_LOCK NoClaimUnderLock
without 'lock on phases' NO_LOCK_ON_PHASES NoMoveUnderLock
without 'fence of objects' NO_FENCE NoStaleEffect
without 'look at the world' NO_LOOK StepsInOrder
bounds='-DNO_EXPIRY -DLOCK=3 -DCLAIMS=4 -DFAULTS=1'
liveness "$bounds" && verdict 'without expiry of locks' "-DPROMPT $bounds" EverythingSettles

if [ $failures -gt 0 ]; then
	echo "check: $failures of these came out otherwise than they must" >&2
	exit 1
fi
